"""The score card of a predictions file: every number of F.8 and F.9, all from one file, so that none contradict each
other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from openclawbench.detect.labels import LabelledTrajectory, LabelSet
from openclawbench.detect.predictions import PredictionsFile, is_anomalous, most_probable
from openclawbench.detect.score.bootstrap import drawn_matrices, measure_intervals
from openclawbench.detect.score.comparison import NAMED, Comparison, Pair, compare_with
from openclawbench.detect.score.corrected import corrected_scores
from openclawbench.detect.score.location import location_scores
from openclawbench.detect.score.measures import (
    CONVENTIONS,
    UNNAMED_ROW,
    UNREADABLE,
    Convention,
    binary_counts,
    confusion_matrix,
)
from openclawbench.detect.score.probabilities import probability_scores
from openclawbench.detect.settings import LABELS, DetectRules, ScoreRules
from openclawbench.exam.score import compare as mcnemar
from openclawbench.release.record_key import Key
from openclawbench.release.statistics.consistency import Detector, Identity, Same, Sum, contradictions
from openclawbench.reports.measures import rounded

NO_ANOMALY = "no trajectory here is anomalous: every alarm is false; recall and F1 are not defined, and none is made up"
NO_NORMAL = "every trajectory here is anomalous: no false alarm can be counted"
HEADLINE: Convention = "wrong"


def score_card(
    labels: LabelSet,
    file: PredictionsFile,
    digests: Mapping[Key, str],
    rules: DetectRules,
    human: Mapping[Key, LabelledTrajectory] | None = None,
    silver: Mapping[Key, LabelledTrajectory] | None = None,
) -> dict[str, Any]:
    """Everything about one predictions file on one side, as JSON can hold it. Intervals are {value, low, high}.

    `human`, `silver`: labels of the trajectories under review, by people and by silver; with them scores are corrected,
    and the human subset is scored apart.
    """
    compared = compare_with(labels.by_key, file, digests, human or ())
    card = {
        "detector": file.name,
        "file": str(file.path),
        "file_sha256": file.sha256,
        "verified": file.unverified is None,
        "unverified": file.unverified,
        "provenance": file.provenance.model_dump() if file.provenance else None,
        "labels": labels_part(labels),
        "compared": compared_part(compared, file)
        | {"reviewed": len((file.rows.keys() & (human or {}).keys()) - labels.by_key.keys())},
        **scores(compared.pairs, rules.score),
    }
    if human is not None:
        card["corrected"] = corrected_scores(compared.pairs, silver or {}, human, file, rules.score, digests)
        card["human"] = human_part(human, file, digests, rules)
    card["contradictions"] = [str(contradiction) for contradiction in contradictions(card_identities(card))]
    return card


def labels_part(labels: LabelSet) -> dict[str, Any]:
    """Which labels, and whose."""
    return {
        "pool": labels.choice.pool,
        "cut": labels.choice.cut,
        "side": labels.choice.side,
        "trajectories": len(labels.items),
        "anomalous": sum(item.is_anomalous for item in labels.items),
        "tasks": len({item.task for item in labels.items}),
        "judges": labels.judges,
        "statuses": labels.statuses,
        "left_out": labels.left_out,
    }


def compared_part(compared: Comparison, file: PredictionsFile) -> dict[str, Any]:
    """What is comparable, and what is not, by reason."""
    return {
        "predictions": len(file.rows),
        "compared": len(compared.pairs),
        "coverage": rounded(compared.coverage) if compared.coverage is not None else None,
        "not_compared": compared.counts(),
        "named": compared.named(),
        "unchecked": compared.unchecked,
        "faults": file.fault_counts,
        "fault_lines": fault_lines(file),
        "shortened": sum(pair.row.characters_left_out > 0 for pair in compared.pairs),
        "parse": {
            name: sum(pair.row.parse == name for pair in compared.pairs) for name in ("ok", "repaired", "failed")
        },
        "argmax_differs": sum(
            pair.row.label is not None and most_probable(pair.row) not in (None, pair.row.label)
            for pair in compared.pairs
        ),
    }


def fault_lines(file: PredictionsFile) -> dict[str, list[str]]:
    """Reason -> the first lines with such a fault."""
    lines_by_reason: dict[str, list[str]] = {}
    for fault in file.faults:
        lines_by_reason.setdefault(fault.reason, []).append(f"line {fault.line}: {fault.message}")
    return {reason: lines[:NAMED] for reason, lines in sorted(lines_by_reason.items())}


def scores(pairs: Sequence[Pair], rules: ScoreRules) -> dict[str, Any]:
    """The scores of some pairs."""
    matrix, drawn = confusion_matrix(pairs), drawn_matrices(pairs, rules)
    conventions = {
        name: {
            **{count: int(value) for count, value in binary_counts(matrix, name).items()},
            "measures": {
                measure: interval._asdict()
                for measure, interval in measure_intervals(matrix, drawn, name, rules).items()
            },
        }
        for name in CONVENTIONS
    }
    anomalous = sum(pair.item.is_anomalous for pair in pairs)
    return {
        "trajectories": len(pairs),
        "anomalous": anomalous,
        "base_rate": rounded(anomalous / len(pairs)) if pairs else None,
        "remarks": remarks(len(pairs), anomalous),
        "headline": HEADLINE,
        "conventions": conventions,
        "support": {label: int(matrix[place].sum()) for place, label in enumerate(LABELS)},
        "anomalous_without_subtype": int(matrix[UNNAMED_ROW].sum()),
        "unreadable": int(matrix[:, UNREADABLE].sum()),
        "confusion": matrix[:UNNAMED_ROW].tolist(),
        "location": location_scores(pairs, rules),
        "probabilities": probability_scores(pairs, rules),
        "by": {name: groups(pairs, group, rules) for name, group in groupings(rules).items()},
        "cost_usd": rounded(sum(pair.row.cost_usd for pair in pairs)),
        "tokens": sum(pair.row.prompt_tokens + pair.row.completion_tokens for pair in pairs),
    }


def remarks(trajectories: int, anomalous: int) -> list[str]:
    """Sentences about what cannot be measured."""
    if not trajectories:
        return ["nothing is comparable"]
    return [NO_ANOMALY] * (not anomalous) + [NO_NORMAL] * (anomalous == trajectories)


def groupings(rules: ScoreRules) -> dict[str, Callable[[Pair], str]]:
    """Name of a grouping -> group of a pair."""
    return {
        "source_model": lambda pair: pair.item.key[0],
        "slice": lambda pair: pair.item.slice_label or "no slice",
        "length": lambda pair: length_group(pair.item.num_steps, rules.lengths),
    }


def length_group(steps: int, bounds: Sequence[int]) -> str:
    """The group of a number of steps: up to the first bound, between bounds, more than the last."""
    former = 0
    for bound in bounds:
        if steps <= bound:
            return f"{former + 1} to {bound} steps" if former else f"up to {bound} steps"
        former = bound
    return f"more than {former} steps"


def groups(pairs: Sequence[Pair], group: Callable[[Pair], str], rules: ScoreRules) -> list[dict[str, Any]]:
    """Headline measures of each group, in the order of the names."""
    by_group: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_group.setdefault(group(pair), []).append(pair)
    return [{"group": name, **group_row(own, rules)} for name, own in sorted(by_group.items())]


def group_row(pairs: Sequence[Pair], rules: ScoreRules) -> dict[str, Any]:
    """Headline measures of some pairs."""
    matrix = confusion_matrix(pairs)
    estimates = measure_intervals(matrix, drawn_matrices(pairs, rules), HEADLINE, rules)
    counts = {count: int(value) for count, value in binary_counts(matrix, HEADLINE).items()}
    anomalous = sum(pair.item.is_anomalous for pair in pairs)
    names = ("precision", "recall", "f1", "false_alarm_rate", "predicted_share", "macro_f1")
    return {
        "trajectories": len(pairs),
        "anomalous": anomalous,
        "few": anomalous < rules.few or len(pairs) - anomalous < rules.few,
        **counts,
        **{name: estimates[name]._asdict() for name in names},
    }


def human_part(
    human: Mapping[Key, LabelledTrajectory], file: PredictionsFile, digests: Mapping[Key, str], rules: DetectRules
) -> dict[str, Any] | None:
    """The scores against people's verdicts, apart from those against silver (paper T40, F.6); None without a prediction
    on a trajectory with a verdict. No threshold is chosen here."""
    own = PredictionsFile(file.path, rows={key: row for key, row in file.rows.items() if key in human})
    compared = compare_with(human, own, digests)
    if not compared.pairs:
        return None
    return {
        "verdicts": len(human),
        "compared": len(compared.pairs),
        "not_compared": compared.counts(),
        **scores(compared.pairs, rules.score),
    }


def compare_detectors(
    labels: LabelSet, files: Sequence[PredictionsFile], digests: Mapping[Key, str]
) -> list[dict[str, Any]]:
    """McNemar's exact test between each two files: who is right (anomalous or normal) on the trajectories of both."""
    right = [right_answers(compare_with(labels.by_key, file, digests)) for file in files]
    return [
        {"first": files[first].name, "second": files[other].name, **mcnemar(*number_keys(right[first], right[other]))}
        for first in range(len(files))
        for other in range(first + 1, len(files))
    ]


