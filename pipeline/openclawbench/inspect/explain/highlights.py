"""Finds the words of a call that a descriptor names: the argument itself, not an earlier look-alike."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from tree_sitter import Node

from openclawbench.construct.describe.arguments import NAMED
from openclawbench.construct.shell.classify import FOLDER, VERSION
from openclawbench.construct.shell.parse import COMMANDS, WORDS, tree, unquote_word
from openclawbench.construct.shell.wrappers import FED
from openclawbench.inspect.explain.highlights_text import Placed, arguments, from_quotes, placed_text
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.rules.loading.tool_names import plain_name

Span = tuple[int, int]
Part = dict[str, Any]
NAMES_AND_WORDS = WORDS | {"command_name"}
DEEPEST = 4  # depth of quoted shell text inside shell text
FED_LAST = f" {FED}"
REDIRECTED = "> "  # beginning of the record of a redirection


class Word(NamedTuple):
    """A word of a command, quotes removed, and its span in the field."""

    text: str
    span: Span


class Command(NamedTuple):
    """A simple command's words, or a redirection with the file it writes."""

    words: list[Word]
    redirection: bool = False

    def begin(self, shown: str) -> int | None:
        """Index of the word at which the command of a record begins; records leave out wrappers in front."""
        if self.redirection:
            return 0 if shown in (f"{REDIRECTED}{self.words[0].text}", self.words[0].text) else None
        texts = [word.text for word in self.words]
        name, _, rest = shown.removesuffix(FED_LAST).partition(" ")
        return next(
            (
                place
                for place, word in enumerate(texts)
                if name in bare_names(word) and " ".join(texts[place + 1 :]).startswith(rest)
            ),
            None,
        )


def bare_names(word: str) -> set[str]:
    """A command's name as records show it: without folder, version and `.exe`."""
    bare = FOLDER.split(word)[-1].lower().removesuffix(".exe").removesuffix(".cmd")
    return {word, bare, VERSION.sub("", bare)}


@cache
def argument_names() -> tuple[list[str], list[str]]:
    """Names of arguments with a target, the likeliest first, and of arguments with a command or program."""
    argument_rules = DescribeRules.load().arguments
    targets = [name for kind in NAMED for name in getattr(argument_rules, kind)]
    texts = [*argument_rules.command, *argument_rules.program, *argument_rules.statement, *argument_rules.patch]
    return [plain_name(target) for target in targets], [plain_name(text) for text in texts]


def command_texts(values: Iterable[tuple[str, Placed]]) -> list[Placed]:
    """The arguments of a call that hold a command or program. `values`: arguments with their names."""
    _, texts = argument_names()
    return [value for name, value in values if plain_name(name) in texts]


@cache
def target_patterns() -> list[re.Pattern[str]]:
    """Patterns of the rules whose groups are targets: in patches, programs and statements."""
    rules = ShellRules.load()
    named = [*rules.program_writes, *(rule for rule in rules.sql if "?P<target>" in rule.pattern)]
    return [re.compile(rules.patched_file), *(re.compile(group.pattern) for group in named)]


def target_place(action_text: str, target: str, parts: list[Part]) -> Span | None:
    """The span of the argument that is a target: in the command whose part names it, else the value of the field that
    rules read it from; None if it is written in another way. Offsets are code points of action_text."""
    values = list(arguments(placed_text(action_text)))
    names, _ = argument_names()
    texts = command_texts(values)
    shown = [part["command"] for part in parts if part["target"] == target]
    shown += [part["command"] for part in parts if part["side_effect"] and part["target"] != target]
    place = in_commands(texts, target, shown) if parts else None
    if place is None:
        equal = [(plain_name(name), value) for name, value in values if value.text == target and target]
        ranked = sorted(equal, key=lambda pair: names.index(pair[0]) if pair[0] in names else len(names))
        place = ranked[0][1].span() if ranked else None
    return place or first(by_pattern(texts, target)) or first(standing_alone([value for _, value in values], target))


def command_place(action_text: str, shown: str) -> Span | None:
    """The span of the simple command or redirection that a part shows; None if it is written in another way."""
    texts = command_texts(arguments(placed_text(action_text)))
    for value in texts:
        for command in commands(value):
            begin = command.begin(shown)
            if begin is not None:
                return command.words[begin].span[0], command.words[-1].span[1]
    return first(standing_alone(texts, shown))


def elsewhere_place(action_text: str) -> Span | None:
    """The span of the name of a program that runs a command on another machine (ssh)."""
    texts = command_texts(arguments(placed_text(action_text)))
    words = (command.words[0] for value in texts for command in commands(value) if not command.redirection)
    return first(placed_word.span for placed_word in words if bare_names(placed_word.text) & carriers())


@cache
def carriers() -> set[str]:
    """Commands that run another command on another machine."""
    return {name for wrapper in ShellRules.load().wrappers if wrapper.external for name in wrapper.names}


