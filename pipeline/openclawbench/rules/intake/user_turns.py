"""What a user turn is, and what of it a person wrote: kinds, envelopes, messages collected into one turn."""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator

from openclawbench.records.vocabulary import UserTurnKind
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.plain_texts import PlainTexts
from openclawbench.tables.record import Record

Finder = Callable[[str], re.Match[str] | None]
BOUND = re.compile(r"(?:\(\?[a-z]+\))?(?:\^|\\A)")  # the beginning of a pattern that is bound to the text's
ESCAPES_AND_CLASSES = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)
GROUP = re.compile(r"\([^()]*\)")


class UserKindRule(Record):
    """What a user turn is, by its text as it comes, or without some of its envelopes. `beside`: a person's words may
    stand beside it. `releases`: which of the program's write it."""

    id: str
    kind: UserTurnKind
    holds: str = ""  # plain text in everything that the pattern finds: looked for first
    pattern: PythonPattern
    own_words: bool
    beside: bool = False
    releases: str = ""


class EnvelopeRule(Record):
    """Text around a user's words; `keep` is put in its place, a template of the pattern's groups."""

    id: str
    holds: str = ""  # as in UserKindRule
    pattern: PythonPattern
    keep: str = ""
    releases: str = ""


class CollectedRules(Record):
    """A turn of several messages, each with envelopes of its own: its heading, and what begins each message."""

    heading: PythonPattern
    message: PythonPattern


class UserTurns:
    """Reads user turns. Every envelope is taken off once, in the order of the rules, then again from the first, for one
    may stand within another; a kind is looked for after each."""

    def __init__(self, kinds: list[UserKindRule], envelopes: list[EnvelopeRule], collected: CollectedRules) -> None:
        self.kinds = [(finder(re.compile(rule.pattern)), rule) for rule in kinds]
        patterns = [(rule, re.compile(rule.pattern)) for rule in envelopes]
        self.envelopes = [(finder(pattern), pattern, rule.keep) for rule, pattern in patterns]
        self.kinds_with = places_of([rule.holds for rule in kinds])
        self.envelopes_with = places_of([rule.holds for rule in envelopes])
        self.plain_texts = PlainTexts({**self.kinds_with, **self.envelopes_with})
        self.heading, self.message = re.compile(collected.heading), re.compile(collected.message)
        self.own_kinds = {"user"} | {rule.kind for rule in kinds if rule.own_words}

    def read(self, raw_text: str) -> tuple[list[str], str]:
        """(kinds, a person's words) of a turn; no words where nobody speaks."""
        kinds: dict[str, None] = {}
        words = []
        for message in self.messages(raw_text):
            message_kinds, own = self.read_message(message)
            kinds |= dict.fromkeys(message_kinds)
            words += [own] if own and not self.own_kinds.isdisjoint(message_kinds) else []
        return list(kinds), "\n\n".join(words)

    def person_speaks(self, raw_text: str) -> bool:
        """True if a person speaks in a turn."""
        return not self.own_kinds.isdisjoint(self.read(raw_text)[0])

    def own_words(self, raw_text: str) -> str:
        """A turn without its envelopes, whoever speaks in it."""
        return "\n\n".join(filter(None, (self.read_message(message)[1] for message in self.messages(raw_text))))

    def messages(self, raw_text: str) -> list[str]:
        """The messages of a turn that was collected of several; else the turn."""
        heading = self.heading.search(raw_text)
        if heading is None:
            return [raw_text]
        parts = [raw_text[: heading.start()], *self.message.split(raw_text[heading.end() :])]
        return [part for part in parts if part.strip()] or [raw_text]

    def read_message(self, text: str) -> tuple[list[str], str]:
        """Kinds of a message, and the message without its envelopes. `user` where no kind is found, or a person's words
        are left beside a notice."""
        met: set[int] = set()
        for part, held in self.unwrapped(text):
            places = (at for plain in held for at in self.kinds_with[plain])
            met.update(at for at in places if self.kinds[at][0](part))
            text = part
        own, rules_met = text.strip(), [self.kinds[at][1] for at in sorted(met)]
        kinds: list[str] = list(dict.fromkeys(rule.kind for rule in rules_met))
        if not kinds or (own and all(rule.beside for rule in rules_met)):
            kinds.append("user")
        return kinds, own

    def unwrapped(self, text: str) -> Iterator[tuple[str, set[str]]]:
        """A text, then without the first of its envelopes, then without the next too, up to the last; each with the
        plain texts of rules that it holds."""
        taken: list[int] = []
        while True:
            held = self.plain_texts.held_by(text)
            yield text, held
            waiting = sorted({at for plain in held for at in self.envelopes_with[plain]}.difference(taken))
            split = bisect(waiting, taken[-1]) if taken else 0
            outer = next((at for at in waiting[split:] + waiting[:split] if self.envelopes[at][0](text)), None)
            if outer is None:
                return
            _, pattern, keep = self.envelopes[outer]
            text = pattern.sub(keep, text)
            taken.append(outer)


def places_of(plain_texts: list[str]) -> dict[str, list[int]]:
    """Places of the rules by the plain text that each looks for first."""
    places: dict[str, list[int]] = defaultdict(list)
    for at, plain in enumerate(plain_texts):
        places[plain].append(at)
    return places


def finder(pattern: re.Pattern[str]) -> Finder:
    """What finds the first match of a pattern. One that can match nowhere but at the text's beginning is not looked
    for anywhere else: `search` would, at every character of a long text."""
    bound = BOUND.match(pattern.pattern) and not pattern.flags & re.MULTILINE and not has_branches(pattern.pattern)
    return pattern.match if bound else pattern.search


def has_branches(pattern: str) -> bool:
    """True if a pattern has several branches, those of its groups apart."""
    bare, grouped = ESCAPES_AND_CLASSES.sub("", pattern), 1
    while grouped:
        bare, grouped = GROUP.subn("", bare)
    return "|" in bare
