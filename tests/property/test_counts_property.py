"""Counts of shards add up to the counts of the corpus, however it is cut into shards."""

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.construct.coverage import coverage, matches
from openclawbench.records.oracle import Fused, OracleRow, SourceOutcome
from openclawbench.records.packet import EventTypeCounts
from openclawbench.records.release import LabelBasis
from openclawbench.release.writer.summarize import count, summarize
from openclawbench.tables.schema import conform, empty, from_records

TIERS = ["high_confidence_accepted", "accepted_repaired", "baseline_accepted", "review_or_unresolved"]
row = st.fixed_dictionaries(
    {
        "source_model": st.sampled_from(["model-a", "model-b"]),
        "trajectory_id": st.integers(0, 10**6).map(str),
        "task_digest": st.just("none"),
        "oracle_outcome": st.sampled_from([None, "pass", "fail"]),
        "slice_label": st.sampled_from([None, "pass_high_risk", "fail_low_risk"]),
        "risk_bucket": st.sampled_from(["low", "high"]),
        "risk_score": st.just(0.0),
        "is_anomalous": st.sampled_from([None, True, False]),
        "anomaly_type_l2": st.sampled_from([None, "weak_evidence_commitment"]),
        "quality_tier": st.sampled_from(TIERS),
        "review_cause": st.sampled_from([None, "no_answer"]),
        "repair_rules": st.lists(st.sampled_from(["r1", "r2"]), max_size=2),
        **dict.fromkeys(["asked_a", "asked_b1", "asked_b2", "asked_c", "incomplete", "partial_trial"], st.booleans()),
        "num_steps": st.integers(0, 3),
        "event_type_counts": st.fixed_dictionaries(dict.fromkeys(EventTypeCounts.model_fields, st.integers(0, 9))),
        "judge": st.sampled_from([None, "rules", "model"]),
    }
)
sharded = st.lists(st.tuples(st.integers(0, 3), row), max_size=20)


@given(sharded)
def test_the_sums_of_shards_are_the_counts_of_the_whole(rows: list[tuple[int, dict[str, Any]]]) -> None:
    tables = [from_records([record for at, record in rows if at == shard], LabelBasis).lazy() for shard in range(4)]
    summed = summarize(pl.concat(count(table).collect() for table in tables).lazy()).collect()
    assert summed.equals(count(pl.concat(tables)).collect())
    trajectories = summed.filter(pl.col("group") == "totals", pl.col("name") == "trajectories")
    assert trajectories["count"].sum() == len(rows)


SUBSETS = st.sampled_from([None, "simple", "rest"])
outcome_row = st.fixed_dictionaries(
    {
        "subset": SUBSETS,
        "sessions_named": st.integers(0, 2),
        "unjoined": st.sampled_from([None, None, "no_manifest_row"]),
        "at": st.sets(st.integers(0, 2), min_size=1),
    }
)
session = st.fixed_dictionaries(
    {
        "at": st.integers(0, 2),
        "subset": SUBSETS,
        "oracle_match": st.sampled_from(["matched", "duplicate_rows", "contradiction", "unmatched"]),
        "oracle_outcome": st.sampled_from([None, "pass", "fail"]),
        "rows": st.sets(st.integers(0, 5)),
        "aside": st.sets(st.integers(0, 5)),
    }
)


@given(st.lists(outcome_row, max_size=6), st.lists(session, max_size=8))
def test_sessions_and_rows_meet_alike_in_shards_and_in_one(
    rows: list[dict[str, Any]], sessions: list[dict[str, Any]]
) -> None:
    """A row may be in several shards, met in one of them and in no other."""
    blank = {"source_model": "m", "status": "scored", "flags": [], "by_session_id": False}
    oracle = [{**blank, **row, "row_id": f"f:{n}", "shards": len(row["at"])} for n, row in enumerate(rows)]
    fused = [
        {
            **recording,
            "source_model": "m",
            "trajectory_id": str(number),
            "oracle": {**blank, "status": "not_scored" if recording["oracle_outcome"] is None else "scored"},
            "oracle_rows": [
                f"f:{n}" for n in sorted(recording["rows"]) if n < len(rows) and recording["at"] in rows[n]["at"]
            ],
            "oracle_rows_set_aside": [
                f"f:{n}"
                for n in sorted(recording["aside"] - recording["rows"])
                if n < len(rows) and recording["at"] in rows[n]["at"]
            ],
        }
        for number, recording in enumerate(sessions)
    ]
    shards = [
        ([entry for entry in fused if entry["at"] == shard], [row for row in oracle if shard in row["at"]])
        for shard in range(3)
    ]
    complete_rows = met([(fused, [row | {"shards": 1} for row in oracle])])
    assert met(shards) == complete_rows
    assert sum(row["oracle_rows"] for row in complete_rows[0]) == len(rows)
    assert sum(row["sessions"] for row in complete_rows[0]) == len(sessions)


def met(shards: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]) -> list[list[dict[str, Any]]]:
    """Coverage and UnmatchedRow of these shards."""
    tables = [
        matches(from_records(fused, Fused).lazy(), from_records(rows, OracleRow).lazy(), empty(SourceOutcome).lazy())
        for fused, rows in shards
    ]
    counts, _, opened = (
        pl.concat(conform(table.collect(), record) for table in some)
        for some, record in zip(zip(*tables, strict=True), matches.writes, strict=True)
    )
    return [table.collect().to_dicts() for table in coverage(counts.lazy(), opened.lazy())]
