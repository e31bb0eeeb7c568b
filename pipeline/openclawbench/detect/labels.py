"""The labels that detectors are trained and scored on: pools of a release, their sides, and human verdicts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.detect.packet import COLUMNS, detector_packet
from openclawbench.detect.pools import (
    ACCEPTED_POOL,
    BASELINE_POOL,
    BOTH_POOL,
    EACH_HELD_OUT,
    HIGH_POOL,
    HUMAN_POOL,
    POOLS,
)
from openclawbench.detect.settings import NORMAL, DetectorPacketRules, DetectRules
from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.records.detection.packet import DetectorPacket
from openclawbench.records.detection.prediction import TrainingData
from openclawbench.records.tiers import ACCEPTED, BASELINE, HIGH
from openclawbench.release.files.names import BOTH_FILE, MASTER_FILE, ROOT, both_side_file, models_of
from openclawbench.release.files.parquet import shards_of
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.labels.labels import hold_out_rows
from openclawbench.release.labels.places import CUT_NAMES, CUTS, SIDES
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.release_folder import refuse_other_folder, release_digest
from openclawbench.release.unjudged import refuse_unjudged
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.version import __version__

WANTED = {  # pool -> its rows of a label file
    ACCEPTED_POOL: pl.col("label_status") == ACCEPTED,
    HIGH_POOL: pl.col("quality_tier") == HIGH,
    BASELINE_POOL: pl.col("label_status") == BASELINE,
}
WHOLE = "all"  # side of a pool without sides
LABEL_COLUMNS = (
    *TRAJECTORY_KEY,
    *("task_id", "num_steps", "slice_label", "is_anomalous", "anomaly_type_l2", "label_status"),
    *("earliest_recoverable_onset", "segment_spans", "provenance"),
)
ANOMALOUS_SPAN = "anomalous"


@dataclass(frozen=True)
class LabelledTrajectory:
    """A trajectory with its label, which is one of the six. `onset` is earliest_recoverable_onset (paper T41), None if
    the label has none; `span` holds the steps of the anomalous segment_spans."""

    key: Key
    task_id: str | None
    num_steps: int
    slice_label: str | None
    label: str
    onset: int | None
    span: frozenset[int]
    status: str
    judge: str | None

    @property
    def is_anomalous(self) -> bool:
        """True for every label but normal."""
        return self.label != NORMAL

    @property
    def task(self) -> str:
        """The unit that a bootstrap draws: the task, or the trajectory itself if it has no task."""
        return self.task_id if self.task_id is not None else "\0".join(self.key)


@dataclass(frozen=True)
class LabelSelection:
    """Selects labels by pool, cut and side. `cut`: default, paper, the name of a source model that is held out, or
    hold-one-out (the test sides of all held-out models together)."""

    pool: str = ACCEPTED_POOL
    cut: str = "default"
    side: str = "test"

    @property
    def sentence(self) -> str:
        """The choice in words."""
        where = "" if self.side == WHOLE else f", {self.side} side of the {self.cut} cut"
        return f"pool {self.pool}{where}"


@dataclass(frozen=True)
class LabelSet:
    """The items of a choice, sorted by key, and how many label rows were left out, by reason."""

    root: Path
    choice: LabelSelection
    items: list[LabelledTrajectory]
    left_out: dict[str, int]

    @property
    def by_key(self) -> dict[Key, LabelledTrajectory]:
        """Key -> item."""
        return {item.key: item for item in self.items}

    @property
    def source_models(self) -> list[str]:
        """Source models of the items, sorted."""
        return sorted({item.key[0] for item in self.items})

    @property
    def judges(self) -> list[str]:
        """Who gave the labels, sorted."""
        return sorted({item.judge for item in self.items if item.judge is not None})

    @property
    def statuses(self) -> list[str]:
        """Status of the labels, sorted."""
        return sorted({item.status for item in self.items})

    @property
    def is_baseline(self) -> bool:
        """True if any label is the rules judge's."""
        return BASELINE in self.statuses

    def training_data(self) -> TrainingData:
        """The set as a provenance file names it."""
        anomalous = sum(item.is_anomalous for item in self.items)
        chosen = self.choice
        return TrainingData(
            pool=chosen.pool, cut=chosen.cut, side=chosen.side, rows=len(self.items), anomalous=anomalous
        )


