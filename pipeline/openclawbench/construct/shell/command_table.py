"""The table of shell commands: the first rule of a command's name whose conditions hold says what it does."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from openclawbench.construct.shell.options import OptionReader, Options
from openclawbench.construct.shell.parse import SimpleCommand
from openclawbench.rules.construct.shell import CommandRule, ShellRules

# Which positionals a rule's `target` names; `rest` and `object` begin behind the sub-command.
PLACES = {"first": slice(1), "second": slice(1, 2), "third": slice(2, 3), "last": slice(-1, None), "all": slice(None)}


class Part(NamedTuple):
    """What one simple command, or one redirection, does."""

    category: str
    rule: str
    effect: bool
    targets: tuple[str, ...] = ()
    external: bool = False
    exit_one_ok: bool = False
    may_exit: bool = False
    command: str = ""  # its words, quotes removed
    state: bool = True  # the targets are themselves changed, so that a write to one of the agent's own is a state write


class ShellMeaning(NamedTuple):
    """What the whole text does."""

    category: str
    rule: str
    effect: bool
    effect_rule: str
    targets: tuple[str, ...]  # what is changed, the naming part's first
    external: bool  # something leaves the machine
    exit_one_ok: bool  # exit code 1 says "no match", not failure
    effects: int = 0  # parts that change something
    written: tuple[str, ...] = ()  # targets that are themselves changed
    parts: tuple[Part, ...] = ()  # every part, in the order of the text


class Condition:
    """A command rule with its patterns compiled, its sub-commands split, and its part where nothing is changed."""

    def __init__(self, rule: CommandRule, rules: ShellRules) -> None:
        self.rule = rule
        self.subs = frozenset(tuple(text.split()) for text in rule.sub)
        self.match = None if rule.match is None else re.compile(rule.match)
        self.argument = None if rule.argument is None else re.compile(rule.argument)
        self.values = [(flag, re.compile(pattern)) for flag, pattern in rule.values.items()]
        self.flags = frozenset(rule.flags)
        self.no_flags = frozenset(rule.no_flags)
        self.verbs = frozenset(rule.verbs)
        self.conditional = bool(rule.bare or rule.least or rule.values or rule.argument or rule.match)
        self.conditional = self.conditional or bool(self.subs or self.flags or self.no_flags)
        self.effect = rule.category in rules.effect_categories if rule.effect is None else rule.effect
        self.no_target = Part(rules.nothing, rule.id, False)
        self.filters = self.no_target._replace(exit_one_ok=rule.exit_one_ok)
        self.local_part = Part(rule.category, rule.id, False, exit_one_ok=rule.exit_one_ok, state=rule.state)
        self.external_part = self.local_part._replace(external=True)

    def sub_words(self, read: Options) -> int:
        """How many words of a sub-command of the rule the positionals begin with."""
        positionals, subs = read.positionals, self.subs
        if positionals[:3] in subs:
            return 3
        return 2 if positionals[:2] in subs else int(positionals[:1] in subs)

    def in_arguments(self, simple: SimpleCommand) -> tuple[str, ...]:
        """What the named groups of `argument` find in the arguments, each by itself."""
        if self.argument is None:
            return ()
        hits = [hit for word in simple.words[1:] for hit in self.argument.finditer(word)]
        return tuple(value for hit in hits for value in hit.groupdict().values() if value)


class Candidates:
    """The rules of one command name, by the first word of the sub-command that they ask for."""

    def __init__(self, conditions: list[Condition]) -> None:
        words = {subcommand[0] for condition in conditions for subcommand in condition.subs}
        self.others = [condition for condition in conditions if not condition.subs]
        self.by_word = {
            word: [
                condition
                for condition in conditions
                if not condition.subs or word in {subcommand[0] for subcommand in condition.subs}
            ]
            for word in words
        }
        first = conditions[0]
        looks = first.conditional or first.effect or first.rule.external or first.rule.only_files
        self.only = None if looks else first  # holds whatever the arguments are

    def of(self, read: Options) -> list[Condition]:
        """The rules that may hold for these positionals, in file order."""
        return self.by_word.get(read.positionals[0], self.others) if read.positionals else self.others


class CommandTable:
    """The rules of single commands, compiled."""

    def __init__(self, rules: ShellRules) -> None:
        self.rules = rules
        self.commands = candidates(rules)
        self.readers: dict[str, OptionReader] = {}
        for syntax in rules.syntaxes:
            reader = OptionReader(syntax.values, syntax.optional, cluster=syntax.cluster, any_case=syntax.any_case)
            for name in syntax.names:
                self.readers.setdefault(name.lower(), reader)
        self.no_syntax = OptionReader()
        self.null_files = frozenset(rules.null_files)
        self.version_flags = frozenset(rules.version_flags)
        self.help_flags = frozenset(rules.help_flags)
        self.local = re.compile(rules.local_url)
        self.patched = re.compile(rules.patched_file)
        self.url = re.compile(rules.url)
        self.dry_runs = DryRuns(rules)
        self.version = Part(rules.version_category, rules.version_rule, False)
        self.help = Part(rules.help_category, rules.help_rule, False)
        self.fallback = Part(rules.fallback_category, rules.fallback_rule, False)

    def is_file(self, name: str) -> bool:
        """False for /dev/null and its like, and for a file descriptor."""
        return name.lower() not in self.null_files and not name.startswith("&")

    def options(self, simple: SimpleCommand) -> Options:
        """The options of a command, read as its syntax says."""
        return self.readers.get(simple.words[0], self.no_syntax).read(simple.words[1:])

    def by_rule(self, simple: SimpleCommand, read: Options | None = None) -> Part:
        """The first rule of the command's name whose conditions hold; unknown commands are programs that are run.

        `read`: its options, where they are known already.
        """
        words = simple.words
        if len(words) == 2 and words[1] in self.version_flags:
            return self.version
        if not self.help_flags.isdisjoint(words[1:]):
            return self.help
        command = self.commands.get(words[0])
        if command is None:
            return self.fallback
        fed = simple.piped or simple.stdin is not None
        if command.only is not None and (command.only.rule.operands is None or not fed):
            return command.only.local_part
        read = read or self.options(simple)
        given_flags = read.flags
        for condition in command.of(read):
            if condition.flags and condition.flags.isdisjoint(given_flags):
                continue
            if not condition.conditional or self.holds(condition, simple, read):
                part = self.part(condition, simple, read)
                return self.tried(part) if part.effect and self.dry_runs.holds(words, read) else part
        return self.fallback

    def tried(self, part: Part) -> Part:
        """What a command does that only says what it would do."""
        rules = self.rules
        return Part(
            rules.dry_run_category, rules.dry_run_rule, False, external=part.external, exit_one_ok=part.exit_one_ok
        )

    def part(self, condition: Condition, simple: SimpleCommand, read: Options) -> Part:
        """What a command does for which the rule holds."""
        rule = condition.rule
        fed = simple.piped or simple.stdin is not None
        if fed and rule.operands is not None and len(read.positionals) <= rule.operands:
            return condition.filters
        if rule.only_files and not condition.effect:
            return condition.no_target
        external = rule.external and not self.stays_here(read)
        if not condition.effect:
            return condition.external_part if external else condition.local_part
        named = self.targets(condition, read, simple)
        targets = tuple([word for word in named if self.is_file(word) and word not in condition.verbs])
        if rule.only_files and not targets:
            return condition.no_target
        return Part(rule.category, rule.id, True, targets, external, rule.exit_one_ok, state=rule.state)

    def holds(self, condition: Condition, simple: SimpleCommand, read: Options) -> bool:
        """All conditions of a rule but that one of its flags is there, which was looked at before."""
        rule, given_flags = condition.rule, read.flags
        if rule.bare and len(simple.words) > 1:
            return False
        if len(read.positionals) < rule.least:
            return False
        if condition.subs and not condition.sub_words(read):
            return False
        if rule.real_output and condition.flags and not self.has_real_output(condition, given_flags):
            return False
        if not condition.no_flags.isdisjoint(given_flags):
            return False
        if condition.values and not any(
            flag in given_flags and pattern.search(given_flags[flag]) for flag, pattern in condition.values
        ):
            return False
        if condition.argument is not None and not condition.in_arguments(simple):
            return False
        return condition.match is None or condition.match.search(" ".join(simple.words)) is not None

    def has_real_output(self, condition: Condition, flag_values: dict[str, str]) -> bool:
        """True if one of the rule's flags is given, an output flag with a file as its value."""
        matching = condition.flags.intersection(flag_values)
        return any(flag not in condition.rule.real_output or self.is_file(flag_values[flag]) for flag in matching)

    def targets(self, condition: Condition, read: Options, simple: SimpleCommand) -> tuple[str, ...]:
        """The arguments that name what is changed."""
        rule, words = condition.rule, read.positionals
        target = rule.target
        if rule.target_name is not None:
            return (rule.target_name,)
        if condition.argument is not None:
            return condition.in_arguments(simple)
        if rule.target_match is not None:
            return tuple(re.findall(rule.target_match, " ".join(simple.words)))[:1]
        if target is None:
            return ()
        if target.startswith("-"):
            value = next((read.flags[flag] for flag in (*target.split(), *rule.flags) if read.flags.get(flag)), "")
            return (value,) if value else words[condition.sub_words(read) :][:1]
        if target.startswith("patched"):
            text = "\n".join([*words, simple.stdin or ""])
            return tuple(patched_files(text, self.patched)) or (words[:1] if target == "patched_first" else ())
        if target == "dir":
            return (read.flags["-C"],) if "-C" in read.flags else ()
        if target == "url":
            return self.urls(read)[:1] or words[:1]
        if target == "basename":
            return tuple(re.split(r"[?#]", word)[0].rstrip("/").rsplit("/", 1)[-1] for word in words[:1])
        if target == "all" and not words:
            first = [
                read.flags[operand_flag] for operand_flag in self.rules.operand_flags if read.flags.get(operand_flag)
            ]
            return tuple(first or [value for value in read.flags.values() if value])[:1]
        if target in PLACES:
            picked = words[PLACES[target]]
        elif target == "last_first":
            picked = words[-1:] + words[:-1]
        else:
            rest = words[condition.sub_words(read) or 1 :]
            picked = rest if target == "rest" or "/" in "".join(rest[:1]) else rest[1:] or rest
        return picked or ((read.flags["-C"],) if "-C" in read.flags else ())

    def is_url(self, word: str) -> bool:
        """True for an address on the web or on this machine."""
        return bool(self.url.search(word) or self.local.search(word))

    def stays_here(self, read: Options) -> bool:
        """True if addresses are given and all are this machine's own."""
        local_words = {word for word in self.words(read) if self.local.search(word)}
        return bool(local_words) and local_words.issuperset(self.urls(read))

    def urls(self, read: Options) -> tuple[str, ...]:
        """The addresses that a command names."""
        return tuple([word for word in self.words(read) if self.is_url(word)])

    def words(self, read: Options) -> tuple[str, ...]:
        """The words of a command that may be addresses."""
        return (*read.positionals, *[read.flags[flag] for flag in self.rules.url_flags if flag in read.flags])


