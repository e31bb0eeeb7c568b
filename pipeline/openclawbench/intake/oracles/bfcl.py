"""BFCL result and score trees -> outcomes. A score file lists failures only, so a pass is an id of the result file that
the score file does not name, and only if as many pass as its header says; else the whole category is unscorable."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from openclawbench.intake.oracles.bfcl_lines import (
    BfclFailure,
    BfclResult,
    ResultFile,
    ScoreFile,
    read_results,
    read_scores,
)
from openclawbench.intake.oracles.files import RESULT, SCORE, BfclFile, OracleFiles, content_of
from openclawbench.records.oracle import Evaluator, OracleRecord
from openclawbench.rules.intake.oracle import OracleRules

NAME = "bfcl-eval"


class CategoryState(NamedTuple):
    """The state of a category: scored, failures_only, no_score, or unscorable with the reason."""

    kind: str
    reason: str | None = None
    message: str | None = None  # for the user
    file: str | None = None  # the file that the message is about
    line: int | None = None


@dataclass
class Category:
    """One category of one model in one tree: its files, and the state that follows from them."""

    source_model: str
    category: str
    subset: str
    tree: str
    run: str  # name of the tree's folder
    files: dict[str, list[BfclFile]] = field(default_factory=lambda: {RESULT: [], SCORE: []})
    results: ResultFile | None = None
    scores: ScoreFile | None = None
    state: CategoryState = field(default_factory=lambda: CategoryState("no_score"))
    evaluator: dict[str, Any] = field(default_factory=dict)

    def file(self, role: str) -> str | None:
        """Name of the result or score file; the first where there are several."""
        return self.files[role][0].name if self.files[role] else None


@dataclass(frozen=True)
class TaskOutcome:
    """One task's outcome, before its session is known."""

    record: dict[str, Any]  # OracleRecord fields
    row_id: str
    session_names: dict[str, Any]  # the session as the result line itself names it


def read_categories(files: OracleFiles, models: Mapping[str, str], rules: OracleRules) -> list[Category]:
    """Every category of every model of every tree, in the order of their names.

    `models` maps a model's folder to the source model that sessions say; a folder that is not in it is the source
    model's own name. Raises UnreadableInput for a file that cannot be opened.
    """
    categories_by_name: dict[tuple[str, str, str], Category] = {}
    for file in files.bfcl:
        key = (files.name(file.tree), file.model, file.category)
        if key not in categories_by_name:
            source_model = models.get(file.model, file.model)
            categories_by_name[key] = Category(
                source_model, file.category, rules.subset(file.category), key[0], file.tree.name
            )
        categories_by_name[key].files[file.role].append(file)
    for category in categories_by_name.values():
        read_category(category, rules)
    return [categories_by_name[key] for key in sorted(categories_by_name)]


def read_category(category: Category, rules: OracleRules) -> None:
    """Read a category's files and decide its state."""
    contents = {role: [content_of(file.path) for file in files] for role, files in category.files.items()}
    if contents[RESULT]:
        category.results = read_results(contents[RESULT][0], rules.inference_error)
    if contents[SCORE]:
        category.scores = read_scores(contents[SCORE][0])
    category.state = category_state(category, rules)
    source = (category.files[SCORE] or category.files[RESULT])[0]
    content = (contents[SCORE] or contents[RESULT])[0]
    version = re.match(rules.category_prefix, source.path.name)
    category.evaluator = dict.fromkeys(Evaluator.model_fields) | {
        "name": NAME,
        "data_version": version[0].rstrip("_") if version else None,
        "mode": source.path.parent.name if source.path.parent.name in rules.groups else None,
        "source_path": source.name,
        "source_sha256": hashlib.sha256(content).hexdigest(),
    }


def category_state(category: Category, rules: OracleRules) -> CategoryState:
    """scored, failures_only, no_score, or unscorable with the reason and a sentence."""
    results, scores = category.results, category.scores
    if same_kind := next((files for files in category.files.values() if len(files) > 1), None):
        names = ", ".join(file.name for file in same_kind)
        return unscorable(
            "several_files", f"{names}: several files of one category; keep one run per tree", same_kind[0].name
        )
    if scores is None:
        file = category.file(RESULT)
        sentence = f"{file}: there is no score file, so nothing is known of its results"
        return CategoryState("no_score", None, sentence, file)
    place = category.file(SCORE)
    if broken := scores.broken or (results and results.broken):
        file = place if scores.broken else category.file(RESULT)
        sentence = f"{file}: line {broken}: neither a header nor an entry; make the file anew"
        return unscorable("broken_line", sentence, file, broken)
    if strange := next((pair for pair in ids(category) if rules.category_in(pair[0]) != category.category), None):
        task_id, file, line = strange
        sentence = f"{file}: line {line}: {task_id} is not a task of {category.category}"
        return unscorable("other_category", sentence, file, line)
    if results is None:
        sentence = (
            f"{place}: there is no result file: its {len(scores.failures)} failures are known, its passes are not, so "
            "they are in no share of passes"
        )
        return CategoryState("failures_only", None, sentence, place)
    return compare_counts(results, scores, str(place))._replace(file=place)


