"""Program text and database statements on a command line: what they plainly do (docs/event_guide.md, event_type 4)."""

import re

from pipeline.construct.options import options
from pipeline.construct.shell_parse import Simple
from pipeline.construct.shell_table import CommandTable, Part
from pipeline.rules.shell import Interpreter, ShellRules, SqlClient


def inline(simple: Simple, interpreter: Interpreter, table: CommandTable, rules: ShellRules) -> Part | None:
    """Program text given to an interpreter, or a module that is a command of its own (python -m pip); else None."""
    name, *arguments = simple.words
    read = options(arguments, table.syntax(name))
    module = read.flags.get(rules.module_flag)
    if module in table.commands and module in arguments:
        rest = arguments[arguments.index(module) + 1 :]
        return table.by_rule(simple._replace(words=(module, *rest)))
    codes = [read.flags[one] for one in interpreter.code_flags if read.flags.get(one)]
    if codes:
        return program_part("\n".join(codes), interpreter, table, rules)
    if simple.stdin and not [one for one in read.positionals if one != "-"]:
        return program_part(simple.stdin, interpreter, table, rules)
    return None


def program_part(text: str, interpreter: Interpreter, table: CommandTable, rules: ShellRules) -> Part:
    """A program that plainly writes a file is a write, else it is run."""
    likely = (rule for rule in rules.program_writes if any(one in text for one in rule.needs))
    hits = [hit for rule in likely for hit in re.finditer(rule.pattern, text)]
    targets = tuple(target for hit in sorted(hits, key=lambda hit: hit.start()) if (target := hit["target"]))
    if not hits or (targets and not [target for target in targets if table.is_file(target)]):
        return Part(interpreter.category, interpreter.id, False)
    return Part(interpreter.write_category, interpreter.write_rule, True, targets)


def statement(simple: Simple, client: SqlClient, table: CommandTable, rules: ShellRules) -> Part | None:
    """What a database client's statement does; None where there is no statement to see."""
    name, *arguments = simple.words
    read = options(arguments, table.syntax(name))
    texts = [read.flags[one] for one in client.code_flags if read.flags.get(one)]
    if client.positional is not None:
        texts.extend(read.positionals[client.positional :])
    text = "; ".join(texts) or simple.stdin or ""
    return statement_part(text, rules)


def statement_part(text: str, rules: ShellRules) -> Part | None:
    """What SQL text does; None where it is none."""
    for rule in rules.sql:
        hit = re.search(rule.pattern, text)
        if hit:
            effect = rule.category in rules.effect_categories
            return Part(rule.category, rule.id, effect, (hit["target"],) if effect else ())
    return None