def provenance_base(labels: LabelSet, rules: DetectRules) -> dict[str, Any]:
    """The fields of a provenance file that follow from the labels; the others are null or empty."""
    return {
        "protocol": None,
        "model": None,
        "endpoint": None,
        "weights_sha256": None,
        "parameters": {},
        "prompt": None,
        "packet_rules_sha256": rules.digest,
        "trained_on": None,
        "release_sha256": release_digest(labels.root),
        "pool": labels.choice.pool,
        "cut": labels.choice.cut,
        "side": labels.choice.side,
        "label_judges": labels.judges,
        "label_statuses": labels.statuses,
        "program_version": __version__,
        "date": None,
    }


def read_labels(root: Path, choice: LabelSelection) -> LabelSet:
    """The labelled trajectories of a choice. Raises UsageError for a pool, cut or side that the release does not have.

    Left out are rows without steps (`not_scoreable`: the paper's 83 records without packet content), and, on a train
    side, rows of the calibration pool (`calibration_pool`: paper E.11, never to train on). The labels of the human pool
    are people's; reviews without a settled verdict are left out (`no_settled_verdict`).
    """
    refuse_other_folder(root)
    refuse_unjudged(root)
    release_digest(root)
    check_choice(root, choice)
    if choice.pool == HUMAN_POOL:
        rows = human_rows(root)
        human = human_items(root, rows)
        unsettled = rows.height - len(human)
        counts = {"no_settled_verdict": unsettled} if unsettled else {}
        return LabelSet(root, replace(choice, side=WHOLE), [human[key] for key in sorted(human)], counts)
    rows = pool_rows(root, choice)
    reserved = pl.col("in_calibration_pool") if choice.side == "train" else pl.lit(False)
    scoreable = rows.filter("scoreable")
    chosen = scoreable.filter(~reserved)
    left_out = {
        "not_scoreable": rows.height - scoreable.height,
        "calibration_pool": scoreable.height - chosen.height,
    }
    keys = set(chosen.select(TRAJECTORY_KEY).iter_rows())
    items = sorted((item for item in read_items(root) if item.key in keys), key=lambda item: item.key)
    return LabelSet(root, choice, items, {reason: number for reason, number in left_out.items() if number})


def check_choice(root: Path, choice: LabelSelection) -> None:
    """Raises UsageError for a pool, cut or side that does not exist."""
    models = models_of(root)
    if choice.pool not in POOLS:
        raise UsageError(f"--pool {choice.pool}: there is no such pool. Use one of: {', '.join(POOLS)}.")
    if choice.pool == HUMAN_POOL:
        if not (root / typed_file(HUMAN_FILE)).is_file():
            raise UsageError(
                f"{root}: has no {HUMAN_FILE}: no person has reviewed a label. Review a sample "
                "(`openclawbench audit sample-calibration`), import it and release again."
            )
        return
    if choice.side not in SIDES:
        raise UsageError(f"--side {choice.side}: there is no such side. Use one of: {', '.join(SIDES)}.")
    if choice.cut == EACH_HELD_OUT:
        if choice.side != "test":
            raise UsageError(
                f"--cut {EACH_HELD_OUT}: has a test side only; each model held out has a train side of its own. Name "
                "the model."
            )
    elif choice.cut not in CUT_NAMES and choice.cut not in models:
        raise UsageError(
            f"--cut {choice.cut}: there is no such cut. Use one of: "
            f"{', '.join([*CUT_NAMES, EACH_HELD_OUT, *models])} (a source model is held out)."
        )


def held_out_models(root: Path, pool: str) -> list[str]:
    """The source models with labels in a pool: each can be held out. Raises UsageError for an empty pool."""
    labels = read_labels(root, LabelSelection(pool, EACH_HELD_OUT, "test"))
    require_items(labels)
    return labels.source_models


