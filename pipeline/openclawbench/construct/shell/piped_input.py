"""Text that a command line itself writes and feeds to another command: `echo 'rm a' | bash`, also in base64."""

import base64
from collections.abc import Iterator, Sequence
from itertools import pairwise

from openclawbench.construct.shell.parse import SimpleCommand
from openclawbench.rules.construct.shell import Feeder

EXPANDED = frozenset("$`")
LINES = {"\\n": "\n", "\\t": "\t", "\\r": "\r"}


def with_fed_text(simples: Sequence[SimpleCommand], feeders: dict[str, Feeder]) -> Sequence[SimpleCommand]:
    """The same commands; one that a plain literal is piped into has it as its input."""
    if len(simples) == 1:
        return simples
    for before, after in pairwise(simples):
        if after.piped and after.stdin is None and before.words and before.words[0] in feeders:
            return list(add_piped_texts(simples, feeders))
    return simples


def add_piped_texts(simples: Sequence[SimpleCommand], feeders: dict[str, Feeder]) -> Iterator[SimpleCommand]:
    """The commands in order, each with the text that is piped into it. A command behind a pipe is behind the one that
    feeds it."""
    before = SimpleCommand(())
    for command in simples:
        feeder = feeders.get(before.words[0]) if before.words and not before.writes else None
        text = written_text(before, feeder) if feeder and command.piped and command.stdin is None else None
        before = command if text is None else command._replace(stdin=text)
        yield before


def written_text(simple: SimpleCommand, feeder: Feeder) -> str | None:
    """What a command writes, where the command line says it."""
    if not feeder.decodes:
        return literal_text(simple, feeder)
    if simple.stdin is None or len(simple.words) != 2 or simple.words[1] not in feeder.flags:
        return None
    try:
        return base64.b64decode("".join(simple.stdin.split()), validate=True).decode("utf-8")
    except ValueError:
        return None


def literal_text(simple: SimpleCommand, feeder: Feeder) -> str | None:
    """What a command writes; None where something in it is expanded, or where its format does more than join."""
    words = list(simple.words[1:])
    while words and words[0] in feeder.flags:
        words.pop(0)
    if not simple.as_it_is and not EXPANDED.isdisjoint("".join(words)):
        return None
    if feeder.joins is not None and words and "%" in words[0]:
        if words[0] not in feeder.joins:
            return None
        return "\n".join(words[1:])
    return unescape_text(" ".join(words[:1] if feeder.joins is not None else words))


def unescape_text(text: str) -> str:
    """The text with escaped line ends and tabs decoded."""
    for written, meant in LINES.items():
        text = text.replace(written, meant)
    return text
