"""What a shell command text does (event_guide.md): every part, the most consequential one, effect, targets."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from openclawbench.base.memoize import MemoDict, memoize
from openclawbench.construct.shell.command_table import CommandTable, Part, ShellMeaning
from openclawbench.construct.shell.interpreters import Programs
from openclawbench.construct.shell.parse import SimpleCommand, parse_shell
from openclawbench.construct.shell.parse_plain import parse_plain_text
from openclawbench.construct.shell.piped_input import with_fed_text
from openclawbench.construct.shell.powershell import WordReader
from openclawbench.construct.shell.wrappers import FED, ShellText, UnknownText, WrapperReader, find_wrapped_commands
from openclawbench.rules.construct.shell import Interpreter, ShellRules, SqlClient, Wrapper

MOST_WORDS = 50  # words of a loop that are followed
DEEPEST = 8  # wrappers inside wrappers; real commands have three
FOLDER = re.compile(r"[/\\]")
VERSION = re.compile(r"[0-9.]+$")
Named = TypeVar("Named", Wrapper, Interpreter, SqlClient)


def first_per_name(rules: Iterable[Named]) -> dict[str, list[Named]]:
    """Rules by command name, in file order."""
    by_name: dict[str, list[Named]] = {}
    for rule in rules:
        for name in rule.names:
            by_name.setdefault(name.lower(), []).append(rule)
    return by_name


def unquoted_mark_pattern(marks: Iterable[str]) -> re.Pattern[str]:
    """Quoted text, or one of the marks outside it."""
    return re.compile(rf"""'[^']*'|"(?:[^"\\]|\\.)*"|(?P<mark>{"|".join(map(re.escape, marks))})""", re.DOTALL)


