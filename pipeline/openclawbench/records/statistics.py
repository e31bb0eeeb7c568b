"""statistics.json of a release: tables of numbers, and beside each number what it is."""

from typing import Literal, Self

from pydantic import Field, model_validator

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


class StatisticsSections(Record):
    """Every table, by its name."""

    gap: StatisticsSection
    anomalies: StatisticsSection
    source_models: StatisticsSection
    partitions: StatisticsSection
    calibration_pool: StatisticsSection
    event_categories: StatisticsSection
    languages: StatisticsSection
    slices: StatisticsSection
    quality_tiers: StatisticsSection
    subtypes: StatisticsSection
    onsets: StatisticsSection
    onset_steps: StatisticsSection
    onset_parts: StatisticsSection
    severity: StatisticsSection


class StatisticsFile(Record):
    """The whole file."""

    report: Literal["statistics"]
    notice: str | None = Field(default=None)
    about: str
    inputs: dict[str, str]
    rules: dict[str, str]
    sections: StatisticsSections