def right_answers(compared: Comparison) -> dict[Key, bool]:
    """Key -> whether the binary label is right; an answer that could not be read is not."""
    return {pair.item.key: is_anomalous(pair.row.label) == pair.item.is_anomalous for pair in compared.pairs}


def number_keys(first: Mapping[Key, bool], second: Mapping[Key, bool]) -> tuple[dict[int, bool], dict[int, bool]]:
    """Both tables of right answers, with numbers in place of the keys that they share."""
    numbers = {key: number for number, key in enumerate(sorted(first.keys() | second.keys()))}
    return {numbers[key]: value for key, value in first.items()}, {numbers[key]: value for key, value in second.items()}


def card_identities(card: Mapping[str, Any]) -> Iterator[Identity]:
    """What must hold between the numbers of a card; a contradiction would be a defect of this program."""
    headline = card["conventions"][HEADLINE]
    counts = {name: str(headline[name]) for name in ("tp", "fp", "fn", "tn")}
    shown = {
        "precision": headline["measures"]["precision"]["value"],
        "recall": headline["measures"]["recall"]["value"],
        "f1": headline["measures"]["f1"]["value"],
        "predicted": headline["measures"]["predicted_share"]["value"],
        "far": headline["measures"]["false_alarm_rate"]["value"],
        "base_rate": card["base_rate"],
    }
    known = {name: f"{value:.6f}" for name, value in shown.items() if value is not None}
    yield Detector("headline", {"n": str(card["trajectories"]), **counts, **known})
    for name, rows in card["by"].items():
        for column in ("trajectories", "anomalous", "tp", "fp", "fn", "tn"):
            total = card[column] if column in card else headline[column]
            yield Sum(f"by {name}", {f"{column} of {row['group']}": str(row[column]) for row in rows}, str(total))
    if card["anomalous_without_subtype"] == 0:
        yield Sum(
            "confusion", {label: str(number) for label, number in card["support"].items()}, str(card["trajectories"])
        )
        rows = {label: str(sum(row)) for label, row in zip(LABELS, card["confusion"], strict=True)}
        for label, number in rows.items():
            yield Same(f"confusion, {label}", {"support": str(card["support"][label]), "sum of the row": number})
