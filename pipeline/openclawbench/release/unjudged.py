"""A release that nobody judged: what is known of each record without a label, a tier, a split or a gap."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from openclawbench.errors import UsageError
from openclawbench.records.tiers import UNJUDGED
from openclawbench.release.files.names import MASTER_FILE, REVIEW_FILE, SUMMARY

UNJUDGED_NOTICE = (
    "Nobody has judged these records: they have no label and no side of a split, and this release measures no "
    "outcome-process gap. It holds what is known without a judge: trajectories, steps, evidence, outcomes and risk."
)
NO_RECORD: Mapping[str, Any] = {"label_status": {}, "judge": {}, "quality_tier": {}}
NOT_ASKED = "not_asked"  # name in the summary's group `judge` of records that no judge saw


def is_unjudged(summary: Mapping[str, Any]) -> bool:
    """True if records wait for a judge and none was judged. `summary`: the groups of dataset_summary.json."""
    return names_unjudged(summary["label_status"], summary["judge"])


def names_unjudged(statuses: Collection[str], judges: Collection[str | None]) -> bool:
    """The same of the values of `label_status` and `provenance.judge`."""
    return UNJUDGED in statuses and set(judges) <= {NOT_ASKED, None}


def nobody_judged(root: Path) -> bool:
    """True if the summary of the release in `root` says so; false if it cannot be read, which other checks report."""
    return is_unjudged(summary_of(root))


def refuse_unjudged(root: Path) -> None:
    """Raise UsageError for a release that has no label, with how to get some."""
    if nobody_judged(root):
        raise UsageError(
            f"{root}: nobody has judged these records, so there are no labels. Name a judge: "
            "openclawbench annotate --judge openai --model NAME, and release again."
        )


def summary_of(root: Path) -> Mapping[str, Any]:
    """The groups of the summary that tell; without a record if it cannot be read."""
    try:
        content = json.loads((root / SUMMARY).read_text(encoding="utf-8"))
        return {name: dict(content[name]) for name in NO_RECORD}
    except (OSError, ValueError, LookupError, TypeError):
        return NO_RECORD


def line_files(summary: Mapping[str, Any], of_judged: list[str]) -> list[str]:
    """The JSONL files of a source model in such a release: the master table, and the records that wait for a person,
    where there are any, for a reason that needs no judge; `of_judged` for any other release."""
    if not is_unjudged(summary):
        return of_judged
    return [MASTER_FILE, *([REVIEW_FILE] if summary["quality_tier"] else [])]