def pool_rows(root: Path, choice: LabelSelection) -> pl.DataFrame:
    """The label rows of a pool on a side."""
    if choice.cut in CUT_NAMES:
        return side_rows(root, choice.pool, CUT_NAMES[choice.cut], choice.side)
    held = models_of(root) if choice.cut == EACH_HELD_OUT else [choice.cut]
    return pl.concat([hold_out_side(root, choice.pool, model, choice.side) for model in held])


def hold_out_side(root: Path, pool: str, model: str, side: str) -> pl.DataFrame:
    """The label rows of a pool on one side of the cut that holds a source model out. Raises as side_rows."""
    try:
        rows = hold_out_rows(root, model, side)
    except FileNotFoundError as error:
        raise UnreadableInput(f"{error}. Copy the release again.") from error
    if pool != BOTH_POOL:
        return rows.filter(WANTED[pool])
    return rows.join(both_rows(root, typed_file(BOTH_FILE)), on=TRAJECTORY_KEY, how="semi", maintain_order="left")


def side_rows(root: Path, pool: str, cut: str, side: str) -> pl.DataFrame:
    """The label rows of a pool on one side of a cut. Raises UsageError where there is no second pass, UnreadableInput
    where a file is missing."""
    if pool == BOTH_POOL:
        return both_rows(root, both_side_file(CUTS[cut], side))
    path = root / typed_file(f"{CUTS[cut]}silver_{side}_labels.jsonl")
    if not path.is_file():
        raise UnreadableInput(f"{path}: does not exist. Copy the release again.")
    return pl.read_parquet(path, glob=False).filter(WANTED[pool])


def both_rows(root: Path, name: str) -> pl.DataFrame:
    """The label rows of a Parquet file of what both passes are sure of. Raises UsageError where there is no second
    pass."""
    if not (root / name).is_file():
        raise UsageError(
            f"{root}: has no second pass, so no label on which two judges agree. Use --pool {ACCEPTED_POOL}, or judge "
            "a second time: openclawbench annotate --pass 2."
        )
    return pl.read_parquet(root / name, glob=False)


def human_rows(root: Path) -> pl.DataFrame:
    """human_audited.parquet, those verdicts whose label the release still has; empty without the file."""
    path = root / typed_file(HUMAN_FILE)
    if not path.is_file():
        return pl.DataFrame(
            schema={
                **dict.fromkeys(TRAJECTORY_KEY, pl.String),
                "human_anomaly_label": pl.Boolean,
                "human_subtype": pl.String,
                "human_onset": pl.Int64,
                "onset_reviewed": pl.Boolean,
            }
        )
    return pl.read_parquet(path, glob=False).filter("same_label")


def read_items(root: Path) -> Iterator[LabelledTrajectory]:
    """The label of every trajectory of a release that has one."""
    for model in models_of(root):
        for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}"):
            for row in pl.read_parquet(path, columns=list(LABEL_COLUMNS), glob=False).iter_rows(named=True):
                if row["is_anomalous"] is not None:
                    yield item_of(row)


def item_of(row: Mapping[str, Any]) -> LabelledTrajectory:
    """An item of a released record."""
    spans = [span for span in row["segment_spans"] if span["label"] == ANOMALOUS_SPAN] if row["is_anomalous"] else []
    return LabelledTrajectory(
        key=key_of(row),
        task_id=row["task_id"],
        num_steps=row["num_steps"],
        slice_label=row["slice_label"],
        label=row["anomaly_type_l2"] if row["is_anomalous"] else NORMAL,
        onset=row["earliest_recoverable_onset"] if row["is_anomalous"] else None,
        span=frozenset(step for span in spans for step in range(span["start_step"], span["end_step"] + 1)),
        status=row["label_status"],
        judge=row["provenance"]["judge"],
    )


