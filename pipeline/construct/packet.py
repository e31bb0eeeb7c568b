"""Packet: the judge's whole input (paper C.6, T16, T23), and Evidence: the same without oracle, risk and slice."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec
import polars as pl

from pipeline.canonical import canonical_bytes, sha256_bytes
from pipeline.construct.compact import compact
from pipeline.records.base import STEP_KEY, TRAJECTORY_KEY
from pipeline.records.evidence import AlignedDescriptors
from pipeline.records.oracle import FusedTrajectories
from pipeline.records.packet import (
    AnnotationSchemaTarget,
    Evidence,
    Evidences,
    EvidenceStep,
    Packet,
    PacketCut,
    PacketCuts,
    PacketIndex,
    PacketIndexes,
    Packets,
)
from pipeline.records.risk import Onsets, Risks
from pipeline.records.session import Steps, Trajectories, UserTurns
from pipeline.records.vocabulary import EventType
from pipeline.rules.packet import PacketRules
from pipeline.schemas import stage_schema
from pipeline.stage import stage
from pipeline.tables import conform, from_records

TEXTS = ["user_turns", "steps"]  # the columns of a packet that are long
DESCRIPTORS = ["event_type", "tool_name", "tool_status", "side_effect", "artifact_target", "state_write_target"]


@stage(scope="shard")
def packet(
    trajectories: Trajectories,
    steps: Steps,
    user_turns: UserTurns,
    aligned: AlignedDescriptors,
    fused: FusedTrajectories,
    risks: Risks,
    onsets: Onsets,
    rules: PacketRules,
) -> tuple[Packets, Evidences, PacketIndexes, PacketCuts]:
    """One packet and one evidence record a trajectory, the packet's digest and size, and what was cut out of it.

    A packet holds the fields of T16 and T23; never a label, and no oracle on a step. Where steps and user turns pass
    rules.max_tokens (an estimate), texts are shortened round by round until they fit, and `compacted` is set. Evidence
    keeps the whole text: quotes are checked against what happened, not against what was shown.
    """
    full = steps.join(aligned.select(*STEP_KEY, *DESCRIPTORS, "auto_flags"), on=STEP_KEY, maintain_order="left")
    bearing = full.filter(rules.bears_evidence).group_by(TRAJECTORY_KEY).agg(bearing="step_id")
    base = (
        trajectories.select(*TRAJECTORY_KEY, "num_steps", "truncated", "order_ambiguous")
        .join(nest(full), on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .join(turns(user_turns), on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .join(event_counts(aligned), on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .with_columns(
            compacted=pl.lit(False),
            steps=pl.col("steps").fill_null([]),
            user_turns=pl.col("user_turns").fill_null([]),
            event_type_counts=pl.struct([pl.col(name).fill_null(0) for name in get_args(EventType)]),
        )
    )
    context = (
        fused.select(*TRAJECTORY_KEY, "subset", "oracle_outcome")
        .join(risks, on=TRAJECTORY_KEY, maintain_order="left")
        .join(onsets.select(*TRAJECTORY_KEY, "onset_candidates"), on=TRAJECTORY_KEY, maintain_order="left")
    )
    packets = (
        base.join(context, on=TRAJECTORY_KEY, maintain_order="left")
        .with_columns(annotation_schema_target=schema_target())
        .select(list(Packet.model_fields))
        .collect()
    )
    whole = conform(packets, Packet)
    fitted = fit(whole, {tuple(key): set(ids) for *key, ids in bearing.collect().iter_rows()}, rules)
    short = from_records(fitted.short, Packet)
    flags = short.lazy().select(*TRAJECTORY_KEY, short=pl.lit(True))
    evidence = (
        whole.lazy()
        .join(flags, on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .with_columns(compacted=pl.col("short").fill_null(False))
        .select(list(Evidence.model_fields))
    )
    return replaced(whole, short), evidence, from_records(fitted.index, PacketIndex).lazy(), fitted.cut_table()


@dataclass
class Fitted:
    """What fitting packets to the budget comes to: rows of Packet (the compacted ones), PacketIndex and PacketCut."""

    short: list[dict[str, Any]] = field(default_factory=list)
    index: list[dict[str, Any]] = field(default_factory=list)
    cuts: list[dict[str, Any]] = field(default_factory=list)

    def cut_table(self) -> pl.LazyFrame:
        """The cuts as a table."""
        return from_records(self.cuts, PacketCut).lazy()


def fit(packets: pl.DataFrame, bearing: dict[tuple[str, ...], set[int]], rules: PacketRules) -> Fitted:
    """Every packet against the budget: its digest (over canonical JSON, what a judge is asked about), its estimated
    tokens, and where it is too long the shortened packet. `bearing`: ids of a trajectory's steps that bear evidence."""
    found = Fitted()
    for place, written in enumerate(with_written_texts(packets)):
        key = {name: written[name] for name in TRAJECTORY_KEY}
        tokens, fits = rules.tokens(sum(len(bytes(written[name])) for name in TEXTS)), True
        shown: dict[str, Any] = written
        if tokens > rules.max_tokens:
            row = packets.row(place, named=True)
            made = compact(row["steps"], row["user_turns"], bearing.get(tuple(key.values()), set()), rules)
            tokens, fits = made.tokens, made.fits
            shown = {**row, "steps": made.steps, "user_turns": made.user_turns, "compacted": True}
            found.short.append(shown)
            found.cuts += [{**key, **cut} for cut in made.cuts]
        known = written["oracle_outcome"] is not None or rules.unmatched == "exclude"
        digest = sha256_bytes(canonical_bytes(shown))
        asked = {"packet_sha256": digest, "to_judge": written["num_steps"] > 0 and known}
        found.index.append({**key, **asked, "estimated_tokens": tokens, "fits": fits})
    return found


