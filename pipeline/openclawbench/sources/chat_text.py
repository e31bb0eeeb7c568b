"""Thoughts, calls and results that models and their templates write into the text of a message, in tags."""

import json
import re
from typing import Any

THOUGHT = re.compile(r"\s*<(think|thinking|thought|reasoning)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)  # the tag that opens may be missing
THOUGHT_START = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
FUNCTION = re.compile(r"<function=([^>\s]+)>(.*)", re.DOTALL)
PARAMETER, PARAMETER_END = re.compile(r"<parameter=([^<>\s]+)>"), "</parameter>"
RESULT, RESULT_END = "<tool_response>", "</tool_response>"


def thought_in_text(text: str | None) -> tuple[str | None, str | None]:
    """(what a text thinks at its beginning, the rest)."""
    if text is None:
        return None, None
    thoughts, start = [], 0
    while match := THOUGHT.match(text, start):
        thoughts.append(match[2].strip())
        start = match.end()
    if not thoughts and (end := THOUGHT_END.search(text)) and not THOUGHT_START.search(text, 0, end.start()):
        thoughts, start = [text[: end.start()].strip()], end.end()
    return "\n".join(filter(None, thoughts)) or None, text[start:].lstrip() if start else text


def called_in_text(text: str | None) -> tuple[list[tuple[str, str | None]], str | None, bool]:
    """((tool, arguments as JSON text) of each call in the text, the text without them, whether one cannot be read)."""
    if text is None or "<tool_call>" not in text:
        return [], text, False
    calls = [read_call(match[1]) for match in CALL.finditer(text)]
    return [call for call in calls if call], CALL.sub("", text).strip(), None in calls


def read_call(written: str) -> tuple[str, str | None] | None:
    """The call in a tag: a JSON object, or a function with parameters in tags; None if it is neither."""
    if function := FUNCTION.match(written.strip()):
        return function[1], json.dumps(read_parameters(function[2]), ensure_ascii=False)
    try:
        value: Any = json.loads(written)
    except ValueError:
        return None
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        return None
    arguments = value.get("arguments", value.get("parameters"))
    if arguments is None or isinstance(arguments, str):
        return name, arguments
    return name, json.dumps(arguments, ensure_ascii=False)


def read_parameters(written: str) -> dict[str, str]:
    """The parameters of a function in tags; a line break beside a tag is not of the value."""
    parameters: dict[str, str] = {}
    at = 0
    while (opening := PARAMETER.search(written, at)) and (end := written.find(PARAMETER_END, opening.end())) >= 0:
        parameters[opening[1]] = written[opening.end() : end].removeprefix("\n").removesuffix("\n")
        at = end
    return parameters


def results_in_text(text: str | None) -> list[str]:
    """The results that a text is, where it is nothing but results in tags; empty where it is anything else."""
    results: list[str] = []
    at = 0
    while text is not None and (start := text.find(RESULT, at)) >= 0:
        end = text.find(RESULT_END, start)
        if end < 0 or not is_blank(text, at, start):
            return []
        results.append(text[start + len(RESULT) : end].strip("\n"))
        at = end + len(RESULT_END)
    return results if text is not None and is_blank(text, at, len(text)) else []


def is_blank(text: str, start: int, end: int) -> bool:
    """True if there is nothing but blanks between two places."""
    return start == end or text[start:end].isspace()
