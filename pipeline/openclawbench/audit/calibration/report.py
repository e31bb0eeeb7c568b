"""The report of the calibration audit (paper T36), from review records and their samples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from openclawbench.audit.calibration.reviewers import disagreements, reviewers, stages
from openclawbench.audit.calibration.summary import summary
from openclawbench.audit.calibration.tables import by_scope, confusions
from openclawbench.audit.calibration.verdicts import latest_reviews, verdict
from openclawbench.audit.settings import AuditRules
from openclawbench.records.calibration import CHOSEN, CalibrationReview, CalibrationSample, CalibrationSampleRow
from openclawbench.release.baseline_notice import RULES_STAMP, notice_of
from openclawbench.reports import plots
from openclawbench.reports.section import Report, Section
from openclawbench.reports.settings import AgreementRules

NAME = "calibration_audit"


def calibration_audit(
    reviews: Sequence[CalibrationReview],
    samples: Mapping[str, CalibrationSample],
    rows: Mapping[str, Mapping[str, CalibrationSampleRow]],
) -> Report:
    """T36 and its details for each sample with a review record. A row without one is not counted as audited."""
    rules, measured = AuditRules.load(), AgreementRules.load()
    last = latest_reviews(reviews)
    names = list(dict.fromkeys(review.sample for review in last))
    sections: list[Section] = []
    for number, name in enumerate(names, start=1):
        own_reviews = [review for review in last if review.sample == name]
        verdicts = [
            verdict(row, row_reviews)
            for row_id, row in rows[name].items()
            if (row_reviews := [review for review in own_reviews if review.row == row_id])
        ]
        sections += [
            summary(samples[name], verdicts, sum(review.sample == name for review in reviews), number, measured),
            disagreements(verdicts, number, rules.calibration.disagreement_rows),
            by_scope(verdicts, number, measured),
            confusions(verdicts, number),
            reviewers(own_reviews, verdicts, number, measured),
            stages(verdicts, number),
        ]
    notice = notice_of(judge for name in names for judge in samples[name].judges)
    return Report(
        name=NAME,
        title="Human-audited calibration (T36)",
        about="Human verdicts on trajectories of the calibration pool. They are kept in "
        "`review/calibration_reviews.jsonl` and change no silver label; the next release publishes them in "
        "`human_audited.jsonl`. "
        + (
            "All of these trajectories pass their oracle: unless stated, no number here is a rate of the corpus."
            if all(samples[name].pool_kind == "calibration" and name != CHOSEN for name in names)
            else "Not all of these trajectories were drawn from the calibration pool; each table says what from."
        ),
        sections=[stamp_section(section, notice) for section in sections],
        inputs={name: samples[name].release for name in names},
        rules={rules.FILE: rules.digest, measured.FILE: measured.digest},
        notice=notice,
    )


def stamp_section(section: Section, notice: str | None) -> Section:
    """The section; with a notice, its picture shows who judged."""
    if section.plot is None or notice is None:
        return section
    return replace(section, plot=partial(plots.stamped, section.plot, RULES_STAMP))