def human_items(root: Path, rows: pl.DataFrame | None = None) -> dict[Key, LabelledTrajectory]:
    """Key -> what people say of a trajectory, as an item: their label, subtype and onset; silver's span is none of
    theirs. Only settled verdicts; an anomalous one without a subtype keeps silver's if silver has one. `rows`: those of
    human_rows, where they are read already."""
    verdicts = human_rows(root) if rows is None else rows
    silver = {item.key: item for item in read_items(root)} if verdicts.height else {}
    items: dict[Key, LabelledTrajectory] = {}
    for row in verdicts.iter_rows(named=True):
        item = silver.get(key_of(row))
        if item is None or row["human_anomaly_label"] is None:
            continue
        subtype = row["human_subtype"] or (item.label if item.is_anomalous else None)
        if row["human_anomaly_label"] and subtype is None:
            subtype = UNNAMED
        items[item.key] = LabelledTrajectory(
            key=item.key,
            task_id=item.task_id,
            num_steps=item.num_steps,
            slice_label=item.slice_label,
            label=subtype if row["human_anomaly_label"] and subtype else NORMAL,
            onset=row["human_onset"] if row["human_anomaly_label"] and row["onset_reviewed"] else None,
            span=frozenset(),
            status=HUMAN_POOL,
            judge=HUMAN_POOL,
        )
    return items


def reviewed_beside(labels: LabelSet, train: LabelSet | None = None) -> list[LabelledTrajectory]:
    """Trajectories with a settled verdict of people that are not among the labels, with their silver labels; sorted.

    A detector predicts them too, so that it is scored against people, and its scores against silver are corrected
    (paper T40, F.8): the calibration pool is on no side of the default cut. Left out are those that it was fitted to,
    those without steps, and where a source model is held out, those of the others.
    """
    known = labels.by_key.keys() | (train.by_key.keys() if train is not None else set())
    reviewed_keys = human_items(labels.root).keys() - known
    if labels.choice.cut not in (*CUT_NAMES, EACH_HELD_OUT):
        reviewed_keys = {key for key in reviewed_keys if key[0] == labels.choice.cut}
    items = read_items(labels.root) if reviewed_keys else iter(())
    return sorted((item for item in items if item.key in reviewed_keys and item.num_steps), key=lambda item: item.key)


UNNAMED = "anomalous_without_subtype"  # people found an anomaly and named no subtype: right is any but normal


def released_records(root: Path, keys: set[Key], columns: Sequence[str] = COLUMNS) -> Iterator[dict[str, Any]]:
    """These columns of the released records of these keys, in order of the files, a row group in memory at a time."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for model in sorted({model for model, _ in keys}):
        wanted = pa.array(sorted(trajectory for own, trajectory in keys if own == model))
        for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}"):
            file = pq.ParquetFile(path)
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, columns=list(columns))
                yield from rows.filter(pc.is_in(rows["trajectory_id"], value_set=wanted)).to_pylist()


def find_keys(root: Path, text: str) -> list[Key]:
    """The keys that a text means: MODEL/ID, an id, or else the beginning of an id; sorted, several where it is not
    unique."""
    refuse_other_folder(root)
    keys: set[Key] = set()
    for model in models_of(root):
        for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}"):
            keys.update(pl.read_parquet(path, columns=list(TRAJECTORY_KEY), glob=False).iter_rows())
    exact = sorted(key for key in keys if text in (key[1], "/".join(key)))
    return exact or sorted(key for key in keys if key[1].startswith(text))


def read_packets(
    root: Path,
    keys: set[Key],
    rules: DetectorPacketRules | None = None,
    count_tokens: Callable[[str], int] | None = None,
) -> Iterator[DetectorPacket]:
    """The packets of these keys, in order of the files."""
    limits = rules or DetectRules.load().packet
    for row in released_records(root, keys):
        yield detector_packet(row, limits, count_tokens)


def require_items(labels: LabelSet) -> None:
    """Raises UsageError for an empty set, and says which pool has rows."""
    if labels.items:
        return
    statuses = sorted({item.status for item in read_items(labels.root)})
    hint = ""
    if statuses == [BASELINE] and labels.choice.pool != BASELINE_POOL:
        hint = f" Every label of this release is the rules judge's: --pool {BASELINE_POOL} takes them, and says so."
    raise UsageError(f"{labels.root}: {labels.choice.sentence} holds no trajectory.{hint}")
