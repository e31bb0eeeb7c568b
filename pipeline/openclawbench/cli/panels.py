"""Commands in `--help` by what they are for, in the order in which they are needed."""

from typing import Any

from typer.core import TyperGroup

WHOLE = 1000  # characters of a command's first sentence: all of them
WHOLE = 1000  # characters of a command's first sentence: all of them
PANELS = {
    "Start": ("demo", "run", "status", "doctor"),
    "Stages, one by one": ("normalize", "enrich", "fuse", "slice", "onset", "packet", "annotate", "merge", "release"),
    "Look closer": ("show", "trace", "explain", "export", "report", "whatif"),
    "Releases": ("validate", "diff", "push"),
    "Human review": ("audit",),
    "Language models": ("ledger",),
    "Development": ("bench",),
}


class InPanels(TyperGroup):
    """A group whose help lists commands in panels; one that no panel names comes last."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, in order."""
        named = [name for names in PANELS.values() for name in names if name in self.commands]
        return [*named, *(name for name in self.commands if name not in named)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The panels."""
        listed = {name for names in PANELS.values() for name in names}
        others = tuple(name for name in self.list_commands(ctx) if name not in listed)
        widest = max(map(len, self.commands), default=0)
        for title, names in (PANELS | {"Others": others}).items():
            found = [(name, self.commands[name]) for name in names if name in self.commands]
            rows = [(f"{name:<{widest}}", one.get_short_help_str(WHOLE)) for name, one in found if not one.hidden]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
