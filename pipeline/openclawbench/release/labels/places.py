"""Place: the hash-based decisions on one trajectory's sides. Draw: the decisions that need the places of all.

Only the draw sees every trajectory, and of each only a number. The side in a cut follows from both (`on_sides`).
"""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from openclawbench.base.canonical_json import sha256_text
from openclawbench.records.release import (
    Fingerprints,
    LabelBases,
    LabelPlace,
    LabelPlaces,
    PaperStrata,
    PaperStratum,
    PoolMembers,
    SketchBands,
    Sketches,
)
from openclawbench.records.tiers import NEEDS_REVIEW, STATUSES, UNJUDGED, main_status, status_of
from openclawbench.release.labels.sketches import sketch_bands, sketch_tables
from openclawbench.release.record_key import key_of
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import from_records

IN_POOL, RESERVED = "calibration_pool", "calibration_task"
SIDES = ("train", "test")
CUTS = {"default_cut": "", "paper_cut": "paper_cut/"}  # cut -> its folder in a release
CUT_NAMES = {"default": "default_cut", "paper": "paper_cut"}  # as options and arguments name a cut -> cut
HOLD_OUT = "hold_out"  # folder of the cuts that hold a source model out
HOLD_OUT_PREFIX = f"{HOLD_OUT}/"  # followed by the source model: the name of the cut that holds it out
POOLED = pl.col("in_calibration_pool")
IN_A_CUT = pl.col("paper_cut").is_not_null() | POOLED  # the pool has decided records alone
STRATUM = ["label_status", "source_model", "subset"]
# Columns of the basis that decide a place.
BASIS_COLUMNS = (
    *(*TRAJECTORY_KEY, "subset", "task_digest", "is_anomalous", "quality_tier"),
    *("slice_label", "partial_trial"),
)


@stage(scope="shard")
def place(
    basis: LabelBases, fingerprints: Fingerprints, rules: ReleaseRules
) -> tuple[LabelPlaces, Sketches, SketchBands]:
    """One row per trajectory, sorted by key; the distinct MinHashes of the shard; their rows in the index's bands."""
    sketches = sketch_tables(fingerprints.collect(), rules.duplicates)
    records = basis.select(BASIS_COLUMNS).collect().sort(TRAJECTORY_KEY)
    rows = [place_of(row, rules) for row in records.iter_rows(named=True)]
    places = from_records(rows, LabelPlace).drop("sketch").lazy()
    keyed = places.join(sketches.of_record.lazy(), on=TRAJECTORY_KEY, how="left", maintain_order="left")
    return keyed, sketches.distinct.lazy(), sketch_bands(sketches.distinct, rules.duplicates).lazy()


def place_of(row: Mapping[str, Any], rules: ReleaseRules) -> dict[str, Any]:
    """The columns of LabelPlace but `sketch`. Reserved tasks give the calibration pool its records that pass the oracle
    and are neither in review nor unjudged."""
    key, status, digest = key_of(row), status_of(row["quality_tier"]), row["task_digest"]
    default_place = uniform_hash("default_cut", digest)
    zone = zone_at(default_place, rules)
    decided = decided_status(row) is not None
    is_eligible = (
        status not in (NEEDS_REVIEW, UNJUDGED) and row["slice_label"] in rules.calibration.slices and zone == RESERVED
    )
    return {
        **{name: row[name] for name in (*TRAJECTORY_KEY, "slice_label")},
        "label_status": status,
        "reason": "partial_trial_record" if row["partial_trial"] else None if decided else "no_decision",
        "zone": zone,
        "task": int.from_bytes(bytes.fromhex(sha256_text(digest)[:16]), signed=True),
        "subset": row["subset"] or "",
        "default_place": default_place,
        "paper_place": uniform_hash("paper_cut", *key),
        "calibration_place": uniform_hash("calibration", *key) if is_eligible and not row["partial_trial"] else None,
    }


def uniform_hash(*parts: str) -> float:
    """A number in [0, 1) that depends on the parts only."""
    return int(sha256_text("\0".join(parts))[:13], 16) / 16**13


def zone_at(place: float, rules: ReleaseRules) -> str:
    """train, test, or `calibration_task`, by hash of the task only: reserved tasks at the lower end, test at the upper,
    so that a larger share of either takes tasks only from train."""
    if place >= 1 - rules.test_share:
        return "test"
    return RESERVED if place < rules.calibration.task_share else "train"


def decided_status(row: Mapping[str, Any]) -> str | None:
    """The label_status of a record; None if it has no decision: in review, or unjudged."""
    status = status_of(row["quality_tier"])
    return None if status in (NEEDS_REVIEW, UNJUDGED) and row["is_anomalous"] is None else status


