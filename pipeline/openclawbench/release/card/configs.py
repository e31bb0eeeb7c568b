"""Configurations of a release, which can be loaded by name, with their splits."""

import glob
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from openclawbench.base.free_memory import give_back_memory
from openclawbench.records.calibration import HumanAudited
from openclawbench.records.datapackage import InputFile
from openclawbench.records.release import LabelRow, Master, PoolRow, PositiveStructured
from openclawbench.records.tiers import ACCEPTED, BASELINE, BASELINE_TIER, HIGH, REPAIRED, REVIEW
from openclawbench.release.files.names import MASTER_FILE, POSITIVES_FILES, ROOT, TIER_FILES, both_side_file, models_of
from openclawbench.release.files.parquet import shard_pattern
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.input_files import INPUTS_TABLE
from openclawbench.release.labels.labels import POOL_FILE, part_file
from openclawbench.release.labels.places import CUTS, HOLD_OUT, SIDES
from openclawbench.tables.record import Keyed, Record

DEFAULT = "silver_labels"
BOTH = "both_high_confidence"
CUT_WORDS = {
    "default_cut": "default cut, by hash of the task",
    "paper_cut": "paper cut, by source model and subset",
}
WHOLE = "full"  # the split of what is cut into no sides; not "train": it holds the test side's records too
IN_A_NAME = re.compile(r"[^\w.-]")  # what a configuration's name must not hold
TABLES: dict[str, tuple[str, type[Keyed], str]] = {  # name -> JSONL file, record, what it is
    "accepted_main": (TIER_FILES[HIGH], Master, "accepted records, steps and labels"),
    "accepted_repaired": (TIER_FILES[REPAIRED], Master, "records accepted after a listed repair"),
    "positives_structured": (
        POSITIVES_FILES[ACCEPTED],
        PositiveStructured,
        "accepted anomalous records, without steps",
    ),
    "accepted_baseline": (
        TIER_FILES[BASELINE_TIER],
        Master,
        "records that the rules judge labelled, a baseline: not to be trained on",
    ),
    "positives_baseline": (
        POSITIVES_FILES[BASELINE],
        PositiveStructured,
        "what the rules judge calls anomalous, without steps: a baseline",
    ),
    "review_or_unresolved": (
        TIER_FILES[REVIEW],
        Master,
        "records that wait for a person: not to be trained on",
    ),
    "master_table": (MASTER_FILE, Master, "every record of every tier, baseline and in review too"),
}


class Config(NamedTuple):
    """A configuration, which can be loaded by name."""

    name: str
    about: str
    record: type[Record]
    splits: dict[str, str]  # split -> pattern of its Parquet files, from the release folder


def configs(root: Path) -> list[Config]:
    """The configurations of a release, the default one first. Splits without rows and configurations without splits are
    left out, because loaders refuse them."""
    loadable = []
    for config in all_configs(root):
        splits = {name: pattern for name, pattern in config.splits.items() if rows(root, pattern)}
        if splits:
            loadable.append(config._replace(splits=splits))
    return loadable


def all_configs(root: Path) -> Iterator[Config]:
    """All configurations that a release may have. Rows that need review are only in those whose description says so."""
    for cut, folder in CUTS.items():
        name = DEFAULT if cut == "default_cut" else f"{DEFAULT}_{cut}"
        sides = {side: glob.escape(part_file(f"{folder}silver_{side}_labels.jsonl")) for side in SIDES}
        yield Config(name, f"accepted labels, {CUT_WORDS[cut]}", LabelRow, sides)
    baseline = {side: part_file(f"silver_{side}_labels.jsonl", BASELINE) for side in SIDES}
    yield Config(f"{DEFAULT}_baseline", "labels of the rules judge, a baseline; default cut", LabelRow, baseline)
    all_rows = {side: f"silver_{side}_labels.parquet" for side in SIDES}
    about = "every row of the default cut: accepted, baseline and needs_review"
    yield Config(f"{DEFAULT}_all", about, LabelRow, all_rows)
    for cut, folder in CUTS.items():
        name = BOTH if cut == "default_cut" else f"{BOTH}_{cut}"
        about = f"accepted labels of which two passes are sure, {CUT_WORDS[cut]}"
        yield Config(name, about, LabelRow, {side: both_side_file(folder, side) for side in SIDES})
    for name, (file, record, about) in TABLES.items():
        yield Config(name, about, record, {WHOLE: f"{ROOT}/*/{shard_pattern(file)}"})
    yield Config("calibration_pool", "keys reserved for people", PoolRow, {WHOLE: typed_file(POOL_FILE)})
    if (root / typed_file(HUMAN_FILE)).is_file():
        about = "what people made of records, beside the silver labels"
        yield Config("human_audited", about, HumanAudited, {WHOLE: typed_file(HUMAN_FILE)})
    about = "every session that came in, and what became of it"
    yield Config("input_files", about, InputFile, {WHOLE: INPUTS_TABLE})
    for model in models_of(root):
        sides = {side: f"{HOLD_OUT}/{model}/silver_{side}_labels.jsonl" for side in SIDES}
        held = {side: glob.escape(part_file(path)) for side, path in sides.items()}
        yield Config(f"hold_out_{IN_A_NAME.sub('_', model)}", f"accepted labels, {model} held out", LabelRow, held)


def files_of(root: Path, pattern: str) -> list[Path]:
    """Files of a split."""
    return sorted(path.relative_to(root) for path in root.glob(pattern))


def rows(root: Path, pattern: str) -> int:
    """Number of rows of a split, by the footers of its files."""
    return sum(rows_in(root / path) for path in files_of(root, pattern))


def rows_in(path: Path) -> int:
    """Number of rows of a file. A footer of 50,000 records takes 50 MB, which are not given back otherwise."""
    import pyarrow.parquet as pq

    count: int = pq.read_metadata(path).num_rows
    give_back_memory()
    return count
