"""statistics.json of a release: tables of numbers, and beside each number what it is."""

from typing import Any, Literal, Self

from pydantic import Field, create_model, model_validator

from openclawbench.records.fields import descriptions
from openclawbench.tables.record import Record

Value = str | int | float | bool | None
Cell = Value | dict[str, int]  # a dict is {source model: number}


class StatisticsSection(Record):
    """One table. Each column and each headline number has its definition."""

    title: str
    about: str
    facts: dict[str, Value]
    definitions: dict[str, str]
    columns: dict[str, str]
    rows: list[dict[str, Cell]]

    @model_validator(mode="after")
    def nothing_is_undefined(self) -> Self:
        if missing := self.facts.keys() - self.definitions.keys():
            raise ValueError(f"no definition of {', '.join(sorted(missing))}")
        for number, row in enumerate(self.rows):
            if row.keys() != self.columns.keys():
                raise ValueError(f"row {number} has other columns than are defined")
        return self


# Every table, in order: fields.toml names and describes them, release/statistics/ computes them.
TABLES: dict[str, Any] = dict.fromkeys(descriptions()["StatisticsSections"], (StatisticsSection, ...))
StatisticsSections = create_model("StatisticsSections", __base__=Record, __doc__="Every table, by its name.", **TABLES)


class StatisticsFile(Record):
    """The whole file."""

    report: Literal["statistics"]
    notice: str | None = Field(default=None)
    about: str
    inputs: dict[str, str]
    rules: dict[str, str]
    sections: StatisticsSections
