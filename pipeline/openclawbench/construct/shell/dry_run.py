"""Whether a command only says what it would do (shell.toml: dry_run)."""

from collections.abc import Sequence

from openclawbench.construct.shell.options import Options
from openclawbench.rules.shell import ShellRules


class DryRuns:
    """The flags that make a command change nothing, ready to be asked."""

    def __init__(self, rules: ShellRules) -> None:
        self.flags = frozenset(rules.dry_run_flags)
        self.off = frozenset(rules.dry_run_off)
        self.own: dict[str, list[tuple[frozenset[tuple[str, ...]], frozenset[str]]]] = {}
        for one in rules.dry_runs:
            subs = frozenset(tuple(sub.split()) for sub in one.sub)
            for name in one.names:
                self.own.setdefault(name, []).append((subs, frozenset(one.flags)))

    def holds(self, words: Sequence[str], read: Options) -> bool:
        """True where one of the flags is among the words of a command, or one of its own among its options."""
        if any(self.is_flag(word) for word in words[1:] if word[:1] == "-"):
            return True
        for subs, flags in self.own.get(words[0], ()):
            if not flags.isdisjoint(read.flags) and (
                not subs or any(read.positionals[: len(sub)] == sub for sub in subs)
            ):
                return True
        return False

    def is_flag(self, word: str) -> bool:
        """True for one of the flags that every command means so, unless it is turned off."""
        name, _, value = word.lower().replace(":", "=", 1).partition("=")
        return name in self.flags and value not in self.off
