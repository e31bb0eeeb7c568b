"""The quotes of a label as numbered marks in the texts of its trajectory, each with the result of the check."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from openclawbench.fulltax.annotation.quote_grounding import LANGUAGE, as_cited, contains, decoded
from openclawbench.workbench.view.html_text import TextMark

Row = dict[str, Any]
VERBATIM, RESPELLED, ABSENT = "stands there", "stands there in another spelling", "is not there"
Place = tuple[str, int, str]  # step or user_turn, its number, field


@dataclass(frozen=True)
class Quote:
    """A quote of a label: where it is cited, and whether it is there."""

    number: int
    step_id: int
    field: str
    quote: str
    check: str  # VERBATIM | RESPELLED | ABSENT
    span: tuple[int, int] | None  # code points in the field

    @property
    def place(self) -> Place:
        """The text that it is cited from."""
        return ("user_turn" if self.field == "user_turn" else "step", self.step_id, self.field)


def quotes_of(trajectory: Row, label: Row | None) -> list[Quote]:
    """The quotes of a label, numbered from 1."""
    cited = label["evidence_steps"] if label else []
    steps = {step["step_id"]: step for step in trajectory["steps"]}
    turns = {turn["user_turn"]: turn for turn in trajectory["user_turns"]}
    return [
        Quote(number, row["step_id"], row["field"], row["quote"], *check_quote(trajectory, steps, turns, row))
        for number, row in enumerate(cited, 1)
    ]


def check_quote(
    trajectory: Row, steps: dict[int, Row], turns: dict[int, Row], row: Row
) -> tuple[str, tuple[int, int] | None]:
    """Whether a quote stands where it should, and its span in code points."""
    quote, number = row["quote"], row["step_id"]
    if row["field"] == "user_turn":
        return in_text(turns[number]["text"], quote) if number in turns else (ABSENT, None)
    if number not in steps:
        return ABSENT, None
    if row["field"] == "descriptor":
        return (VERBATIM if is_descriptor(trajectory, steps[number], quote) else ABSENT), None
    return in_text(steps[number].get(row["field"]), quote)


def in_text(text: str | None, quote: str) -> tuple[str, tuple[int, int] | None]:
    """Whether a text contains a quote, and where."""
    if text is None or not quote.strip():
        return ABSENT, None
    start = text.find(quote)
    if start >= 0:
        return VERBATIM, (start, start + len(quote))
    if not contains(text, quote):
        return ABSENT, None
    for form in (quote, decoded(quote)):
        pattern = r"\s+".join(map(re.escape, form.split()))
        if hit := re.search(pattern, text):
            return RESPELLED, hit.span()
    return RESPELLED, None


def is_descriptor(trajectory: Row, step: Row, quote: str) -> bool:
    """True if a quote `name=value` is what the step's descriptor says."""
    name, _, value = quote.partition("=")
    name, value = name.strip(), value.strip()
    if name == LANGUAGE:
        texts = [text for text in trajectory.get("languages") or [] if text["step_id"] == step["step_id"]]
        return value in [as_cited(text["language"]) for text in texts]
    actual = step.get(name)
    return value in actual if isinstance(actual, list) else name in step and as_cited(actual) == value


def marks_by_place(quotes: Iterable[Quote], kind: str = "evidence") -> dict[Place, list[TextMark]]:
    """Text -> its marks."""
    marks: dict[Place, list[TextMark]] = {}
    for quote in quotes:
        if quote.span:
            marks.setdefault(quote.place, []).append(TextMark(*quote.span, quote.number, kind))
    return marks
