"""The word in an unknown tool's name or action that says what the tool does (describe.toml: word, noun)."""

import re
from collections.abc import Iterable

from openclawbench.base.memoize import MemoDict
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.loading.tool_names import spelled

Words = tuple[str, ...]
PIECE = re.compile(r"[./:]|__|(?<=[A-Za-z])_[0-9]+_(?=[A-Za-z])")  # between the pieces of a name


class ToolWords:
    """The rules of words, compiled. Caches names, nothing else."""

    def __init__(self, rules: DescribeRules) -> None:
        first = len(rules.tools) + len(rules.verbs)
        self.places: dict[str, dict[str, int]] = {
            place: {word: first + number for number, rule in enumerate(rules.deciding) for word in getattr(rule, place)}
            for place in ("verbs", "leads", "before", "behind", "weak")
        }
        self.things = frozenset(rules.words.things)
        self.prepositions = frozenset(rules.words.prepositions)
        self.joints = frozenset(rules.words.joints)
        self.acting = {first + number for number, rule in enumerate(rules.deciding) if rules.acts(rule)}
        self.nouns = [
            (first + len(rules.deciding) + number, frozenset(rule.heads), frozenset(rule.fields), rule.pattern)
            for number, rule in enumerate(rules.nouns)
        ]
        self.number = MemoDict(self.decide)

    def decide(self, called: tuple[str, str | None]) -> int | None:
        """The number of the rule for a tool and its action: the action's verb goes before the name's, any verb before
        what is named; None where no word is known."""
        name, action = called
        named = pieces(name)
        verbs = [*pieces(action or ""), *named]
        return (
            first_of(map(self.verb, verbs))
            or first_of(self.places["weak"].get(word) for words in verbs for word in words)
            or self.noun(named)
        )

    def verb(self, words: Words) -> int | None:
        """The rule of the word that decides a piece: behind a joint where it acts, else in front, as a verb anywhere,
        as a noun in front, as one behind it."""
        joined = [place + 1 for place, word in enumerate(words[:-1]) if word in self.joints and place]
        acts = first_of(word for place in joined if (word := self.at(words, place, "verbs")) in self.acting)
        if acts is not None:
            return acts
        front = self.at(words, 0, "verbs")
        a_thing = len(words) > 1 and self.head(words[1:]) in self.things
        if front is None and not a_thing:
            front = self.at(words, 0, "leads")
        if front is not None:
            return front
        anywhere = first_of(self.at(words, place, "verbs") for place in range(1, len(words)))
        if anywhere is None and not a_thing and len(words) > 1 and words[1] not in self.prepositions:
            anywhere = self.at(words, 0, "before")
        if anywhere is None and not a_thing:
            anywhere = first_of(self.at(words, place, "behind") for place in range(1, len(words)))
        return anywhere

    def at(self, words: Words, place: int, kind: str) -> int | None:
        """The rule of the two words at a place of a piece, or of the one."""
        places = self.places[kind]
        two = places.get("_".join(words[place : place + 2]))
        return places.get(words[place]) if two is None else two

    def head(self, words: Words) -> str:
        """What a piece is about: the word in front of its first preposition, or the last one."""
        end = next((place for place, word in enumerate(words) if place and word in self.prepositions), len(words))
        return words[end - 1]

    def noun(self, named: list[Words]) -> int | None:
        """The rule of what a name without a verb names."""
        heads = [self.head(words) for words in named]
        others = {word for words in named[1:] for word in words} | {
            word for words, head in zip(named, heads, strict=True) for word in words if word != head
        }
        for head in heads:
            for number, nouns, *_ in self.nouns:
                if head in nouns:
                    return number
        for number, _, fields, pattern in self.nouns:
            if not fields.isdisjoint(others) or (pattern and named and re.search(pattern, "_".join(named[0]))):
                return number
        return None


def pieces(name: str) -> list[Words]:
    """The words of each piece of a name, the last piece first; numbers are left out."""
    spellings = (
        tuple(word for word in spelled(piece).split("_") if not word.isdecimal()) for piece in PIECE.split(name)
    )
    return [words for words in spellings if words and words[0]][::-1]


def first_of(values: Iterable[int | None]) -> int | None:
    """The first value that is not None."""
    return next((value for value in values if value is not None), None)
