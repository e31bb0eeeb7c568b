"""Parse shell text into simple commands with a grammar (tree-sitter-bash). The meaning of commands is not known
here."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_bash.language()))
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
HEREDOC = re.compile(r"<<-?[ \t]*[\"'\\]?(\w+)")
ENDS = frozenset({'"', "string", "raw_string", "ansi_c_string", "heredoc_end"})
QUOTES = ('"', "'")
DRIVE = re.compile(r"[A-Za-z]:\\|\\\\|\.{1,2}\\")
WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
WORDS = frozenset(
    {
        "word",
        "number",
        "string",
        "raw_string",
        "ansi_c_string",
        "translated_string",
        "concatenation",
        "simple_expansion",
        "expansion",
        "brace_expression",
        "arithmetic_expansion",
        "command_substitution",
        "process_substitution",
        "regex",
        "test_operator",
        "==",
        "=~",
    }
)
DATA = frozenset({"heredoc_body", "heredoc_start", "heredoc_end", "comment"})
COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
AFTER_HEREDOC = frozenset({"pipeline", "command", "list", "redirected_statement"})
RUN_INSIDE = frozenset({"command_substitution", "process_substitution"})
EXPANDED = RUN_INSIDE | {"simple_expansion", "expansion", "arithmetic_expansion"}


class SimpleCommand(NamedTuple):
    """One simple command, quotes removed. `words` is empty for a redirection of a whole group."""

    words: tuple[str, ...]
    piped: bool = False  # it reads what a pipe feeds it
    stdin: str | None = None  # text of its heredoc or here-string
    writes: tuple[str, ...] = ()  # files its output is redirected to, as written
    may_exit: bool = False  # the exit code of the whole text may be its own
    as_it_is: bool = False  # it has a `$` or a backquote in its words, and nothing in them is expanded
    loops: tuple[tuple[str, tuple[str, ...]], ...] = ()  # the variables of the loops around it, with what they go over


class Reading(NamedTuple):
    """What the grammar read in a text."""

    simples: list[SimpleCommand]
    broken: bool  # some of the text is not shell text; what could be recovered is there


def parse_shell(text: str) -> Reading:
    """Every simple command of the text in order; those in substitutions, loops, groups and subshells too.

    Bodies of heredocs, comments and quoted text are data. A quote or heredoc without an end goes to the end of the
    text. Other broken text gives what the grammar can recover, which may be nothing.
    """
    root, broken = tree(text)
    commands: list[SimpleCommand] = []
    walk(root, False, True, commands)
    return Reading(commands, broken)


def tree(text: str) -> tuple[Node, bool]:
    """The grammar's tree of a text, and whether some of it is not shell text; with what may be missing at its end,
    where that makes it one."""
    root = parse_tree(text)
    if not root.has_error:
        return root, False
    return next((completed for end in ends(text) if (completed := complete_text(text, end))), root), True


def complete_text(text: str, end: str) -> Node | None:
    """The tree of a text with what may be missing at its end; None if that makes it no shell text, or is itself read
    as a word."""
    root = parse_tree(text + end)
    place = len(text.encode("utf-8", "replace")) + len(end) - len(end.lstrip())
    added = root.descendant_for_byte_range(place, place)
    return root if not root.has_error and added is not None and added.type in ENDS else None


def parse_tree(text: str) -> Node:
    """The grammar's tree of a text as it is."""
    return PARSER.parse(text.encode("utf-8", "replace")).root_node


def ends(text: str) -> list[str]:
    """What may be missing at the end of a text: a quote, or the line that ends its last heredoc."""
    heredocs = HEREDOC.findall(text)
    return [*QUOTES, *(f"\n{name}\n" for name in heredocs[-1:])]


def walk(node: Node, piped: bool, may_exit: bool, commands: list[SimpleCommand]) -> None:
    """Add the simple commands under a node."""
    kind = node.type
    if kind in COMMANDS:
        command(node, kind, piped, may_exit, commands)
    elif kind == "redirected_statement":
        attach_redirections(node, piped, may_exit, commands)
    elif kind == "pipeline":
        parts = node.named_children
        for place, part in enumerate(parts):
            walk(part, piped or place > 0, may_exit and place == len(parts) - 1, commands)
    elif kind == "list":
        and_or(node, piped, may_exit, commands)
    elif kind == "for_statement":
        loop(node, piped, may_exit, commands)
    elif kind not in DATA:
        parts = [part for part in node.named_children if part.type not in DATA]
        for place, part in enumerate(parts):
            walk(part, piped, may_exit and (place == len(parts) - 1 or kind != "program"), commands)


def and_or(node: Node, piped: bool, may_exit: bool, commands: list[SimpleCommand]) -> None:
    """`a && b`: both may give the exit code; `a || b`: only b."""
    children = node.children
    either = any(child.type == "&&" for child in children)
    parts = [child for child in children if child.is_named]
    for place, part in enumerate(parts):
        walk(part, piped and place == 0, may_exit and (either or place == len(parts) - 1), commands)


def loop(node: Node, piped: bool, may_exit: bool, commands: list[SimpleCommand]) -> None:
    """`for NAME in WORDS; do … done`: what is inside knows what NAME stands for."""
    first = len(commands)
    variable, words = "", []
    for child in node.named_children:
        if child.type == "do_group":
            walk(child, piped, may_exit, commands)
        elif child.type == "variable_name":
            variable = source(child)
        elif child.type in WORDS:
            substitutions(child, commands)
            first = len(commands)
            words.append(unquote_word(child))
    if variable and words:
        own = ((variable, tuple(words)),)
        commands[first:] = [command._replace(loops=own + command.loops) for command in commands[first:]]


