"""Leakage certificate: what a detector could know of the test side of a cut before it reads a single step."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

Rows = list[dict[str, Any]]
NORMAL = "normal"


def certificate(train: Rows, test: Rows, near_duplicates: int) -> dict[str, Any]:
    """Numbers on one cut; rows are accepted label rows, each with its `task_digest`.

    shared_tasks: tasks on both sides; test_records_of_shared_tasks: records of the test side with such a task.
    near_duplicates: records of the train side that are exactly or nearly one of the test side.
    subtype_share: of each side, the share of each subtype. memoriser: a predictor that looks up the task, see there.
    """
    tasks = {row["task_digest"] for row in train}
    shared = tasks & {row["task_digest"] for row in test}
    return {
        "train": len(train),
        "test": len(test),
        "shared_tasks": len(shared),
        "test_records_of_shared_tasks": sum(row["task_digest"] in shared for row in test),
        "near_duplicates": near_duplicates,
        "subtype_share": {"train": shares(train), "test": shares(test)},
        "memoriser": memoriser(train, test),
    }


def shares(rows: Rows) -> dict[str, float]:
    """Share of each label, to six digits."""
    counts = Counter(row["anomaly_type_l2"] or NORMAL for row in rows)
    return {name: round(counts[name] / len(rows), 6) for name in sorted(counts)}


def memoriser(train: Rows, test: Rows) -> dict[str, float | None]:
    """F1 of anomalous for a predictor that knows nothing but the task: the majority label of the task's train records,
    ties and tasks without one by the majority of train. Null where the test side holds no record, and where it holds
    nothing to recall and nothing was predicted: F1 is not defined then."""
    votes: dict[str, Counter[bool]] = {}
    for row in train:
        votes.setdefault(row["task_digest"], Counter())[bool(row["is_anomalous"])] += 1
    overall = sum(bool(row["is_anomalous"]) for row in train) * 2 > len(train)
    truth = [bool(row["is_anomalous"]) for row in test]
    if not truth:
        return {"f1": None, "share_known": None}
    from sklearn.metrics import f1_score  # takes a second and a half, which most commands can do without

    known = [row["task_digest"] in votes for row in test]
    said = [majority(votes.get(row["task_digest"]), overall) for row in test]
    return {
        "f1": round(float(f1_score(truth, said)), 6) if any(truth) or any(said) else None,
        "share_known": round(sum(known) / len(known), 6),
    }


def majority(votes: Counter[bool] | None, otherwise: bool) -> bool:
    """What most say; `otherwise` on a tie or where nobody says anything."""
    if not votes or votes[True] == votes[False]:
        return otherwise
    return votes[True] > votes[False]


def sides(rows: Iterable[dict[str, Any]], cut: str) -> tuple[Rows, Rows]:
    """The accepted rows of the train and of the test side of a cut."""
    accepted = [row for row in rows if row["label_status"] == "accepted"]
    return [row for row in accepted if row[cut] == "train"], [row for row in accepted if row[cut] == "test"]
