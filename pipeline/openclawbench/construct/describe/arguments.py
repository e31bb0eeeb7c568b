"""The arguments of tool calls: the real name behind a wrapper, and the values that rules look at in any style."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import polars as pl

from openclawbench.base.memoize import MemoDict, memoize
from openclawbench.construct.describe.tool_words import ToolWords
from openclawbench.construct.shell.command_table import patched_files
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.rules.loading.tool_names import plain_name, spelled
from openclawbench.tables.schema import column

DECODE = msgspec.json.Decoder().decode
CALL = ["tool_name_raw", "arguments"]
NAMED = ["path", "url", "recipient", "subject", "destination", "origin", "repository"]  # what may name a target
READ = ["action", "command", "program", "statement", *NAMED]
YES = [True, "true", "True", "yes"]  # a field that is set; 1 is True
ACTION, COMMAND = READ.index("action"), READ.index("command")
READ_SCHEMA = pl.Schema(
    {name: pl.String() for name in ("tool", "name", "inner", *READ)}
    | {
        "patch": pl.List(pl.String),
        "doing": pl.UInt16(),
        "by_word": pl.UInt16(),
        "server": pl.String(),
        "dry_run": pl.Boolean(),
    }
)


class Fields(NamedTuple):
    """The places of the values of READ in arguments with certain field names."""

    places: list[tuple[int, list[str]]]  # place in READ -> the names to look under, the first that holds text
    patch: bool  # there may be a patch text
    dry_run: list[str]  # the names that say whether it is a dry run


def read_calls(distinct: pl.DataFrame, rules: DescribeRules, shell_rules: ShellRules) -> pl.DataFrame:
    """Beside the columns of CALL, of each call: the real tool name, as written and spelled as rules know it, and its
    server; the arguments that rules look at; the number of the tool rule that holds (doing; null: the name is unknown),
    and of the rule of a word in an unknown name (by_word). The only loop over distinct calls."""
    reader = reader_of(rules, shell_rules)
    rows = [reader.read(name, arguments) for name, arguments in distinct.iter_rows()]
    values = zip(*rows, strict=True) if rows else ((),) * len(READ_SCHEMA)
    read = [column(name, list(value), kind) for (name, kind), value in zip(READ_SCHEMA.items(), values, strict=True)]
    return distinct.select(CALL).hstack(read)


class CallReader:
    """Reads the JSON arguments of a call. It remembers names and nothing else."""

    def __init__(self, rules: DescribeRules, shell_rules: ShellRules) -> None:
        self.prefix = re.compile(rules.name_prefix)
        self.of_server = re.compile(rules.name_of_server)
        self.numbered = re.compile(rules.name_numbered)
        self.words = ToolWords(rules)
        self.patch_file = re.compile(shell_rules.patched_file)
        self.patch_fields = rules.arguments.patch
        self.dry_run = {plain_name(name) for name in rules.arguments.dry_run}
        self.wrappers = {plain_name(name): wrapper for wrapper in rules.wrappers for name in wrapper.names}
        self.command_is_action = {
            plain_name(name) for rule in rules.tools if rule.command_is_action for name in rule.names
        }
        self.names = MemoDict(self.bare)
        self.known = MemoDict(self.fields)
        # field name -> [(column, rank)]: of several names of one column the first listed that is there holds
        self.columns: dict[str, list[tuple[int, int]]] = {}
        for place, field in enumerate(READ):
            for rank, name in enumerate(getattr(rules.arguments, field)):
                self.columns.setdefault(plain_name(name), []).append((place, rank))
        # tool -> number of its rule; of its rule for an action, which goes before. The first rule of a name holds.
        self.wide: dict[str, int] = {}
        self.narrow: dict[str, dict[str, int]] = {}
        for number, rule in enumerate(rules.tools):
            for name in map(plain_name, rule.names):
                if rule.actions:
                    actions = self.narrow.setdefault(name, {})
                    actions.update(
                        (action, number) for action in map(plain_name, rule.actions) if action not in actions
                    )
                else:
                    self.wide.setdefault(name, number)

    def read(self, raw: str | None, text: str | None) -> list[Any]:
        """A row of READ_SCHEMA. Arguments that are not a JSON object are not arguments; `inner` is set where the real
        ones stand inside others, or were written as JSON twice."""
        arguments = parse_arguments(text)
        tool, name, key, server = self.names[raw]
        inner = None
        if arguments and text[0] != "{" and written_twice(text):  # type: ignore[index]
            inner = json.dumps(arguments, ensure_ascii=False, sort_keys=True)
        wrapper = self.wrappers.get(key)
        if wrapper:
            called = first_text(arguments, wrapper.name_fields)
            if called:
                tool, name, key, server = self.names[called]
                wrapped: Any = next(
                    (
                        arguments[argument_field]
                        for argument_field in wrapper.argument_fields
                        if argument_field in arguments
                    ),
                    {},
                )
                if not isinstance(wrapped, dict):
                    wrapped = parse_arguments(wrapped if isinstance(wrapped, str) else None)
                arguments = wrapped
                inner = json.dumps(arguments, ensure_ascii=False, sort_keys=True)
        names = tuple(arguments)
        fields = self.known[names]
        values: list[str | None] = [None] * len(READ)
        for place, candidates in fields.places:
            values[place] = first_text(arguments, candidates)
        if key in self.command_is_action:
            values[ACTION], values[COMMAND] = values[COMMAND], None
        patch = self.patched(arguments) if fields.patch else []
        narrow, action = self.narrow.get(key), values[ACTION]
        number = None if narrow is None or action is None else narrow.get(plain_name(action))
        number = self.wide.get(key) if number is None else number
        by_word = None if number is not None or tool is None else self.words.number[tool, action]
        dry_run = any(arguments[name] in YES for name in fields.dry_run)
        return [tool, name, inner, *values, patch, number, by_word, server, dry_run]

    def fields(self, names: tuple[str, ...]) -> Fields:
        """The places of READ in arguments with these field names."""
        ranked: list[list[tuple[int, int, str]]] = [[] for _ in READ]
        for order, name in enumerate(names):
            for place, rank in self.columns.get(plain_name(name), ()):
                ranked[place].append((rank, order, name))
        places = [
            (place, [name for *_, name in sorted(names_by_rank)])
            for place, names_by_rank in enumerate(ranked)
            if names_by_rank
        ]
        dry_run = [name for name in names if plain_name(name) in self.dry_run]
        return Fields(places, any(name in names for name in self.patch_fields), dry_run)

    def bare(self, name: str | None) -> tuple[str | None, str | None, str, str | None]:
        """A tool's name without blanks around it, a provider's prefix and its server; the same spelled, and plain; and
        the server. A number that only tells it from a tool of the same name is left out."""
        tool = self.prefix.sub("", name).strip() or None if name else None
        if not tool:
            return None, None, "", None
        parts = self.of_server.match(tool)
        if not parts:
            return tool, spelled(tool), plain_name(tool), None
        tool, server = parts["tool"], parts["server"]
        alone = self.numbered.sub("", tool)
        if plain_name(alone) in self.wide and plain_name(tool) not in self.wide:
            tool = alone
        return tool, spelled(tool), plain_name(tool), server

    def patched(self, arguments: dict[str, Any]) -> list[str]:
        """Files named in a patch text."""
        text = first_text(arguments, self.patch_fields) or ""
        return patched_files(text, self.patch_file)


@memoize
def reader_of(rules: DescribeRules, shell_rules: ShellRules) -> CallReader:
    """The rules of arguments, compiled once for all shards."""
    return CallReader(rules, shell_rules)


def parse_arguments(text: str | None) -> dict[str, Any]:
    """A JSON object, also one that was written as JSON twice; empty if the text is something else."""
    if not text:
        return {}
    try:
        decoded = DECODE(text)
    except msgspec.DecodeError:  # e.g. a lone surrogate, which the standard library reads
        decoded = loads_slowly(text)
    except RecursionError:
        return {}
    if isinstance(decoded, str) and written_twice(text):
        return parse_arguments(decoded)
    return decoded if isinstance(decoded, dict) else {}


def written_twice(text: str | None) -> bool:
    """True if a JSON text is a string: what it holds may be JSON again."""
    return text is not None and not text.startswith("{") and text.lstrip().startswith('"')


def loads_slowly(text: str) -> Any:
    """The value of a JSON text, read by the standard library; None if the text is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def first_text(arguments: dict[str, Any], names: Iterable[str]) -> str | None:
    """The text of the first of these fields that holds any."""
    return next((text for name in names if (text := text_of(arguments.get(name))) is not None), None)


def text_of(value: Any) -> str | None:
    """A value that is text, a whole number, or a list of words (a command line)."""
    if isinstance(value, str):
        return clean(value) if value else None
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return clean(argument_list(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def argument_list(words: list[str]) -> str:
    """One command line of an argument list: ["bash", "-lc", "ls | wc"] keeps its last word whole."""
    quoted = [
        "'" + word.replace("'", "'\\''") + "'" if re.search(r"[^A-Za-z0-9_./:=@%+-]", word) else word for word in words
    ]
    return " ".join(quoted)


def clean(text: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
