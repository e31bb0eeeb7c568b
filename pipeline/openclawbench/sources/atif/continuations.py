"""A trajectory of Harbor's that goes on in further documents: each begins with the context that it takes over.

When terminus-2 summarizes its context, `trajectory.json` ends and `trajectory.cont-1.json` begins with copied steps,
and so on. All of them are one trajectory: the steps of the first document, and those of the others that are not copied.
`trajectory.summarization-1-summary.json` and the like are how the harness shortened the context: no work on the task.
"""

import json
import re
from collections.abc import Callable
from posixpath import basename, dirname
from typing import Any

from openclawbench.sources.atif.records import decode_step
from openclawbench.sources.base import TEXT, MalformedSession, read_document_rows
from openclawbench.sources.io.json_values import count_of
from openclawbench.sources.io.jsonl import RawLine

NAME = re.compile(r"(.+)\.cont-[0-9]+\.json")
SUMMARY = re.compile(r"(.+)\.summarization-[0-9]+-[a-z]+\.json")  # what a model was asked to shorten the context
NEXT, FIRST, BEFORE = f"{TEXT}continuation:", "continued", "continued:"  # keys of sidecars: later ones, first, earlier
MOST = 100  # documents of a trajectory that are looked for
REFERENCE = "continued_trajectory_ref"
WORDS = "the steps behind a summary of the context"


def find_sidecars(path: str, paths: frozenset[str]) -> dict[str, str]:
    """The documents that may continue the one at `path`, and those that it may continue."""
    if (summary := SUMMARY.fullmatch(path)) is not None:
        first = f"{summary[1]}.json"
        return {FIRST: first} if first in paths else {}
    name = NAME.fullmatch(path)
    if name is None:
        later = numbered(path.removesuffix(".json"), paths)
        return {f"{NEXT}{file}": file for file in later}
    first = f"{name[1]}.json"
    earlier = [file for file in numbered(name[1], paths) if file != path]
    return {FIRST: first} | {f"{BEFORE}{file}": file for file in earlier} if first in paths else {}


def numbered(stem: str, paths: frozenset[str]) -> list[str]:
    """The documents `<stem>.cont-<n>.json`, in order."""
    files = [f"{stem}.cont-{number}.json" for number in range(1, MOST)]
    return [file for file in files if file in paths]


def summarizes(path: str, sidecars: dict[str, Any]) -> bool:
    """True for a document of how the context of the one beside it was shortened."""
    first = sidecars.get(FIRST)
    return SUMMARY.fullmatch(path) is not None and isinstance(first, dict) and "steps" in first


def continues(path: str, sidecars: dict[str, Any]) -> bool:
    """True for a document that continues one beside it, which names it, or names one that does."""
    document, seen = sidecars.get(FIRST), {path}
    while isinstance(document, dict) and isinstance(document.get(REFERENCE), str):
        file = f"{dirname(path)}/{basename(document[REFERENCE])}"
        if file == path:
            return True
        if file in seen:
            return False
        seen.add(file)
        document = sidecars.get(f"{BEFORE}{file}")
    return False


def read(
    first: Any, path: str, sidecars: dict[str, Any], child_files: Callable[[Any, str], list[str]]
) -> list[dict[str, Any]]:
    """{file, rows: [line, offset, JSON text] of each step that is not copied, final, goes_on, children} of each
    document that continues this one, in order, as far as each names the next one."""
    documents: list[dict[str, Any]] = []
    document = first
    while isinstance(document, dict) and isinstance(document.get(REFERENCE), str):
        file = f"{dirname(path)}/{basename(document[REFERENCE])}"
        text = sidecars.get(f"{NEXT}{file}")
        if not isinstance(text, str) or any(file == known["file"] for known in documents):
            break
        try:
            document, data = json.loads(text), text.encode()
            rows = read_document_rows(data, "steps", decode_step)
        except (ValueError, RecursionError, MalformedSession):
            break
        own = [row for row in rows if row.value.is_copied_context is not True]
        texts = [[row.line, row.offset, data[row.offset : row.offset + row.length].decode()] for row in own]
        documents.append({"file": file, "rows": texts, "final": document.get("final_metrics")})
        documents[-1]["goes_on"] = isinstance(document.get(REFERENCE), str)
        documents[-1]["children"] = child_files(document, path)
    return documents


def rows_of(documents: list[dict[str, Any]]) -> list[RawLine]:
    """The steps of the documents that read() found."""
    rows = []
    for document in documents:
        for line, offset, text in document["rows"]:
            data = text.encode()
            rows.append(RawLine(line, offset, len(data), False, decode_step(data), document["file"]))
    return rows


def final_metrics(own: Any, documents: list[dict[str, Any]], used: int | None) -> Any:
    """Metrics of the whole run: those of the last document, if they count in what the steps used (`used`: tokens of
    all their prompts). None if no document says it."""
    if not documents:
        return own
    final = documents[-1]["final"]
    stated = count_of(final.get("total_prompt_tokens")) if isinstance(final, dict) else None
    return final if stated is not None and stated >= (used or 0) else None
