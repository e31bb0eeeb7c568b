"""The table of shell commands: the first rule of a command's name whose conditions hold says what it does."""

import re
from typing import NamedTuple

from pipeline.construct.options import Options, options
from pipeline.construct.patches import patched_files
from pipeline.construct.shell_parse import Simple
from pipeline.rules.shell import CommandRule, ShellRules, Syntax

NO_SYNTAX = Syntax()
NO_OPTIONS = Options({}, (), ())
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


class Condition:
    """A command rule with its patterns compiled and its sub-commands split."""

    def __init__(self, rule: CommandRule) -> None:
        self.rule = rule
        self.subs = frozenset(tuple(one.split()) for one in rule.sub)
        self.match = None if rule.match is None else re.compile(rule.match)
        self.argument = None if rule.argument is None else re.compile(rule.argument)
        self.values = [(flag, re.compile(pattern)) for flag, pattern in rule.values.items()]
        self.flags = frozenset(rule.flags)
        self.no_flags = frozenset(rule.no_flags)
        self.verbs = frozenset(rule.verbs)

    def sub_words(self, read: Options) -> int:
        """How many words of a sub-command of the rule the positionals begin with."""
        return next((size for size in (3, 2, 1) if read.positionals[:size] in self.subs), 0)

    def in_arguments(self, simple: Simple) -> tuple[str, ...]:
        """What the named groups of `argument` find in the arguments, each by itself."""
        if self.argument is None:
            return ()
        hits = (hit for word in simple.words[1:] for hit in self.argument.finditer(word))
        return tuple(value for hit in hits for value in hit.groupdict().values() if value)


class CommandTable:
    """The rules of single commands, ready to be asked."""

    def __init__(self, rules: ShellRules) -> None:
        self.rules = rules
        self.commands: dict[str, list[Condition]] = {}
        for rule in rules.commands:
            condition = Condition(rule)
            for name in rule.names:
                self.commands.setdefault(name.lower(), []).append(condition)
        self.syntaxes: dict[str, Syntax] = {}
        for syntax in rules.syntaxes:
            for name in syntax.names:
                self.syntaxes.setdefault(name.lower(), syntax)
        self.null_files = frozenset(rules.null_files)
        self.version_flags = frozenset(rules.version_flags)
        self.help_flags = frozenset(rules.help_flags)
        self.effect_categories = frozenset(rules.effect_categories)
        self.local = re.compile(rules.local_url)
        self.patched = re.compile(rules.patched_file)
        self.url = re.compile(rules.url)

    def is_file(self, name: str) -> bool:
        """False for /dev/null and its like, and for a file descriptor."""
        return name.lower() not in self.null_files and not name.startswith("&")

    def syntax(self, name: str) -> Syntax:
        """How the options of a command are read."""
        return self.syntaxes.get(name, NO_SYNTAX)

    def by_rule(self, simple: Simple) -> Part:
        """The first rule of the command's name whose conditions hold; unknown commands are programs that are run."""
        words = simple.words
        name, arguments = words[0], words[1:]
        if len(arguments) == 1 and arguments[0] in self.version_flags:
            return Part(self.rules.version_category, self.rules.version_rule, False)
        if not self.help_flags.isdisjoint(arguments):
            return Part(self.rules.help_category, self.rules.help_rule, False)
        read = options(arguments, self.syntax(name)) if name in self.commands else NO_OPTIONS
        for condition in self.commands.get(name, ()):
            if self.holds(condition, simple, read):
                return self.part(condition, simple, read)
        return Part(self.rules.fallback_category, self.rules.fallback_rule, False)

    def part(self, condition: Condition, simple: Simple, read: Options) -> Part:
        """What a command does for which the rule holds."""
        rule = condition.rule
        fed = simple.piped or simple.stdin is not None
        if rule.operands is not None and fed and len(read.positionals) <= rule.operands:
            return Part(self.rules.nothing, rule.id, False, exit_one_ok=rule.exit_one_ok)
        effect = rule.category in self.effect_categories if rule.effect is None else rule.effect
        named = self.targets(condition, read, simple) if effect else ()
        targets = tuple(one for one in named if self.is_file(one) and one not in condition.verbs)
        if rule.only_files and not targets:
            return Part(self.rules.nothing, rule.id, False)
        external = rule.external and not self.stays_here(read)
        return Part(rule.category, rule.id, effect, targets, external, rule.exit_one_ok, state=rule.state)

    def holds(self, condition: Condition, simple: Simple, read: Options) -> bool:
        """All conditions of a rule."""
        rule, given = condition.rule, read.flags
        if rule.bare and len(simple.words) > 1:
            return False
        if len(read.positionals) < rule.least:
            return False
        if condition.subs and not condition.sub_words(read):
            return False
        if condition.flags and not self.has_flag(condition, given):
            return False
        if not condition.no_flags.isdisjoint(given):
            return False
        if condition.values and not any(flag in given and one.search(given[flag]) for flag, one in condition.values):
            return False
        if condition.argument is not None and not condition.in_arguments(simple):
            return False
        return condition.match is None or condition.match.search(" ".join(simple.words)) is not None

    def has_flag(self, condition: Condition, given: dict[str, str]) -> bool:
        """True where one of the rule's flags is given; an output flag only where its value is a file."""
        found = condition.flags.intersection(given)
        real = condition.rule.real_output
        return any(one not in real or self.is_file(given[one]) for one in found) if real else bool(found)

    def targets(self, condition: Condition, read: Options, simple: Simple) -> tuple[str, ...]:
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
            value = next((read.flags[one] for one in (*target.split(), *rule.flags) if read.flags.get(one)), "")
            return (value,) if value else words[condition.sub_words(read) :][:1]
        if target.startswith("patched"):
            text = "\n".join([*words, simple.stdin or ""])
            return tuple(patched_files(text, self.patched)) or (words[:1] if target == "patched_first" else ())
        if target == "dir":
            return (read.flags["-C"],) if "-C" in read.flags else ()
        if target == "url":
            return self.urls(read)[:1] or words[:1]
        if target == "basename":
            return tuple(re.split(r"[?#]", one)[0].rstrip("/").rsplit("/", 1)[-1] for one in words[:1])
        if target == "all" and not words:
            return tuple(value for value in read.flags.values() if value)[:1]
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
        """True where addresses are given and all are this machine's own."""
        urls = self.urls(read)
        return bool(urls) and all(self.local.search(one) for one in urls)

    def urls(self, read: Options) -> tuple[str, ...]:
        """The addresses that a command names."""
        named = (read.flags.get(flag, "") for flag in self.rules.url_flags)
        return tuple(one for one in (*read.positionals, *named) if self.is_url(one))
