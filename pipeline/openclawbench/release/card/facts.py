"""Every number and name that the card shows, read from the released files only."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.records.tiers import ACCEPTED, BASELINE, NEEDS_REVIEW, TIERS
from openclawbench.release.files.jsonl_files import open_lines
from openclawbench.release.files.names import MASTER_FILE, MODEL_SUMMARY, ROOT, STAGES, SUMMARY, models_of
from openclawbench.release.files.parquet import shards_of
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.human_audited import human_counts
from openclawbench.release.labels.labels import POOL_FILE, SPLITS_FILE
from openclawbench.release.labels.places import CUTS, SIDES
from openclawbench.release.privacy.policy import RULES_FILE
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.widened import widened
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.statistics.files import DATA as STATISTICS_FILE
from openclawbench.release.unjudged import is_unjudged

Facts = dict[str, Any]


def facts(root: Path) -> Facts:
    """The facts that the card shows of a release.

    corpus: dataset_summary.json; is_unjudged: whether nobody judged; gap: headline numbers of the corrected gap;
    models: one row per source model; labels: one row per cut and side; left_out: cut -> reason -> count; pool: slice ->
    count; made_by: values of `provenance` -> records; human: verdicts of people, one row per label_status; judges:
    those of the data package with certificates;
    widened: what the rules of privacy let pass and the program's own do not;
    collected: source formats and the first and last time of a session (UTC), null if no session has a time.
    """
    models = models_of(root)
    sections = read_json_file(root / STATISTICS_FILE)["sections"]
    records = master(root, models)
    corpus = read_json_file(root / SUMMARY)
    return {
        "corpus": corpus,
        "is_unjudged": is_unjudged(corpus),
        "gap": sections["corrected_gap"]["facts"],
        "models": [model_row(root, model, records) for model in models],
        "steps": records["steps"].sum(),
        **(NO_SPLITS if is_unjudged(corpus) else facts_of_splits(root)),
        "made_by": {name: sums_of(records, name) for name in MADE_BY},
        "human": human_counts(root),
        "judges": read_json_file(root / PACKAGE)["provenance"]["judges"],
        "widened": widened(PrivacyRules.checked(read_json_file(root / RULES_FILE), root / RULES_FILE)),
        "collected": {
            "formats": sums_of(records, "source_format"),
            "first": records["first"].min(),
            "last": records["last"].max(),
        },
    }


def facts_of_splits(root: Path) -> Facts:
    """Of the facts those about label files."""
    pool = pl.read_parquet(root / typed_file(POOL_FILE), glob=False, columns=["slice_label"])
    return {
        "labels": [label_row(root, cut, side) for cut in CUTS for side in SIDES],
        "leakage": {cut: read_json_file(root / SPLITS_FILE)["cuts"][cut] for cut in CUTS},
        "left_out": {cut: left_out(root / f"{folder}label_exclusions.jsonl") for cut, folder in CUTS.items()},
        "pool": counts(pool["slice_label"]),
    }


NO_SPLITS: Facts = {"labels": [], "leakage": {}, "left_out": {}, "pool": {}}  # of a release that nobody judged
SAID = pl.col("provenance")
NO_ROWS = {"rows": 0, "is_anomalous": 0, "scoreable": 0}  # of a label_status that a file lacks
COUNTED = {"records": pl.Int64, "steps": pl.Int64, "first": pl.String, "last": pl.String}
MADE_BY: dict[str, pl.Expr] = {
    **{name: SAID.struct[name] for name in ("judge", "judge_model")},
    **{f"prompt_{name}": SAID.struct["prompt_versions"].struct[name] for name in STAGES},
    **{name: SAID.struct[name] for name in ("rules_version", "schema_version")},
}


def master(root: Path, models: list[str]) -> pl.DataFrame:
    """Records of the master tables counted by source model, format and what made their label: columns of these,
    records, steps, first and last time."""
    files = [path for model in models for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}")]
    time = pl.col("trace_summary").struct
    kinds = {"source_model": pl.col("source_model"), "source_format": pl.col("source_format")} | MADE_BY
    numbers = {"steps": pl.col("num_steps"), "first": time["started_at"], "last": time["ended_at"]}
    sums = [pl.col("steps").sum(), pl.col("first").min(), pl.col("last").max()]
    parts = [pl.DataFrame(schema={**dict.fromkeys(kinds, pl.String), **COUNTED})]
    for path in files:
        rows = pl.scan_parquet(path, glob=False).select(**kinds, **numbers).group_by(*kinds)
        parts.append(rows.agg(pl.len().cast(pl.Int64).alias("records"), *sums).collect(engine="streaming"))
    return pl.concat(parts).group_by(*kinds).agg(pl.col("records").sum(), *sums)


def model_row(root: Path, model: str, records: pl.DataFrame) -> Facts:
    """Counts of one source model."""
    summary = read_json_file(root / ROOT / model / MODEL_SUMMARY)
    tiers = summary["quality_tier"]
    return {
        "source_model": model,
        "trajectories": summary["totals"]["trajectories"],
        "steps": records.filter(pl.col("source_model") == model)["steps"].sum(),
        **{tier: tiers.get(tier, 0) for tier in TIERS},
        **{name: summary["totals"][name] for name in ("anomalous_accepted", "anomalous_baseline")},
    }


def label_row(root: Path, cut: str, side: str) -> Facts:
    """Counts of one label file."""
    path = root / f"{CUTS[cut]}silver_{side}_labels.parquet"
    sums = pl.len().alias("rows"), pl.col("is_anomalous").sum(), pl.col("scoreable").sum()
    counted = pl.scan_parquet(path, glob=False).group_by("label_status").agg(*sums).collect(engine="streaming")
    by_status = {row["label_status"]: row for row in counted.iter_rows(named=True)}
    accepted, baseline, review = (by_status.get(name, NO_ROWS) for name in (ACCEPTED, BASELINE, NEEDS_REVIEW))
    return {
        "cut": cut,
        "side": side,
        ACCEPTED: accepted["rows"],
        "anomalous": accepted["is_anomalous"],
        "scoreable": accepted["scoreable"],
        BASELINE: baseline["rows"],
        "baseline_anomalous": baseline["is_anomalous"],
        NEEDS_REVIEW: review["rows"],
    }


def left_out(path: Path) -> dict[str, int]:
    """Records that are in no label file of a cut, by reason."""
    counts_by_reason: dict[str, int] = {}
    with open_lines(path) as file:
        for line in file:
            reason = json.loads(line)["reason"]
            counts_by_reason[reason] = counts_by_reason.get(reason, 0) + 1
    return dict(sorted(counts_by_reason.items()))


def counts(values: pl.Series) -> dict[str, int]:
    """Value -> records, nulls left out, sorted by value."""
    counted = values.drop_nulls().value_counts().sort(values.name)
    return dict(counted.iter_rows())


def sums_of(records: pl.DataFrame, name: str) -> dict[str, int]:
    """Value of a column -> records, nulls left out, sorted by value. `records`: master()."""
    return dict(records.drop_nulls(name).group_by(name).agg(pl.col("records").sum()).sort(name).iter_rows())


def read_json_file(path: Path) -> Any:
    """A JSON file of the release."""
    return json.loads(path.read_text(encoding="utf-8"))
