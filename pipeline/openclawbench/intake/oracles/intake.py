"""The content of the oracle path, as rows that fusion can join: JSONL records, and outcomes of BFCL trees with
the sessions that the run manifest names for them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclawbench.intake.oracles.bfcl import Category, other_accuracy, read_categories, task_outcomes
from openclawbench.intake.oracles.files import OracleFiles, Unused, numbered_lines
from openclawbench.intake.oracles.jsonl import read_oracle
from openclawbench.intake.oracles.sessions import (
    AMBIGUOUS_ATTEMPTS,
    NO_MANIFEST_ROW,
    OTHER_RUN,
    OTHER_TASK,
    OtherSubsets,
    SessionNames,
    TaskSessions,
)
from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.storage.spilled_values import Multimap, SpilledList

Row = dict[str, Any]
NOT_USED = "oracle_not_used"
FILES_NAMED = 3  # files that are named in a warning


@dataclass
class OracleInput:
    """What the oracle folder gave: outcome records, warnings and unused files."""

    rows: SpilledList[Row] = field(default_factory=SpilledList)  # OracleRow
    categories: list[Row] = field(default_factory=list)  # OracleCategory
    faults: list[Row] = field(default_factory=list)  # a person is needed
    warnings: list[Row] = field(default_factory=list)  # shown to the user; the run goes on
    unused: list[Row] = field(default_factory=list)  # files of the oracle folder that give no outcome
    files: dict[str, int] = field(default_factory=dict)  # how many of each kind


def read_oracles(
    files: OracleFiles, manifest: Collection[Row], names: SessionNames, models: Mapping[str, str], rules: OracleRules
) -> OracleInput:
    """Rows of every oracle file. `manifest`: RunManifestRow dicts; `models`: a tree's model folder -> source model.

    Raises UnreadableInput for a file that cannot be opened.
    """
    oracle_input = OracleInput(files=files.counts())
    name_unused(oracle_input, files)
    rows, tasks_of = SpilledList[Row](), Multimap[str]()  # tasks_of: session -> its task
    for path in files.jsonl:
        for row in read_jsonl(oracle_input, path, files.name(path), names, rules):
            rows.append(row)
    for row in manifest if rows else ():
        if (task_id := rules.canonical_id(row["task_id"])) is not None:
            tasks_of.add((row["source_model"], row["native_session_basename"]), task_id)
    for row in rows:
        task_ids = () if row["basename"] is None else tasks_of.get((row["source_model"], row["basename"]))
        check_task(oracle_input, row, task_ids[-1] if task_ids else None)
        oracle_input.rows.append(row)
    categories = read_categories(files, models, rules)
    tasks = TaskSessions(manifest if categories else (), {category.run for category in categories}, rules)
    for category in categories:
        oracle_input.categories.append(join_category(oracle_input, category, tasks, names, rules))
    trees = sorted({category.tree for category in categories})
    for tree in trees:
        check_tree(oracle_input, tree, [category for category in categories if category.tree == tree], manifest, names)
    for category in categories:
        check_category(oracle_input, category, rules)
    return oracle_input


def name_unused(oracle_input: OracleInput, files: OracleFiles) -> None:
    """Record the files of the oracle folder that give no outcome. Files that the evaluator leaves in every tree get one
    entry per kind; each of the others gets an entry, and all of them together one warning."""
    expected: dict[str, list[Unused]] = defaultdict(list)
    for unused in files.others:
        if unused.expected:
            expected[unused.why].append(unused)
        else:
            message = f"{unused.name}: {unused.why}"
            oracle_input.unused.append({"reason": NOT_USED, "file": unused.name, "line": None, "message": message})
    for why, entries in expected.items():
        names = ", ".join(unused.name for unused in entries[:FILES_NAMED])
        more = f" and {len(entries) - FILES_NAMED} more" if entries[FILES_NAMED:] else ""
        message = f"{names}{more}: {why}. The evaluator leaves such files in every tree."
        oracle_input.unused.append({"reason": NOT_USED, "file": entries[0].name, "line": None, "message": message})
    strange = [other for other in files.others if not other.expected]
    if strange:
        others = len(strange) - FILES_NAMED
        more = f", and {others} more (the coverage report's JSON names all)" if others > 0 else ""
        sentences = "; ".join(f"{file.name}: {file.why.removesuffix('.')}" for file in strange[:FILES_NAMED])
        message = f"{files.root}: {len(strange)} files give no outcome and are not used: {sentences}{more}."
        oracle_input.warnings.append({"reason": NOT_USED, "file": str(files.root), "line": None, "message": message})


def read_jsonl(
    oracle_input: OracleInput, path: Path, name: str, names: SessionNames, rules: OracleRules
) -> Iterator[Row]:
    """Records of one JSONL file; a broken line is a fault, the rest goes on."""
    odd = OtherSubsets("oracle", str(path), rules)
    for line in read_oracle(numbered_lines(path), name):
        if line.record is None:
            oracle_input.faults.append(
                {"reason": line.reason, "file": str(path), "line": line.line, "message": line.message}
            )
            continue
        row = line.record.model_dump()
        odd.look(line.line, row)
        row["task_id_canonical"] = row["task_id_canonical"] or rules.canonical_id(row["task_id"])
        row["subset"] = row["subset"] or rules.known_subset(row["task_id"])
        yield row | {"row_id": f"{name}:{line.line}"} | session_columns(row, None, names)
    oracle_input.warnings += odd.warnings()


def check_task(oracle_input: OracleInput, row: Row, task_of_session: str | None) -> None:
    """A row that names another task than the run manifest does for its session is joined with nothing: a fault."""
    if task_of_session is None or row["task_id_canonical"] in (None, task_of_session):
        return
    row |= {"sessions_named": 0, "unjoined": OTHER_TASK}
    file, _, line = row["row_id"].rpartition(":")
    message = (
        f"{file}: line {line}: names the task {row['task_id']} for the session {row['native_session_basename']}, but "
        f"the run manifest says {task_of_session}. It is not used; correct the one that is wrong and run again."
    )
    oracle_input.faults.append({"reason": "oracle_other_task", "file": file, "line": int(line), "message": message})


def session_columns(row: Row, unjoined: str | None, names: SessionNames) -> Row:
    """The columns of OracleRow that say which session a row names."""
    written, session_id = row["native_session_basename"], row["session_id"]
    if written is None:
        sessions = 0 if session_id is None else names.of_id(row["source_model"], session_id)
        return {"basename": None, "sessions_named": sessions, "by_session_id": True, "unjoined": unjoined}
    session_name = names.find(row["source_model"], written, session_id)
    known = {
        "basename": session_name.basename,
        "sessions_named": session_name.sessions,
        "by_session_id": session_name.by_session_id,
    }
    return known | {"unjoined": unjoined}


def join_category(
    oracle_input: OracleInput, category: Category, tasks: TaskSessions, names: SessionNames, rules: OracleRules
) -> Row:
    """Add a category's outcomes to the rows; returns its OracleCategory."""
    unjoined: Counter[str | None] = Counter()
    lost = 0
    for outcome in task_outcomes(category, rules):
        row = dict(outcome.record)
        session, why = tasks.find(category.source_model, row["task_id_canonical"], category.run, outcome.session_names)
        if session is not None:
            row |= {name: session[name] for name in ("native_session_basename", "run_id", "attempt")}
        unjoined[why] += 1
        lost += row["status"] == "infra_error"
        oracle_input.rows.append(row | {"row_id": outcome.row_id} | session_columns(row, why, names))
    return category_row(category, unjoined, lost)


