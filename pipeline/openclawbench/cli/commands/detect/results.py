"""What `detect score`, `run` and `baseline` print: rows of the paper's tables 2, 3 and 43, and what to know of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from openclawbench.base.terminal import errors, one_line, output, pluralize, safe, table, warn
from openclawbench.cli.commands.detect.options import warn_of_baseline
from openclawbench.errors import UsageError

if TYPE_CHECKING:
    from openclawbench.detect.labels import LabelSet
    from openclawbench.detect.score.evaluation import Evaluation
    from openclawbench.detect.settings import DetectRules
    from openclawbench.records.detection.prediction import Prediction

PREDICTIONS = Path("detect") / "predictions"  # of a data folder
DIGEST_SHOWN = 8  # characters of a digest in a file's name
NAMED = 3  # keys and lines of each kind


def predictions_path(out: Path | None, data: Path, name: str, labels: "LabelSet") -> Path:
    """Where predictions are written, unless that is another detector's file. Raises UsageError for a folder that does
    not exist."""
    from openclawbench.exam.sitting import UNSAFE
    from openclawbench.storage.data_folder import DataFolder

    choice = labels.choice
    if out is None:
        parts = (name, choice.pool, choice.cut, choice.side)
        return DataFolder(data).root / PREDICTIONS / f"{'.'.join(UNSAFE.sub('-', part) for part in parts)}.jsonl"
    if out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: predictions are JSON lines. Name a file that ends in .jsonl.")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"--out {out}: its folder does not exist. Make it, or name another file.")
    return out


def distinct_path(path: Path, provenance: Mapping[str, Any]) -> Path:
    """The path, or one with a digest in its name where another detector's predictions lie: of another endpoint, with
    other parameters, over another release, or somebody else's."""
    from openclawbench.base.canonical_json import canonical_json, sha256_text
    from openclawbench.detect.predictions import identity_of, read_provenance
    from openclawbench.storage.data_folder import sha256_file

    if not path.is_file():
        return path
    former, _ = read_provenance(path, sha256_file(path))
    identity = identity_of(provenance)
    if former is not None and identity_of(former.model_dump()) == identity:
        return path
    digest = sha256_text(canonical_json(identity))[:DIGEST_SHOWN]
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.{digest}.jsonl")


def write_and_show(
    path: Path,
    predicted: "Sequence[Prediction]",
    provenance: Mapping[str, Any],
    labels: "LabelSet",
    rules: "DetectRules",
    json_out: bool,
    is_named: bool,
) -> None:
    """Write predictions with their provenance, score the written file, and print the scores. `is_named`: the user named
    the file; it is overwritten."""
    from openclawbench.detect.predictions import provenance_path, write_predictions
    from openclawbench.detect.score.evaluation import evaluate, read_files

    path = path if is_named else distinct_path(path, provenance)
    write_predictions(path, predicted, provenance)
    print_evaluation(evaluate(labels, read_files([path], rules), rules), json_out)
    if not json_out:
        errors().print(f"{safe(str(path))}, {safe(provenance_path(path).name)}", highlight=False)


def print_evaluation(evaluation: "Evaluation", json_out: bool) -> None:
    """Print an evaluation, as JSON or for people."""
    from openclawbench.reports.files import as_json

    if json_out:
        print(as_json(evaluation.data()), end="")
        return
    warn_of_baseline(evaluation.labels)
    for card in evaluation.cards:
        warn_of_card(card)
    console = output()
    print_headlines(console, evaluation)
    print_groups(console, evaluation.cards)
    for card in evaluation.cards:
        print_card(console, card, evaluation.rules)
    if evaluation.compared:
        rows = [list(row.values()) for row in evaluation.compared]
        console.print(table("McNemar", ["first", "second", "pairs", "only first", "only second", "p"], rows))


def warn_of_card(card: Mapping[str, Any]) -> None:
    """Warn of labels and lines that were not scored, by reason, and of contradictions in the scores."""
    from openclawbench.reports.counting import percent

    name, compared = card["detector"], card["compared"]
    if card["unverified"]:
        warn(f"{name}: unverified: the file {card['unverified']}.")
    for note in [*card["notes"], *card["remarks"]]:
        warn(f"{name}: {note}.")
    if compared["compared"] < card["labels"]["trajectories"]:
        scored = f"{compared['compared']} of {card['labels']['trajectories']} labelled trajectories"
        warn(f"{name}: scored on {scored} ({percent(compared['coverage'])}).")
    for reason, keys in compared["named"].items():
        warn(f"{name}: {reason}: {compared['not_compared'][reason]}, such as {', '.join(keys[:NAMED])}.")
    for reason, lines in compared["fault_lines"].items():
        warn(f"{name}: {reason}: {pluralize(compared['faults'][reason], 'line')}: {'; '.join(lines[:NAMED])}.")
    for sentence in card["contradictions"]:
        warn(f"{name}: these numbers contradict each other, which is a defect of this program: {sentence}.")