def unrolled(targets: tuple[str, ...], loops: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    """Targets with the variables of loops replaced by what the loops go over."""
    for name, words in reversed(loops):
        variable = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
        targets = tuple(
            written
            for target in targets
            for written in (
                [variable.sub(lambda _, word=word: word, target) for word in words[:MOST_WORDS]]  # type: ignore[misc]
                if "$" in target and variable.search(target)
                else [target]
            )
        )
    return targets


class Shell:
    """The shell rules, ready for use. It caches its answers and keeps no other state."""

    def __init__(self, rules: ShellRules, table: CommandTable | None = None) -> None:
        self.rules = rules
        self.table = table or CommandTable(rules)
        self.programs = Programs(rules, self.table)
        self.words = WordReader(rules.words)
        self.wrappers = {
            name: [*map(WrapperReader, rules_of_name)] for name, rules_of_name in first_per_name(rules.wrappers).items()
        }
        self.interpreters = first_per_name(rules.interpreters)
        self.sql_clients = first_per_name(rules.sql_clients)
        self.with_programs = self.interpreters.keys() | self.sql_clients.keys()
        self.feeders = {name: feeder for feeder in rules.feeders for name in feeder.names}
        self.change_directory = frozenset(rules.change_directory)
        self.harmless_exit = frozenset(rules.harmless_exit)
        self.ranks = {category: place for place, category in enumerate(rules.rank)}
        for group in rules.equal:
            self.ranks.update(dict.fromkeys(group, min(self.ranks[name] for name in group)))
        self.preparing = frozenset(rule.id for rule in rules.commands if rule.prepares)
        self.leaked = unquoted_mark_pattern(rules.leaked_marks)
        self.names = MemoDict(self.bare_name)
        self.known: dict[tuple[SimpleCommand, int], list[Part]] = {}

    def meaning(self, text: str, *, powershell: bool = False) -> ShellMeaning:
        """The meaning of a command text. Text without a command is named by the fallback rules; nothing raises.

        `powershell`: the tool takes PowerShell, whatever the text looks like.
        """
        text = text[: self.rules.max_length]
        cleaned = self.without_leaked(text)
        parts = self.parts(cleaned, 0, powershell=powershell)
        if cleaned != text:
            parts.insert(0, self.note(self.rules.leaked_rule))
        nothing = self.rules.nothing
        named = [part for part in parts if part.category != nothing]
        ok = self.exit_one_ok(parts)
        if not named:
            is_command = any(part.command for part in parts) or not text.strip()
            rule = self.rules.nothing_rule if is_command else self.rules.unparsed_rule
            return ShellMeaning(self.rules.fallback_category, rule, False, rule, (), False, ok, parts=tuple(parts))
        best = named[0] if len(named) == 1 else min(named, key=self.place)
        external = True in [part.external for part in named]
        changing = [part for part in named if part.effect]  # no other has targets
        if not changing:
            return ShellMeaning(best.category, best.rule, False, best.rule, (), external, ok, 0, (), tuple(parts))
        changing.sort(key=self.prepares)
        acting = best if best.effect else changing[0]
        ordered = [best, *changing]
        targets = dict.fromkeys([target for part in ordered for target in part.targets])
        written = dict.fromkeys([target for part in ordered if part.state for target in part.targets])
        return ShellMeaning(
            best.category,
            best.rule,
            True,
            acting.rule,
            tuple(targets),
            external,
            ok,
            len(changing),
            tuple(written),
            tuple(parts),
        )

    def place(self, part: Part) -> tuple[int, bool]:
        """How consequential a part is, the most first; what only makes a place for others behind its equals."""
        return self.ranks[part.category], self.prepares(part)

    def prepares(self, part: Part) -> bool:
        """True for a part that only makes a place for what follows."""
        return part.rule in self.preparing

    def program(self, text: str, interpreter: Interpreter | None = None) -> ShellMeaning:
        """The meaning of program text in another language (a code-running tool's argument)."""
        return self.only(self.programs.program(text, interpreter or self.rules.interpreters[0]), text)

    def statements(self, text: str) -> ShellMeaning:
        """The meaning of statements given to a database tool."""
        return self.only(self.programs.statement(text) or self.table.fallback, text)

    def only(self, part: Part, text: str) -> ShellMeaning:
        """The meaning of a text that is one part."""
        part = part._replace(command=text[: self.rules.shown_length])
        return ShellMeaning(
            part.category, part.rule, part.effect, part.rule, part.targets, False, False, 1, part.targets, (part,)
        )

    def exit_one_ok(self, parts: Sequence[Part]) -> bool:
        """True if exit code 1 of the text can only be a "no match"."""
        is_ok = False
        for part in parts:
            if part.may_exit:
                if not part.exit_one_ok and part.category not in self.harmless_exit:
                    return False
                is_ok = is_ok or part.exit_one_ok
        return is_ok

    def parts(self, text: str, depth: int, *, powershell: bool = False) -> list[Part]:
        """Parts of a shell text, in order; a directory change names what later changes without a target are in."""
        simples, parts = self.read(text, powershell=powershell)
        directory: tuple[str, ...] = ()
        for simple in with_fed_text(simples, self.feeders):
            simple_parts = self.simple_parts(simple, depth)
            if simple.loops:
                simple_parts = [part._replace(targets=unrolled(part.targets, simple.loops)) for part in simple_parts]
            if directory:
                simple_parts = [
                    simple_part._replace(targets=directory)
                    if simple_part.effect and not simple_part.targets
                    else simple_part
                    for simple_part in simple_parts
                ]
            parts += simple_parts
            words = simple.words
            if len(words) > 1 and words[0].lower() in self.change_directory:
                directory = (words[-1],)
        return parts

    def read(self, text: str, *, powershell: bool) -> tuple[list[SimpleCommand], list[Part]]:
        """The simple commands of a text, and which rule read it where the grammar could not."""
        if powershell or self.words.is_powershell(text):
            writes = self.programs.program(text, self.rules.interpreters[0])
            writing_parts = [writes] if writes.effect else []
            return self.words.simples(text), [self.note(self.rules.words.powershell_rule), *writing_parts]
        plain = parse_plain_text(text)
        if plain is not None:
            return plain, []
        try:
            simples, broken = parse_shell(text)
        except RecursionError:  # thousands of nested brackets: no command that anybody ran
            simples, broken = [], True
        if simples or not broken:
            return simples, [self.note(self.rules.words.recovered_rule)] if broken else []
        return self.words.simples(text), [self.note(self.rules.words.broken_rule)]

    def without_leaked(self, text: str) -> str:
        """A text up to the first leaked mark outside quotes and heredocs."""
        if not any(mark in text for mark in self.rules.leaked_marks):
            return text
        place = next((hit.start() for hit in self.leaked.finditer(text) if hit["mark"]), len(text))
        return text if "<<" in text[:place] else text[:place]

    def note(self, rule: str) -> Part:
        """A part that does nothing and says how the text was read."""
        return Part(self.rules.nothing, rule, False)

    def simple_parts(self, simple: SimpleCommand, depth: int) -> list[Part]:
        """Parts of one simple command: its files written by redirection, then what it does."""
        parts = self.known.get((simple, depth))
        if parts is None:
            parts = self.written_files(simple) if simple.writes else []
            if simple.words and simple.words[0]:
                parts += self.command_parts(simple, depth)
            self.known[simple, depth] = parts
        return parts

    def written_files(self, simple: SimpleCommand) -> list[Part]:
        """A part for the files that the output is redirected to, if there are any."""
        files = tuple(name for name in simple.writes if self.table.is_file(name))
        if not files:
            return []
        rules = self.rules
        return [Part(rules.redirect_category, rules.redirect_rule, True, files, command=f"> {' '.join(files)}")]

    def command_parts(self, simple: SimpleCommand, depth: int) -> list[Part]:
        """What a command does: look through a wrapper, read a program or a statement, else its rule."""
        word = simple.words[0]
        name = self.names[word]
        if name != word:
            simple = SimpleCommand((name, *simple.words[1:]), *simple[1:])
        shown = self.shown(simple)
        if name in self.wrappers and depth < DEEPEST:
            for wrapper_reader in self.wrappers[name]:
                inner = self.wrapped_parts(wrapper_reader, simple, depth)
                if inner and not wrapper_reader.wrapper.also_itself:
                    return inner
                if inner:
                    return [self.table.by_rule(simple)._replace(command=shown), *inner]
        return [self.own_part(simple, name)._replace(command=shown, may_exit=simple.may_exit)]

    def shown(self, simple: SimpleCommand) -> str:
        """The words of a command, as far as they are shown."""
        return " ".join(simple.words)[: self.rules.shown_length]

    def own_part(self, simple: SimpleCommand, name: str) -> Part:
        """What a command does that runs no other."""
        if name not in self.with_programs:
            return self.table.by_rule(simple)
        interpreters, clients = self.interpreters.get(name, ()), self.sql_clients.get(name, ())
        read = self.table.options(simple)
        own_part = self.table.by_rule(simple, read) if interpreters else None
        if own_part and own_part.effect:  # `perl -pi -e …` changes files, whatever its program says
            return own_part
        inside = None
        for interpreter in interpreters:
            inside = inside or self.programs.inline(simple, read, interpreter)
        for client in clients:
            inside = inside or self.programs.client(simple, read, client)
        return inside or own_part or self.table.by_rule(simple, read)

    def wrapped_parts(self, wrapper_reader: WrapperReader, simple: SimpleCommand, depth: int) -> list[Part]:
        """Parts of the command that a wrapper runs; empty if it runs no command."""
        later_commands: list[Part] = []
        wrapper = wrapper_reader.wrapper
        for inner in find_wrapped_commands(wrapper_reader, simple):
            if isinstance(inner, UnknownText):
                fed = Part(self.rules.fed_category, self.rules.fed_rule, False)
                later_commands.append(fed._replace(command=self.shown(simple), may_exit=simple.may_exit))
            elif isinstance(inner, ShellText):
                parts = self.parts(inner.text, depth + 1, powershell=wrapper.powershell)
                later_commands += [part._replace(may_exit=part.may_exit and simple.may_exit) for part in parts]
            else:
                parts = self.simple_parts(inner._replace(writes=()), depth + 1)
                if FED not in simple.words:
                    parts = [part._replace(command=part.command.removesuffix(f" {FED}")) for part in parts]
                later_commands += parts
        return [part._replace(external=True) for part in later_commands] if wrapper.external else later_commands

    def forget(self) -> None:
        """Clear the cache of commands: they may be long, and few commands of one shard occur in another."""
        self.known.clear()

    def bare_name(self, word: str) -> str:
        """The bare lower-case name of a command: no folder, no .exe, no version unless it is part of the name."""
        name = FOLDER.split(word)[-1].lower().removesuffix(".exe").removesuffix(".cmd") or word
        for form in (name, VERSION.sub("", name)):
            if any(
                form in table for table in (self.table.commands, self.wrappers, self.interpreters, self.sql_clients)
            ):
                return form
        return name


@memoize
def shell_of(rules: ShellRules) -> Shell:
    """The shell rules, compiled once for all shards."""
    return Shell(rules)