def attach_redirections(node: Node, piped: bool, may_exit: bool, commands: list[SimpleCommand]) -> None:
    """Redirections belong to the body's only command, else to its last simple command, or stand alone for a group."""
    redirects: list[Node] = []
    bodies: list[Node] = []
    for part in node.named_children:
        (redirects if part.type.endswith("_redirect") else bodies).append(part)
    first = len(commands)
    for body in bodies:
        walk(body, piped, may_exit, commands)
    writes = tuple(target for part in redirects for target in redirected_files(part))
    stdin = next((text for part in redirects if (text := fed_text(part)) is not None), None)
    inside = len(commands) > first
    last_words = len(commands[-1].words) if inside else 0
    if len(bodies) == 1 and bodies[0].type == "command" and inside:
        last = commands[-1]
        commands[-1] = last._replace(writes=last.writes + writes, stdin=stdin or last.stdin)
    elif len(bodies) == 1 and bodies[0].type == "list" and inside and stdin and not writes:
        commands[-1] = commands[-1]._replace(stdin=stdin)  # `cd a && python3 - <<EOF`
    elif writes:
        commands.append(SimpleCommand((), writes=writes))
    for part in redirects:
        if part.type == "heredoc_redirect":
            next_place = len(commands)
            after_heredoc(part, may_exit, commands)
            flows_on = last_words == 1 and len(commands) > next_place  # `cat <<EOF | bash`: the text is what bash reads
            if flows_on and commands[next_place].piped and commands[next_place].stdin is None:
                commands[next_place] = commands[next_place]._replace(stdin=stdin)
        else:
            substitutions(part, commands)


def after_heredoc(redirect: Node, may_exit: bool, commands: list[SimpleCommand]) -> None:
    """What the grammar hangs under `<<EOF`: the rest of that line, e.g. `| bash` or `&& python3 f`."""
    for child in redirect.named_children:
        kind = child.type
        if kind in AFTER_HEREDOC:
            walk(child, kind == "pipeline", may_exit, commands)
        elif kind == "file_redirect" or kind in RUN_INSIDE:
            substitutions(child, commands)


def redirected_files(redirect: Node) -> list[str]:
    """Files that a redirection writes."""
    if redirect.type == "heredoc_redirect":
        inner = [child for child in redirect.named_children if child.type == "file_redirect"]
        return [target for child in inner for target in redirected_files(child)]
    if redirect.type != "file_redirect":
        return []
    children = redirect.children
    kinds = [child.type for child in children]
    if not any(kind in WRITING for kind in kinds):
        return []
    target = next((child for child in children if child.type in WORDS), None)
    if target is None or target.type == "process_substitution" or (">&" in kinds and target.type == "number"):
        return []
    return [unquote_word(target)]


def fed_text(redirect: Node) -> str | None:
    """Text that a heredoc or here-string feeds."""
    if redirect.type == "heredoc_redirect":
        bodies = [child for child in redirect.named_children if child.type == "heredoc_body"]
        return source(bodies[0]) if bodies else ""
    if redirect.type == "herestring_redirect" and redirect.named_children:
        return unquote_word(redirect.named_children[-1])
    return None


def command(node: Node, kind: str, piped: bool, may_exit: bool, commands: list[SimpleCommand]) -> None:
    """A simple command after the commands substituted into it."""
    children = node.children
    words: list[str] = []
    writes: list[str] = []
    stdin: str | None = None
    if kind != "command":
        words += ["[[", *source(node).strip("[] ").split()] if kind == "test_command" else [source(children[0])]
    for child in children:
        if not child.is_named:
            continue
        child_kind = child.type
        if child.child_count:
            substitutions(child, commands)
        if child_kind in WORDS:
            words.append(unquote_word(child, child_kind))
        elif child_kind == "command_name":
            inner = child.named_children
            words.append(unquote_word(inner[0]) if inner else source(child))
        elif child_kind.endswith("_redirect"):
            writes.extend(redirected_files(child))
            stdin = fed_text(child) if stdin is None else stdin
        elif child_kind == "variable_assignment" and words:
            words.append(source(child))
    if words or writes:
        commands.append(SimpleCommand(tuple(words), piped, stdin, tuple(writes), may_exit, as_it_is(node, words)))


def as_it_is(node: Node, words: Sequence[str]) -> bool:
    """True if the words of a command have a `$` or a backquote, and all of them are quoted."""
    return any("$" in word or "`" in word for word in words) and not expands(node)


def expands(node: Node) -> bool:
    """True if a node holds an expansion."""
    return any(child.type in EXPANDED or expands(child) for child in node.named_children)


def substitutions(node: Node, commands: list[SimpleCommand]) -> None:
    """Add the commands run inside `$(…)`, backticks and `<(…)` of a word or assignment."""
    kind = node.type
    if kind in RUN_INSIDE:
        for child in node.named_children:
            walk(child, False, False, commands)
    elif kind not in DATA:
        for child in node.named_children:
            if child.child_count:
                substitutions(child, commands)


def source(node: Node) -> str:
    """The node's text as written."""
    return (node.text or b"").decode("utf-8", "replace")


def unquote_word(node: Node, kind: str | None = None) -> str:
    """A word with its quotes and escapes removed; expansions stay as written."""
    text = source(node)
    kind = kind or node.type
    if kind == "word":
        return text if "\\" not in text or DRIVE.match(text) else ESCAPE.sub(r"\1", text)
    if kind == "raw_string":
        return text[1:-1]
    if kind == "string":
        return re.sub(r'\\([$`"\\\n])', r"\1", text[1:].removesuffix('"'))
    if kind == "ansi_c_string":
        return text[2:-1]
    if kind == "concatenation":
        return "".join(unquote_word(child) for child in node.children)
    return text
