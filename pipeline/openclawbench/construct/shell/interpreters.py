"""Program text and database statements on a command line: what they plainly do (event_guide.md, event_type 4)."""

import re

from openclawbench.construct.shell.command_table import CommandTable, Part
from openclawbench.construct.shell.options import Options
from openclawbench.construct.shell.parse import SimpleCommand
from openclawbench.rules.construct.shell import Interpreter, ShellRules, SqlClient

SILENT = re.compile(r"'(?:[^']|'')*+'|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)")  # strings and comments of SQL


class Programs:
    """The rules of program text and statements, compiled."""

    def __init__(self, rules: ShellRules, table: CommandTable) -> None:
        self.rules = rules
        self.table = table
        self.writes = [(rule.needs, re.compile(rule.pattern)) for rule in rules.program_writes]
        self.sql = [(rule, re.compile(rule.pattern)) for rule in rules.sql]

    def inline(self, simple: SimpleCommand, read: Options, interpreter: Interpreter) -> Part | None:
        """Program text given to an interpreter, or a module that is a command of its own (python -m pip); else None."""
        module = read.flags.get(self.rules.module_flag)
        if module in self.table.commands and module in simple.words[1:]:
            return self.table.by_rule(simple._replace(words=simple.words[simple.words.index(module, 1) :]))
        codes = [read.flags[code_flag] for code_flag in interpreter.code_flags if read.flags.get(code_flag)]
        if codes:
            return self.program("\n".join(codes), interpreter)
        if simple.stdin and not [positional for positional in read.positionals if positional != "-"]:
            return self.program(simple.stdin, interpreter)
        return None

    def program(self, text: str, interpreter: Interpreter) -> Part:
        """A program that plainly writes a file is a write, else it is run."""
        hits = [hit for pattern in self.likely(text) for hit in pattern.finditer(text)]
        targets = tuple(target for hit in sorted(hits, key=lambda hit: hit.start()) if (target := hit["target"]))
        if not hits or (targets and not [target for target in targets if self.table.is_file(target)]):
            return Part(interpreter.category, interpreter.id, False)
        return Part(interpreter.write_category, interpreter.write_rule, True, targets)

    def likely(self, text: str) -> list[re.Pattern[str]]:
        """The patterns of writes whose required plain text occurs."""
        matching = []
        for needs, pattern in self.writes:
            for need in needs:
                if need in text:
                    matching.append(pattern)
                    break
        return matching

    def client(self, simple: SimpleCommand, read: Options, client: SqlClient) -> Part | None:
        """What a database client's statement does; None if the call shows no statement."""
        texts = [read.flags[code_flag] for code_flag in client.code_flags if read.flags.get(code_flag)]
        if client.positional is not None:
            texts.extend(read.positionals[client.positional :])
        return self.statement("; ".join(texts) or simple.stdin or "")

    def statement(self, text: str) -> Part | None:
        """What SQL text does; None where the text is not SQL. What stands in its comments and strings does nothing."""
        text = SILENT.sub(lambda match: "''" if match[0][0] == "'" else " ", text)
        for rule, pattern in self.sql:
            hit = pattern.search(text)
            if hit:
                effect = rule.category in self.rules.effect_categories
                return Part(rule.category, rule.id, effect, (hit["target"],) if effect else ())
        return None
