"""The human verdicts that a release includes: one per trajectory, from its reviews in all samples."""

from collections import defaultdict

from openclawbench.audit.calibration.form import CALIBRATION
from openclawbench.audit.calibration.verdicts import FIELDS, latest_of, verdict
from openclawbench.audit.review_folder import drawn_rows, reviews
from openclawbench.records.calibration import CHOSEN, CalibrationReview, HumanVerdict
from openclawbench.storage.data_folder import DataFolder


def human_verdicts(data: DataFolder) -> list[HumanVerdict]:
    """The verdicts, sorted by key. A trajectory in several samples has one verdict, from the latest review of each
    reviewer; its silver label is that of the sample reviewed last. Trajectories that a reviewer chose are left out:
    the corrected gap estimates rates from these verdicts. Raises UnreadableInput."""
    rows = drawn_rows(data, CALIBRATION)
    by_key: dict[tuple[str, str], list[CalibrationReview]] = defaultdict(list)
    for review in reviews(data, CALIBRATION):  # by day
        if review.sample != CHOSEN:
            by_key[review.source_model, review.trajectory_id].append(review)
    verdicts = []
    for (model, trajectory_id), trajectory_reviews in sorted(by_key.items()):
        last = trajectory_reviews[-1]
        sample_row = rows.get(last.sample, {}).get(last.row)
        if sample_row is None:
            continue  # its sample is missing: `audit report` names it
        latest = latest_of(trajectory_reviews, lambda review: (review.reviewer, review.adjudication))
        settled = verdict(sample_row, latest)
        verdicts.append(
            HumanVerdict.model_validate(
                {
                    "source_model": model,
                    "trajectory_id": trajectory_id,
                    "human_anomaly_label": settled.label,
                    **{field: settled.answers[field] for field in FIELDS},
                    "human_onset": settled.onset,
                    "onset_reviewed": settled.onset_known,
                    "settled_by": settled.settled_by,
                    "reviewers": len({review.reviewer for review in latest}),
                    "blind": all(review.blind for review in latest),
                    "silver_anomaly_label": sample_row.silver_anomaly_label,
                    "silver_subtype": sample_row.silver_subtype,
                    "silver_onset": sample_row.silver_onset,
                    "agreement_status": settled.status,
                }
            )
        )
    return verdicts