def stays_here(shown: str) -> bool:
    """True if a command, as a record shows it, names an address of this machine."""
    local = re.compile(ShellRules.load().local_url)
    return any(local.search(word) for word in shown.split())


def in_commands(placed: list[Placed], target: str, shown: list[str]) -> Span | None:
    """The span of the argument in the shown commands, else in any; of several the last, which follows sub-commands."""
    placed_commands = [command for value in placed for command in commands(value)]
    for wanted in [*shown, None]:
        for command in placed_commands:
            begin = 0 if wanted is None else command.begin(wanted)
            if begin is None:
                continue
            words = command.words if command.redirection else command.words[begin + 1 :]
            span_found = next((word.span for word in reversed(words) if word.text == target), None)
            span_found = span_found or next(
                (span for word in reversed(words) if (span := attached_value_span(word, target))), None
            )
            if span_found:
                return span_found
    return None


def attached_value_span(word: Word, target: str) -> Span | None:
    """The span of the value in `--output=a`, `of=a`, `-oa`."""
    written = re.fullmatch(rf"(?:-\w|[\w-]+=){re.escape(target)}", word.text)
    return (word.span[1] - len(target), word.span[1]) if written and plain_width(word) else None


def plain_width(word: Word) -> bool:
    """True if a word is written without quotes and escapes."""
    return word.span[1] - word.span[0] == len(word.text)


def by_pattern(texts: list[Placed], target: str) -> Iterator[Span]:
    """Targets that a pattern of the rules finds in a patch, program or statement."""
    for text in inner(texts):
        for pattern in target_patterns():
            for hit in pattern.finditer(text.text):
                groups = range(1, pattern.groups + 1)
                yield from (text.span(*hit.span(group)) for group in groups if hit[group] == target)


def standing_alone(texts: Iterable[Placed], words: str) -> Iterator[Span]:
    """Spans of words between quotes, then of words that no character of a name touches."""
    candidates = list(texts)
    for around in (r"(?<=[\"'`]){}(?=[\"'`])", r"(?<![\w./~-]){}(?![\w/-])"):
        pattern = re.compile(around.format(re.escape(words)))
        yield from (text.span(*hit.span()) for text in candidates for hit in pattern.finditer(text.text) if words)


def first(spans: Iterator[Span]) -> Span | None:
    return next(spans, None)


# ---- shell text


def commands(text: Placed, depth: int = 0) -> Iterator[Command]:
    """Every simple command and redirection of a text in order, then those of quoted and fed text in it."""
    places = code_points(text.text)
    deeper: list[Placed] = []
    for node in nodes(tree(text.text)[0]):
        span = span_of(node, places)
        if node.type in COMMANDS:
            words = [
                child for child in node.children if child.type in NAMES_AND_WORDS and child.end_byte > child.start_byte
            ]
            if words:
                yield Command([word(text, node, places) for node in words])
        elif node.type == "file_redirect":
            named = [child for child in node.children if child.type in WORDS]
            if named:
                yield Command([word(text, named[0], places)], redirection=True)
        elif node.type == "string":
            deeper.append(from_quotes(between(text, span, '"')))
        elif node.type == "raw_string":
            deeper.append(between(text, span, "'"))
        elif node.type == "heredoc_body":
            deeper.append(text.part(*span))
    if depth < DEEPEST:
        for inner in deeper:
            if " " in inner.text.strip():
                yield from commands(inner, depth + 1)


def inner(texts: list[Placed]) -> Iterator[Placed]:
    """Texts, and the texts in their double quotes without escapes."""
    for text in texts:
        yield text
        places = code_points(text.text)
        for node in nodes(tree(text.text)[0]):
            if node.type == "string":
                yield from_quotes(between(text, span_of(node, places), '"'))


def word(text: Placed, node: Node, places: list[int]) -> Word:
    """A word without its quotes."""
    inside = node.named_children[0] if node.type == "command_name" and node.named_children else node
    return Word(unquote_word(inside), text.span(*span_of(node, places)))


def span_of(node: Node, places: list[int]) -> Span:
    """The span of a node in code points, without characters that were added at the end of a text."""
    last = len(places) - 1
    return places[min(node.start_byte, last)], places[min(node.end_byte, last)]


def between(text: Placed, span: Span, quote: str) -> Placed:
    """The text between quotes; the closing quote may be missing."""
    start, end = span
    return text.part(start + 1, end - 1 if end > start + 1 and text.text[end - 1] == quote else end)


def nodes(node: Node) -> Iterator[Node]:
    """A node and everything under it, in the order of the text."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.children)


def code_points(text: str) -> list[int]:
    """Byte offset in a text's UTF-8 -> number of the code point at it; with one entry for the end."""
    return [place for place, character in enumerate(text) for _ in character.encode("utf-8", "replace")] + [len(text)]
