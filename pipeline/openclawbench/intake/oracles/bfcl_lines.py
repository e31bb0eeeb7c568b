"""Lines of BFCL result and score files -> what they say of each task, with the line that says it."""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from openclawbench.sources.io.jsonl import pieces


class ResultLine(msgspec.Struct):
    """The fields of a result file's line that are used. The last three name the session, if the runner wrote them."""

    id: str
    result: Any = None
    native_session_basename: str | None = None
    run_id: str | None = None
    attempt: int | None = None


class ScoreLine(msgspec.Struct):
    """The fields of a score file's line that are used: of the header, or of a failing entry."""

    id: str | None = None
    valid: bool | None = None
    error: Any = None
    error_type: Any = None
    accuracy: float | None = None
    correct_count: int | float | None = None
    total_count: int | float | None = None


@dataclass(frozen=True)
class BfclResult:
    """One result: its line, and why it is not an answer (None: it is one)."""

    line: int
    task_id: str
    inference_error: str | None
    session_names: dict[str, Any]  # native_session_basename, run_id, attempt: those that the line itself names
    answer: bytes = b""  # digest of the result and of the session that the line names


@dataclass(frozen=True)
class BfclFailure:
    """One failing entry."""

    line: int
    task_id: str
    error_type: str | None
    error_message: str | None


@dataclass
class ResultFile:
    """The results of a category."""

    results: list[BfclResult] = field(default_factory=list)
    broken: int | None = None  # number of the first line that is not a result


@dataclass
class ScoreFile:
    """The header and the failures of a category."""

    accuracy: float | None = None
    correct_count: int | None = None
    total_count: int | None = None
    failures: list[BfclFailure] = field(default_factory=list)
    header_line: int | None = None
    broken: int | None = None


def read_results(content: bytes, inference_error: str) -> ResultFile:
    """Every line of a result file."""
    result_file = ResultFile()
    for number, line in decode_lines(content, ResultLine):
        if line is None:
            result_file.broken = result_file.broken or number
            continue
        text = line.result if isinstance(line.result, str) else None
        lost = text if text is not None and re.search(inference_error, text) else None
        session_names = {
            name: value
            for name in ("native_session_basename", "run_id", "attempt")
            if (value := getattr(line, name)) is not None
        }
        result_file.results.append(
            BfclResult(number, line.id, lost, session_names, digest_of([line.result, session_names]))
        )
    return result_file


def digest_of(value: Any) -> bytes:
    """The digest of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()


def read_scores(content: bytes) -> ScoreFile:
    """Every line of a score file: the first that has no id is the header."""
    score_file = ScoreFile()
    for number, line in decode_lines(content, ScoreLine):
        if line is not None and line.id is not None and line.valid is not True:
            score_file.failures.append(BfclFailure(number, line.id, *error_of(line)))
        elif line is not None and is_header(line) and score_file.total_count is None:
            score_file.header_line, score_file.accuracy = number, line.accuracy
            score_file.correct_count, score_file.total_count = (
                whole_number(line.correct_count),
                whole_number(line.total_count),
            )
        else:
            score_file.broken = score_file.broken or number
    return score_file


def is_header(line: ScoreLine) -> bool:
    """True for a line that says how many are correct, in whole numbers."""
    counts = (line.correct_count, line.total_count)
    return (
        line.id is None
        and counts[0] is not None
        and all(count is None or count == whole_number(count) for count in counts)
    )


def whole_number(count: float | None) -> int | None:
    """A count as a whole number, also where it is written as 2.0; None for a number that is not finite."""
    return int(count) if count is not None and math.isfinite(count) else None


def decode_lines(content: bytes, kind: type[Any]) -> Iterator[tuple[int, Any]]:
    """(line number, the line as `kind`, or None if it is not one). NaN, which Python writes, is accepted."""
    decoder = msgspec.json.Decoder(kind)
    for number, _, data in pieces(content):
        try:
            yield number, decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            yield number, decode_leniently(data, kind)


def decode_leniently(data: bytes, kind: type[Any]) -> Any:
    """A line that the strict parser refuses, as Python's reads it; None if that refuses it too."""
    try:
        return msgspec.convert(json.loads(data), kind)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None


def error_of(line: ScoreLine) -> tuple[str | None, str | None]:
    """(error type, message): at top level for AST and relevance categories, inside `error` for the others."""
    inside = line.error if isinstance(line.error, dict) else {}
    kind = line.error_type if isinstance(line.error_type, str) else inside.get("error_type")
    sentence = inside.get("error_message") if inside else line.error
    texts = sentence if isinstance(sentence, list) else [sentence]
    message = "\n".join(
        text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in texts if text is not None
    )
    return (kind if isinstance(kind, str) else None), message or None
