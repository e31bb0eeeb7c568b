"""Packet: the judge's whole input (paper C.6, T16, T23), and Evidence: the same without oracle, risk and slice."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any, get_args

import polars as pl

from pipeline.canonical import canonical_bytes, sha256_bytes
from pipeline.canonical_rows import canonical_rows
from pipeline.construct.compact import compact
from pipeline.nested import nested
from pipeline.records.base import TRAJECTORY_KEY
from pipeline.records.evidence import AlignedDescriptors
from pipeline.records.oracle import FusedTrajectories
from pipeline.records.packet import (
    TEXTS,
    AnnotationSchemaTarget,
    Evidence,
    Evidences,
    EvidenceStep,
    Packet,
    PacketCut,
    PacketCuts,
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
) -> tuple[Evidences, Packets, PacketIndexes, PacketCuts]:
    """One evidence record and one packet a trajectory, the packet's digest and size, and what was cut out of it.

    A packet holds the fields of T16 and T23; never a label, and no oracle on a step. Where steps and user turns pass
    rules.max_tokens (an estimate), texts are shortened round by round until they fit. `compacted` says that something
    was left out: a packet that is too long and holds no text that gets shorter is whole, and does not fit. Evidence
    keeps the whole text: quotes are checked against what happened, not against what was shown.
    """
    texts = nested(steps, aligned, user_turns, list(EvidenceStep.model_fields))
    base = (
        trajectories.select(*TRAJECTORY_KEY, "num_steps", "truncated", "order_ambiguous")
        .join(texts, on=TRAJECTORY_KEY, how="left", maintain_order="left")
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
    fitted = fit(whole, rules)
    evidence = whole.with_columns(compacted=fitted.compacted).select(list(Evidence.model_fields))
    cuts = from_records(fitted.cuts, PacketCut).lazy()
    return evidence.lazy(), replaced(whole, from_records(fitted.short, Packet)), fitted.index.lazy(), cuts


@dataclass
class Fitted:
    """What fitting packets to the budget comes to: rows of Packet (the compacted ones) and PacketCut, PacketIndex, and
    which packets are compacted."""

    index: pl.DataFrame
    compacted: pl.Series
    short: list[dict[str, Any]] = field(default_factory=list)
    cuts: list[dict[str, Any]] = field(default_factory=list)


def fit(packets: pl.DataFrame, rules: PacketRules) -> Fitted:
    """Every packet against the budget: its digest (over canonical JSON, what a judge is asked about), its estimated
    tokens, and where it is too long the shortened packet."""
    digests, sizes = digested(packets)
    tokens = [rules.tokens(size) for size in sizes]
    fits = [True] * len(tokens)
    long = [place for place, estimate in enumerate(tokens) if estimate > rules.max_tokens]
    short, cuts, places = [], [], []
    for place, bearing in zip(long, bearing_steps(packets["steps"].gather(long), rules), strict=True):
        row = packets.row(place, named=True)
        key = {name: row[name] for name in TRAJECTORY_KEY}
        made = compact(row["steps"], row["user_turns"], bearing, rules)
        tokens[place], fits[place] = made.tokens, made.fits
        if not made.cuts:
            continue
        short.append({**row, "steps": made.steps, "user_turns": made.user_turns, "compacted": True})
        cuts += [{**key, **cut} for cut in made.cuts]
        digests[place] = sha256_bytes(canonical_bytes(short[-1]))
        places.append(place)
    known = pl.lit(True) if rules.unmatched == "exclude" else pl.col("oracle_outcome").is_not_null()
    index = packets.select(
        *TRAJECTORY_KEY,
        packet_sha256=pl.Series(digests, dtype=pl.String),
        to_judge=(pl.col("num_steps") > 0) & known,
        estimated_tokens=pl.Series(tokens, dtype=pl.Int64),
        fits=pl.Series(fits, dtype=pl.Boolean),
    )
    compacted = packets.select(pl.int_range(pl.len()).is_in(places)).to_series()
    return Fitted(index, compacted, short, cuts)


def bearing_steps(lists: pl.Series, rules: PacketRules) -> Iterator[set[int]]:
    """The ids of the steps that bear evidence, of each of these lists of EvidenceStep."""
    for steps in lists:
        yield set(steps.struct.unnest().filter(rules.bears_evidence)["step_id"])


def digested(packets: pl.DataFrame) -> tuple[list[str], list[int]]:
    """The digest of every packet's canonical JSON, and how many bytes of it its user turns and steps are.

    Those two lists hold no number with a fraction, so that polars writes them as canonical_json does, in a quarter of
    the time; what stands around them is short.
    """
    names = packets.columns
    first, last = names.index(TEXTS[0]), names.index(TEXTS[-1])
    texts = written_rows(packets.select(TEXTS))
    heads = canonical_rows(packets.select(names[:first])).cast(pl.Binary)
    tails = canonical_rows(packets.select(names[last + 1 :])).cast(pl.Binary)
    digests = []
    for head, text, tail in zip(heads, texts, tails, strict=True):
        digest = sha256(head[:-1] + b",")
        digest.update(memoryview(text)[1:-1])  # without its braces, and not copied
        digest.update(b"," + tail[1:])
        digests.append(digest.hexdigest())
    return digests, (texts.bin.size() - len('{"user_turns":,"steps":}')).to_list()


def written_rows(rows: pl.DataFrame) -> pl.Series:
    """Each row as JSON, in bytes."""
    return rows.select(pl.struct(pl.all()).struct.json_encode().cast(pl.Binary)).to_series()


def replaced(packets: pl.DataFrame, short: pl.DataFrame) -> pl.LazyFrame:
    """The packets in their order, the shortened ones in the place of the whole."""
    if not short.height:
        return packets.lazy()
    order = packets.lazy().select(TRAJECTORY_KEY)
    rest = packets.lazy().join(short.lazy(), on=TRAJECTORY_KEY, how="anti", maintain_order="left")
    both = pl.concat([rest, short.lazy()])
    return order.join(both, on=TRAJECTORY_KEY, maintain_order="left").select(list(Packet.model_fields))


def event_counts(aligned: pl.LazyFrame) -> pl.LazyFrame:
    """One column a category of T9."""
    return aligned.group_by(TRAJECTORY_KEY, maintain_order=True).agg(
        [(pl.col("event_type") == name).sum().cast(pl.Int64).alias(name) for name in get_args(EventType)]
    )


@cache
def schema_target() -> pl.Expr:
    """annotation_schema_target: schema id and digest of each stage's output."""
    target = {
        name: dict(zip(("schema_id", "sha256"), stage_schema(name), strict=True)) for name in ("a", "b1", "b2", "c")
    }
    AnnotationSchemaTarget.model_validate(target)
    return pl.lit(target)
