"""Reading a detector's answers: the symbol protocol with its probabilities, and the JSON protocol (paper F.10)."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.detect.settings import LABELS, DetectRules
from openclawbench.judge.protocol import AnswerCheck, AnswerProblem, Question
from openclawbench.judge.transport.embedded_json import objects_in
from openclawbench.records.detection.prediction import Label, LabelProbabilities, Parse

PARSE_FAILURE = "parse_failure"
UNWRITTEN = ("refusal", "empty", "too_long", "content_filter", "refused")  # ends of answers that hold no label
SCHEMA_ID = "detector_answer"
SPLIT_SYMBOLS = "no probabilities: the tokenizer splits symbols"
NO_SYMBOL_FIRST = "no probabilities: the first token is not a symbol"
STEP = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
SPAN_FIELDS = ("start_step", "end_step")
SCHEMA: dict[str, Any] = {  # of the JSON protocol's answer
    "type": "object",
    "properties": {
        "label": {"type": "string", "enum": list(LABELS)},
        "onset": STEP,
        "span": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {name: {"type": "integer"} for name in SPAN_FIELDS},
                    "required": list(SPAN_FIELDS),
                    "additionalProperties": False,
                },
                {"type": "null"},
            ]
        },
    },
    "required": ["label", "onset", "span"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class ReadAnswer:
    """What an answer says. `failure` says why there is no label, or what of the rest could not be used."""

    label: Label | None
    parse: Parse
    failure: str | None = None
    onset: int | None = None
    span: tuple[int, int] | None = None


def read_answer(protocol: str, finish: str, text: str, rules: DetectRules, num_steps: int | None = None) -> ReadAnswer:
    """Read an answer. `num_steps`: of the trajectory, beyond which no step can lie; None where it is not known."""
    if finish in UNWRITTEN:
        return ReadAnswer(None, "failed", finish)
    if protocol == "symbol":
        return read_symbol(text, rules)
    return read_json(text, finish, rules, num_steps)


def read_symbol(text: str, rules: DetectRules) -> ReadAnswer:
    """The symbol that the answer is. An answer with other words and one kind of symbol is repaired."""
    symbols = rules.symbols
    if text.strip() in symbols:
        return ReadAnswer(symbols[text.strip()], "ok")
    there = [symbol for symbol in symbols if symbol in text]
    if len(there) == 1:
        return ReadAnswer(symbols[there[0]], "repaired")
    return ReadAnswer(None, "failed", "no symbol" if not there else f"{len(there)} different symbols")


def read_json(text: str, finish: str, rules: DetectRules, num_steps: int | None) -> ReadAnswer:
    """The object of the JSON protocol. Words or a code fence around the only object with a label, and the paper's short
    names, are repaired; an onset or span that cannot be is left out, and said."""
    parse: Parse = "ok"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        objects = [value for _, _, value in objects_in(text) if "label" in value]
        if len(objects) != 1:
            why = "cut off" if finish == "truncated" else "no JSON object with a label"
            return ReadAnswer(None, "failed", why if not objects else f"{len(objects)} JSON objects")
        value, parse = objects[0], "repaired"
    if not isinstance(value, dict):
        return ReadAnswer(None, "failed", "not a JSON object")
    name = value.get("label")
    label = rules.names.get(name) if isinstance(name, str) else None
    if label is None:
        return ReadAnswer(None, "failed", "the label is none of the six")
    if name not in LABELS:
        parse = "repaired"
    onset, no_onset = step_number(value.get("onset"), "onset", num_steps)
    span, no_span = step_span(value.get("span"), num_steps)
    return ReadAnswer(label, parse, "; ".join(filter(None, (no_onset, no_span))) or None, onset, span)


def step_number(value: Any, name: str, num_steps: int | None) -> tuple[int | None, str | None]:
    """A step of the trajectory, or None; and what is wrong with another value."""
    if value is None:
        return None, None
    if not isinstance(value, int) or isinstance(value, bool):
        return None, f"{name} is not a step"
    if value < 1 or (num_steps is not None and value > num_steps):
        return None, f"{name} is not a step of the trajectory"
    return value, None


def step_span(value: Any, num_steps: int | None) -> tuple[tuple[int, int] | None, str | None]:
    """A span of steps, or None; and what is wrong with another value."""
    if value is None:
        return None, None
    if not isinstance(value, dict):
        return None, "span is not an object"
    (start, no_start), (end, no_end) = (step_number(value.get(name), f"span.{name}", num_steps) for name in SPAN_FIELDS)
    if start is None or end is None:
        return None, no_start or no_end or "span lacks an end"
    return ((start, end), None) if start <= end else (None, "span ends before it starts")


@dataclass(frozen=True)
class LabelReading:
    """Probabilities of the six labels and their sum before they were scaled to 1; or why there are none."""

    probabilities: LabelProbabilities | None = None
    mass: float | None = None
    fault: str | None = None


@dataclass(frozen=True)
class TokenShare:
    """A token, its bytes where the server gives them, and its probability."""

    text: str
    content: bytes
    share: float

    def is_part_of(self, symbols: Mapping[str, Label]) -> bool:
        """True for the beginning of a symbol that the tokenizer splits: some of its bytes, not a character."""
        content = self.content.strip()
        begins = any(symbol.encode().startswith(content) for symbol in symbols if content != symbol.encode())
        return (bool(content) and begins) or "\ufffd" in self.text


def read_probabilities(body: bytes, rules: DetectRules) -> LabelReading:
    """The probabilities of the six symbols as the first written token that is not blank, scaled to 1. A symbol that is
    not among the likeliest tokens has probability 0.

    There are none without logprobs, where that token is not a whole symbol, and where more than `score.split_tolerance`
    of the probability is on beginnings of symbols: then the tokenizer splits some, and what is left on the others says
    nothing of the labels (own choice).
    """
    symbols = rules.symbols
    for tokens in first_positions(body):
        written = tokens[0]
        if not written.text.strip() and not written.is_part_of(symbols):
            continue
        parts = [token for token in tokens if token.is_part_of(symbols)]
        if math.fsum(part.share for part in parts) > rules.score.split_tolerance:
            # After a blank any tokenizer may split; without one the symbol itself is split, in every answer.
            likeliest = max(parts, key=lambda part: part.share)
            return LabelReading(fault=NO_SYMBOL_FIRST if likeliest.text[:1].isspace() else SPLIT_SYMBOLS)
        if written.text.strip() not in symbols:
            return LabelReading(fault=NO_SYMBOL_FIRST)
        sums = dict.fromkeys(symbols, 0.0)
        for token in tokens:
            if token.text.strip() in sums:
                sums[token.text.strip()] += token.share
        mass = math.fsum(sums.values())
        if not mass:
            return LabelReading()
        shares = {symbols[symbol]: share / mass for symbol, share in sums.items()}
        return LabelReading(LabelProbabilities.model_validate(shares), min(1.0, mass))
    return LabelReading()


def first_positions(body: bytes) -> Iterator[list[TokenShare]]:
    """Position by position the likeliest tokens, each once, the written one first. Both forms are read: `content` of
    chat completions, and `tokens` with `top_logprobs` of completions, which some servers give."""
    try:
        logprobs = json.loads(body)["choices"][0]["logprobs"]
        positions = logprobs.get("content")
        if isinstance(positions, list):
            for position in positions:
                entries = [position, *(position.get("top_logprobs") or [])]
                yield token_shares((entry["token"], entry.get("bytes"), entry["logprob"]) for entry in entries)
            return
        for token, logprob, top in zip(
            logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"], strict=False
        ):
            yield token_shares([(token, None, logprob), *((name, None, value) for name, value in top.items())])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return


def token_shares(entries: Iterable[tuple[str, list[int] | None, float]]) -> list[TokenShare]:
    """Tokens of (text, bytes, log probability), each once, in their order."""
    by_name: dict[tuple[str, bytes], TokenShare] = {}
    for text, numbers, logprob in entries:
        content = bytes(numbers) if numbers is not None else text.encode(errors="replace")
        if math.isnan(logprob):
            raise ValueError("a log probability is not a number")
        by_name.setdefault((text, content), TokenShare(text, content, math.exp(min(0.0, float(logprob)))))
    return list(by_name.values())


class DetectorReader:
    """What the judge's engine needs to know of an answer: whether it holds a label."""

    def __init__(self, protocol: str, rules: DetectRules) -> None:
        self.protocol, self.rules = protocol, rules
        words = [protocol, *(rule.model_dump() for rule in rules.labels)]
        self.digest: str = sha256_text(canonical_json(words))

    def read(self, question: Question, finish: str, text: str) -> AnswerCheck:
        """The label as the gist; the complaint if the answer names no label."""
        answer = read_answer(self.protocol, finish, text, self.rules)
        if answer.label is not None:
            return AnswerCheck(None, answer.label)
        outcome = finish if finish in UNWRITTEN else PARSE_FAILURE
        return AnswerCheck(AnswerProblem(outcome, answer.failure or ""), outcome)