@stage(scope="corpus")
def draw(places: LabelPlaces, rules: ReleaseRules) -> tuple[PaperStrata, PoolMembers]:
    """The strata of the paper cut, each with its last place on the test side, sorted; the calibration pool.

    Test side of the paper cut: ceil(share) of the accepted, of the baseline, and of those that need review, by strata
    of source model and subset, in the order of places. Places have 52 bits; records with the same one are on one side.
    """
    is_decided = pl.col("reason").is_null()
    sizes = places.group_by(STRATUM).agg(size=is_decided.sum()).sort(STRATUM).with_row_index("stratum").collect()
    shares = []
    for status in STATUSES:
        of_status = sizes.filter(pl.col("label_status") == status)
        quota = quotas(
            dict(zip(of_status.select(STRATUM[1:]).rows(), of_status["size"], strict=True)), rules.test_share
        )
        shares.append(of_status.with_columns(quota=pl.Series(quota.values(), dtype=pl.Int64)))
    strata = pl.concat(shares).sort("stratum")
    numbered = places.filter(is_decided).join(sizes.lazy(), on=STRATUM).select("stratum", "paper_place")
    in_order = numbered.collect().sort("stratum", "paper_place")["paper_place"]
    last = pl.when(pl.col("quota") > 0).then(pl.col("size").cum_sum() - pl.col("size") + pl.col("quota") - 1)
    ends = strata.with_columns(last_place=in_order.gather(strata.select(last).to_series()))
    return ends.lazy().select(list(PaperStratum.model_fields)), calibration_pool(places, rules)


def quotas(sizes: dict[tuple[str, str], int], share: float) -> dict[tuple[str, str], int]:
    """Number of test records of each stratum: floors first, then the largest remainders, ceil(share * n) in all."""
    total = math.ceil(round(share * sum(sizes.values()), 9))
    exact = {stratum: share * size for stratum, size in sizes.items()}
    quota_by_stratum = {stratum: int(value) for stratum, value in exact.items()}
    by_remainder = sorted(sizes, key=lambda stratum: (-(exact[stratum] - quota_by_stratum[stratum]), stratum))
    for stratum in by_remainder[: total - sum(quota_by_stratum.values())]:
        quota_by_stratum[stratum] += 1
    return quota_by_stratum


def calibration_pool(places: pl.LazyFrame, rules: ReleaseRules) -> pl.LazyFrame:
    """Keys of the pool: up to the same number of each slice, models in turn, by place within a model."""
    slices, turn = ["slice_label", "source_model"], pl.int_range(pl.len())
    candidates = places.drop_nulls("calibration_place").select(*TRAJECTORY_KEY, "slice_label", "calibration_place")
    in_turn = candidates.sort("calibration_place", "trajectory_id").with_columns(turn=turn.over(slices))
    by_turns = in_turn.sort("slice_label", "turn", "source_model").with_columns(number=turn.over("slice_label"))
    return by_turns.filter(pl.col("number") < rules.calibration.per_slice).select(TRAJECTORY_KEY).sort(TRAJECTORY_KEY)


def on_sides(places: pl.LazyFrame, strata: pl.LazyFrame, pool: pl.LazyFrame) -> pl.LazyFrame:
    """The places with `in_calibration_pool` and the sides in both cuts; near duplicates are not left out yet. No
    record of the pool is on the train side of either (paper E.11)."""
    members = pool.with_columns(in_calibration_pool=pl.lit(True))
    rows = places.join(members, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    rows = rows.join(strata.select(*STRATUM, "last_place"), on=STRATUM, how="left", maintain_order="left")
    in_pool = pl.col("in_calibration_pool").fill_null(False)
    kept_back = pl.when(in_pool).then(pl.lit(IN_POOL)).when(pl.col("zone") == RESERVED).then(pl.lit(RESERVED))
    is_test = (pl.col("paper_place") <= pl.col("last_place")).fill_null(False)
    paper_side = pl.when(is_test).then(pl.lit("test")).when(~in_pool).then(pl.lit("train"))
    return rows.with_columns(in_calibration_pool=in_pool, default_reason=pl.coalesce("reason", kept_back)).with_columns(
        default_cut=pl.when(pl.col("default_reason").is_null()).then("zone"),
        paper_cut=pl.when(pl.col("reason").is_null()).then(paper_side),
        paper_reason=pl.coalesce("reason", pl.when(in_pool & ~is_test).then(pl.lit(IN_POOL))),
    )


def hold_out(model: str) -> pl.Expr:
    """Side of a record if one source model is held out: that model's records are the test side, those of the others the
    train side, without the calibration pool."""
    side = pl.when(pl.col("source_model") == model).then(pl.lit("test")).when(~POOLED).then(pl.lit("train"))
    return pl.when(IN_A_CUT).then(side)


def hold_out_reason() -> pl.Expr:
    """Why a record is on no side if a source model is held out; to be asked of those records alone."""
    return pl.coalesce("paper_reason", pl.lit(IN_POOL))


def status_and_cuts(strata: pl.DataFrame) -> tuple[str, dict[str, pl.Expr]]:
    """The label_status that certificates are about: accepted, or baseline if no row is accepted; and, of both cuts and
    of each hold-out, the side of a record."""
    models = strata["source_model"].unique().sort()
    cuts = {cut: pl.col(cut) for cut in CUTS} | {f"{HOLD_OUT_PREFIX}{model}": hold_out(model) for model in models}
    return main_status(strata["label_status"]), cuts
