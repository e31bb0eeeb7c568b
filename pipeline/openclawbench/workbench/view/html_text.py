"""Untrusted text as HTML: escaped, control characters written out, marks around spans, long texts folded."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from openclawbench.base.terminal import UNSAFE, safe

FOLD = 1600  # characters of a text that are shown before the rest is folded; never before a mark
LEAST_FOLDED = 400  # a rest shorter than this is not folded
RUN = re.compile(r"(.)\1{199,}|[A-Za-z0-9+/=_-]{600,}")  # padding and base64


@dataclass(frozen=True)
class TextMark:
    """A span of a text: code points `start` to `end` (exclusive), with the number of the quote and its kind."""

    start: int
    end: int
    number: int
    kind: str = "evidence"  # evidence | second | why


def visible(text: str) -> Markup:
    """The text with each control character written out in a box."""
    if UNSAFE.search(text) is None:
        return escape(text)
    parts, last = [], 0
    for hit in UNSAFE.finditer(text):
        code = f"U+{ord(hit[0]):04X}"
        parts += [
            escape(text[last : hit.start()]),
            Markup('<span class="ctl" title="{}">{}</span>').format(code, safe(hit[0])),
        ]
        last = hit.end()
    return Markup("").join([*parts, escape(text[last:])])


def mark_code(text: str) -> Markup:
    """A sentence with the words between backticks as code."""
    parts = str(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(visible(part)) if number % 2 and number < len(parts) - 1 else visible(part)
        for number, part in enumerate(parts)
    )


def mark_text(text: str, marks: Sequence[TextMark] = (), fold: int | None = FOLD) -> Markup:
    """The text with its marks. The rest beyond `fold` characters, or beyond the last mark, is folded; None: nothing
    is."""
    inside = [mark for mark in marks if 0 <= mark.start < mark.end <= len(text)]
    cut = len(text)
    if fold is not None:
        least = max([fold, *(mark.end for mark in inside)])
        end_of_line = text.find("\n", least)
        shown = end_of_line if 0 <= end_of_line < least + LEAST_FOLDED else least
        cut = shown if len(text) - shown > LEAST_FOLDED else cut
    head = spans(text[:cut], inside)
    if cut == len(text):
        return head
    rest = f"{len(text) - cut:,} more characters"
    return head + Markup('<details class="more"><summary>{}</summary>{}</details>').format(rest, spans(text[cut:], ()))


def spans(text: str, marks: Sequence[TextMark]) -> Markup:
    """The text cut at the ends of its marks; where marks overlap, each is an element of its own."""
    if not marks:
        return runs(text)
    ends = sorted({0, len(text), *(mark.start for mark in marks), *(mark.end for mark in marks)})
    parts = []
    for start, end in pairwise(ends):
        piece = visible(text[start:end]) if (own := covering_marks(marks, start, end)) else runs(text[start:end])
        for mark in own:
            piece = element(mark, piece, first=mark.start == start)
        parts.append(piece)
    return Markup("").join(parts)


def covering_marks(marks: Sequence[TextMark], start: int, end: int) -> list[TextMark]:
    """The marks that cover a piece of the text, the longest last."""
    return sorted(
        (mark for mark in marks if mark.start <= start and end <= mark.end), key=lambda mark: mark.end - mark.start
    )


def element(mark: TextMark, inner: Markup, first: bool) -> Markup:
    """A piece of a mark; the first has its number and its id."""
    prefix = "s" if mark.kind == "second" else "e"
    number = Markup("<sup>{}</sup>").format(mark.number) if first else ""
    name = Markup(' id="{}{}"').format(prefix, mark.number) if first else ""
    return Markup('<mark class="{}"{}>{}{}</mark>').format(mark.kind, name, number, inner)


def runs(text: str) -> Markup:
    """The text, with long runs of one letter or of base64 folded."""
    parts, last = [], 0
    for hit in RUN.finditer(text):
        length = f"{hit.end() - hit.start():,} characters without a space"
        beginning = visible(hit[0][:40])
        parts += [
            visible(text[last : hit.start()]),
            Markup('<details class="run"><summary>{}… {}</summary>{}</details>').format(
                beginning, length, visible(hit[0])
            ),
        ]
        last = hit.end()
    return Markup("").join([*parts, visible(text[last:])])


def middle(text: str, width: int = 44) -> Markup:
    """A long id, cut in the middle; its title has it in full."""
    if len(text) <= width:
        return visible(text)
    half = (width - 1) // 2
    return Markup('<span title="{}">{}</span>').format(safe(text), visible(f"{text[:half]}…{text[-half:]}"))