def with_written_texts(packets: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The packets as plain data, user turns and steps as the JSON text that canonical_json would write of them: they
    hold no number with a fraction, and polars writes the rest as it does, in a quarter of the time."""
    columns = {name: written_lists(packets[name]) for name in TEXTS}
    for place, row in enumerate(packets.drop(TEXTS).iter_rows(named=True)):
        texts = {name: msgspec.Raw(columns[name][place]) for name in TEXTS}
        yield {name: texts[name] if name in texts else row[name] for name in packets.columns}


def written_lists(lists: pl.Series) -> list[bytes]:
    """Each list of a column as JSON."""
    around = len(f'{{"{lists.name}":')
    objects = lists.to_frame().select(pl.struct(pl.all()).struct.json_encode().cast(pl.Binary)).to_series()
    return [text[around:-1] for text in objects]


def replaced(packets: pl.DataFrame, short: pl.DataFrame) -> pl.LazyFrame:
    """The packets in their order, the shortened ones in the place of the whole."""
    if not short.height:
        return packets.lazy()
    order = packets.lazy().select(TRAJECTORY_KEY)
    rest = packets.lazy().join(short.lazy(), on=TRAJECTORY_KEY, how="anti", maintain_order="left")
    both = pl.concat([rest, short.lazy()])
    return order.join(both, on=TRAJECTORY_KEY, maintain_order="left").select(list(Packet.model_fields))


def nest(steps: pl.LazyFrame) -> pl.LazyFrame:
    """Steps as one list of EvidenceStep structs a trajectory, in the order of step_id."""
    fields = list(EvidenceStep.model_fields)
    return (
        steps.sort(STEP_KEY, maintain_order=True)
        .group_by(TRAJECTORY_KEY, maintain_order=True)
        .agg(steps=pl.struct(fields))
    )


def turns(user_turns: pl.LazyFrame) -> pl.LazyFrame:
    """User turns as the judge reads them: own words, or the text as written where no person speaks."""
    text = pl.when(pl.col("text") == "").then(pl.col("raw_text")).otherwise(pl.col("text"))
    return user_turns.group_by(TRAJECTORY_KEY, maintain_order=True).agg(
        user_turns=pl.struct("user_turn", "kinds", text=text)
    )


def event_counts(aligned: pl.LazyFrame) -> pl.LazyFrame:
    """One column a category of T9."""
    return aligned.group_by(TRAJECTORY_KEY, maintain_order=True).agg(
        [(pl.col("event_type") == name).sum().cast(pl.Int64).alias(name) for name in get_args(EventType)]
    )


def schema_target() -> pl.Expr:
    """annotation_schema_target: schema id and digest of each stage's output."""
    target = {
        name: dict(zip(("schema_id", "sha256"), stage_schema(name), strict=True)) for name in ("a", "b1", "b2", "c")
    }
    AnnotationSchemaTarget.model_validate(target)
    return pl.lit(target)
