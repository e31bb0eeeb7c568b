"""The commands that a command runs: behind sudo, in bash -c '…', fed to ssh, for each file that find finds."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from openclawbench.construct.shell.options import OptionReader, Options
from openclawbench.construct.shell.parse import SimpleCommand, parse_shell
from openclawbench.construct.shell.piped_input import unescape_text
from openclawbench.rules.construct.shell import Wrapper

FED = "{}"  # an argument that is read from the input
SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class ShellText(NamedTuple):
    """Shell text that a wrapper runs."""

    text: str


class UnknownText(NamedTuple):
    """Shell text that a wrapper runs, and that the command line does not tell."""


class WrapperReader:
    """A wrapper with the readers of its options."""

    def __init__(self, wrapper: Wrapper) -> None:
        self.wrapper = wrapper
        self.reader = OptionReader([*wrapper.values, *wrapper.code_flags], cluster=wrapper.cluster)
        self.sub_reader = OptionReader(wrapper.values, wrapper.optional, cluster=wrapper.cluster)
        self.subs = frozenset(tuple(text.split()) for text in wrapper.sub)

    def sub_words(self, arguments: Sequence[str]) -> int:
        """How many words of a sub-command the arguments begin with."""
        read = self.sub_reader.read(arguments, 2) if self.subs else None
        return max(
            (len(subcommand) for subcommand in self.subs if read and subcommand == read.positionals[: len(subcommand)]),
            default=0,
        )


def find_wrapped_commands(
    reader: WrapperReader, simple: SimpleCommand
) -> Iterator[SimpleCommand | ShellText | UnknownText]:
    """The wrapped commands: shell text, or a simple command; empty if the wrapper runs no command."""
    arguments, wrapper = simple.words[1:], reader.wrapper
    if wrapper.after_flags:
        yield from for_each(wrapper, arguments)
        return
    if wrapper.runs is not None:
        yield from run_inside(wrapper.runs, arguments)
        return
    sub_words = reader.sub_words(arguments)
    if wrapper.sub and not sub_words:
        return
    skip = wrapper.skip + sub_words
    read = reader.reader.read(arguments, None if wrapper.anywhere else skip)
    code = next((read.flags[code_flag] for code_flag in wrapper.code_flags if code_flag in read.flags), None)
    code = code if code is not None else text_behind_flag(wrapper, arguments)
    if code is not None:
        yield ShellText(code)
        return
    if any(unless_flag in read.flags for unless_flag in wrapper.unless_flags):
        return
    if wrapper.needs_flags and not any(needs_flag in read.flags for needs_flag in wrapper.needs_flags):
        return
    if wrapper.code_flags and not wrapper.code_optional:
        bare = len([positional for positional in read.positionals if positional != "-"]) <= skip
        if bare or any(input_flag in read.flags for input_flag in wrapper.input_flags):
            yield from fed_program(wrapper, simple)
        return
    rest = command_behind(arguments, read, skip)
    if wrapper.code_rest:
        yield from remote_text(rest, simple)
    elif rest:
        piped = simple.piped and not wrapper.feeds_arguments
        stdin = None if wrapper.feeds_arguments else simple.stdin
        rest = (*rest, FED) if wrapper.feeds_arguments and not has_placeholder(wrapper, read, rest) else rest
        yield SimpleCommand(rest, piped, stdin, (), simple.may_exit)


def fed_program(wrapper: Wrapper, simple: SimpleCommand) -> Iterator[ShellText | UnknownText]:
    """The program that a shell is fed."""
    if simple.stdin:
        yield ShellText(simple.stdin)
    elif simple.piped and simple.stdin is None and wrapper.runs_input:
        yield UnknownText()


def has_placeholder(wrapper: Wrapper, read: Options, rest: Sequence[str]) -> bool:
    """True if a mark among the arguments says where what is read from the input stands, not behind them."""
    marked = any(FED in word for word in rest)
    return marked or any(place_flag in read.flags for place_flag in wrapper.place_flags)


def for_each(wrapper: Wrapper, arguments: Sequence[str]) -> Iterator[SimpleCommand]:
    """Commands behind flags such as find's `-exec`, to `;` or `+`."""
    for place, word in enumerate(arguments):
        if word in wrapper.after_flags:
            rest = arguments[place + 1 :]
            end = next((index for index, word in enumerate(rest) if word in {";", "+"}), len(rest))
            yield SimpleCommand(tuple(rest[:end]))


def run_inside(pattern: str, arguments: Sequence[str]) -> Iterator[SimpleCommand | ShellText]:
    """Commands that program text of another language names in plain quotes, as awk does: `print … | "sh"`."""
    for hit in (hit for word in arguments if '"' in word for hit in re.finditer(pattern, word)):
        groups = hit.groupdict()
        text = next(value for name, value in groups.items() if value is not None and name != "fed")
        fed = groups.get("fed")
        stdin = None if fed is None else unescape_text(fed)
        for command in remote_text((unescape_text(text),), SimpleCommand((), stdin=stdin)):
            yield command._replace(piped=True) if isinstance(command, SimpleCommand) else command


def text_behind_flag(wrapper: Wrapper, arguments: Sequence[str]) -> str | None:
    """Text behind a flag such as cmd's `/c`, or behind `-Command`, to the end of the line."""
    if not wrapper.code_rest:
        return None
    place = next((index for index, argument in enumerate(arguments) if argument in wrapper.code_flags), None)
    return None if place is None else " ".join(arguments[place + 1 :])


def command_behind(arguments: Sequence[str], read: Options, skip: int) -> tuple[str, ...]:
    """Arguments from the first positional behind `skip` others on; variable settings are passed over."""
    places = read.places[skip:]
    if not places:
        return ()
    rest = list(arguments[places[0] :])
    while rest and SETTING.match(rest[0]):
        rest.pop(0)
    return tuple(rest)


def remote_text(rest: Sequence[str], simple: SimpleCommand) -> Iterator[SimpleCommand | ShellText]:
    """Shell text made of the remaining words (ssh, eval); what is fed to it is its program."""
    simples = parse_shell(" ".join(rest)).simples
    for place, command in enumerate(simples):
        fed = simple.stdin if place == len(simples) - 1 and command.stdin is None else command.stdin
        yield command._replace(stdin=fed, may_exit=command.may_exit and simple.may_exit)
        if command.writes:
            yield SimpleCommand(("tee", *command.writes))
    if not simples and simple.stdin:
        yield ShellText(simple.stdin)
