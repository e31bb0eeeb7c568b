"""Plain texts without which a regular expression cannot match: to search them first costs a fiftieth of the pattern.

They are derived from the pattern itself, so that no rule file has to repeat them and they always agree. The
parser is that of `re` itself; a part that is not known here is taken to match anything.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import chain, product
from re import _casefix  # type: ignore[attr-defined]
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_TEXTS = 4  # texts that a sequence is expanded into; with more of them the search takes longer than it saves
SAME_CHARACTERS = 6  # at the beginning of texts that are searched as one

Part = tuple[Any, Any]  # an operation of the parsed pattern, and its arguments
Texts = frozenset[str]
NOTHING: Texts = frozenset([""])
# Letters that more than two letters match where case does not matter, such as k and the Kelvin sign.
SEVERAL_CASES = frozenset(map(chr, [*_casefix._EXTRA_CASES, *chain(*_casefix._EXTRA_CASES.values())]))


def needed(regex: str, flags: int) -> tuple[str, ...]:
    """Texts of which at least one is in the lower case of whatever the pattern is found in; empty if there are none."""
    letters = has_two_cases_in_ascii if flags & re.ASCII else has_two_cases
    literals = Literals(letters).needed_by(parser.parse(regex, flags))
    return tuple(sorted(beginnings(literals))) if literals and all(map(is_telling, literals)) else ()


def beginnings(texts: Texts) -> Texts:
    """The texts, with one for those that begin alike: to search it takes less than to search each of them."""
    counts = Counter(text[:SAME_CHARACTERS] for text in texts)
    return frozenset(beginning if counts[beginning := text[:SAME_CHARACTERS]] > 1 else text for text in texts)


def is_telling(text: str) -> bool:
    """False for a letter, a digit or a blank of ASCII, which are in nearly everything."""
    return len(text) > 1 or not (text.isascii() and (text.isalnum() or text.isspace()))


def has_two_cases_in_ascii(character: str) -> bool:
    """True for a character that, with re.ASCII, matches itself in two cases and no others."""
    return character.isascii()


def has_two_cases(character: str) -> bool:
    """True for a character that matches what has the same lower case, and nothing else."""
    return character.lower() not in SEVERAL_CASES and len(character.lower()) == 1


@dataclass(frozen=True)
class Literals:
    """Reads what texts a parsed pattern needs. `is_known`: whether a letter means itself in two cases alone."""

    is_known: Callable[[str], bool]

    def needed_by(self, sequence: Iterable[Part]) -> Texts | None:
        """The best of what parts that follow each other need: the longest texts, then the fewest; None if none."""
        candidates: list[Texts] = []
        run = NOTHING  # the texts that neighbouring parts match together
        for part in sequence:
            texts = self.texts_of_part(part)
            if texts is not None and len(run) * len(texts) <= MAX_TEXTS:
                run = joined([run, texts])
            elif texts is not None:
                candidates.append(run)
                run = texts
            else:
                candidates += [run, self.needed_within(part) or NOTHING]
                run = NOTHING
        needs = [shortest(texts) for texts in (*candidates, run) if "" not in texts]
        return max(needs, key=lambda texts: (min(map(len, texts)), -len(texts)), default=None)

    def needed_within(self, part: Part) -> Texts | None:
        """What a part needs whose texts cannot be listed."""
        operation, argument = part
        if operation is code.SUBPATTERN:
            has_own_flags = argument[1] or argument[2]  # they change what letters mean
            return None if has_own_flags else self.needed_by(argument[3])
        if operation is code.BRANCH:
            branches = [self.needed_by(branch) for branch in argument[1]]
            return frozenset[str]().union(*(branch for branch in branches if branch)) if all(branches) else None
        if operation in (code.MAX_REPEAT, code.MIN_REPEAT) and argument[0] > 0:
            return self.needed_by(argument[2])
        return None

    def texts_of_part(self, part: Part) -> Texts | None:
        """All texts that a part matches, in lower case; None if there are many, or a letter that is not known."""
        operation, argument = part
        if operation in (code.AT, code.ASSERT, code.ASSERT_NOT):
            return NOTHING  # a place, which takes up no text
        if operation is code.LITERAL:
            return frozenset([chr(argument).lower()]) if self.is_known(chr(argument)) else None
        if operation is code.IN:
            several = [self.texts_of_part(node) if node[0] is code.LITERAL else None for node in argument]
        elif operation is code.BRANCH:
            several = [self.texts_of_sequence(branch) for branch in argument[1]]
        elif operation is code.SUBPATTERN and not (argument[1] or argument[2]):
            several = [self.texts_of_sequence(argument[3])]
        elif operation in (code.MAX_REPEAT, code.MIN_REPEAT) and argument[:2] in ((0, 1), (1, 1)):
            several = [self.texts_of_sequence(argument[2]), NOTHING if argument[0] == 0 else frozenset()]
        else:
            return None
        together = frozenset[str]().union(*(texts for texts in several if texts is not None))
        return together if None not in several and len(together) <= MAX_TEXTS else None

    def texts_of_sequence(self, sequence: Iterable[Part]) -> Texts | None:
        """All texts that parts match together; None if there are many."""
        parts = [self.texts_of_part(part) for part in sequence]
        texts = joined([part for part in parts if part is not None])
        return texts if None not in parts and len(texts) <= MAX_TEXTS else None


def joined(parts: list[Texts]) -> Texts:
    """Every text of the first with every text of the second, and so on."""
    return reduce(lambda texts, other: frozenset("".join(both) for both in product(texts, other)), parts, NOTHING)


def shortest(texts: Texts) -> Texts:
    """The texts without those that contain another one."""
    return frozenset(text for text in texts if not any(other != text and other in text for other in texts))
