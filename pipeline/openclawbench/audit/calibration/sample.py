"""The calibration sample (paper E.11): trajectories of a release's calibration pool, balanced over risk slices and
source models. It is drawn from the released files alone."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from openclawbench.audit.sampling import Key, allocate, allocate_neyman, draw_in_turns
from openclawbench.audit.settings import AuditRules, CalibrationRules
from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.errors import NotFound, UsageError
from openclawbench.records.calibration import CalibrationSample, CalibrationSampleRow, CalibrationStratum
from openclawbench.records.tiers import REVIEW
from openclawbench.records.vocabulary import STEP_TEXTS, SliceLabel
from openclawbench.release.files.names import MASTER_FILE, ROOT, models_of
from openclawbench.release.files.parquet import shards_of
from openclawbench.release.release_folder import release_digest
from openclawbench.release.statistics.corpus import Corpus, read_corpus
from openclawbench.release.statistics.corrected_gap import strata_rows
from openclawbench.release.unjudged import refuse_unjudged
from openclawbench.reports.corrected_gap import FEW_VERDICTS, JEFFREYS, stratum_name
from openclawbench.reports.evidence.slices import PASSING_SLICES
from openclawbench.storage.data_folder import DataFolder

COLUMNS = (
    "source_model",
    "trajectory_id",
    "num_steps",
    "user_turns",
    "steps",
    "slice_label",
    "quality_tier",
    "is_anomalous",
    "anomaly_type_l2",
    "earliest_recoverable_onset",
    "evidence_steps",
    "severity",
    "recoverability",
    "stages",
)
NO_SLICE = "no_slice"  # of a trajectory without an outcome
LABELLED = [*get_args(SliceLabel), NO_SLICE]


def draw(
    root: Path,
    wanted: int | None,
    seed: int,
    blind: bool,
    rules: AuditRules,
    data: Path,
    allocation: Literal["equal", "neyman"] = "equal",
    pool_kind: Literal["calibration", "labelled"] = "calibration",
) -> tuple[CalibrationSample, list[CalibrationSampleRow]]:
    """The sample and its rows, by slice and key.

    `wanted`: number of rows, None for the whole pool. `allocation`: as many of each slice, or of each slice and silver
    label as the corrected gap needs (Neyman). `pool_kind`: the calibration pool, which needs outcomes, or every
    trajectory that has a label outside review. `data`: the data folder that the command in `show` names if the
    release is not in one. The same release, number and seed give the same rows, except for that folder. Raises
    UsageError, UnreadableInput, NotFound.
    """
    refuse_unjudged(root)
    corpus = read_corpus(root)
    candidates, names = (labelled_pool(corpus), LABELLED) if pool_kind == "labelled" else (corpus.pool, PASSING_SLICES)
    refuse_empty_pool(root, corpus, candidates, pool_kind)
    if pool_kind == "labelled" and allocation == "neyman":
        raise UsageError(
            "--pool labelled --allocate neyman: the corrected gap is about passing trajectories. Use one of the two."
        )
    pool = by_slice(candidates, names)
    number = candidates.height if wanted is None else wanted
    if allocation == "equal":
        strata: list[CalibrationStratum] = []
        numbers = allocate(pool, number, number)  # the same number of each slice, while the pool has them
        keys = pool_keys(candidates)
    else:
        strata = neyman_strata(corpus, number, rules.calibration)
        numbers = {stratum_name(stratum.slice_label, stratum.silver_anomalous): stratum.drawn for stratum in strata}
        keys = silver_pool(corpus).select("stratum", "source_model", "trajectory_id").iter_rows()
    drawn_keys = draw_in_turns(((label, (model, name)) for label, model, name in keys), numbers, seed)
    slices = {(model, name): label for label, model, name in pool_keys(candidates)}
    # Sorted without the silver label: the order of a blind sheet must not tell it.
    chosen = sorted(drawn_keys, key=lambda key: (names.index(slices[key]), key))
    rows = [row | {"slice_label": row["slice_label"] or NO_SLICE} for row in rows_of(root, chosen, blind)]
    sample = "c-" + sha256_text(canonical_json({"seed": seed, "blind": blind, "rows": rows}))[:8]
    common = {"sample": sample, "blind": blind, "guide": f"calibration-{sample}.guide.md"}
    data_option = f" --data {shlex.quote(str(home(root, data).resolve()))}"  # no part of the sample's id
    drawn = [CalibrationSampleRow.model_validate(row | common | {"show": row["show"] + data_option}) for row in rows]
    sample_record = CalibrationSample(
        sample=sample,
        seed=seed,
        asked=wanted,
        blind=blind,
        drawn={name: sum(row.slice_label == name for row in drawn) for name in names},
        pool=pool,
        population=pool if pool_kind == "labelled" else by_slice(passing_records(corpus), PASSING_SLICES),
        allocation=allocation,
        pool_kind=pool_kind,
        strata=strata,
        failing_in_pool=count_failing(corpus),
        judges=sorted(corpus.records["judge"].drop_nulls().unique()),
        release=release_digest(root),
        rules={rules.FILE: rules.digest},
    )
    return sample_record, drawn


def refuse_empty_pool(root: Path, corpus: Corpus, candidates: pl.DataFrame, pool_kind: str) -> None:
    """Raise NotFound if there is nothing to draw from."""
    if pool_kind == "calibration" and corpus.records.filter(pl.col("oracle_outcome") == "pass").is_empty():
        raise NotFound(
            f"{root}: no trajectory has the outcome pass, and the calibration pool holds only such trajectories "
            "(paper E.11). Join outcomes (`openclawbench fuse --oracle PATH`) and release again, or draw from every "
            "labelled trajectory: --pool labelled."
        )
    if candidates.is_empty() and pool_kind == "calibration":
        raise NotFound(
            f"{root}: the calibration pool is empty: of the reserved tasks, no trajectory outside review passes its "
            "oracle. `task_share` of release.toml sets how many tasks are reserved."
        )
    if candidates.is_empty():
        raise NotFound(f"{root}: no trajectory has a label outside review. Annotate first.")


def labelled_pool(corpus: Corpus) -> pl.DataFrame:
    """slice_label, source_model and trajectory_id of every record with a decided label outside review."""
    decided = corpus.records.filter((pl.col("quality_tier") != REVIEW) & pl.col("is_anomalous").is_not_null())
    return decided.select(pl.col("slice_label").fill_null(NO_SLICE), "source_model", "trajectory_id")


def passing_records(corpus: Corpus) -> pl.DataFrame:
    """The records outside review that pass their oracle."""
    return corpus.records.filter((pl.col("quality_tier") != REVIEW) & (pl.col("oracle_outcome") == "pass"))


def pool_keys(candidates: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    """slice_label, source_model and trajectory_id of each record of the pool."""
    return candidates.select("slice_label", "source_model", "trajectory_id").iter_rows()


def silver_pool(corpus: Corpus) -> pl.DataFrame:
    """The pool with `is_anomalous` and `stratum`."""
    silver = corpus.records.select("source_model", "trajectory_id", pl.col("is_anomalous").fill_null(False))
    pool = corpus.pool.join(silver, on=["source_model", "trajectory_id"])
    pairs = pool.select("slice_label", "is_anomalous").iter_rows()
    return pool.with_columns(stratum=pl.Series([stratum_name(*pair) for pair in pairs], dtype=pl.String))


def neyman_strata(corpus: Corpus, wanted: int, rules: CalibrationRules) -> list[CalibrationStratum]:
    """How many to draw of each slice and silver label. Raises UsageError."""
    pool = dict(silver_pool(corpus)["stratum"].value_counts().iter_rows())
    population: dict[str, int] = {}
    expected: dict[str, float] = {}
    for row in strata_rows(corpus):
        name = stratum_name(row["slice_label"], row["silver_anomalous"])
        population[name] = population.get(name, 0) + row["trajectories"]
        settled = row["human_anomalous"] + row["human_normal"]
        if settled >= FEW_VERDICTS:
            expected[name] = (row["human_anomalous"] + JEFFREYS) / (settled + 2 * JEFFREYS)
        else:
            expected.setdefault(name, rules.expected_ppv if row["silver_anomalous"] else rules.expected_for)
    named = {stratum_name(label, silver): (label, silver) for label in PASSING_SLICES for silver in (True, False)}
    available = {name: pool.get(name, 0) for name in named if name in population}
    numbers = allocate_neyman(available, population, expected, wanted, rules.at_least)
    return [
        CalibrationStratum(
            slice_label=named[name][0],
            silver_anomalous=named[name][1],
            drawn=numbers.get(name, 0),
            pool=available[name],
            population=population[name],
            expected_share=round(expected[name], 6),
        )
        for name in available
    ]


def by_slice(rows: pl.DataFrame, names: Sequence[str]) -> dict[str, int]:
    """Slice -> number of rows, in the order of `names`."""
    return {name: rows.filter(pl.col("slice_label") == name).height for name in names}


def count_failing(corpus: Corpus) -> int:
    """Number of trajectories of the pool that do not pass their oracle."""
    passing = corpus.records.filter(pl.col("oracle_outcome") == "pass")
    return corpus.pool.join(passing, on=["source_model", "trajectory_id"], how="anti").height


def home(root: Path, data: Path) -> Path:
    """The data folder that can show a release's trajectories: the one that contains the release, else `data`."""
    parent = DataFolder(root.resolve().parent)
    return parent.root if parent.release == root.resolve() and (parent.root / "work").is_dir() else data


