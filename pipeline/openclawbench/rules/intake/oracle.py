"""Loader of oracle.toml: spellings of BFCL categories and task ids, of result and score files, of session names."""

import re
from functools import cached_property
from typing import ClassVar, Self

from pydantic import Field, model_validator

from openclawbench.base.session_names import basename, unpacked
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import each_once
from openclawbench.tables.record import Record


class CategoryName(Record):
    """One category of BFCL: its canonical name, the subset it belongs to, other spellings."""

    name: str
    subset: str | None = None
    spellings: list[str] = []  # noqa: RUF012 -- pydantic copies it
    never_scored: bool = False


class OracleRules(Rules):
    """How task outcomes are read."""

    FILE: ClassVar[str] = "oracle.toml"
    inference_error: PythonPattern
    file_name: PythonPattern
    groups: list[str]
    category_prefix: PythonPattern
    category: PythonPattern
    set_aside: PythonPattern
    beside: list[PythonPattern]
    accuracy_tolerance: float = Field(ge=0)
    category_name: list[CategoryName]

    @model_validator(mode="after")
    def every_spelling_once(self) -> Self:
        """A spelling of two categories would be decided by the order of the file."""
        each_once(
            [name for category in self.category_name for name in (category.name, *category.spellings)],
            "several categories",
            "name",
            "spellings",
        )
        return self

    @cached_property
    def known(self) -> dict[str, CategoryName]:
        """Spelling -> category."""
        return {
            spelling: category for category in self.category_name for spelling in (category.name, *category.spellings)
        }

    @cached_property
    def category_of_id(self) -> re.Pattern[str]:
        return re.compile(self.category)

    def is_never_scored(self, category: str) -> bool:
        """True for the canonical name of a category that never has a score file."""
        return category in self.known and self.known[category].never_scored

    def is_beside(self, name: str) -> bool:
        """True for a file that the evaluator leaves in every tree beside results and scores."""
        return any(re.search(pattern, unpacked(name)) for pattern in self.beside)

    def canonical_category(self, spelling: str) -> str:
        """The canonical name of a category; an unknown one keeps its spelling without the version's prefix."""
        bare = re.sub(self.category_prefix, "", spelling)
        return self.known[bare].name if bare in self.known else bare

    def subset(self, category: str) -> str:
        """The subset of a canonical category."""
        category_rule = self.known.get(category)
        return category if category_rule is None or category_rule.subset is None else category_rule.subset

    def category_in(self, task_id: str | None) -> str | None:
        """The canonical category of a task id, None if the id does not have the form of one."""
        match = self.category_of_id.match(task_id or "")
        return self.canonical_category(match["category"]) if match else None

    def canonical_id(self, task_id: str | None) -> str | None:
        """A task id with its category's canonical spelling; unchanged where it has no known category."""
        match = self.category_of_id.match(task_id or "")
        category = self.canonical_category(match["category"]) if match else None
        if match is None or category not in self.known:
            return task_id
        return f"{category}_{match['number']}{match['rest'] or ''}"

    def known_subset(self, task_id: str | None) -> str | None:
        """The subset of a BFCL task id; None for ids of other benchmarks."""
        category = self.category_in(task_id)
        return self.subset(category) if category in self.known else None

    def file_parts(self, name: str) -> tuple[str, str] | None:
        """(canonical category, result | score) of a file's name, None if it is not named so."""
        match = re.match(self.file_name, name)
        return (self.canonical_category(match["category"]), match["role"]) if match else None

    def bare_name(self, text: str) -> str:
        """A session's basename as an oracle or a manifest writes it: folders, `.jsonl` and what follows it left out."""
        name = basename(text.replace("\\", "/"))
        return re.sub(self.set_aside, "", name)
