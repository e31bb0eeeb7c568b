"""Differences of trajectories between two sets of tables: risk and its breakdown, slice, onset candidates, packet."""

import polars as pl

from openclawbench.inspect.whatif.change import (
    AFTER,
    Tables,
    as_texts,
    came_or_went,
    change,
    entries,
    list_change,
    number_change,
    pair_rows,
)
from openclawbench.records.packet import Packet, PacketCut, PacketIndex
from openclawbench.records.risk import Onset, OnsetCandidates, Risk, RiskSignals
from openclawbench.tables.record import TRAJECTORY_KEY

SIGNALS = list(RiskSignals.model_fields)
LABELS = ("risk_bucket", "slice_label", "pass_but_high_risk", "fail_but_low_risk")  # counted by former and new value
CANDIDATES = list(OnsetCandidates.model_fields)
RISK_WHATS = ["risk_score", "risk_score_raw", *LABELS, *SIGNALS, "risk_breakdown"]
ONSET_WHATS = [*CANDIDATES, "onset_rules"]
PACKET_WHATS = ["compacted", "fits", "to_judge", "estimated_tokens", "packet_cuts", "packet"]


def of_risk(before: Tables, after: Tables) -> list[pl.LazyFrame]:
    """Changes of score, bucket and slice, with the signals whose contributions differ."""
    pairs = pair_rows(before, after, Risk, TRAJECTORY_KEY)
    paired_parts = pl.col("risk_breakdown").list.concat(pl.col(f"risk_breakdown{AFTER}"))
    signals = paired_parts.list.eval(
        pl.struct(pl.element().struct.field("signal"), pl.element().struct.field("contribution"))
    )
    moved = pl.lit("risk.") + pl.element().filter(pl.element().is_unique()).struct.field("signal").unique(
        maintain_order=True
    )
    pairs = pairs.with_columns(moved_signals=signals.list.eval(moved))
    rules = (pl.col("moved_signals"), pl.col("moved_signals"))
    scores = [number_change(pairs, name, rules) for name in ("risk_score", "risk_score_raw")]
    labels = [change(pairs, name, pl.col(name), pl.col(f"{name}{AFTER}"), rules) for name in LABELS]
    return [*scores, *labels, *of_signals(pairs), list_change(pairs, "risk_breakdown", "risk_breakdown", "other parts")]


def of_signals(pairs: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Changes of the counts behind the score."""
    counts = {
        f"{name}{suffix}": pl.col(f"risk_signals{suffix}").struct.field(name)
        for name in SIGNALS
        for suffix in ("", AFTER)
    }
    counted = pairs.select(*TRAJECTORY_KEY, **counts)
    return [number_change(counted, name) for name in SIGNALS]


def of_onset(before: Tables, after: Tables) -> list[pl.LazyFrame]:
    """Changes of the candidates. A candidate's rule has its name."""
    pairs = pair_rows(before, after, Onset, TRAJECTORY_KEY)
    changed = [of_candidate(pairs, name) for name in CANDIDATES]
    return [*changed, list_change(pairs, "onset_rules", "onset_rules", "other candidates")]


def of_candidate(pairs: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Changes of one candidate: a step, or a list of steps."""
    values = pairs.with_columns(
        pl.col(f"onset_candidates{suffix}").struct.field(name).alias(f"{name}{suffix}") for suffix in ("", AFTER)
    )
    before, after = pl.col(name), pl.col(f"{name}{AFTER}")
    rule = pl.lit([f"onset.{name}"], dtype=pl.List(pl.String()))
    kind = values.collect_schema()[name]
    if isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
        return list_change(values, name, name, "other scores")
    if isinstance(kind, pl.List):
        steps, steps_after = (column.cast(pl.List(pl.String())).list.join(", ") for column in (before, after))
        return change(values, name, steps, steps_after, (rule, rule), pl.lit("other steps"))
    later = pl.when(after > before).then(pl.lit("later")).otherwise(pl.lit("earlier"))
    return change(values, name, before, after, (rule, rule), came_or_went(before, after, later))


def of_packets(before: Tables, after: Tables) -> list[pl.LazyFrame]:
    """Packets with other compaction, whether they fit, and those that a judge would be asked about again."""
    old, new = (tables[Packet].select(*TRAJECTORY_KEY, "compacted") for tables in (before, after))
    compacted = old.join(new, on=TRAJECTORY_KEY, suffix=AFTER, maintain_order="left")
    index = pair_rows(before, after, PacketIndex, TRAJECTORY_KEY)
    short, short_after = (pl.col(f"packet_sha256{suffix}").str.head(12) for suffix in ("", AFTER))
    return [
        change(compacted, "compacted", pl.col("compacted"), pl.col(f"compacted{AFTER}")),
        *(change(index, name, pl.col(name), pl.col(f"{name}{AFTER}")) for name in ("fits", "to_judge")),
        number_change(index, "estimated_tokens"),
        of_cuts(before, after),
        change(index, "packet", short, short_after, None, pl.lit("asked again")),
    ]


def of_cuts(before: Tables, after: Tables) -> pl.LazyFrame:
    """Packets in which other texts are shortened, or the same texts in another way."""
    fields = [name for name in PacketCut.model_fields if name not in TRAJECTORY_KEY]
    old, new = (
        tables[PacketCut].group_by(TRAJECTORY_KEY, maintain_order=True).agg(cuts=pl.struct(fields))
        for tables in (before, after)
    )
    pairs = (
        old.join(new, on=TRAJECTORY_KEY, how="full", coalesce=True, suffix=AFTER)
        .with_columns(pl.col("cuts", f"cuts{AFTER}").fill_null([]))
        .sort(TRAJECTORY_KEY)
    )
    differ = pairs.filter(pl.col("cuts").ne_missing(pl.col(f"cuts{AFTER}")))
    rules = cut_rules("cuts"), cut_rules(f"cuts{AFTER}")
    texts = as_texts(entries(pl.col("cuts"), fields), entries(pl.col(f"cuts{AFTER}"), fields))
    return change(differ, "packet_cuts", *texts, rules, pl.lit("other cuts"))


def cut_rules(name: str) -> pl.Expr:
    """The rounds that cut."""
    return pl.col(name).list.eval(pl.element().struct.field("rule_id").unique(maintain_order=True))