def rows_of(root: Path, chosen: list[Key], blind: bool) -> list[dict[str, Any]]:
    """The drawn rows in the order of `chosen`: CalibrationSampleRow without sample, blind and guide."""
    names = [name for _, name in chosen]
    files = [path for model in models_of(root) for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}")]
    parts = [
        pl.scan_parquet(path, glob=False)
        .filter(pl.col("trajectory_id").is_in(names))
        .select(COLUMNS)
        .collect(engine="streaming")
        for path in files
    ]
    records = {(row["source_model"], row["trajectory_id"]): row for part in parts for row in part.iter_rows(named=True)}
    return [sample_row(records[key], blind) for key in chosen]


def sample_row(record: dict[str, Any], blind: bool) -> dict[str, Any]:
    """A released record as a row of the sample."""
    model, trajectory_id = record["source_model"], record["trajectory_id"]
    stages = {stage: answer or {} for stage, answer in record["stages"].items()}
    cited = [f"step {quote['step_id']}, {quote['field']}: {quote['quote']}" for quote in record["evidence_steps"]]
    return {
        "row": "r-" + sha256_text(f"{model}\0{trajectory_id}")[:10],
        "source_model": model,
        "trajectory_id": trajectory_id,
        "num_steps": record["num_steps"],
        "user_turns": "\n".join(f"[{turn['user_turn']}] {turn['text']}" for turn in record["user_turns"]),
        "trajectory": "\n".join(map(step_text, record["steps"])),
        "show": f"openclawbench show {'--no-label ' if blind else ''}{shlex.quote(f'{model}/{trajectory_id}')}",
        "slice_label": record["slice_label"],
        "quality_tier": record["quality_tier"],
        "silver_anomaly_label": record["is_anomalous"],
        "silver_subtype": record["anomaly_type_l2"],
        "silver_onset": record["earliest_recoverable_onset"],
        "silver_evidence": cited,
        "silver_severity": record["severity"],
        "silver_recoverability": record["recoverability"],
        "route_label": stages["a"].get("route_label"),
        "b1_is_anomalous": stages["b1"].get("trajectory_is_anomalous"),
        "c_verdict": stages["c"].get("verdict"),
    }


def step_text(step: dict[str, Any]) -> str:
    """A step as text: its number, category, tool, status and texts."""
    head = " · ".join(str(step[name]) for name in ("event_type", "tool_name", "tool_status") if step[name])
    texts = [f"    {name}: {step[name]}" for name in STEP_TEXTS if step[name]]
    return "\n".join([f"step {step['step_id']}: {head}", *texts])
