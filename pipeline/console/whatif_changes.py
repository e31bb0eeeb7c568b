"""Where evidence differs between two sets of tables: one row a changed value of a step or of a trajectory."""

from typing import get_args

import polars as pl

from pipeline.records.base import STEP_KEY, TRAJECTORY_KEY, Record
from pipeline.records.evidence import AlignedDescriptor
from pipeline.records.packet import Packet, PacketIndex
from pipeline.records.risk import Onset, OnsetCandidates, Risk
from pipeline.records.vocabulary import AutoFlag

Tables = dict[type[Record], pl.LazyFrame]
CHANGE = pl.Schema(
    {
        "what": pl.String(),
        "source_model": pl.String(),
        "trajectory_id": pl.String(),
        "step_id": pl.Int64(),  # null: of the whole trajectory
        "before": pl.String(),
        "after": pl.String(),
        "kind": pl.String(),  # what the change is counted as
        "rules_before": pl.List(pl.String()),
        "rules_after": pl.List(pl.String()),
    }
)
# Value of a step -> columns that name the rules behind it.
STEP_VALUES = {
    "event_type": ["event_rule", "alignment_rule"],
    "tool_name": ["alignment_rule"],
    "tool_status": ["status_rule"],
    "side_effect": ["side_effect_rule"],
    "artifact_target": ["event_rule"],
    "state_write_target": ["event_rule"],
}
NAMED = ("event_type", "tool_name", "tool_status", "side_effect")  # counted by what they were and are
RULED = ("event_type", "tool_status", "side_effect")  # told also where another rule gives the same value
CANDIDATES = [name for name in OnsetCandidates.model_fields if name != "step_risk_scores"]  # those follow the score
ORDER = [
    *STEP_VALUES,
    *(f"flag {flag}" for flag in get_args(AutoFlag)),
    *(f"rule of {name}" for name in RULED),
    *("risk_score", "risk_bucket", "slice_label"),
    *CANDIDATES,
    *("compacted", "packet"),
]


def changes(before: Tables, after: Tables) -> pl.DataFrame:
    """Every value that differs, in the columns of CHANGE. Tables that are in neither are not compared."""
    found: list[pl.LazyFrame] = []
    if AlignedDescriptor in after:
        found += of_steps(paired(before, after, AlignedDescriptor, STEP_KEY))
    if Risk in after:
        found += of_risk(paired(before, after, Risk, TRAJECTORY_KEY))
    if Onset in after:
        found += of_onset(paired(before, after, Onset, TRAJECTORY_KEY))
    if Packet in after:
        found += of_packets(before, after)
    if not found:
        return pl.DataFrame(schema=CHANGE)
    return pl.concat(pl.collect_all(found)).sort(STEP_KEY, nulls_last=True, maintain_order=True)


def paired(before: Tables, after: Tables, record: type[Record], key: list[str]) -> pl.LazyFrame:
    """Rows of a table before and after, side by side: the latter's columns end in _after."""
    return before[record].join(after[record], on=key, suffix="_after", maintain_order="left")


def change(
    pairs: pl.LazyFrame,
    what: str,
    before: pl.Expr,
    after: pl.Expr,
    rules: tuple[pl.Expr, pl.Expr] | None = None,
    kind: pl.Expr | None = None,
) -> pl.LazyFrame:
    """The rows in which two values differ."""
    step = "step_id" if "step_id" in pairs.collect_schema() else pl.lit(None, pl.Int64).alias("step_id")
    none = pl.lit([], dtype=pl.List(pl.String()))
    rules_before, rules_after = rules or (none, none)
    return (
        pairs.select(
            pl.lit(what).alias("what"),
            *TRAJECTORY_KEY,
            step,
            before.cast(pl.String).alias("before"),
            after.cast(pl.String).alias("after"),
            (kind if kind is not None else pl.lit(None, pl.String)).alias("kind"),
            rules_before.alias("rules_before"),
            rules_after.alias("rules_after"),
        )
        .filter(pl.col("before").ne_missing(pl.col("after")))
        .with_columns(pl.coalesce("kind", named_kind()).alias("kind"))
    )


def named_kind() -> pl.Expr:
    """The change as "former → new"."""
    return pl.concat_str(pl.col("before").fill_null("-"), pl.lit(" → "), pl.col("after").fill_null("-"))


def came_or_went(before: pl.Expr, after: pl.Expr, otherwise: pl.Expr) -> pl.Expr:
    """A change counted by whether there was and is a value."""
    return (
        pl.when(before.is_null())
        .then(pl.lit("appears"))
        .when(after.is_null())
        .then(pl.lit("disappears"))
        .otherwise(otherwise)
    )


