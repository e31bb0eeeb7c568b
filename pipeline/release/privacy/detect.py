"""Finds in one text: spans of what looks like a key, an e-mail address or a telephone number."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl

from pipeline.release.privacy.rules import PrivacyRules, Rule, plugin_of

ESCAPED = re.compile(r"\\+([nrt]|[\"'])")  # of JSON inside a text
SHORTEST = 8  # characters of a value that a detector gives alone, below which it says too little of where it stands


class Hit(NamedTuple):
    """One find."""

    start: int
    end: int
    kind: str
    group: str
    shown: int  # characters at its beginning that name its kind and give nothing away


class Finder:
    """One rule, ready to be asked."""

    def __init__(self, rule: Rule, allowed: list[str]) -> None:
        self.rule = rule
        self.filter = rule.filter and re.compile(rule.filter)
        self.pattern = rule.pattern and re.compile(rule.pattern)
        self.whole = rule.whole and re.compile(rule.whole)
        self.allowed = [re.compile(one) for one in (*allowed, *rule.allow)]
        self.plugin: Any = rule.plugin and plugin_of(rule.plugin)

    def hits(self, text: str) -> Iterator[Hit]:
        """Finds in a text whose escapes are blanks."""
        if not (any(need in text for need in self.rule.needs) or (self.filter and self.filter.search(text))):
            return
        for start, end in self.spans(text):
            value = text[start:end]
            digits = sum(map(str.isdigit, value)) if self.rule.least_digits else 0
            if digits >= self.rule.least_digits and not any(one.fullmatch(value) for one in self.allowed):
                prefix = max((len(need) for need in self.rule.needs if value.startswith(need)), default=0)
                yield Hit(start, end, self.rule.kind, self.rule.group, prefix)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the pattern fits, or what the detector gives stands."""
        if self.pattern:
            for match in self.pattern.finditer(text):
                yield match.span(1 if match.re.groups else 0)
            return
        for value in sorted({one for one in self.plugin.analyze_string(text) if one}):
            at = text.find(value)
            while at >= 0:
                fit = self.whole.match(text, at) if self.whole else None
                if fit:
                    yield fit.span()
                elif len(value) >= SHORTEST or not self.whole:
                    yield at, at + len(value)
                at = text.find(value, at + 1)


class Detector:
    """All rules. Making it compiles the patterns and loads detect-secrets."""

    def __init__(self, rules: PrivacyRules) -> None:
        every = [*rules.rule, marks(rules)]
        self.finders = [Finder(rule, rules.allow) for rule in every]
        self.needs = sorted({need for rule in every for need in rule.needs})
        self.filters = sorted({rule.filter for rule in every if rule.filter})

    def hits(self, text: str) -> list[Hit]:
        """Finds in order, none inside another one."""
        plain = blanked(text)
        found = sorted(
            {hit for one in self.finders for hit in one.hits(plain)}, key=lambda hit: (hit.start, -hit.end, hit.kind)
        )
        kept: list[Hit] = []
        for hit in found:
            if not kept or hit.start >= kept[-1].end:
                kept.append(hit)
            elif hit.end > kept[-1].end:
                kept[-1] = kept[-1]._replace(end=hit.end)
        return kept

    def worth_a_look(self, texts: pl.Expr) -> pl.Expr:
        """Texts that may hold a find; nothing is in the others. Texts may be lines of JSON."""
        # A quotation mark in a line of JSON has a backslash before it.
        in_json = [one.replace("[\"']", "\\\\*[\"']") for one in self.filters]
        # Each for itself: a pattern alone is looked for by the plain letters in it, several in one letter by letter.
        words = "|".join(map(pl.escape_regex, self.needs))
        return pl.any_horizontal(texts.str.contains(one) for one in (words, *in_json))


def blanked(text: str) -> str:
    """The text with escapes of JSON inside it as blanks, character for character, so that a word begins after them."""
    return ESCAPED.sub(lambda found: " " * (len(found[0]) - 1) + unescaped(found[1]), text) if "\\" in text else text


def unescaped(letter: str) -> str:
    """What stands in place of an escape's last character."""
    return letter if letter in "\"'" else " "


def marks(rules: PrivacyRules) -> Rule:
    """The rule that finds what was redacted."""
    before, _, after = rules.marker.partition("{kind}")
    pattern = f"{re.escape(before)}[a-z_]+{re.escape(after)}"
    return Rule(kind="redacted", group="redacted", pattern=pattern, needs=[before])
