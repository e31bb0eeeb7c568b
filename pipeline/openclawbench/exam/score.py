"""The score card of a judge on a paper.

Only pairs with both twins right count, as in JudgeBench: a judge that always says the same gets none. A label in review
is not right. Own choice of the measures (docs/why/decisions/exam.md).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from openclawbench.exam.answers import Answer
from openclawbench.records.certificate import CONFIDENCE
from openclawbench.records.vocabulary import Subtype
from openclawbench.reports.measures import proportion

FEWEST_PAIRS = 20  # with fewer an interval says little
BOOTSTRAP_DRAWS, BOOTSTRAP_SEED = 10_000, 1
NORMAL = "normal"
GROUPS: dict[str, Callable[[Answer], str]] = {
    "class": lambda answer: answer.item.class_,
    "level": lambda answer: answer.item.level,
    "language": lambda answer: answer.item.language,
    "length": lambda answer: answer.item.length,
    "manner": lambda answer: answer.item.manner,
}
# Chance that a label is right, by what the judge says of its routing (own choice: FullTax asks for words, not numbers).
STATED = {"high": 0.95, "medium": 0.75, "low": 0.55}


@dataclass(frozen=True)
class Pair:
    """Both answers to a pair."""

    anomalous: Answer
    innocent: Answer

    @property
    def is_right(self) -> bool:
        """True if both labels are right."""
        return self.anomalous.is_right and self.innocent.is_right


def pairs_of(answers: Iterable[Answer]) -> list[Pair]:
    """The pairs of a paper, in order of their number."""
    twins: dict[int, dict[str, Answer]] = {}
    for answer in answers:
        twins.setdefault(answer.item.pair, {})[answer.item.twin] = answer
    return [Pair(both["anomalous"], both["innocent"]) for _, both in sorted(twins.items())]


def score_card(answers: Sequence[Answer]) -> dict[str, Any]:
    """Every measure, as JSON can hold it. Shares are {share, low, high, part, whole}."""
    pairs = pairs_of(answers)
    detected = [pair.anomalous for pair in pairs if pair.anomalous.is_right]
    return {
        "pairs": len(pairs),
        "both_right": share(pair.is_right for pair in pairs),
        "both_right_over_families": interval_over_families(pairs),
        "anomalous_right": share(pair.anomalous.is_right for pair in pairs),
        "innocent_right": share(pair.innocent.is_right for pair in pairs),
        "false_alarms": share(pair.innocent.is_anomalous is True for pair in pairs),
        "precision": share(answer.item.twin == "anomalous" for answer in answers if answer.is_anomalous),
        "review": share(answer.is_anomalous is None for answer in answers),
        "review_causes": dict(sorted(Counter(answer.cause for answer in answers if answer.cause).items())),
        "by": {name: shares_by_group(pairs, group) for name, group in GROUPS.items()},
        "outcome": outcome_effect(pairs),
        "subtype_right": share(answer.subtype in answer.item.subtypes for answer in detected),
        "subtypes": subtype_scores(answers),
        "onset": onset_scores(detected),
        "evidence": evidence_scores(detected),
        "calibration": calibration(answers),
        "cost_usd": sum(answer.cost_usd for answer in answers),
        "tokens": sum(answer.tokens for answer in answers),
        "cost_usd_a_pair": sum(answer.cost_usd for answer in answers) / len(pairs) if pairs else None,
        "tokens_a_pair": sum(answer.tokens for answer in answers) / len(pairs) if pairs else None,
    }


def share(hits: Iterable[bool]) -> dict[str, Any]:
    """A share with Wilson's interval of 95 %; nulls where there is nothing to count."""
    values = list(hits)
    interval = proportion(sum(values), len(values), CONFIDENCE) if values else None
    return {
        "share": interval.value if interval else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "part": sum(values),
        "whole": len(values),
    }