def of_steps(pairs: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Changes of descriptors and flags."""
    found = []
    for name, rules in STEP_VALUES.items():
        before, after = pl.col(name), pl.col(f"{name}_after")
        kind = None if name in NAMED else came_or_went(before, after, pl.lit("another"))
        by = (rule_list(rules, ""), rule_list(rules, "_after"))
        found.append(change(pairs, name, before, after, by, kind))
    return found + [of_flag(pairs, flag) for flag in get_args(AutoFlag)] + [other_rule(pairs, one) for one in RULED]


def other_rule(pairs: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Steps whose value is the same, given by another rule."""
    same = pairs.filter(pl.col(name).eq_missing(pl.col(f"{name}_after")))
    before, after = (rule_list(STEP_VALUES[name], suffix) for suffix in ("", "_after"))
    return change(same, f"rule of {name}", before.list.join(", "), after.list.join(", "), (before, after))


def rule_list(columns: list[str], suffix: str) -> pl.Expr:
    """The rules behind a value. The alignment's counts for event_type only where it changed it."""
    unchanged = pl.col(f"event_type{suffix}") == pl.col(f"previous_event_type{suffix}")
    return pl.concat_list(
        pl.when(~unchanged).then(f"{name}{suffix}")
        if name == "alignment_rule" and len(columns) > 1
        else f"{name}{suffix}"
        for name in columns
    ).list.drop_nulls()


def of_flag(pairs: pl.LazyFrame, flag: str) -> pl.LazyFrame:
    """Steps that get a flag or lose it."""

    def carried(suffix: str) -> pl.Expr:
        return pl.when(pl.col(f"auto_flags{suffix}").list.contains(flag)).then(pl.lit(flag))

    def rules(suffix: str) -> pl.Expr:
        of_it = pl.element().filter(pl.element().struct.field("flag") == flag).struct.field("rule_id")
        return pl.col(f"flag_evidence{suffix}").list.eval(of_it.unique(maintain_order=True))

    before, after = carried(""), carried("_after")
    kind = came_or_went(before, after, pl.lit("another"))
    return change(pairs, f"flag {flag}", before, after, (rules(""), rules("_after")), kind)


def of_risk(pairs: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Changes of score, bucket and slice, with the signals that contribute otherwise."""
    paired_parts = pl.col("risk_breakdown").list.concat(pl.col("risk_breakdown_after"))
    signals = paired_parts.list.eval(
        pl.struct(pl.element().struct.field("signal"), pl.element().struct.field("contribution"))
    )
    pairs = pairs.with_columns(
        moved_signals=signals.list.eval(
            pl.lit("risk.")
            + pl.element().filter(pl.element().is_unique()).struct.field("signal").unique(maintain_order=True)
        )
    )
    score, new_score = pl.col("risk_score"), pl.col("risk_score_after")
    higher = pl.when(new_score > score).then(pl.lit("higher")).otherwise(pl.lit("lower"))
    rules = (pl.col("moved_signals"), pl.col("moved_signals"))
    return [
        change(pairs, "risk_score", score, new_score, rules, higher),
        change(pairs, "risk_bucket", pl.col("risk_bucket"), pl.col("risk_bucket_after"), rules),
        change(pairs, "slice_label", pl.col("slice_label"), pl.col("slice_label_after"), rules),
    ]


def of_onset(pairs: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Changes of the candidates. The rule that made one bears its name."""
    found = []
    for name in CANDIDATES:
        before = pl.col("onset_candidates").struct.field(name)
        after = pl.col("onset_candidates_after").struct.field(name)
        rule = pl.lit([f"onset.{name}"], dtype=pl.List(pl.String()))
        if name.startswith("top_k"):
            before, after = (steps.cast(pl.List(pl.String())).list.join(", ") for steps in (before, after))
            kind = pl.lit("other steps")
        else:
            later = pl.when(after > before).then(pl.lit("later")).otherwise(pl.lit("earlier"))
            kind = came_or_went(before, after, later)
        found.append(change(pairs, name, before, after, (rule, rule), kind))
    return found


def of_packets(before: Tables, after: Tables) -> list[pl.LazyFrame]:
    """Packets that are compacted otherwise, and those that a judge would be asked about again."""
    old, new = (tables[Packet].select(*TRAJECTORY_KEY, "compacted") for tables in (before, after))
    compacted = old.join(new, on=TRAJECTORY_KEY, suffix="_after", maintain_order="left")
    digests = paired(before, after, PacketIndex, TRAJECTORY_KEY)
    short, short_after = (pl.col(f"packet_sha256{suffix}").str.head(12) for suffix in ("", "_after"))
    asked_again = pl.lit("asked again")
    return [
        change(compacted, "compacted", pl.col("compacted"), pl.col("compacted_after")),
        change(digests, "packet", short, short_after, None, asked_again),
    ]
