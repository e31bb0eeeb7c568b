"""Counts of shards add up to the counts of the corpus, however it is cut into shards."""

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.records.packet import EventTypeCounts
from openclawbench.records.release import LabelBasis
from openclawbench.release.writer.summarize import count, summarize
from openclawbench.tables.schema import from_records

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
    tables = [from_records([one for at, one in rows if at == shard], LabelBasis).lazy() for shard in range(4)]
    summed = summarize(pl.concat(count(table).collect() for table in tables).lazy()).collect()
    assert summed.equals(count(pl.concat(tables)).collect())
    trajectories = summed.filter(pl.col("group") == "totals", pl.col("name") == "trajectories")
    assert trajectories["count"].sum() == len(rows)
