"""Names of the files of a release (paper T37)."""

from pathlib import Path

from openclawbench.records.tiers import ACCEPTED, BASELINE, BASELINE_TIER, HIGH, REPAIRED, REVIEW

ROOT = "fulltax_prod_v1"
TIER_FILES = {
    HIGH: "accepted_main_all.jsonl",
    REPAIRED: "accepted_repaired_all.jsonl",
    BASELINE_TIER: "accepted_baseline_all.jsonl",
    REVIEW: "review_or_unresolved_all.jsonl",
}
MASTER_FILE = "master_table_all.jsonl"
POSITIVES_FILE = "positives_structured_all.jsonl"
POSITIVES_FILES = {ACCEPTED: POSITIVES_FILE, BASELINE: "positives_baseline_all.jsonl"}  # label_status -> its anomalous
REVIEW_FILE = TIER_FILES[REVIEW]
STAGES = ("a", "b1", "b2", "c")


def stage_raw_file(stage_name: str, annotation_pass: int = 1) -> str:
    """stage_<stage>_raw_pass<N>.jsonl."""
    return f"stage_{stage_name}_raw_pass{annotation_pass}.jsonl"


LINE_FILES = [MASTER_FILE, *TIER_FILES.values(), *POSITIVES_FILES.values(), *map(stage_raw_file, STAGES)]
SECOND = 2  # the second annotation pass
RAW_FILES = [stage_raw_file(name, SECOND) for name in STAGES]
REFERENCE_FILE = "reference_pass_labels.jsonl"
BOTH_FILE = "both_high_confidence.jsonl"
SUMMARY, MODEL_SUMMARY = "dataset_summary.json", "dataset_summary_all.json"


def both_side_file(folder: str, side: str) -> str:
    """The file of the rows with high confidence in both passes, for one side of the cut with this folder."""
    return f"{folder}{BOTH_FILE.removesuffix('.jsonl')}_{side}.parquet"


def models_of(root: Path) -> list[str]:
    """Source models of a release; empty if it has no sessions."""
    folder = root / ROOT
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
