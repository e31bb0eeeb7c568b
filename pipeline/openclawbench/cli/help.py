"""Commands in `--help`, in panels by what they are for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from openclawbench.cli.exit import OutputClosed

LONGEST_HELP = 1000  # characters of a command's first sentence: all of it


@contextmanager
def output_read() -> Iterator[None]:
    """Raise OutputClosed where nobody reads what is printed within any more."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError as error:
        raise OutputClosed from error


class PanelGroup(TyperGroup):
    """A group whose help lists its commands in the panels that they were registered with, in order of registration."""

    order: tuple[str, ...] = ()

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line; this prints --help and --version. Raises OutputClosed as invoke does."""
        with output_read():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Carry out a command. Raises OutputClosed where nobody reads its output any more: typer would exit with 1."""
        with output_read():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, in the order of the panels."""
        named = [name for name in self.order if name in self.commands]
        return [*named, *(name for name in self.commands if name not in named)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per panel."""
        width = max(map(len, self.commands), default=0)
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.commands[name]
            if not command.hidden:
                row = (f"{name:<{width}}", command.get_short_help_str(LONGEST_HELP))
                panels.setdefault(command.rich_help_panel, []).append(row)
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)
