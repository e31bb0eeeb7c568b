"""What a shell command text does (docs/event_guide.md): every part, the most consequential one, effect, targets."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from pipeline.construct.shell_fed import with_fed_text
from pipeline.construct.shell_parse import Simple, read_shell
from pipeline.construct.shell_plain import read_plain
from pipeline.construct.shell_programs import inline, program_part, statement, statement_part
from pipeline.construct.shell_table import CommandTable, Part
from pipeline.construct.shell_words import WordReader
from pipeline.construct.shell_wrappers import FED, Text, wrapped
from pipeline.rules.shell import Interpreter, ShellRules, SqlClient, Wrapper

DEEPEST = 8  # wrappers inside wrappers; real commands have three
FOLDER = re.compile(r"[/\\]")
VERSION = re.compile(r"[0-9.]+$")
Named = TypeVar("Named", Wrapper, Interpreter, SqlClient)


class Meaning(NamedTuple):
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


def first_per_name(rules: Iterable[Named]) -> dict[str, list[Named]]:
    """Rules by command name, in file order."""
    found: dict[str, list[Named]] = {}
    for rule in rules:
        for name in rule.names:
            found.setdefault(name.lower(), []).append(rule)
    return found


class Shell:
    """The shell rules, ready to be asked. Remembers what it was asked, nothing else."""

    def __init__(self, rules: ShellRules) -> None:
        self.rules = rules
        self.table = CommandTable(rules)
        self.words = WordReader(rules.words)
        self.wrappers = first_per_name(rules.wrappers)
        self.interpreters = first_per_name(rules.interpreters)
        self.sql_clients = first_per_name(rules.sql_clients)
        self.feeders = {name: feeder for feeder in rules.feeders for name in feeder.names}
        self.change_directory = frozenset(rules.change_directory)
        self.harmless_exit = frozenset(rules.harmless_exit)
        self.ranks = {category: place for place, category in enumerate(rules.rank)}
        for group in rules.equal:
            self.ranks.update(dict.fromkeys(group, min(self.ranks[one] for one in group)))
        self.names: dict[str, str] = {}
        self.known: dict[tuple[Simple, int], list[Part]] = {}

    def meaning(self, text: str, *, powershell: bool = False) -> Meaning:
        """The meaning of a command text. Text without a command is named by the fallback rules; nothing raises.

        `powershell`: the tool takes PowerShell, whatever the text looks like.
        """
        text = text[: self.rules.max_length]
        parts = self.parts(text, 0, powershell=powershell)
        named = [part for part in parts if part.category != self.rules.nothing]
        if not named:
            said = any(part.command for part in parts) or not text.strip()
            rule = self.rules.nothing_rule if said else self.rules.unparsed_rule
            ok = self.exit_one_ok(parts)
            return Meaning(self.rules.fallback_category, rule, False, rule, (), False, ok, parts=tuple(parts))
        best = named[0] if len(named) == 1 else min(named, key=lambda part: self.ranks[part.category])
        acting = best if best.effect else next((part for part in named if part.effect), best)
        targets = dict.fromkeys(best.targets)
        for part in named:
            if part.targets:
                targets.update(dict.fromkeys(part.targets))
        return Meaning(
            best.category,
            best.rule,
            acting.effect,
            acting.rule,
            tuple(targets),
            any(part.external for part in named),
            self.exit_one_ok(parts),
            sum(part.effect for part in named),
            tuple(dict.fromkeys(target for part in (best, *named) if part.state for target in part.targets)),
            tuple(parts),
        )

    def program(self, text: str, interpreter: Interpreter | None = None) -> Meaning:
        """The meaning of program text in another language (a code-running tool's argument)."""
        part = program_part(text, interpreter or self.rules.interpreters[0], self.table, self.rules)
        return self.only(part, text)

    def statements(self, text: str) -> Meaning:
        """The meaning of statements given to a database tool."""
        part = statement_part(text, self.rules) or Part(self.rules.fallback_category, self.rules.fallback_rule, False)
        return self.only(part, text)

    def only(self, part: Part, text: str) -> Meaning:
        """The meaning of a text that is one part."""
        part = part._replace(command=text[: self.rules.shown_length])
        return Meaning(
            part.category, part.rule, part.effect, part.rule, part.targets, False, False, 1, part.targets, (part,)
        )

    def exit_one_ok(self, parts: Sequence[Part]) -> bool:
        """True where exit code 1 of the text can only be a "no match"."""
        said = False
        for part in parts:
            if part.may_exit:
                if not part.exit_one_ok and part.category not in self.harmless_exit:
                    return False
                said = said or part.exit_one_ok
        return said

    def parts(self, text: str, depth: int, *, powershell: bool = False) -> list[Part]:
        """Parts of a shell text, in order; a directory change names what later changes without a target are in."""
        simples, notes = self.read(text, powershell=powershell)
        directory: tuple[str, ...] = ()
        parts = notes
        for simple in with_fed_text(simples, self.feeders):
            for part in self.simple_parts(simple, depth):
                parts.append(part._replace(targets=directory) if part.effect and not part.targets else part)
            if len(simple.words) > 1 and simple.words[0].lower() in self.change_directory:
                directory = (simple.words[-1],)
        return parts

    def read(self, text: str, *, powershell: bool) -> tuple[list[Simple], list[Part]]:
        """The simple commands of a text, and which rule read it where the grammar could not."""
        if powershell or self.words.is_powershell(text):
            writes = program_part(text, self.rules.interpreters[0], self.table, self.rules)
            done = [writes] if writes.effect else []
            return self.words.simples(text), [self.note(self.rules.words.powershell_rule), *done]
        plain = read_plain(text)
        if plain is not None:
            return plain, []
        try:
            simples, broken = read_shell(text)
        except RecursionError:  # thousands of nested brackets: no command that anybody ran
            simples, broken = [], True
        if simples or not broken:
            return simples, [self.note(self.rules.words.recovered_rule)] if broken else []
        return self.words.simples(text), [self.note(self.rules.words.broken_rule)]

    def note(self, rule: str) -> Part:
        """A part that does nothing and says how the text was read."""
        return Part(self.rules.nothing, rule, False)

    def simple_parts(self, simple: Simple, depth: int) -> list[Part]:
        """Parts of one simple command: its files written by redirection, then what it does."""
        parts = self.known.get((simple, depth))
        if parts is None:
            parts = self.written_files(simple)
            if simple.words and simple.words[0]:
                parts += self.command_parts(simple, depth)
            self.known[simple, depth] = parts
        return parts

    def written_files(self, simple: Simple) -> list[Part]:
        """A part for the files that the output is redirected to, if there are any."""
        files = tuple(name for name in simple.writes if self.table.is_file(name))
        if not files:
            return []
        rules = self.rules
        return [Part(rules.redirect_category, rules.redirect_rule, True, files, command=f"> {' '.join(files)}")]

    def command_parts(self, simple: Simple, depth: int) -> list[Part]:
        """What a command does: look through a wrapper, read a program or a statement, else its rule."""
        name = self.known_name(simple.words[0])
        if name != simple.words[0]:
            simple = simple._replace(words=(name, *simple.words[1:]))
        if depth < DEEPEST:
            for wrapper in self.wrappers.get(name, ()):
                inner = self.behind(wrapper, simple, depth)
                if inner and not wrapper.also_itself:
                    return inner
                if inner:
                    return [self.table.by_rule(simple)._replace(command=self.shown(simple)), *inner]
        return [self.own_part(simple, name)._replace(may_exit=simple.may_exit, command=self.shown(simple))]

    def shown(self, simple: Simple) -> str:
        """The words of a command, as far as they are shown."""
        return " ".join(simple.words)[: self.rules.shown_length]

    def own_part(self, simple: Simple, name: str) -> Part:
        """What a command does that runs no other."""
        found: Part | None = None
        if name in self.interpreters:
            changing = self.table.by_rule(simple)  # `perl -pi -e …` changes files, whatever its program says
            found = changing if changing.effect else None
        for interpreter in self.interpreters.get(name, ()):
            found = found or inline(simple, interpreter, self.table, self.rules)
        for client in self.sql_clients.get(name, ()):
            found = found or statement(simple, client, self.table, self.rules)
        return found or self.table.by_rule(simple)

    def behind(self, wrapper: Wrapper, simple: Simple, depth: int) -> list[Part]:
        """Parts of the command that a wrapper runs; none where it runs none."""
        found: list[Part] = []
        for inner in wrapped(wrapper, simple):
            if isinstance(inner, Text):
                parts = self.parts(inner.text, depth + 1, powershell=wrapper.powershell)
                found += [part._replace(may_exit=part.may_exit and simple.may_exit) for part in parts]
            else:
                parts = self.simple_parts(inner._replace(writes=()), depth + 1)
                if FED not in simple.words:
                    parts = [part._replace(command=part.command.removesuffix(f" {FED}")) for part in parts]
                found += parts
        return [part._replace(external=True) for part in found] if wrapper.external else found

    def known_name(self, word: str) -> str:
        """The bare lower-case name of a command: no folder, no .exe, no version unless it is part of the name."""
        known = self.names.get(word)
        if known is None:
            known = self.names[word] = self.bare_name(word)
        return known

    def bare_name(self, word: str) -> str:
        """known_name, looked up for the first time."""
        name = FOLDER.split(word)[-1].lower().removesuffix(".exe").removesuffix(".cmd") or word
        for form in (name, VERSION.sub("", name)):
            if any(
                form in table for table in (self.table.commands, self.wrappers, self.interpreters, self.sql_clients)
            ):
                return form
        return name
