"""The verdicts that a release takes along: one a trajectory, from every review of it in whatever sample."""

from collections import defaultdict

from openclawbench.audit.calibration.form import CALIBRATION
from openclawbench.audit.calibration.verdicts import FIELDS, last_words, verdict
from openclawbench.audit.review_folder import drawn_rows, reviews
from openclawbench.records.calibration import CalibrationReview
from openclawbench.records.human import HumanVerdict
from openclawbench.storage.data_folder import DataFolder


def human_verdicts(data: DataFolder) -> list[HumanVerdict]:
    """Sorted by key. A trajectory that several samples hold has one verdict, of the last words of each reviewer; the
    silver label beside it is the one of the sample that was reviewed last. Raises UnreadableInput."""
    rows = drawn_rows(data, CALIBRATION)
    by_key: dict[tuple[str, str], list[CalibrationReview]] = defaultdict(list)
    for one in reviews(data, CALIBRATION):  # in the order of their days
        by_key[one.source_model, one.trajectory_id].append(one)
    found = []
    for (model, name), given in sorted(by_key.items()):
        last = given[-1]
        drawn = rows.get(last.sample, {}).get(last.row)
        if drawn is None:
            continue  # its sample is not here: `audit report` names it
        latest = list({(one.reviewer, one.adjudication): one for one in last_words(given)}.values())
        settled = verdict(drawn, latest)
        found.append(
            HumanVerdict.model_validate(
                {
                    "source_model": model,
                    "trajectory_id": name,
                    "human_anomaly_label": settled.label,
                    **{field: settled.said[field] for field in FIELDS},
                    "human_onset": settled.onset,
                    "onset_reviewed": settled.onset_known,
                    "settled_by": settled.settled_by,
                    "reviewers": len({one.reviewer for one in latest}),
                    "blind": all(one.blind for one in latest),
                    "silver_anomaly_label": drawn.silver_anomaly_label,
                    "silver_subtype": drawn.silver_subtype,
                    "silver_onset": drawn.silver_onset,
                    "agreement_status": settled.status,
                }
            )
        )
    return found
