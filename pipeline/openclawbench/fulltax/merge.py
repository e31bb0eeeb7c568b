"""Merge: one record a trajectory, label beside context (paper T32, T38). Oracle and risk are only copied here."""

import polars as pl

from openclawbench.records.fulltax import Annotations
from openclawbench.records.json_schema import SCHEMA_VERSION
from openclawbench.records.oracle import FusedTrajectories
from openclawbench.records.packet import Evidences
from openclawbench.records.release import LabelBases, LabelBasis, Master, Masters
from openclawbench.records.risk import Onsets, Risks
from openclawbench.records.session import TraceSummaries, Trajectories
from openclawbench.records.tiers import status
from openclawbench.rules.loading.rule_book import RuleBook
from openclawbench.runtime.stage import stage
from openclawbench.tables.record import TRAJECTORY_KEY


@stage(scope="shard")
def merge(
    trajectories: Trajectories,
    summaries: TraceSummaries,
    evidence: Evidences,
    fused: FusedTrajectories,
    risks: Risks,
    onsets: Onsets,
    annotations: Annotations,
    book: RuleBook,
) -> tuple[Masters, LabelBases]:
    """The merged records, and the columns of them from which splits and summaries are made."""
    shared = ["num_steps", "truncated", "order_ambiguous"]
    context = trajectories.drop(*shared, "subset", "task_id", "attempt")
    provenance = pl.col("provenance").struct
    merged = (
        context.join(summaries, on=TRAJECTORY_KEY, maintain_order="left")
        .join(evidence, on=TRAJECTORY_KEY, maintain_order="left")
        .join(fused, on=TRAJECTORY_KEY, maintain_order="left")
        .join(risks, on=TRAJECTORY_KEY, maintain_order="left")
        .join(onsets, on=TRAJECTORY_KEY, maintain_order="left")
        .join(annotations, on=TRAJECTORY_KEY, maintain_order="left")
        .with_columns(
            status(),
            stages=pl.struct(a="stage_a", b1="stage_b1", b2="stage_b2", c="stage_c"),
            provenance=pl.struct(
                provenance.field("judge"),
                provenance.field("judge_model"),
                provenance.field("prompt_versions"),
                schema_version=pl.lit(SCHEMA_VERSION),
                rules_version=pl.lit(book.version),
                packet_sha256=provenance.field("packet_sha256"),
                usage=provenance.field("usage"),
                cost_usd=provenance.field("cost_usd"),
                request_ids=provenance.field("request_ids"),
            ),
        )
    )
    return merged.select(list(Master.model_fields)), basis(merged)


def basis(merged: pl.LazyFrame) -> pl.LazyFrame:
    """Columns of LabelBasis, from those of a merged record and `completeness`. task_digest identifies the task: by its
    id, or by the user turns where there is none."""
    turns = pl.col("user_turns").list.eval(pl.element().struct.field("text")).list.join("\n")
    prompts = pl.col("provenance").struct.field("prompt_versions").struct
    return merged.with_columns(
        task_digest=pl.coalesce(pl.lit("task:") + pl.col("task_id"), pl.lit("turns:") + turns, pl.lit("none")),
        repair_rules=pl.col("repairs").list.eval(pl.element().struct.field("rule_id")),
        **{f"asked_{name}": prompts.field(name).is_not_null() for name in ("a", "b1", "b2", "c")},
        route_label=pl.col("stages").struct.field("a").struct.field("route_label"),
        partial_trial=(pl.col("completeness") == "partial").fill_null(False),
        incomplete=pl.col("compacted") | pl.col("truncated"),
        judge=pl.col("provenance").struct.field("judge"),
        judge_model=pl.col("provenance").struct.field("judge_model"),
    ).select(list(LabelBasis.model_fields))
