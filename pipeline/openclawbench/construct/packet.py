"""Packet: the judge's whole input (paper C.6, T16, T23), and Evidence: the same without oracle, risk and slice."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, get_args

import polars as pl

from openclawbench.base.canonical_json import canonical_bytes, sha256_bytes
from openclawbench.construct.shorten_packet import compact
from openclawbench.records.evidence import AlignedDescriptors
from openclawbench.records.json_schema import stage_schema
from openclawbench.records.oracle import FusedTrajectories
from openclawbench.records.packet import (
    PRIORS,
    TEXTS,
    AnnotationSchemaTarget,
    EventTypeCounts,
    Evidence,
    Evidences,
    EvidenceStep,
    LanguageCounts,
    Packet,
    PacketCut,
    PacketCuts,
    PacketIndexes,
    Packets,
    StepLanguage,
)
from openclawbench.records.risk import Onsets, Risks
from openclawbench.records.session import Steps, Trajectories, UserTurns
from openclawbench.records.vocabulary import EventType
from openclawbench.rules.construct.packet import PacketRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.canonical_rows import canonical_rows
from openclawbench.tables.group_by_trajectory import group_by_trajectory
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.nested_steps import nest_steps_and_turns
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY, Record
from openclawbench.tables.schema import column, conform, from_records, schema


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
    was left out: a packet that is too long and holds no text that gets shorter is whole, and does not fit. With
    rules.blind a packet holds no outcome, risk, slice or onset candidates (PRIORS). Evidence
    keeps the whole text: quotes are checked against what happened, not against what was shown.
    """
    rows = trajectories.select(*TRAJECTORY_KEY, "num_steps", "truncated", "order_ambiguous")
    for each in (fused.select(*TRAJECTORY_KEY, "subset", "oracle_outcome"), risks, onsets):
        rows = rows.join(each, on=TRAJECTORY_KEY, maintain_order="left")
    fields = list(EvidenceStep.model_fields)
    step_rows = add_descriptors(steps, aligned, fields)
    counts = (event_counts(aligned), *languages(aligned))
    for table in (*counts, *nest_steps_and_turns(step_rows, aligned, user_turns, fields)):
        rows = rows.join(table, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    packets = rows.with_columns(
        pl.col(*TEXTS, "languages").fill_null([]),
        compacted=pl.lit(False),
        event_type_counts=count_struct(EventTypeCounts),
        language_counts=count_struct(LanguageCounts),
        annotation_schema_target=schema_target(),
    ).collect()
    has_outcome = pl.lit(True) if rules.unmatched == "exclude" else pl.col("oracle_outcome").is_not_null()
    to_judge = packets.select((pl.col("num_steps") > 0) & has_outcome).to_series()
    if rules.blind:
        packets = packets.with_columns(pl.lit(None).alias(name) for name in PRIORS)
    full_packets = conform(packets.select(list(Packet.model_fields)), Packet)
    fitted = fit_to_budget(full_packets, to_judge, rules)
    shown = conform(packets.with_columns(compacted=fitted.compacted).select(list(Evidence.model_fields)), Evidence)
    evidence = shown.with_columns(full_packets[name] for name in TEXTS)
    packets = replace_packets(full_packets, fitted.compacted, fitted.short)
    return evidence.lazy(), packets.lazy(), fitted.index.lazy(), from_records(fitted.cuts, PacketCut).lazy()


def add_descriptors(steps: pl.LazyFrame, aligned: pl.LazyFrame, fields: list[str]) -> pl.LazyFrame:
    """The steps with the given fields; a field that steps lack comes from their descriptors."""
    step_rows = steps.select(name for name in steps.collect_schema().names() if name in {*STEP_KEY, *fields}).collect()
    others = [name for name in fields if name not in step_rows.columns]
    return lookup_join(step_rows, aligned.select(*STEP_KEY, *others).collect(), STEP_KEY).lazy()


@dataclass
class FittedPackets:
    """The result of fitting packets to the budget. `index`: rows of PacketIndex; `compacted`: which packets were
    shortened; `short`: those, as rows of Packet; `cuts`: rows of PacketCut."""

    index: pl.DataFrame
    compacted: pl.Series
    short: pl.DataFrame
    cuts: list[dict[str, Any]]


def fit_to_budget(packets: pl.DataFrame, to_judge: pl.Series, rules: PacketRules) -> FittedPackets:
    """Shorten every packet that exceeds the token budget. Gives each packet's digest (over its canonical JSON, which is
    what a judge is asked about) and its estimated tokens."""
    digests, sizes = digest_packets(packets)
    tokens = [rules.tokens(size) for size in sizes]
    fits = [True] * len(tokens)
    long = [place for place, estimate in enumerate(tokens) if estimate > rules.max_tokens]
    bearing = bearing_steps(packets, long, rules)
    cuts, texts = [], {}
    for place in long:
        row = packets.row(place, named=True)
        compact_packet = compact(row["steps"], row["user_turns"], bearing.get(place, set()), rules)
        tokens[place], fits[place] = compact_packet.tokens, compact_packet.fits
        if not compact_packet.cuts:
            continue
        texts[place] = {"steps": compact_packet.steps, "user_turns": compact_packet.user_turns}
        cuts += [{name: row[name] for name in TRAJECTORY_KEY} | cut for cut in compact_packet.cuts]
        digests[place] = sha256_bytes(canonical_bytes({**row, **texts[place], "compacted": True}))
    index = packets.select(
        *TRAJECTORY_KEY,
        packet_sha256=pl.Series(digests, dtype=pl.String),
        to_judge=to_judge,
        estimated_tokens=pl.Series(tokens, dtype=pl.Int64),
        fits=pl.Series(fits, dtype=pl.Boolean),
    )
    compacted = pl.Series([place in texts for place in range(packets.height)], dtype=pl.Boolean)
    return FittedPackets(index, compacted, replace_texts(packets[list(texts)], list(texts.values())), cuts)


def bearing_steps(packets: pl.DataFrame, places: list[int], rules: PacketRules) -> dict[int, set[int]]:
    """Of the packets at these places the ids of the steps that bear evidence, where there is any."""
    if not places:
        return {}
    steps = packets.select("steps", place=pl.int_range(pl.len()))[places].explode("steps").unnest("steps")
    bearing = steps.filter(rules.bears_evidence).group_by("place").agg("step_id")
    return {place: set(ids) for place, ids in bearing.iter_rows()}


def replace_texts(packets: pl.DataFrame, texts: list[dict[str, Any]]) -> pl.DataFrame:
    """These packets with these steps and user turns."""
    kinds = schema(Packet)
    short = (column(name, [text[name] for text in texts], kinds[name]) for name in TEXTS)
    return packets.with_columns(*short, compacted=pl.lit(True)) if texts else packets


def digest_packets(packets: pl.DataFrame) -> tuple[list[str], list[int]]:
    """The digest of every packet's canonical JSON, and the number of its bytes that are user turns and steps.

    polars writes those two lists as canonical_json does, since no fraction is in them, in a quarter of the time. They
    are nearly all of a packet, so they are taken out of the table one at a time.
    """
    names = packets.columns
    first, last = names.index(TEXTS[0]), names.index(TEXTS[-1])
    heads = canonical_rows(packets.select(names[:first]))
    texts = json_rows(packets.select(TEXTS))
    tails = canonical_rows(packets.select(names[last + 1 :]))
    digests = []
    for row, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        digest = sha256(f"{head[:-1]},".encode())
        digest.update(texts[row][1:-1])  # without its braces
        digest.update(f",{tail[1:]}".encode())
        digests.append(digest.hexdigest())
    return digests, (texts.bin.size() - len('{"user_turns":,"steps":}')).to_list()


def json_rows(rows: pl.DataFrame) -> pl.Series:
    """Each row as JSON, in bytes."""
    return rows.select(pl.struct(pl.all()).struct.json_encode().cast(pl.Binary)).to_series()


def replace_packets(packets: pl.DataFrame, compacted: pl.Series, short: pl.DataFrame) -> pl.DataFrame:
    """The packets in their order, the shortened ones in the place of the whole."""
    pieces, after = [], 0
    for number, place in enumerate(compacted.arg_true()):
        pieces += [packets[after:place], short[number : number + 1]]
        after = place + 1
    return pl.concat([*pieces, packets[after:]])


def event_counts(aligned: pl.LazyFrame) -> pl.LazyFrame:
    """One column per category of T9."""
    names = get_args(EventType)
    counts = ((pl.col("event_type") == name).sum().cast(pl.Int64).alias(name) for name in names)
    return group_by_trajectory(aligned, *counts)


def languages(aligned: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Of each trajectory languages, a list of StepLanguage, and one column per number of LanguageCounts."""
    coverage = pl.col("languages").list.eval(pl.element().struct.field("coverage"))
    kind = pl.lit("no_words")
    for name in reversed([name for name in LanguageCounts.model_fields if name != "no_words"]):
        kind = pl.when(coverage.list.contains(name)).then(pl.lit(name)).otherwise(kind)
    counts = ((pl.col("kind") == name).sum().cast(pl.Int64).alias(name) for name in LanguageCounts.model_fields)
    each = aligned.select(*STEP_KEY, "languages").explode("languages").drop_nulls("languages").unnest("languages")
    languages = group_by_trajectory(each, languages=pl.struct(list(StepLanguage.model_fields)))
    return languages, group_by_trajectory(aligned.select(*TRAJECTORY_KEY, kind=kind), *counts)


def count_struct(record: type[Record]) -> pl.Expr:
    """A struct of numbers, of the columns with their names; 0 where a trajectory has no steps."""
    return pl.struct([pl.col(name).fill_null(0) for name in record.model_fields])


@cache
def schema_target() -> pl.Expr:
    """annotation_schema_target: schema id and digest of each stage's output."""
    target = {
        name: dict(zip(("schema_id", "sha256"), stage_schema(name), strict=True)) for name in ("a", "b1", "b2", "c")
    }
    AnnotationSchemaTarget.model_validate(target)
    return pl.lit(target)
