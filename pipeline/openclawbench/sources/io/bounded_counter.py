"""Counts under names that a file may choose: a hostile one has a million of them, each as long as it likes."""

from collections import Counter

from openclawbench.rules.intake.normalize import CountedNamesRules


class NamedCounts(Counter[str]):
    """Counts by name. The names noted in a family are bounded in number and length; the rest counts under one name, so
    that the sum is that of everything that was noted."""

    def __init__(self, limits: CountedNamesRules) -> None:
        super().__init__()
        self.limits = limits
        self.kept: dict[str, int] = {}  # names of each family

    def note(self, family: str, name: object) -> None:
        """Count one more of a family: `unknown_type:`, for example, or nothing at all."""
        label = f"{family}{name}"
        if label not in self:
            label = self.bounded(family, str(name)[: self.limits.characters])
        self[label] += 1

    def bounded(self, family: str, name: str) -> str:
        """The label of a name that has not been noted, at least not in its whole length."""
        label = f"{family}{name}"
        if label not in self:
            if self.kept.get(family, 0) >= self.limits.names:
                return f"{family}{self.limits.others}"
            self.kept[family] = self.kept.get(family, 0) + 1
        return label
