"""Redaction: a find is replaced by the same marker in every line of a record, and quotes still occur in its text.

Spans and onsets of a release are step numbers, not character offsets, so they stay right.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from openclawbench.base.canonical_json import canonical_json
from openclawbench.fulltax.annotation.quote_grounding import decoded, is_grounded
from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.packet import Evidence
from openclawbench.records.release import Master
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.scan import NAMES, PLAIN_NAME, texts_of

PLACE = ("step_id", "field", "quote")
LONG_ENOUGH = 8  # length from which a find is replaced wherever it occurs, not only where a rule finds it
Quote = tuple[Any, ...]


class RedactableLine(NamedTuple):
    """A released line as plain data, and whether it is the record itself or an answer about it."""

    value: dict[str, Any]
    is_record: bool


def redact(
    lines: Iterable[RedactableLine], privacy_finder: PrivacyFinder, groups: set[str], marker: str
) -> list[dict[str, Any]]:
    """The lines of one record, in order, with every find of these groups replaced."""
    every = list(lines)
    redactor = Redactor(every, privacy_finder, groups, marker)
    for line in every:
        if line.is_record:
            redactor.keep_quotes(line.value)
    return [redactor.answer(line.value) if "parsed" in line.value else redactor.line(line.value) for line in every]


class Redactor:
    """The replacements in one record: markers for finds, and quotes that would no longer occur in the text."""

    def __init__(
        self, lines: list[RedactableLine], privacy_finder: PrivacyFinder, groups: set[str], marker: str
    ) -> None:
        self.privacy_finder, self.groups, self.marker = privacy_finder, groups, marker
        self.markers: dict[str, str] = {}  # find -> marker
        for _, _, text in (place_and_text for line in lines for place_and_text in texts_of(line.value)):
            for start, end, mark in self.spans(text):
                self.markers[text[start:end]] = mark
        # Longest first, so that no find is cut by another one inside it.
        self.forms = sorted({form for find in self.markers.items() for form in forms(*find)}, key=by_length)
        self.quotes: dict[Quote, str] = {}

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Finds in a text with their markers."""
        for hit in self.privacy_finder.hits(text):
            if hit.group in self.groups:
                yield hit.start, hit.end, self.marker.format(kind=hit.kind)

    def text(self, text: str) -> str:
        """A text with its finds replaced: those of the rules in this text, and those from elsewhere in the record."""
        parts, at = [], 0
        for start, end, mark in self.spans(text):
            parts += [text[at:start], mark]
            at = end
        text = "".join([*parts, text[at:]])
        for find, mark in self.forms:
            text = text.replace(find, mark)
        return text

    def tree(self, value: Any) -> Any:
        """A value with every text in it redacted, at any depth; quotes as the record needs them, names unchanged."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        if not isinstance(value, dict):
            return value
        tree = {self.name(name): inner if name in NAMES else self.tree(inner) for name, inner in value.items()}
        if is_quote(value):
            tree["quote"] = self.quotes.get(place_of(value), tree["quote"])
        return tree

    def name(self, name: str) -> str:
        """The name of a value: fields of records as they are, others are text."""
        return name if PLAIN_NAME.fullmatch(name) else self.text(name)

    def line(self, value: dict[str, Any]) -> dict[str, Any]:
        """A line."""
        tree: dict[str, Any] = self.tree(value)
        return tree

    def answer(self, value: dict[str, Any]) -> dict[str, Any]:
        """A raw answer, redacted: its parsed value, and its text, in which quotes may be written with escapes."""
        texts = {name: self.with_quotes(inner) for name, inner in value.items() if name in ("response_text", "former")}
        line = self.line(value | texts)
        if value["parsed"] is not None:
            line["parsed"] = canonical_json(self.line(json.loads(value["parsed"])))
        return line

    def with_quotes(self, value: Any) -> Any:
        """The judge's own text with the quotes that had to change."""
        if isinstance(value, dict):
            return {name: self.with_quotes(inner) for name, inner in value.items()}
        if isinstance(value, str):
            for (*_, quote), other in self.quotes.items():
                for form, written in {quote: other, escape_json(quote): escape_json(other)}.items():
                    value = value.replace(form, written)
        return value

    def keep_quotes(self, before: dict[str, Any]) -> None:
        """Find, for each quote that occurred in its step, the form that still occurs there."""
        after = evidence_of(self.line(before))
        evidence = evidence_of(before)
        for quote in quotes_in(before):
            place = place_of(quote)
            if place not in self.quotes and is_grounded(evidence, EvidenceQuote(**quote)):
                plain = self.text(quote["quote"])
                standing = (form for form in self.candidates(plain, quote) if occurs(after, quote, form))
                form = next(standing, plain)
                if form != quote["quote"]:
                    self.quotes[place] = form

    def candidates(self, plain: str, quote: dict[str, Any]) -> Iterator[str]:
        """Forms of a quote: whole; without the part of a find at its end, at its beginning, at both; only a marker."""
        yield plain
        for head in (plain, *self.without_part(plain, at_end=True)):
            yield head
            yield from self.without_part(head, at_end=False)
        yield from sorted({mark for _, mark in self.forms})
        name = quote["quote"].partition("=")[0]
        yield from (f"{name}={mark}" for mark in sorted({mark for _, mark in self.forms}))

    def without_part(self, text: str, at_end: bool) -> Iterator[str]:
        """The text with a marker in place of a partial find at its end or beginning; the longest part first."""
        for find, mark in self.forms:
            for size in range(min(len(find) - 1, len(text)), 0, -1):
                if at_end and text.endswith(find[:size]):
                    yield text[: len(text) - size] + mark
                elif not at_end and text.startswith(find[-size:]):
                    yield mark + text[size:]


def forms(find: str, mark: str) -> Iterator[tuple[str, str]]:
    """The forms of a find elsewhere, if it is long enough to be unique."""
    if len(find) >= LONG_ENOUGH:
        for form in (find, escape_json(find), decoded(find)):
            yield form, mark


def by_length(form: tuple[str, str]) -> tuple[int, str]:
    """Longest first."""
    return -len(form[0]), form[0]


def escape_json(text: str) -> str:
    """A text as it is written inside a JSON string."""
    return canonical_json(text)[1:-1]


def is_quote(value: dict[str, Any]) -> bool:
    """True for an evidence quote."""
    return all(name in value for name in PLACE)


def place_of(quote: dict[str, Any]) -> Quote:
    """The key by which two quotes are the same."""
    return tuple(quote[name] for name in PLACE)


def quotes_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every evidence quote in a record, in the answers of all stages."""
    if isinstance(value, dict):
        if is_quote(value):
            yield {name: value[name] for name in PLACE}
        for inner in value.values():
            yield from quotes_in(inner)
    elif isinstance(value, list):
        for item in value:
            yield from quotes_in(item)


def evidence_of(record: dict[str, Any]) -> Evidence:
    """The texts that a record's quotes come from."""
    row = Master.model_validate(record)
    return Evidence.model_construct(**{name: getattr(row, name) for name in Evidence.model_fields})


def occurs(evidence: Evidence, quote: dict[str, Any], form: str) -> bool:
    """True if the quote occurs in its step in this form."""
    return is_grounded(evidence, EvidenceQuote(**(quote | {"quote": form})))
