"""Does a quote stand where it says? Compared on decoded text: escapes undone, whitespace and Unicode evened out."""

import re
import unicodedata
from collections.abc import Iterable

from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.packet import Evidence, StepLanguage

ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
LANGUAGE = "language"  # the descriptor that is none of a step, but of its texts
SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def is_grounded(evidence: Evidence, quote: EvidenceQuote) -> bool:
    """True where the quote stands in that field of that step.

    For user_turn, step_id is the number of the user turn. A descriptor quote is `<name>=<value>`; a list holds the
    value as a member. An empty quote stands nowhere.
    """
    if not quote.quote.strip():
        return False
    if quote.field == "user_turn":
        texts = [turn.text for turn in evidence.user_turns if turn.user_turn == quote.step_id]
        return any(contains(text, quote.quote) for text in texts)
    step = next((one for one in evidence.steps if one.step_id == quote.step_id), None)
    if step is None:
        return False
    if quote.field == "descriptor":
        name, _, value = quote.quote.partition("=")
        if name.strip() == LANGUAGE:
            return quote in map(cited_language, evidence.languages)
        held = getattr(step, name.strip(), None)
        return value.strip() in held if isinstance(held, list) else written(held) == value.strip()
    text: str | None = getattr(step, quote.field)
    return text is not None and contains(text, quote.quote)


def cited_language(told: StepLanguage) -> EvidenceQuote:
    """A citation of the language of a step's own words: `language=pl`, `language=null` where nobody knows it."""
    return EvidenceQuote(step_id=told.step_id, field="descriptor", quote=f"{LANGUAGE}={written(told.language)}")


def cites_unread_language(evidence: Evidence, quotes: Iterable[EvidenceQuote]) -> bool:
    """True where a quote is the language of a text whose silence says nothing: its words are not known, or nobody knows
    which it is."""
    unread = [one for one in evidence.languages if one.coverage in ("uncovered", "unsure")]
    return not set(quotes).isdisjoint(map(cited_language, unread))


def contains(text: str, quote: str) -> bool:
    """True where the quote stands in the text, escaped or decoded."""
    texts = {even(text), even(decoded(text))}
    return any(even(one) in other for one in (quote, decoded(quote)) for other in texts)


def written(value: str | int | bool | None) -> str:
    """A descriptor's value as a citation writes it: true, false and null as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def even(text: str) -> str:
    """Text in one Unicode form with runs of whitespace as one blank."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def decoded(text: str) -> str:
    """Text with JSON escapes undone; a text without any is itself."""
    if "\\" not in text:
        return text

    def undo(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else SIMPLE.get(match[2], match[2])

    plain = ESCAPE.sub(undo, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