def category_row(category: Category, unjoined: Counter[str | None], lost: int) -> Row:
    """Columns of OracleCategory."""
    results, scores = category.results, category.scores
    task_ids = {result.task_id for result in results.results} if results else set()
    failed = {failure.task_id for failure in scores.failures} if scores else set()
    return {
        "source_model": category.source_model,
        "subset": category.subset,
        "category": category.category,
        "tree": category.tree,
        "result_file": category.file("result"),
        "score_file": category.file("score"),
        "results": len(results.results) if results else None,
        "total_count": scores.total_count if scores else None,
        "correct_count": scores.correct_count if scores else None,
        "passed": len(task_ids - failed) if results and scores else None,
        "failed": len(failed) if scores else None,
        "inference_errors": lost,
        "no_manifest_row": unjoined[NO_MANIFEST_ROW],
        "ambiguous_attempts": unjoined[AMBIGUOUS_ATTEMPTS],
        "other_run": unjoined[OTHER_RUN],
        "verdict": category.state.kind,
        "reason": category.state.reason,
        "message": category.state.message,
    }


def check_tree(
    oracle_input: OracleInput, tree: str, categories: list[Category], manifest: Collection[Row], names: SessionNames
) -> None:
    """Warn of what a person must know about a tree: no manifest, models without sessions."""
    if not manifest:
        sentence = (
            f"{tree}: a BFCL tree names no session, and there is no run manifest: nothing of it is joined. "
            "Write raw/run_manifest.jsonl, one object {source_model, task_id, native_session_basename} per line."
        )
        oracle_input.faults.append({"reason": "bfcl_no_manifest", "file": tree, "line": None, "message": sentence})
    for model in sorted({category.source_model for category in categories} - names.models):
        sentence = (
            f"{tree}: no session is of source model {model!r}. If sessions spell it otherwise, say so in "
            f'openclawbench.toml: [bfcl.models], {model!r} = "…".'
        )
        oracle_input.warnings.append({"reason": "bfcl_unknown_model", "file": tree, "line": None, "message": sentence})


def has_answer(category: Category) -> bool:
    """True if the model answered at all; if the infrastructure ended every task, 0 % means nothing."""
    return category.results is None or any(not result.inference_error for result in category.results.results)


def check_category(oracle_input: OracleInput, category: Category, rules: OracleRules) -> None:
    """Warn of what a person must know about a category: unscorable and why, 0 %, a header that contradicts itself."""

    def warn(reason: str, message: str, file: str | None, line: int | None) -> None:
        oracle_input.warnings.append({"reason": reason, "file": file, "line": line, "message": message})

    state, scores = category.state, category.scores
    if state.kind != "scored":
        warn(f"bfcl_{state.reason or state.kind}", f"{state.message}.", state.file, state.line)
    elif scores is not None and scores.correct_count == 0 and scores.total_count and has_answer(category):
        sentence = (
            f"{category.file('score')}: 0 of {scores.total_count} {category.category} passed. It is loaded; "
            "a broken harness is far more often the cause than a weak model. Look at its errors."
        )
        warn("bfcl_category_at_zero", sentence, category.file("score"), scores.header_line)
    if state.kind == "scored" and scores is not None and (odd := other_accuracy(category, rules)) is not None:
        warn("bfcl_other_accuracy", f"{odd}.", category.file("score"), scores.header_line)
