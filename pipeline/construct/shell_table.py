"""The table of shell commands: the first rule of a command's name whose conditions hold says what it does."""

import re
from typing import NamedTuple

from pipeline.construct.options import Options, options
from pipeline.construct.shell_parse import Simple
from pipeline.rules.shell import CommandRule, ShellRules, Syntax

NO_SYNTAX = Syntax()


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


class CommandTable:
    """The rules of single commands, ready to be asked."""

    def __init__(self, rules: ShellRules) -> None:
        self.rules = rules
        self.commands: dict[str, list[CommandRule]] = {}
        for rule in rules.commands:
            for name in rule.names:
                self.commands.setdefault(name.lower(), []).append(rule)
        self.syntaxes: dict[str, Syntax] = {}
        for syntax in rules.syntaxes:
            for name in syntax.names:
                self.syntaxes.setdefault(name.lower(), syntax)
        self.null_files = frozenset(rules.null_files)
        self.local = re.compile(rules.local_url)
        self.url = re.compile(rules.url)

    def is_file(self, name: str) -> bool:
        """False for /dev/null and its like, and for a file descriptor."""
        return name.lower() not in self.null_files and not name.startswith("&")

    def syntax(self, name: str) -> Syntax:
        """How the options of a command are read."""
        return self.syntaxes.get(name, NO_SYNTAX)

    def by_rule(self, simple: Simple) -> Part:
        """The first rule of the command's name whose conditions hold; unknown commands are programs that are run."""
        name, *arguments = simple.words
        rules = self.commands.get(name, [])
        read = options(arguments, self.syntax(name))
        if len(arguments) == 1 and arguments[0] in self.rules.version_flags:
            return Part(self.rules.version_category, self.rules.version_rule, False)
        if any(one in self.rules.help_flags for one in arguments):
            return Part(self.rules.help_category, self.rules.help_rule, False)
        rule = next((one for one in rules if self.holds(one, simple, read)), None)
        if rule is None:
            return Part(self.rules.fallback_category, self.rules.fallback_rule, False)
        fed = simple.piped or simple.stdin is not None
        if rule.operands is not None and fed and len(read.positionals) <= rule.operands:
            return Part(self.rules.nothing, rule.id, False, exit_one_ok=rule.exit_one_ok)
        targets = tuple(one for one in self.targets(rule, read, simple) if self.is_file(one))
        if rule.only_files and not targets:
            return Part(self.rules.nothing, rule.id, False)
        effect = rule.category in self.rules.effect_categories if rule.effect is None else rule.effect
        external = rule.external and not self.stays_here(read)
        return Part(rule.category, rule.id, effect, targets if effect else (), external, rule.exit_one_ok)

    def holds(self, rule: CommandRule, simple: Simple, read: Options) -> bool:
        """All conditions of a rule."""
        flags = [one for one in rule.flags if one in read.flags]
        if rule.real_output:
            flags = [one for one in flags if one not in rule.real_output or self.is_file(read.flags[one])]
        return (
            (not rule.sub or self.sub_words(rule, read) > 0)
            and (not rule.flags or bool(flags))
            and not any(one in read.flags for one in rule.no_flags)
            and (
                not rule.values
                or any(re.search(rule.values[one], read.flags.get(one, "")) for one in rule.values if one in read.flags)
            )
            and (rule.match is None or re.search(rule.match, " ".join(simple.words)) is not None)
            and (not rule.bare or len(simple.words) == 1)
        )

    def sub_words(self, rule: CommandRule, read: Options) -> int:
        """How many words of a sub-command of the rule the positionals begin with."""
        subs = [tuple(one.split()) for one in rule.sub]
        return max((len(one) for one in subs if one == read.positionals[: len(one)]), default=0)

    def targets(self, rule: CommandRule, read: Options, simple: Simple) -> tuple[str, ...]:
        """The arguments that name what is changed."""
        words, target = read.positionals, rule.target
        if rule.target_name is not None:
            return (rule.target_name,)
        if rule.target_match is not None:
            return tuple(re.findall(rule.target_match, " ".join(simple.words)))[:1]
        if target is None:
            return ()
        if target.startswith("-"):
            value = next((read.flags[one] for one in (target, *rule.flags) if read.flags.get(one)), "")
            return (value,) if value else words[:1]
        if target == "dir":
            return (read.flags["-C"],) if "-C" in read.flags else ()
        if target == "url":
            return tuple(one for one in (*words, read.flags.get("--url", "")) if self.is_url(one))[:1] or words[:1]
        if target == "basename":
            return tuple(re.split(r"[?#]", one)[0].rstrip("/").rsplit("/", 1)[-1] for one in words[:1])
        if target == "all" and not words:
            return tuple(value for value in read.flags.values() if value)[:1]
        picked = {
            "first": words[:1],
            "second": words[1:2],
            "third": words[2:3],
            "last": words[-1:],
            "rest": words[self.sub_words(rule, read) or 1 :],
            "all": words,
        }
        return picked[target] or ((read.flags["-C"],) if "-C" in read.flags else ())

    def is_url(self, word: str) -> bool:
        """True for an address on the web or on this machine."""
        return bool(self.url.search(word) or self.local.search(word))

    def stays_here(self, read: Options) -> bool:
        """True where addresses are given and all are this machine's own."""
        urls = [one for one in (*read.positionals, read.flags.get("--url", "")) if self.is_url(one)]
        return bool(urls) and all(self.local.search(one) for one in urls)
