"""Loader of publish.toml: how a release is written."""

import tomllib
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from openclawbench.rules.loading.numbers import AtLeastOne, Count
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.tables.record import Record


class Parquet(Record):
    """Sizes of Parquet files; bytes are of the JSONL lines that go in."""

    row_group_rows: int = Field(ge=1)
    row_group_bytes: int = Field(ge=1)
    shard_bytes: int = Field(ge=1)
    shard_row_groups: int = Field(default=100, ge=1)  # releases before it lack it
    compression_level: int = Field(ge=1, le=22)


class StatisticsSettings(Record):
    """How statistics are measured and shown."""

    confidence: float = Field(gt=0, lt=1)
    interval: Literal["wilson", "exact"]
    posterior_draws: int = Field(default=20_000, ge=1000)  # of the corrected gap; releases before it lack both
    posterior_seed: Count = 20_260_101
    onset_steps: list[AtLeastOne] = Field(min_length=1)  # rising; last step of each group
    onset_parts: int = Field(ge=1, le=1000)  # a row each
    pictures: list[Literal["png", "svg"]] = Field(min_length=1)
    pictured_rows: int = Field(ge=10)
    default_use: dict[str, str]  # partition, tier or slice -> default use


class Card(Record):
    """Front matter of the dataset card, by the Hub's names."""

    language: list[str]
    pretty_name: str
    annotations_creators: list[str]
    source_datasets: list[str]
    task_categories: list[str]
    tags: list[str]


class Terms(NamedTuple):
    """A licence: its name for people, and the address of its text."""

    name: str
    url: str


@cache
def known_licenses() -> dict[str, Terms]:
    """Licences that need no more than their identifier, by the Hub's names."""
    content = tomllib.loads((Path(__file__).parent / "licenses.toml").read_text(encoding="utf-8"))
    return {row["id"]: Terms(row["name"], row["url"]) for row in content["license"]}


class Dataset(Record):
    """The dataset as a whole. Empty settings appear nowhere, and nothing is assumed in their place."""

    name: str
    version: str
    description: str
    creator: str
    contact: str
    url: str
    date_published: str
    citation: str  # of this dataset
    method_citation: str  # of the taxonomy and the construction
    license: str  # the Hub's identifier
    license_name: str  # of a licence that licenses.toml does not have
    license_url: str
    based_on: list[str]

    @model_validator(mode="after")
    def check_license(self) -> Self:
        """A licence with an unknown identifier must have a name and an address."""
        if self.license and self.terms is None:
            names = ", ".join(known_licenses())
            raise ValueError(
                f'license "{self.license}" is not one of {names}: '
                "give license_name and license_url with it, or correct it"
            )
        return self

    @property
    def terms(self) -> Terms | None:
        """The licence of the data; None if no licence is given."""
        if self.license_name and self.license_url and self.license:
            return Terms(self.license_name, self.license_url)
        return known_licenses().get(self.license)

    @property
    def lacking(self) -> list[str]:
        """The settings that are missing before others can use the dataset."""
        return [name for name in ("creator", "license") if not getattr(self, name)]


class ResponsibleAi(Record):
    """Texts of the Responsible AI vocabulary, by its names."""

    dataLimitations: str
    dataBiases: str
    personalSensitiveInformation: str
    dataUseCases: str
    dataSocialImpact: str
    dataCollection: str
    dataCollectionType: str
    dataPreprocessingProtocol: str
    dataAnnotationProtocol: str
    dataAnnotationPlatform: str
    machineAnnotationTools: str
    dataReleaseMaintenancePlan: str


class PublishRules(Rules):
    """How a release is written."""

    FILE: ClassVar[str] = "publish.toml"
    jsonl: Literal["plain", "gz", "zst"]
    jsonl_shard_bytes: int = Field(default=1_000_000_000, ge=1)  # releases before it lack it
    parquet: Parquet
    statistics: StatisticsSettings
    card: Card
    dataset: Dataset
    rai: ResponsibleAi
