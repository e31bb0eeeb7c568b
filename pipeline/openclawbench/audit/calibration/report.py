"""The report of the calibration audit (paper T36), from review records and the samples they are about."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from openclawbench.audit.calibration.reviewers import disagreements, reviewers, stages
from openclawbench.audit.calibration.summary import summary
from openclawbench.audit.calibration.tables import by_scope, confusions
from openclawbench.audit.calibration.verdicts import last_words, verdict
from openclawbench.audit.settings import AuditRules
from openclawbench.records.calibration import CalibrationReview, CalibrationSample, CalibrationSampleRow
from openclawbench.release.notice import RULES_STAMP, notice_of
from openclawbench.reports import plots
from openclawbench.reports.section import Report, Section
from openclawbench.reports.settings import AgreementRules

NAME = "calibration_audit"


def calibration_audit(
    reviews: Sequence[CalibrationReview],
    samples: Mapping[str, CalibrationSample],
    rows: Mapping[str, Mapping[str, CalibrationSampleRow]],
) -> Report:
    """T36 and what belongs to it, for each sample with a review record. Nothing without one is counted as audited."""
    rules, measured = AuditRules.load(), AgreementRules.load()
    last = last_words(reviews)
    names = list(dict.fromkeys(one.sample for one in last))
    sections: list[Section] = []
    for number, name in enumerate(names, start=1):
        own = [one for one in last if one.sample == name]
        found = [
            verdict(row, mine)
            for row_id, row in rows[name].items()
            if (mine := [one for one in own if one.row == row_id])
        ]
        sections += [
            summary(samples[name], found, sum(one.sample == name for one in reviews), number, measured),
            by_scope(found, number, measured),
            confusions(found, number),
            reviewers(own, found, number, measured),
            stages(found, number),
            disagreements(found, number, rules.calibration.disagreement_rows),
        ]
    notice = notice_of(judge for name in names for judge in samples[name].judges)
    return Report(
        name=NAME,
        title="Human-audited calibration (T36)",
        about="What people made of trajectories of the calibration pool. Their verdicts stand in "
        "`review/calibration_reviews.jsonl`, beside the silver labels, and change none of them; the next release has "
        "them in `human_audited.jsonl`. All of these trajectories pass their oracle, so nothing here is a rate of the "
        "corpus but where it says so.",
        sections=[stamped(section, notice) for section in sections],
        inputs={name: samples[name].release for name in names},
        rules={rules.FILE: rules.digest, measured.FILE: measured.digest},
        notice=notice,
    )


def stamped(section: Section, notice: str | None) -> Section:
    """The section, its picture saying who judged where that must be said."""
    if section.plot is None or notice is None:
        return section
    return replace(section, plot=partial(plots.stamped, section.plot, RULES_STAMP))
