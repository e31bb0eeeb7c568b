"""The rule book: one digest over every rule file, for provenance."""

from pathlib import Path
from typing import Any, ClassVar, Self

from openclawbench.rules.loading.rule_file import NO_OVERRIDES, Overrides, Rules, canonical_digest, read_rules

RULES = Path(__file__).parents[1]
NO_LABEL = ("asking.toml", "prices.toml")  # how to ask and what it costs: no label follows from them


class RuleBook(Rules):
    """All rule files from which labels follow. `version` is the first 12 digits of their common digest."""

    FILE: ClassVar[str] = "*.toml"

    @classmethod
    def load(cls, *, overrides: Overrides = NO_OVERRIDES) -> Self:
        """Digest every rule file as it is in force. Raises InvalidRules."""
        return cls.of({name: read_rules(name, overrides) for name in label_rule_files()})

    @classmethod
    def of(cls, contents: dict[str, Any]) -> Self:
        """The book of rule files with these contents, by their names."""
        digest = canonical_digest(contents)
        book = cls(version=digest[:12])
        book._digest = digest
        return book


def label_rule_files() -> list[str]:
    """Names of the rule files from which labels follow: those of rules/ but how to ask and what it costs. Files of
    other folders (publish.toml, audit.toml, …) lie beside the code that they are for."""
    return sorted(path.name for path in RULES.rglob("*.toml") if path.name not in NO_LABEL)
