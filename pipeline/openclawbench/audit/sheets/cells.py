"""Texts as cells of a spreadsheet and back: nothing is carried out, what an editor would change stays as it is."""

import re
from typing import Any

from openclawbench.audit.settings import AuditRules, ShownTexts
from openclawbench.base.terminal import safe

QUOTE = "'"


class Cells:
    """The guards of audit.toml, ready to be asked; texts are cut as `shown` says."""

    def __init__(self, rules: AuditRules, shown: ShownTexts) -> None:
        self.formula = re.compile(rules.guard.formula)
        self.changed = re.compile(rules.guard.changed)
        self.harmless = re.compile(rules.guard.harmless)
        self.texts = shown

    def written(self, value: Any) -> str:
        """A value as a cell: null empty, lists a line an entry, control characters written out, guarded, cut."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
        return self.guarded(shorten(safe(text.replace("\r\n", "\n").replace("\r", "\n")), self.texts))

    def guarded(self, text: str) -> str:
        """The text with an apostrophe in front where a spreadsheet would carry it out or change it."""
        risky = self.formula.search(text) or (self.changed.search(text) and not self.harmless.search(text))
        return QUOTE + text if risky else text

    def read(self, cell: str) -> str:
        """A cell without its guard, line ends evened out, blanks at the ends left out."""
        text = cell.replace("\r\n", "\n").replace("\r", "\n").strip()
        return text[1:] if text.startswith(QUOTE) else text

    def same(self, cell: str, value: Any) -> bool:
        """True where a cell still holds what was written in it; white space that editors drop does not count."""
        return self.read(cell).split() == self.read(self.written(value)).split()


def shorten(text: str, rules: ShownTexts) -> str:
    """A long text's beginning and end, with how much is missing between them."""
    if len(text) <= rules.characters:
        return text
    head = int(rules.characters * rules.head_share)
    marker = rules.marker.format(left=len(text) - rules.characters)
    return text[:head] + marker + text[len(text) - (rules.characters - head) :]