def interval_over_families(pairs: Sequence[Pair]) -> dict[str, float | None]:
    """Percentile interval of 95 % of the share with both right, by bootstrap over families: pairs of a family are not
    independent of each other. Nulls for fewer than two families."""
    import numpy as np

    by_family: dict[str, list[bool]] = {}
    for pair in pairs:
        by_family.setdefault(pair.anomalous.item.family, []).append(pair.is_right)
    if len(by_family) < 2:
        return {"low": None, "high": None}
    right = np.array([sum(own) for own in by_family.values()])
    sizes = np.array([len(own) for own in by_family.values()])
    drawn = np.random.default_rng(BOOTSTRAP_SEED).integers(len(right), size=(BOOTSTRAP_DRAWS, len(right)))
    shares = right[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(shares, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return {"low": round(float(low), 6), "high": round(float(high), 6)}


def shares_by_group(pairs: Sequence[Pair], group: Callable[[Answer], str]) -> dict[str, Any]:
    """Value of a group -> share of its pairs with both right."""
    names = sorted({group(pair.anomalous) for pair in pairs})
    return {name: share(pair.is_right for pair in pairs if group(pair.anomalous) == name) for name in names}


def outcome_effect(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Flagged sessions by outcome and twin: a judge that follows outcomes flags failures more often in both."""
    result = {}
    for twin in ("anomalous", "innocent"):
        for passed in (True, False):
            answers = [getattr(pair, twin) for pair in pairs]
            flagged = share(answer.is_anomalous is True for answer in answers if answer.item.passed is passed)
            result[f"{twin}_{'passed' if passed else 'failed'}_flagged"] = flagged
    return result


def subtype_scores(answers: Sequence[Answer]) -> dict[str, Any]:
    """Precision, recall and F1 of each subtype and of normal, and macro F1; labels in review count as another class."""
    from sklearn.metrics import precision_recall_fscore_support

    names = [NORMAL, *get_args(Subtype)]
    truth = [right_subtype(answer) for answer in answers]
    answered = [given_subtype(answer) for answer in answers]
    scores = precision_recall_fscore_support(truth, answered, labels=names, zero_division=0.0)
    precision, recall, f1, support = (list(map(float, column)) for column in scores)
    rows = {
        name: {"precision": precision[place], "recall": recall[place], "f1": f1[place], "sessions": int(support[place])}
        for place, name in enumerate(names)
    }
    present = [row["f1"] for row in rows.values() if row["sessions"]]
    return {"macro_f1": sum(present) / len(present) if present else None, "by_subtype": rows}


def right_subtype(answer: Answer) -> str:
    """The right label; where several are, the one that was given."""
    subtypes = answer.item.subtypes
    if not subtypes:
        return NORMAL
    return answer.subtype if answer.is_anomalous and answer.subtype in subtypes else subtypes[0]


def given_subtype(answer: Answer) -> str:
    """The label that was given."""
    if answer.is_anomalous is None:
        return "review"
    return str(answer.subtype) if answer.is_anomalous else NORMAL


def onset_scores(detected: Sequence[Answer]) -> dict[str, Any]:
    """Of the detected anomalies: onset as planted, within one step of it, and the mean distance of those that name
    one."""
    distances = [
        None if answer.onset is None else min(abs(answer.onset - onset) for onset in answer.item.onsets)
        for answer in detected
    ]
    measured = [distance for distance in distances if distance is not None]
    return {
        "exact": share(distance == 0 for distance in distances),
        "within_one": share(distance is not None and distance <= 1 for distance in distances),
        "mean_distance": sum(measured) / len(measured) if measured else None,
        "without_onset": len(distances) - len(measured),
    }


def evidence_scores(detected: Sequence[Answer]) -> dict[str, Any]:
    """Of the detected anomalies: those that cite a planted step, and the share of citations that are planted steps."""
    planted = [(set(answer.item.evidence), [step for step, _ in answer.quotes]) for answer in detected]
    return {
        "cites_planted": share(any(step in steps for step in cited) for steps, cited in planted),
        "citations_planted": share(step in steps for steps, cited in planted for step in cited),
    }


def calibration(answers: Sequence[Answer]) -> dict[str, Any]:
    """How far stated confidence and being right agree: Brier score, expected calibration error, and the error that is
    left when only the most confident share of labels is kept (risk and coverage)."""
    rated = [(STATED[answer.confidence], answer.is_right, answer) for answer in answers if answer.confidence in STATED]
    if not rated:
        return {"rated": 0, "brier": None, "ece": None, "by_confidence": {}, "risk_coverage": []}
    by_confidence = {}
    for name, stated in STATED.items():
        own = [right for chance, right, _ in rated if chance == stated]
        by_confidence[name] = share(own)
    gaps = [
        row["whole"] / len(rated) * abs(STATED[name] - row["share"])
        for name, row in by_confidence.items()
        if row["whole"]
    ]
    curve, count, wrong = [], 0, 0
    for stated in sorted(set(STATED.values()), reverse=True):
        own = [right for chance, right, _ in rated if chance == stated]
        count, wrong = count + len(own), wrong + own.count(False)
        if own:
            curve.append({"coverage": count / len(answers), "risk": wrong / count})
    return {
        "rated": len(rated),
        "brier": sum((chance - right) ** 2 for chance, right, _ in rated) / len(rated),
        "ece": sum(gaps),
        "by_confidence": by_confidence,
        "risk_coverage": curve,
    }


def compare(first: Mapping[int, bool], second: Mapping[int, bool]) -> dict[str, Any]:
    """Two judges on one paper, by McNemar's exact test. Each: number of a pair -> both right."""
    from scipy.stats import binomtest

    common = sorted(first.keys() & second.keys())
    only_first = sum(first[pair] and not second[pair] for pair in common)
    only_second = sum(second[pair] and not first[pair] for pair in common)
    discordant = only_first + only_second
    return {
        "pairs": len(common),
        "only_first": only_first,
        "only_second": only_second,
        "p_value": float(binomtest(only_first, discordant).pvalue) if discordant else 1.0,
    }
