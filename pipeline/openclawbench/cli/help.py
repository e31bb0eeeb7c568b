"""Commands in `--help`, in panels by what they are for; each is loaded when it is called."""

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from openclawbench.cli.exit import OutputClosed


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


class Command(NamedTuple):
    """Where a command is: a function, or a typer application with commands of its own."""

    module: str  # below cli/commands
    name: str
    help: str  # the beginning of its docstring; all of it, where it has none


Panels = Mapping[str, Mapping[str, Command]]


class Loaded(MutableMapping[str, Any]):
    """Name -> typer's command, made on first use: most of the time of a short command is the loading of modules."""

    def __init__(self, commands: Mapping[str, Command]) -> None:
        self.commands = commands
        self.loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.loaded:
            self.loaded[name] = load(name, self.commands[name])
        return self.loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self.loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.commands)

    def __len__(self) -> int:
        return len(self.commands)


def load(name: str, command: Command) -> Any:
    """Import a command and give it to typer, with the options of all commands."""
    from openclawbench.cli.options import in_data_folder, with_common

    loaded = getattr(import_module(f"openclawbench.cli.commands.{command.module}"), command.name)
    holder = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    holder.callback()(lambda: None)
    if isinstance(loaded, typer.Typer):
        for registered in loaded.registered_commands:
            assert registered.callback is not None
            registered.callback = with_common(in_data_folder(registered.callback))
        holder.add_typer(loaded, name=name)
    else:
        holder.command(name, help=loaded.__doc__ or command.help)(with_common(in_data_folder(loaded)))
    group = typer.main.get_command(holder)
    assert isinstance(group, TyperGroup)
    return group.commands[name]


class PanelGroup(TyperGroup):
    """A group whose help lists its commands in panels, without loading them."""

    def __init__(self, panels: Panels, **options: Any) -> None:
        super().__init__(**options)
        self.panels = panels
        self.commands = Loaded({name: command for panel in panels.values() for name, command in panel.items()})

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
        return [*self.commands]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per panel."""
        width = max(map(len, self.commands))
        for title, commands in self.panels.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", command.help) for name, command in commands.items()])
