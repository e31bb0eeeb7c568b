"""Values as cells of a spreadsheet and back, guarded: no cell is run as a formula or changed by an editor."""

import re
from typing import Any

from openclawbench.audit.settings import AuditRules, ShownTexts
from openclawbench.base.terminal import safe

QUOTE = "'"


class Cells:
    """Writes and reads cells with the guards of audit.toml. `shown`: how long texts are cut."""

    def __init__(self, rules: AuditRules, shown: ShownTexts) -> None:
        self.formula = re.compile(rules.guard.formula)
        self.changed = re.compile(rules.guard.changed)
        self.harmless = re.compile(rules.guard.harmless)
        self.texts = shown

    def written(self, value: Any) -> str:
        """A value as a cell: None is empty, a list has a line per entry, control characters are escaped, long texts
        cut."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
        return self.guarded(shorten(safe(text.replace("\r\n", "\n").replace("\r", "\n")), self.texts))

    def guarded(self, text: str) -> str:
        """The text, with an apostrophe in front if a spreadsheet would run or change it."""
        risky = self.formula.search(text) or (self.changed.search(text) and not self.harmless.search(text))
        return QUOTE + text if risky else text

    def read(self, cell: str) -> str:
        """The content of a cell without its guard, stripped, with \\n as line end."""
        text = cell.replace("\r\n", "\n").replace("\r", "\n").strip()
        return text[1:] if text.startswith(QUOTE) else text

    def same(self, cell: str, value: Any) -> bool:
        """True if a cell still holds `value`. White space does not count, because editors drop it."""
        return self.read(cell).split() == self.read(self.written(value)).split()


def shorten(text: str, rules: ShownTexts) -> str:
    """The beginning and the end of a long text, with a marker that says how much is left out."""
    if len(text) <= rules.characters:
        return text
    head = int(rules.characters * rules.head_share)
    marker = rules.marker.format(left=len(text) - rules.characters)
    return text[:head] + marker + text[len(text) - (rules.characters - head) :]
