"""Text for terminals. Trajectory text is untrusted: control characters never reach a terminal raw."""

import re
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from openclawbench.errors import InvalidRules

# C0 (but tab and newline), DEL, C1, line and paragraph separators, bidirectional controls, zero-width, lone surrogates
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def safe(text: str) -> str:
    """The text with every control character written out, as \\x1b, \\u2028 or \\U000e0041."""
    return UNSAFE.sub(lambda match: written_out(match[0]), text)


def written_out(character: str) -> str:
    """A character as Python's source text writes it."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """safe() on one line: a file name with a newline in it must not look like a message of its own."""
    return safe(text).replace("\n", "\\n")


def flat(text: str) -> str:
    """safe() with line ends as ⏎: a value from a trajectory must not make lines that look like rules or steps."""
    return safe(text.replace("\n", "⏎"))


def sentence(error: Exception) -> str:
    """What an error says, on one line; what is wrong with a pattern may be drawn on several."""
    return (safe if isinstance(error, InvalidRules) else one_line)(str(error))


class Verbosity:
    """What -q and -v ask for; a process prints for one command."""

    quiet = False  # nothing but errors, and what --json or an export writes
    verbose = False  # also a line for each stage


class Output(Console):
    """A console whose error where nobody reads it any more reaches the program, which has an exit status for it."""

    def on_broken_pipe(self) -> None:
        """Raise the BrokenPipeError that is being handled; rich would exit with status 1."""
        raise  # noqa: PLE0704


def output() -> Console:
    """Results: stdout, no markup; so wide when it is not a terminal that a row is a line, for grep."""
    width, quiet = None if sys.stdout.isatty() else 400, Verbosity.quiet
    return Output(file=sys.stdout, markup=False, highlight=False, emoji=False, width=width, soft_wrap=True, quiet=quiet)


def errors() -> Console:
    """Errors: stderr."""
    return Output(file=sys.stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


def notices() -> Console:
    """Progress, warnings and remarks: stderr; nothing with -q."""
    console = errors()
    console.quiet = Verbosity.quiet
    return console


def warn(text: str) -> None:
    """A warning on stderr, on one line."""
    notices().print(f"warning: {one_line(text)}", style="yellow")


def table(title: str | None, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """A plain table; numbers to the right, null as a dash, every cell made safe, Text apart."""
    grid = Table(title=title, title_justify="left", show_edge=False, pad_edge=False, header_style="bold")
    body = [list(row) for row in rows]
    for index, name in enumerate(columns):
        numeric = bool(body) and all(isinstance(row[index], int | float | type(None)) for row in body)
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        grid.add_row(*[value if isinstance(value, Text) else Text(cell(value)) for value in row])
    return grid


def cell(value: object) -> str:
    """One value as text."""
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else one_line(str(value))


def pluralize(count: int, noun: str) -> str:
    """A number of things, as one says it."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