def format_interval(estimate: Mapping[str, float | None]) -> str:
    """A value with its interval."""
    if estimate["value"] is None:
        return "-"
    ends = "" if estimate["low"] is None else f" [{estimate['low']:.3f}, {estimate['high']:.3f}]"
    return f"{estimate['value']:.3f}{ends}"


def print_headlines(console: Console, evaluation: "Evaluation") -> None:
    """One row per detector, as table 2 of the paper."""
    rows = []
    for card in evaluation.cards:
        measures = card["conventions"][card["headline"]]["measures"]
        names = ("macro_f1", "precision", "recall", "false_alarm_rate", "predicted_share")
        scored = f"{card['trajectories']} ({card['anomalous']} anomalous)"
        rates = [format_number(measures[name]["value"]) for name in names]
        cost = f"{card['cost_usd']:.4f}"
        rows.append([card["detector"], format_interval(measures["f1"]), *rates, scored, card["unreadable"], cost])
    columns = ["detector", "F1", "macro F1", "P", "R", "false alarms", "predicted", "scored", "unreadable", "USD"]
    console.print(table(f"Binary scores: {one_line(evaluation.labels.choice.sentence)}", columns, rows))
    console.print()


def format_number(value: float | None) -> str:
    """A score."""
    return "-" if value is None else f"{value:.3f}"


def print_groups(console: Console, cards: Sequence[Mapping[str, Any]]) -> None:
    """F1 by source model, as table 3 of the paper."""
    first = cards[0]["by"]["source_model"]
    models = {row["group"]: [row["group"], row["trajectories"], row["anomalous"]] for row in first}
    scores_by_model = [{row["group"]: row["f1"]["value"] for row in card["by"]["source_model"]} for card in cards]
    rows = [
        [*cells, *(format_number(scores.get(model)) for scores in scores_by_model)] for model, cells in models.items()
    ]
    columns = ["source model", "scored", "anomalous", *(one_line(card["detector"]) for card in cards)]
    console.print(table("F1 by source model", columns, rows))
    console.print()


def print_card(console: Console, card: Mapping[str, Any], rules: "DetectRules") -> None:
    """Print the confusion matrix (paper T43) and the measures that need more than labels."""
    from openclawbench.detect.score.corrected import prior_words

    names = [rule.short for rule in rules.labels]
    rows = [[name, *row] for name, row in zip(names, card["confusion"], strict=True)]
    console.print(table(f"Confusion of {one_line(card['detector'])}: a row a label", ["", *names, "unreadable"], rows))
    console.print()
    corrected, lines = card.get("corrected"), []
    if corrected:
        silver = card["conventions"][card["headline"]]["measures"]
        corrected_measures = corrected["measures"]
        body = [
            [name.replace("_", " "), format_interval(silver[name]), format_interval(corrected_measures[name])]
            for name in corrected_measures
        ]
        by = pluralize(corrected["verdicts"], "verdict")
        title = f"{one_line(card['detector'])}: against silver, and corrected by {by}"
        if body:
            console.print(table(title, ["", "silver", "corrected"], body))
        if prior := prior_words(corrected):
            console.print(safe(prior), highlight=False)
        if corrected["few_verdicts"]:
            console.print(f"few verdicts: {safe('; '.join(corrected['few_verdicts']))}")
        console.print()
    if human := card.get("human"):
        f1 = human["conventions"][human["headline"]]["measures"]["f1"]
        lines.append(f"against people: F1 {format_interval(f1)} on {human['trajectories']} trajectories with a verdict")
    if rated := card["probabilities"]:
        lines.append(
            f"probabilities of {rated['of']}: ROC AUC {format_number(rated['roc_auc'])}, average precision "
            f"{format_number(rated['average_precision'])}, Brier {format_interval(rated['brier'])}, "
            f"ECE {format_number(rated['ece'])}"
        )
    if location := card["location"]:
        onset, span = location["onset"]["of_all"], location["span"]["of_all"]
        lines.append(
            f"onset of {onset['trajectories']}: exact {format_number(onset['exact']['value'])}, within one "
            f"{format_number(onset['within_one']['value'])}; span overlap {format_number(span['mean_iou']['value'])}"
        )
    if card["unreadable"]:
        f1 = card["conventions"]["left_out"]["measures"]["f1"]
        lines.append(
            f"without the {pluralize(card['unreadable'], 'answer')} that cannot be read: F1 {format_interval(f1)}"
        )
    for line in lines:
        console.print(f"{one_line(card['detector'])}: {line}", highlight=False)
    if lines:
        console.print()
