"""Whether a quote occurs where it says: compared on decoded text, with whitespace and Unicode normalized."""

import re
import unicodedata
from collections.abc import Iterable

from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.packet import Evidence, StepLanguage

ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
LANGUAGE = "language"  # a descriptor of the texts of a step, not of the step
SIMPLE_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def is_grounded(evidence: Evidence, quote: EvidenceQuote) -> bool:
    """True if the quote occurs in that field of that step.

    For user_turn, step_id is the number of the user turn. A descriptor quote is `<name>=<value>`; in a list the value
    must be a member. An empty quote occurs nowhere.
    """
    if not quote.quote.strip():
        return False
    if quote.field == "user_turn":
        texts = [turn.text for turn in evidence.user_turns if turn.user_turn == quote.step_id]
        return any(contains(text, quote.quote) for text in texts)
    step = next((step for step in evidence.steps if step.step_id == quote.step_id), None)
    if step is None:
        return False
    if quote.field == "descriptor":
        name, _, value = quote.quote.partition("=")
        if name.strip() == LANGUAGE:
            return quote in map(cited_language, evidence.languages)
        actual = getattr(step, name.strip(), None)
        return value.strip() in actual if isinstance(actual, list) else as_cited(actual) == value.strip()
    text: str | None = getattr(step, quote.field)
    return text is not None and contains(text, quote.quote)


def cited_language(text: StepLanguage) -> EvidenceQuote:
    """A citation of the language of a text: `language=pl`, or `language=null` where it is not known."""
    return EvidenceQuote(step_id=text.step_id, field="descriptor", quote=f"{LANGUAGE}={as_cited(text.language)}")


def cites_unread_language(evidence: Evidence, quotes: Iterable[EvidenceQuote]) -> bool:
    """True if a quote cites the language of a text that cannot be read: without word lists, or unknown."""
    unread = [text for text in evidence.languages if text.coverage in ("uncovered", "unsure")]
    return not set(quotes).isdisjoint(map(cited_language, unread))


def contains(text: str, quote: str) -> bool:
    """True if the quote occurs in the text, escaped or decoded."""
    texts = {normalized(text), normalized(decoded(text))}
    return any(normalized(form) in other for form in (quote, decoded(quote)) for other in texts)


def as_cited(value: str | int | bool | None) -> str:
    """A descriptor's value as a citation writes it: true, false and null as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def normalized(text: str) -> str:
    """Text in Unicode form NFKC, each run of whitespace as one space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def decoded(text: str) -> str:
    """Text with its JSON escapes decoded."""
    if "\\" not in text:
        return text

    def undo(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else SIMPLE_ESCAPES.get(match[2], match[2])

    plain = ESCAPE.sub(undo, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
