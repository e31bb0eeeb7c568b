"""Finds in one text: spans that look like a key, an account, an address, a number or a user's name."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import polars as pl

from openclawbench.release.privacy.checks import CHECKS, decode_base64, entropy
from openclawbench.release.privacy.rules import PrivacyRules, Rule, plugin_of
from openclawbench.release.privacy.undo import MAY_BE_WRAPPED, UNDONE, undo

QUOTE = "[\"']"  # in a filter; in JSON text it has backslashes before it
QUOTE_IN_JSON = "\\\\*[\"']"
# A blank in a filter, also as JSON inside the text has it; and as a line of JSON has all that Python takes as blank.
BLANK = r"(?:\s|\\+[nrt])"
BLANK_IN_JSON = r"(?:[\s\x1c-\x1f]|\\+(?:[nrtf]|u(?:00(?:0[9a-d]|1[c-f]|85|a0)|1680|20[0-5][0-9a-f]|3000)))"
ESCAPED = re.compile(r"\\+([nrt]|[\"'])")  # of JSON inside a text
# Rules whose filters begin with no plain word, so that each is searched letter by letter. As one pattern they take a
# third of the time; every other such rule would make that pattern slower (both measured).
LETTER_BY_LETTER = frozenset(
    ("bank_account", "key_in_base64", "national_id", "national_phone", "social_security_number")
)
NO_LETTER_AFTER = ("(?![A-Za-z0-9_])", "(?![A-Za-z0-9])")  # at the end of patterns; the first is all in kept rule sets
SHORTEST = 8  # minimum length of a value that a plugin gives without its position


class Hit(NamedTuple):
    """One find."""

    start: int
    end: int
    kind: str
    group: str
    shown: int  # characters at its beginning that name its kind and reveal nothing


class RuleFinder:
    """One compiled rule."""

    def __init__(self, rule: Rule, allowed: list[re.Pattern[str]]) -> None:
        self.rule = rule
        self.filter = re.compile(rule.filter) if rule.filter else None
        self.full_pattern = rule.whole and re.compile(rule.whole)
        self.values = [re.compile(pattern) for pattern in rule.values]
        self.allowed = allowed
        self.plugin: Any = rule.plugin and plugin_of(rule.plugin)
        self.inner: list[RuleFinder] = []  # for an encoded text: the rules that are tried on the decoded text

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """The compiled pattern; few rules of a kept rule set are ever tried."""
        return re.compile(self.rule.pattern) if self.rule.pattern else None

    @cached_property
    def joined_pattern(self) -> re.Pattern[str] | None:
        """The pattern for a text whose lines are joined: what follows may be a letter."""
        if self.rule.pattern is None:
            return None
        ends = (end for end in NO_LETTER_AFTER if self.rule.pattern.endswith(end))
        return re.compile(self.rule.pattern.removesuffix(next(ends, "")))

    @cached_property
    def own_allowed(self) -> list[re.Pattern[str]]:
        """Texts that are no find of this rule."""
        return [re.compile(pattern, re.DOTALL) for pattern in self.rule.allow]

    def may_hit(self, text: str) -> bool:
        """False if the text surely holds no find."""
        for need in self.rule.needs:
            if need in text:
                return True
        if self.rule.words:
            has_word = any(map(lowered(text).__contains__, self.rule.words))
            return has_word and (self.filter is None or self.filter.search(text) is not None)
        return bool(self.filter and self.filter.search(text))

    def may_be_wrapped(self, text: str) -> bool:
        """False if the text surely holds no find with something inside it."""
        rule = self.rule
        if rule.filter_alone:
            return True
        return any(need in text for need in rule.needs) or any(map(lowered(text).__contains__, rule.words))

    def may_hit_each(self, texts: pl.Series) -> pl.Series:
        """For each text, which may be a line of JSON: false if it surely holds no find."""
        may = texts.to_frame("text").select(may_hit(self.rule, pl.col("text"))).to_series()
        if not self.values or not may.any():
            return may
        table = pl.DataFrame({"place": may.arg_true(), "text": texts.filter(may)})
        counted = pl.concat([self.with_values(table, value) for value in self.values])
        return pl.int_range(texts.len(), dtype=pl.UInt32, eager=True).is_in(counted.implode())

    def with_values(self, table: pl.DataFrame, value: re.Pattern[str]) -> pl.Series:
        """Places of the texts that hold a value which is not allowed; the same few values stand in most texts."""
        values = table.select("place", part=pl.col("text").str.extract_all(value.pattern)).explode("part")
        parts = values["part"].drop_nulls().unique()
        counted = [part for part in parts if (fit := value.fullmatch(part)) is None or self.counts(fit[1])]
        return values.filter(pl.col("part").is_in(counted))["place"]

    def hits(self, text: str, joined: bool = False) -> Iterator[Hit]:
        """Finds in a text whose escapes are blanks. `joined`: its lines are joined, so that a find may end within a
        word."""
        if joined or self.may_hit(text):
            for start, end in self.spans(text, joined):
                if self.counts(value := text[start:end]):
                    prefix = max((len(need) for need in self.rule.needs if value.startswith(need)), default=0)
                    yield Hit(start, end, self.rule.kind, self.rule.group, prefix)

    def counts(self, value: str) -> bool:
        """True if a match of the pattern is a find."""
        rule = self.rule
        if rule.least_digits and sum(map(str.isdigit, value)) < rule.least_digits:
            return False
        if rule.least_entropy and entropy(value) < rule.least_entropy:
            return False
        if rule.check and not CHECKS[rule.check](value):
            return False
        if any(pattern.fullmatch(value) for pattern in (*self.allowed, *self.own_allowed)):
            return False
        return not rule.encoded or self.holds_a_key(value)

    def holds_a_key(self, value: str) -> bool:
        """True if the text that this value encodes holds a find of another rule."""
        text = decode_base64(value)
        return text is not None and any(True for finder in self.inner for _ in finder.hits(text))

    def spans(self, text: str, joined: bool = False) -> Iterator[tuple[int, int]]:
        """Spans of matches of the pattern, or of the values that the plugin gives."""
        if pattern := self.joined_pattern if joined else self.pattern:
            for match in pattern.finditer(text):
                yield match.span(1 if match.re.groups else 0)
            return
        for value in sorted({value for value in self.plugin.analyze_string(text) if value}):
            at = text.find(value)
            while at >= 0:
                fit = self.full_pattern.match(text, at) if self.full_pattern else None
                if fit:
                    yield fit.span()
                elif len(value) >= SHORTEST or not self.full_pattern:
                    yield at, at + len(value)
                at = text.find(value, at + 1)


class PrivacyFinder:
    """All rules. Making it compiles the patterns and loads detect-secrets."""

    def __init__(self, rules: PrivacyRules) -> None:
        every = [*rules.rule, marker_rule(rules)]
        self.rules = rules
        allowed = [re.compile(pattern, re.DOTALL) for pattern in rules.allow]
        self.finders = [RuleFinder(rule, allowed if rule.group != "redacted" else []) for rule in every]
        keys = [finder for finder in self.finders if finder.rule.group == "key" and not finder.rule.encoded]
        for finder in self.finders:
            finder.inner = keys if finder.rule.encoded else []
        self.groups = groups_of(self.finders)

    def hits(self, text: str, finders: Iterable[RuleFinder] | None = None) -> list[Hit]:
        """Finds in order, without overlaps: of overlapping finds the strictest stays. `finders`: the rules to use, None
        for all."""
        used = self.finders if finders is None else list(finders)
        plain = blank_escapes(text)
        candidates = [hit for finder in used if finder.may_hit(plain) for hit in finder.hits(plain)]
        candidates += wrapped_hits(text, candidates, used)
        return self.strictest(candidates) if candidates else []

    def strictest(self, candidates: Iterable[Hit]) -> list[Hit]:
        """Finds without those that overlap a stricter one. Of two equally strict finds the longer stays, or the first;
        if neither contains the other, the one that stays covers both. The rest of a less strict find is left as it is,
        because no rule matches it."""
        disjoint: list[Hit] = []
        order = sorted(candidates, key=lambda hit: (self.rules.strictness(hit.group), hit.start - hit.end, hit))
        for hit in order:
            over = [other for other in disjoint if hit.start < other.end and other.start < hit.end]
            if not over:
                disjoint.append(hit)
            elif len(over) == 1 and over[0].group == hit.group and hit.end > over[0].end:
                disjoint[disjoint.index(over[0])] = over[0]._replace(end=hit.end)
            elif len(over) == 1 and over[0].group == hit.group and hit.start < over[0].start:
                disjoint[disjoint.index(over[0])] = over[0]._replace(start=hit.start, shown=0)
        return without_overlaps(sorted(disjoint))

    def worth_a_look(self, texts: pl.Series) -> pl.DataFrame:
        """One column per rule: true if the rule may find something in a text, which may be a line of JSON; false if it
        surely does not. Groups of rules are asked one after another: together, polars would compile their patterns for
        each chunk of the column, which takes three times as long as the search."""
        looks = {number: look for group in self.groups for number, look in looks_of(group, texts).items()}
        looks |= looks_of_words({n: finder for n, finder in enumerate(self.finders) if finder.rule.words}, texts)
        return pl.DataFrame([looks[number].alias(str(number)) for number in range(len(self.finders))])

    def suspects(
        self, lines: Sequence[int], texts: Sequence[str], looks: pl.DataFrame
    ) -> list[tuple[int, list[RuleFinder]]]:
        """(number of a text, rules that may find something in it), of every text that has any.

        `lines`: the number of each text's line; `looks`: `worth_a_look` of the lines. A column of texts is asked at
        once, because calls for each text and rule take several times as long as the rules themselves."""
        table = pl.DataFrame(
            {"line": lines, "text": map(blank_escapes, texts)}, schema={"line": pl.UInt32, "text": pl.String}
        ).with_row_index("number")
        finders_of: dict[int, list[RuleFinder]] = {}
        table = table.with_columns(undone=self.may_be_wrapped(table["line"], texts, looks))
        for finder, look in zip(self.finders, looks, strict=True):
            if not look.any():
                continue
            of_lines = table.filter(pl.col("line").is_in(look.arg_true().implode()))
            text = pl.col("text")
            if finder.rule.wrapped:
                wrapped = pl.col("undone") & holds_a_word(finder.rule, text)
                may = of_lines.select(may_hit(finder.rule, text) | wrapped).to_series()
            else:
                may = finder.may_hit_each(of_lines["text"])
            for number in of_lines.filter(may)["number"]:
                finders_of.setdefault(number, []).append(finder)
        return sorted(finders_of.items(), key=lambda item: item[0])

    def may_be_wrapped(self, lines: pl.Series, texts: Sequence[str], looks: pl.DataFrame) -> pl.Series:
        """For each text: true if something may be taken off it, and a rule that looks for that has a look at its
        line."""
        wrapped = [look for finder, look in zip(self.finders, looks, strict=True) if finder.rule.wrapped]
        of_lines = pl.DataFrame(wrapped).select(pl.any_horizontal(pl.all())).to_series().arg_true()
        places = lines.is_in(of_lines.implode()).arg_true()
        some = pl.Series([texts[place] for place in places], dtype=pl.String).str.contains(MAY_BE_WRAPPED)
        return pl.int_range(len(texts), dtype=pl.UInt32, eager=True).is_in(places.filter(some).implode())


def groups_of(finders: Sequence[RuleFinder]) -> list[dict[int, RuleFinder]]:
    """Rules, by their numbers, whose patterns are searched as one: those that plain words are enough for; those that
    are searched letter by letter. Every other rule is alone, because its pattern is searched by its own letters, which
    is faster than a combined one."""
    words, letters, alone = dict[int, RuleFinder](), dict[int, RuleFinder](), list[dict[int, RuleFinder]]()
    for number, finder in enumerate(finders):
        if finder.rule.words:
            continue
        if finder.rule.filter is None:
            words[number] = finder
        elif finder.rule.kind in LETTER_BY_LETTER:
            letters[number] = finder
        else:
            alone.append({number: finder})
    return [group for group in (words, letters, *alone) if group]


def looks_of(group: dict[int, RuleFinder], texts: pl.Series) -> dict[int, pl.Series]:
    """`may_hit_each` of each rule of a group. Each is asked only of the texts in which a pattern of the group is."""
    if len(group) == 1:
        return {number: finder.may_hit_each(texts) for number, finder in group.items()}
    patterns = [pattern for finder in group.values() for pattern in patterns_of(finder.rule)]
    places = texts.str.contains("|".join(f"(?:{pattern})" for pattern in patterns)).arg_true()
    some, every = texts.gather(places), pl.int_range(texts.len(), dtype=pl.UInt32, eager=True)
    return {
        number: every.is_in((places.filter(finder.may_hit_each(some)) if len(some) else places).implode())
        for number, finder in group.items()
    }


def looks_of_words(group: dict[int, RuleFinder], texts: pl.Series) -> dict[int, pl.Series]:
    """`may_hit_each` of the rules that go by words in any case: all their words are searched for at once."""
    if not group:
        return {}
    rules_of: dict[str, list[int]] = {}
    for number, finder in group.items():
        for word in finder.rule.words:
            rules_of.setdefault(word, []).append(number)
    words, places = [*rules_of], pl.int_range(texts.len(), dtype=pl.UInt32, eager=True)
    any_word = f"(?i:{'|'.join(map(pl.escape_regex, words))})"  # half the time of contains_any
    with_words = pl.DataFrame({"place": places, "text": texts}).filter(pl.col("text").str.contains(any_word))
    extracted = pl.col("text").str.extract_many(words, ascii_case_insensitive=True, overlapping=True)
    pairs = with_words.select("place", word=extracted.list.unique()).explode("word")
    nowhere = places.is_in([])
    looks = dict.fromkeys(group, nowhere)
    for (word,), own in (
        pairs.with_columns(pl.col("word").str.to_lowercase()).partition_by("word", as_dict=True).items()
    ):
        look = places.is_in(own["place"].implode())
        for number in rules_of.get(word, ()):
            looks[number] = look if looks[number] is nowhere else looks[number] | look
    for number, finder in group.items():
        if finder.rule.filter and looks[number] is not nowhere:
            own_places = looks[number].arg_true()
            fits = texts.gather(own_places).str.contains(in_json(finder.rule.filter))
            looks[number] = places.is_in(own_places.filter(fits).implode())
    return looks


def may_hit(rule: Rule, texts: pl.Expr) -> pl.Expr:
    """False if a text surely holds no find."""
    return pl.any_horizontal(texts.str.contains(pattern) for pattern in patterns_of(rule))


def holds_a_word(rule: Rule, texts: pl.Expr) -> pl.Expr:
    """False for a text that holds none of the words of a rule; true if the rule has none."""
    words = [*map(str.lower, rule.needs), *rule.words]
    return (
        texts.str.contains_any(words, ascii_case_insensitive=True) if words and not rule.filter_alone else pl.lit(True)
    )


def patterns_of(rule: Rule) -> list[str]:
    """The patterns one of which is in every text that holds a find."""
    if rule.words and (rule.filter or rule.source):
        return [in_json(rule.filter) if rule.filter else str(rule.pattern).replace(NO_LETTER_AFTER[0], "")]
    words = ["|".join(map(pl.escape_regex, rule.needs))] if rule.needs else []
    words += [f"(?i:{'|'.join(map(pl.escape_regex, rule.words))})"] if rule.words else []
    return [*words, *([in_json(rule.filter)] if rule.filter else [])]


def in_json(pattern: str) -> str:
    """A filter for lines of JSON, where quotation marks have a backslash before them and some blanks are escapes."""
    return pattern.replace(QUOTE, QUOTE_IN_JSON).replace(BLANK, BLANK_IN_JSON)


def wrapped_hits(text: str, former_hits: list[Hit], finders: Iterable[RuleFinder]) -> list[Hit]:
    """Further finds, in which a line break or something else that agents print stands: the text is searched without."""
    wrapping = [finder for finder in finders if finder.rule.wrapped and finder.may_be_wrapped(text)]
    if not wrapping or (undone := undo(text)) is None:
        return []
    plain = blank_escapes(undone.text)
    hits = []
    for finder in wrapping:
        for hit in finder.hits(plain, joined=True):
            if (span := undone.span_of(hit.start, hit.end)) is not None:
                start, end, unchanged = span
                same = [other for other in former_hits if other.group == hit.group]
                over = [other for other in same if start < other.end and other.start < end]
                if all(other.start == start and goes_on(text[other.end : end]) for other in over):
                    hits.append(hit._replace(start=start, end=end, shown=min(hit.shown, unchanged)))
    return hits


def goes_on(text: str) -> bool:
    """True if what stands behind the end of a find belongs to it: random characters, not a word of the next line."""
    rest = re.sub(UNDONE, "", text)
    return any(map(str.isdigit, rest)) and any(map(str.isalpha, rest))


def without_overlaps(hits: list[Hit]) -> list[Hit]:
    """Finds in order; overlapping finds are merged into one."""
    disjoint: list[Hit] = []
    for hit in hits:
        if not disjoint or hit.start >= disjoint[-1].end:
            disjoint.append(hit)
        elif hit.end > disjoint[-1].end:
            disjoint[-1] = disjoint[-1]._replace(end=hit.end)
    return disjoint


def blank_escapes(text: str) -> str:
    """The text with escapes of JSON inside it as blanks, character for character, so that a word begins after them."""
    return (
        ESCAPED.sub(lambda match: " " * (len(match[0]) - 1) + unescape_letter(match[1]), text) if "\\" in text else text
    )


@lru_cache(maxsize=2)
def lowered(text: str) -> str:
    """The text in lower case, which every rule asks for in turn."""
    return text.lower()


def unescape_letter(letter: str) -> str:
    """The replacement for an escape's last character."""
    return letter if letter in "\"'" else " "


def marker_rule(rules: PrivacyRules) -> Rule:
    """The rule that finds markers of redaction."""
    before, _, after = rules.marker.partition("{kind}")
    pattern = f"{re.escape(before)}[a-z0-9_]+{re.escape(after)}"
    return Rule(kind="redacted", group="redacted", pattern=pattern, needs=[before])
