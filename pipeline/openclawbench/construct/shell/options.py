"""Reading the options of one command line, getopt style, as its syntax rule says."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from openclawbench.base.memoize import MemoDict


class Options(NamedTuple):
    """Flags with their values (empty if a flag takes none) and positional arguments, in order."""

    flags: dict[str, str]
    positionals: tuple[str, ...]
    places: list[int]  # where each positional stands among the arguments


class Dashed(NamedTuple):
    """What one dashed word says."""

    flags: list[tuple[str, str]]
    takes: str | None = None  # the flag whose value is the following word


class OptionReader:
    """Reads the options of some commands. Caches dashed words."""

    def __init__(
        self, values: Iterable[str] = (), optional: Iterable[str] = (), *, cluster: bool = True, any_case: bool = False
    ) -> None:
        self.values = frozenset(values)
        self.written = {value.lower(): value for value in self.values} if any_case else {}
        self.optional = frozenset(optional)
        self.cluster = cluster
        self.known = MemoDict(self.dashed)

    def read(self, arguments: Sequence[str], stop_after: int | None = None) -> Options:
        """Flags and positionals of the arguments behind a command's name.

        `stop_after` ends the reading once more positionals than that were found: what follows belongs to the command
        that is run, e.g. `timeout 5 ls -l`.
        """
        flags: dict[str, str] = {}
        positionals: list[str] = []
        places: list[int] = []
        value_place = -1  # the place of a word that is the value of the flag before it
        for place, word in enumerate(arguments):
            if place == value_place:
                continue
            if word[:1] != "-" or word == "-":
                positionals.append(word)
                places.append(place)
                if stop_after is not None and len(positionals) > stop_after:
                    break
            elif word == "--":
                positionals.extend(arguments[place + 1 :])
                places.extend(range(place + 1, len(arguments)))
                break
            else:
                option = self.known[word]
                for name, value in option.flags:
                    flags.setdefault(name, value)
                if option.takes is not None:
                    following = arguments[place + 1] if place + 1 < len(arguments) else ""
                    if following in self.values:  # of a flag that takes a value in some sub-commands only (git -n)
                        following = ""
                    else:
                        value_place = place + 1
                    flags.setdefault(option.takes, following)
        return Options(flags, tuple(positionals), places)

    def dashed(self, word: str) -> Dashed:
        """What a dashed word says: a flag, a flag with its value, or several flags of one letter."""
        word = self.written.get(word.lower(), word) if self.written else word
        name, equals, value = word.partition("=")
        if word in self.values:
            return Dashed([], word)
        if equals and (word.startswith("--") or name in self.values):
            return Dashed([(name, value)])
        flags = [(word, "")]
        if word.startswith("--") or not self.cluster:
            return Dashed(flags)
        for index, letter in enumerate(word[1:], start=1):
            short, rest = f"-{letter}", word[index + 1 :]
            if short in self.optional or (short in self.values and rest):
                return Dashed([*flags, (short, rest)])
            if short in self.values:
                return Dashed(flags, short)
            flags.append((short, ""))
        return Dashed(flags)