def candidates(rules: ShellRules) -> dict[str, Candidates]:
    """The rules of commands by name, in file order."""
    conditions_by_name: dict[str, list[Condition]] = {}
    for rule in rules.commands:
        condition = Condition(rule, rules)
        for name in rule.names:
            conditions_by_name.setdefault(name.lower(), []).append(condition)
    return {name: Candidates(conditions) for name, conditions in conditions_by_name.items()}


class DryRuns:
    """The flags that make a command change nothing, compiled."""

    def __init__(self, rules: ShellRules) -> None:
        self.flags = frozenset(rules.dry_run_flags)
        self.off = frozenset(rules.dry_run_off)
        self.own: dict[str, list[tuple[frozenset[tuple[str, ...]], frozenset[str]]]] = {}
        for dry_run in rules.dry_runs:
            subs = frozenset(tuple(subcommand.split()) for subcommand in dry_run.sub)
            for name in dry_run.names:
                self.own.setdefault(name, []).append((subs, frozenset(dry_run.flags)))

    def holds(self, words: Sequence[str], read: Options) -> bool:
        """True if one of the flags is among the words of a command, or one of its own among its options."""
        if any(self.is_flag(word) for word in words[1:] if word[:1] == "-"):
            return True
        for subs, flags in self.own.get(words[0], ()):
            if not flags.isdisjoint(read.flags) and (
                not subs or any(read.positionals[: len(subcommand)] == subcommand for subcommand in subs)
            ):
                return True
        return False

    def is_flag(self, word: str) -> bool:
        """True for one of the flags that every command means so, unless it is turned off."""
        name, _, value = word.lower().replace(":", "=", 1).partition("=")
        return name in self.flags and value not in self.off


def patched_files(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Files that a patch adds, changes, deletes or moves, in its order, each once; none where the text is not a patch.

    `pattern` has a group for each way to name one (shell.toml: patched_file).
    """
    named = (next(group for group in hit.groups() if group) for hit in pattern.finditer(text))
    return list(dict.fromkeys(named))
