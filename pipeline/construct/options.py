"""Reading the options of one command line, getopt style, as its syntax rule says."""

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.rules.shell import Syntax


class Options(NamedTuple):
    """Flags with their values (empty where a flag takes none) and positional arguments, in order."""

    flags: dict[str, str]
    positionals: tuple[str, ...]
    places: tuple[int, ...]  # where each positional stands among the arguments


def options(arguments: Sequence[str], syntax: Syntax, stop_after: int | None = None) -> Options:
    """Flags and positionals of the arguments behind a command's name.

    `stop_after` ends the reading once more positionals than that were found: what follows belongs to the command
    that is run, e.g. `timeout 5 ls -l`.
    """
    flags: dict[str, str] = {}
    positionals: list[str] = []
    places: list[int] = []
    place = 0
    while place < len(arguments):
        word = arguments[place]
        if word == "--":
            positionals.extend(arguments[place + 1 :])
            places.extend(range(place + 1, len(arguments)))
            break
        if len(word) < 2 or word[0] != "-":
            positionals.append(word)
            places.append(place)
            if stop_after is not None and len(positionals) > stop_after:
                break
        else:
            following = arguments[place + 1] if place + 1 < len(arguments) else ""
            place += flag(word, following, syntax, flags)
        place += 1
    return Options(flags, tuple(positionals), tuple(places))


def flag(word: str, following: str, syntax: Syntax, flags: dict[str, str]) -> int:
    """Note what one dashed word says; 1 where it takes the following word as its value, else 0."""
    name, equals, value = word.partition("=")
    if word in syntax.values:
        flags.setdefault(word, following)
        return 1
    if equals and (word.startswith("--") or name in syntax.values):
        flags.setdefault(name, value)
        return 0
    if word.startswith("--") or not syntax.cluster:
        flags.setdefault(word, "")
        return 0
    flags.setdefault(word, "")
    for index, letter in enumerate(word[1:], start=1):
        short = f"-{letter}"
        rest = word[index + 1 :]
        if short in syntax.optional:
            flags.setdefault(short, rest)
            return 0
        if short in syntax.values:
            flags.setdefault(short, rest or following)
            return 0 if rest else 1
        flags.setdefault(short, "")
    return 0
