"""Public layouts of scored sessions in a folder: tables with one session per row, and Harbor's job trees."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from posixpath import dirname
from typing import Any

from openclawbench.base.terminal import pluralize
from openclawbench.intake.licenses import LICENSE
from openclawbench.intake.raw_entry import RawEntry
from openclawbench.sources.sidecars.table_row import PLACE

CONTENTS = {  # adapter -> what its documents are, in words
    "atif": "an ATIF document",
    "atif_steps": "the steps of an ATIF document",
    "message_list": "a list of chat messages",
    "run_artifact": "a RunArtifact document",
}
TRIAL = "(harbor_trial_"  # in the sentences about files of Harbor's trials
Row = dict[str, Any]


def sentences(entries: Iterable[RawEntry], files: list[Row], outcomes: list[Row]) -> list[str]:
    """One sentence for each table and job tree: what it is, how many sessions and outcomes it gives, and what it does
    not. `files`: FileOutcome; `outcomes`: SourceOutcome."""
    oracles_of: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for outcome in outcomes:
        oracles_of[outcome["source_model"], outcome["trajectory_id"]].append(outcome["oracle"])
    by_path: dict[str, list[Row]] = defaultdict(list)
    for row in files:
        by_path[row["path"]].append(row)
    tables: dict[str, list[RawEntry]] = defaultdict(list)
    for entry in entries:
        if entry.context and f'"{PLACE}"' in entry.context:
            tables[entry.path].append(entry)
    lines = [describe_table(path, tables[path], by_path[path], oracles_of) for path in sorted(tables)]
    return lines + [describe_job(job, trials, files, oracles_of) for job, trials in sorted(job_trees(files).items())]


def describe_table(path: str, entries: list[RawEntry], rows: list[Row], oracles_of: dict[Any, list[Row]]) -> str:
    """A table in one sentence."""
    contexts = [json.loads(entry.context or "{}") for entry in entries]
    column = contexts[0][PLACE]["column"]
    adapter = entries[0].adapter or contexts[0][PLACE]["adapter"]
    licenses = sorted({context[LICENSE] for context in contexts if LICENSE in context})
    models = sorted({entry.source_model for entry in entries})
    left = Counter(row["disposition"] for row in rows if row["disposition"] != "trajectory")
    unused_words = "".join(f", {count} {kind}" for kind, count in sorted(left.items()))
    named = f"source model{'s' if models[1:] else ''} {', '.join(models[:3])}{' …' if models[3:] else ''}"
    named += f"; licence {', '.join(licenses)}" if licenses else ""
    kind = f"a table with {CONTENTS.get(adapter, adapter)} a row, in the column {column}"
    return f"{path}: {kind}: {count_in_words(rows, oracles_of)}{unused_words}; {named}."


def job_trees(files: list[Row]) -> dict[str, list[str]]:
    """Job folder -> folders of its trials."""
    trials = {dirname(row["path"]) for row in files if TRIAL in (row["message"] or "")}
    jobs: dict[str, list[str]] = defaultdict(list)
    for trial in sorted(trials):
        jobs[dirname(trial)].append(trial)
    return jobs


def describe_job(job: str, trials: list[str], files: list[Row], oracles_of: dict[Any, list[Row]]) -> str:
    """A job tree in one sentence."""
    rows = [row for row in files if row["path"].startswith(f"{job}/") and row["disposition"] == "trajectory"]
    empty = [trial for trial in trials if not any(row["path"].startswith(f"{trial}/") for row in rows)]
    lost = f", {pluralize(len(empty), 'trial')} without a session" if empty else ""
    named = "" if "/" in job else ". Put it into a folder that names the source model; this one would be taken for it"
    counts = count_in_words(rows, oracles_of)
    return f"{job}: a Harbor job tree of {pluralize(len(trials), 'trial')}: {counts}{lost}{named}."


def count_in_words(rows: list[Row], oracles_of: dict[Any, list[Row]]) -> str:
    """How many sessions and outcomes, as `3 sessions, 2 outcomes (1 pass, 1 infra_error)`. A status that no rule knows
    is named."""
    sessions = [row for row in rows if row["disposition"] == "trajectory"]
    oracles = [oracle for row in sessions for oracle in oracles_of.get((row["source_model"], row["trajectory_id"]), ())]
    kinds = Counter(kind_of(oracle) for oracle in oracles)
    named = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    outcomes = f"{pluralize(len(oracles), 'outcome')} ({named})" if oracles else "no outcome"
    return f"{pluralize(len(sessions), 'session')}, {outcomes}"


def kind_of(oracle: Row) -> str:
    """What an outcome says, in a word: pass, fail, or its status; of a status that is of no known meaning the word."""
    if oracle["status"] == "scored":
        return "pass" if oracle["success"] else "fail"
    word = (oracle["error_message"] or "") if oracle["status"] == "unscorable" else ""
    return f"{oracle['status']} with {word}" if word.startswith("status ") else str(oracle["status"])
