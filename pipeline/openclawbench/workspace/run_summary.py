"""The result of a run in sentences and counts: warnings, splits, and why a person is needed."""

from typing import Any

import polars as pl

from openclawbench.base.terminal import pluralize
from openclawbench.construct.normalize.messages import ARCHIVE
from openclawbench.flow import all_stages
from openclawbench.records.release import LabelAssignment, LabelPlace, SummaryCount
from openclawbench.release.unjudged import is_unjudged
from openclawbench.release.writer.summarize import summary
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.workspace.file_outcomes import UNUSED
from openclawbench.workspace.settings import Settings
from openclawbench.workspace.split_counts import count_splits, split_cautions
from openclawbench.workspace.update import RunReport

ARCHIVES_NAMED = 3  # of those beside sessions
CORPUS_STAGES = {stage.name for stage in all_stages(second_pass=True) if stage.scope != "shard"}


def complaints(report: RunReport) -> list[str]:
    """A sentence for each input that a person must look at."""
    quarantined = report.noted.filter(pl.col("disposition") == "quarantined").sort("path")
    sentences = [f"{row['reason']}: {row['message']}" for row in quarantined.iter_rows(named=True)]
    if not report.sessions:
        sentences.append("no_sessions: no file here is a session. Put *.jsonl files under RAW/<source_model>/.")
    return sentences + [f"{fault['reason']}: {fault['message']}" for fault in report.faults]


def warnings(report: RunReport) -> list[str]:
    """A sentence for each remark on the outcomes, and for each fault that did not stop a file."""
    notes = [f"{note['reason']}: {note['message']}" for note in report.notes]
    return notes + file_warnings(report.noted)


def file_warnings(files: pl.DataFrame) -> list[str]:
    """A sentence for each unusable file beside the sessions, and for each fault that did not stop a session. `files`:
    noted_files()."""
    rows = unusable_context(files)
    archives = [row for row in rows if row["reason"] == ARCHIVE]
    named = archives[:ARCHIVES_NAMED]
    unusable = [f"{row['reason']}: {row['message']}" for row in rows if row["reason"] != ARCHIVE or row in named]
    if left_out := len(archives) - len(named):
        unusable.append(f"{ARCHIVE}: {left_out} more archives; `openclawbench status` lists them")
    return unusable + [f"{row['reason']}: {row['message']}; the session is kept" for row in warning_rows(files)]


def warning_rows(files: pl.DataFrame) -> list[dict[str, Any]]:
    """Faults that did not stop a file, by file and reason: file, member, reason, line of the first, count, message."""
    rows = []
    for row in files.explode("warnings").drop_nulls("warnings").sort("path").iter_rows(named=True):
        warning = row["warnings"]
        place = f"{row['path']}#{row['member']}" if row["member"] else row["path"]
        times = f"{warning['count']} times, first in" if warning["count"] > 1 else "in"
        rows.append(
            {
                "file": row["path"],
                "member": row["member"],
                "reason": warning["name"],
                "line": warning["line"],
                "count": warning["count"],
                "message": f"{place}: {times} line {warning['line']}",
            }
        )
    return rows


def unusable_context(files: pl.DataFrame) -> list[dict[str, Any]]:
    """Archives and broken files beside sessions, or broken parts of a store: path, member, reason, line, message."""
    columns = ["path", "member", "reason", "line", "message"]
    return files.filter(pl.col("reason").is_in(UNUSED)).sort("path").select(columns).to_dicts()


def summarize(counts: pl.DataFrame) -> dict[str, Any]:
    """Tiers, slices and the outcome-process gap of the whole corpus. `counts`: SummaryCount."""
    return summary(counts.group_by("group", "name").agg(pl.col("count").sum()).sort("group", "name"))


def splits(report: RunReport) -> list[dict[str, Any]]:
    """Records and anomalies on each side of each cut (split_counts.count_splits); empty where nobody judged."""
    if report.tables is None or has_no_cuts(report):
        return []
    return count_splits(report.tables[LabelAssignment])


def has_no_cuts(report: RunReport) -> bool:
    """True if nobody judged the records of a release."""
    return report.tables is not None and is_unjudged(summarize(report.tables[SummaryCount].collect()))


def cautions(report: RunReport) -> list[str]:
    """A sentence for each side of a cut that has too few records or anomalies; none of a release without cuts."""
    if report.tables is None or has_no_cuts(report):
        return []
    return split_cautions(
        report.tables[LabelAssignment],
        report.tables[LabelPlace],
        ReleaseRules.load(overrides=report.tables.run.overrides),
    )


def reasons_for_a_person(report: RunReport, settings: Settings) -> list[str]:
    """Why a person is needed: exit status 1 on the command line. Empty if everything is done."""
    reasons = []
    if report.quarantined > settings.quarantine_limit:
        limit = f" ({settings.quarantine_limit} are allowed: quarantine_limit)" if settings.quarantine_limit else ""
        reasons.append(f"{pluralize(report.quarantined, 'file')} quarantined{limit}")
    if report.faults:
        reasons.append(f"{pluralize(len(report.faults), 'fault')} in outcomes or the run manifest")
    if not report.sessions and settings.shard is None:
        reasons.append("no input is a session")
    if report.unjudged is not None:
        reasons.append(report.unjudged)
    return reasons


def waiting_stages(report: RunReport) -> dict[str, int]:
    """Stage that waits for every shard -> shards that it still needs."""
    return {stage.stage: stage.waits_for for stage in report.reports if stage.waits_for is not None}


def shards_of_share(report: RunReport) -> int:
    """Shards of the share that the run was over."""
    return max((stage.shards for stage in report.reports if stage.stage not in CORPUS_STAGES), default=0)