def compare_counts(results: ResultFile, scores: ScoreFile, place: str) -> CategoryState:
    """Whether as many ids have no failing entry as the header counts as correct."""
    if scores.correct_count is None or scores.total_count is None:
        return unscorable("no_header", f"{place}: its first line is not a header, so passes cannot be counted")
    task_ids = {result.task_id for result in results.results}
    failed = {failure.task_id for failure in scores.failures}
    passed, lines = len(task_ids - failed), len(results.results)
    if lines >= scores.total_count and (foreign := sorted(failed - task_ids)):
        return unscorable("score_of_another_run", f"{place}: {foreign[0]} failed and is not in the result file")
    added_up = len(task_ids) == lines or scores.correct_count + len(scores.failures) == lines
    if passed == scores.correct_count and lines == scores.total_count and added_up:
        return CategoryState("scored")
    if passed == scores.correct_count and len(task_ids) == scores.total_count:
        if (differing := differing_id(results)) is None:
            return CategoryState("scored")
        sentence = f"{place}: {differing} occurs more than once in the result file with different results"
        return unscorable("duplicate_ids", f"{sentence}, and nothing says which of them was scored")
    numbers = (
        f"{place}: {passed} ids of {lines} results are not among the {len(scores.failures)} failures, "
        f"but the header says {scores.correct_count} correct of {scores.total_count}"
    )
    if len(task_ids) < lines:
        return unscorable("duplicate_ids", f"{numbers}; {first_repeated_id(results)} occurs more than once")
    if lines < scores.total_count:
        return unscorable("partial_results", f"{numbers}; results are missing")
    if lines > scores.total_count:
        return unscorable("results_not_scored", f"{numbers}; results were added after it was scored")
    return unscorable("header_mismatch", numbers)


def unscorable(reason: str, sentence: str, file: str | None = None, line: int | None = None) -> CategoryState:
    """A state for which no outcome follows."""
    return CategoryState("unscorable", reason, sentence, file, line)


def other_accuracy(category: Category, rules: OracleRules) -> str | None:
    """A sentence if the accuracy in a score file's header does not follow from its counts. The counts are used; one of
    both was edited, or the file is of another evaluator."""
    scores = category.scores
    if scores is None or scores.accuracy is None or scores.correct_count is None or not scores.total_count:
        return None
    from_counts = scores.correct_count / scores.total_count
    if abs(scores.accuracy - from_counts) <= rules.accuracy_tolerance:
        return None
    counts = f"{scores.correct_count} correct of {scores.total_count}"
    place = f"{category.file(SCORE)}: line {scores.header_line}"
    return f"{place}: the header says accuracy {scores.accuracy:g} beside {counts}; the counts are used"


def first_repeated_id(results: ResultFile) -> str:
    """The first id that occurs more than once."""
    return next(value for value, count in Counter(each.task_id for each in results.results).items() if count > 1)


def differing_id(results: ResultFile) -> str | None:
    """The first id whose lines contradict each other; None if lines of one id only repeat each other."""
    first: dict[str, bytes] = {}
    return next(
        (
            result.task_id
            for result in results.results
            if first.setdefault(result.task_id, result.answer) != result.answer
        ),
        None,
    )


def ids(category: Category) -> Iterator[tuple[str, str | None, int]]:
    """Every id in a category's files, with file and line."""
    for result in category.results.results if category.results else ():
        yield result.task_id, category.file(RESULT), result.line
    for failure in category.scores.failures if category.scores else ():
        yield failure.task_id, category.file(SCORE), failure.line


def task_outcomes(category: Category, rules: OracleRules) -> Iterator[TaskOutcome]:
    """One outcome per task id: pass, fail or infra_error where the category is scored; failures only where there is no
    result file; `unscorable` for all ids of an unscorable category; none without a score file."""
    kind = category.state.kind
    if kind == "no_score" or category.scores is None:
        return
    failures = {failure.task_id: failure for failure in reversed(category.scores.failures)}
    results: dict[str, list[BfclResult]] = defaultdict(list)
    for result in category.results.results if category.results else ():
        results[result.task_id].append(result)
    for task_id in {**results, **failures}:
        yield task_outcome(category, task_id, results.get(task_id, []), failures.get(task_id), rules)


def task_outcome(
    category: Category, task_id: str, results: list[BfclResult], failure: BfclFailure | None, rules: OracleRules
) -> TaskOutcome:
    """The outcome of one task. An inference error is infra_error, also where making no call counts as right."""
    kind, reason = category.state.kind, category.state.reason
    lost = next((result.inference_error for result in results if result.inference_error), None)
    status = "unscorable" if kind == "unscorable" else "infra_error" if lost else "scored"
    session_names = failure and (failure.error_type, failure.error_message)
    error_type, message = ("inference_error", lost) if lost else session_names or (None, None)
    record = dict.fromkeys(OracleRecord.model_fields) | {
        "source_model": category.source_model,
        "task_id": task_id,
        "task_id_canonical": rules.canonical_id(task_id),
        "subset": category.subset,
        "success": failure is None if status == "scored" else None,
        "status": status,
        "error_type": error_type,
        "error_message": message,
        "flags": [f"bfcl_{flag}" for flag in (reason, kind if kind == "failures_only" else None) if flag],
        "evaluator": category.evaluator,
    }
    role, line = (SCORE, failure.line) if failure else (RESULT, results[0].line)
    return TaskOutcome(record, f"{category.file(role)}:{line}", results[0].session_names if results else {})
