"""Render: merged records and stage decisions -> the lines of the per-model release files (paper T37)."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from pipeline.canonical import canonical_json
from pipeline.records.fulltax import DecisionsA, DecisionsB1, DecisionsB2, DecisionsC
from pipeline.records.release import Masters, PositiveStructured, ReleaseLine, ReleaseLines
from pipeline.stage import stage
from pipeline.tables import from_records

ROOT = "fulltax_prod_v1"
TIER_FILES = {
    "high_confidence_accepted": "accepted_main_all.jsonl",
    "accepted_repaired": "accepted_repaired_all.jsonl",
    "review_or_unresolved": "review_or_unresolved_all.jsonl",
}
MASTER_FILE = "master_table_all.jsonl"
POSITIVES_FILE = "positives_structured_all.jsonl"
STAGES = ("a", "b1", "b2", "c")


def stage_raw_file(stage_name: str, annotation_pass: int = 1) -> str:
    """stage_<stage>_raw_pass<N>.jsonl."""
    return f"stage_{stage_name}_raw_pass{annotation_pass}.jsonl"


LINE_FILES = [MASTER_FILE, *TIER_FILES.values(), POSITIVES_FILE, *map(stage_raw_file, STAGES)]


@stage(scope="shard")
def render(masters: Masters, a: DecisionsA, b1: DecisionsB1, b2: DecisionsB2, c: DecisionsC) -> ReleaseLines:
    """Lines with the files they stand in, sorted by key and file, so that publishing is a merge of sorted shards."""
    rows = [one for row in masters.collect().iter_rows(named=True) for one in record_lines(row)]
    for name, decisions in zip(STAGES, (a, b1, b2, c), strict=True):
        rows.extend(raw_lines(name, decisions))
    rows.sort(key=lambda row: (row["source_model"], row["trajectory_id"], row["files"], row["line"]))
    return from_records(rows, ReleaseLine).lazy()


def record_lines(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The master line of a trajectory, which also stands in its tier's file, and its line among the positives."""
    key = {"source_model": row["source_model"], "trajectory_id": row["trajectory_id"]}
    tier = row["quality_tier"]
    yield {**key, "files": [MASTER_FILE, TIER_FILES[tier]], "line": canonical_json(row)}
    if row["is_anomalous"] and tier != "review_or_unresolved":
        positive = {name: row[name] for name in PositiveStructured.model_fields}
        yield {**key, "files": [POSITIVES_FILE], "line": canonical_json(positive)}


def raw_lines(name: str, decisions: pl.LazyFrame, annotation_pass: int = 1) -> Iterator[dict[str, Any]]:
    """Every answer of a stage, verbatim, beside what it came to."""
    for row in decisions.collect().iter_rows(named=True):
        line = {
            "source_model": row["source_model"],
            "trajectory_id": row["trajectory_id"],
            "stage": name,
            **{k: row[k] for k in ("purpose", "judge", "judge_model", "prompt_version", "packet_sha256")},
            **{k: row[k] for k in ("request_sha256", "response_text", "former", "outcome", "failure")},
            "parsed": None if row["answer"] is None else canonical_json(row["answer"]),
            "issues": row["issues"],
            "repairs": row["repairs"],
        }
        key = {"source_model": row["source_model"], "trajectory_id": row["trajectory_id"]}
        yield {**key, "files": [stage_raw_file(name, annotation_pass)], "line": canonical_json(line)}
