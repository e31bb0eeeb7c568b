"""Loader of publish.toml: how a release is written."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pipeline.records.base import Record
from pipeline.rules.base import Rules
from pipeline.rules.numbers import AtLeastOne


class Parquet(Record):
    """Sizes of Parquet files; bytes are of the JSONL lines that go in."""

    row_group_rows: int = Field(ge=1)
    row_group_bytes: int = Field(ge=1)
    shard_bytes: int = Field(ge=1)
    compression_level: int = Field(ge=1, le=22)


class Statistics(Record):
    """How statistics are measured and shown."""

    confidence: float = Field(gt=0, lt=1)
    interval: Literal["wilson", "exact"]
    onset_steps: list[AtLeastOne] = Field(min_length=1)  # rising; last step of each group
    onset_parts: int = Field(ge=1)
    pictures: list[Literal["png", "svg"]] = Field(min_length=1)
    pictured_rows: int = Field(ge=10)
    default_use: dict[str, str]  # partition, tier or slice -> default use


class Card(Record):
    """Front matter of the dataset card, by the Hub's names."""

    license: str
    language: list[str]
    pretty_name: str
    annotations_creators: list[str]
    source_datasets: list[str]
    task_categories: list[str]
    tags: list[str]


class Dataset(Record):
    """The dataset as a whole, for croissant.json."""

    name: str
    version: str
    description: str
    creator: str
    url: str
    date_published: str  # empty where it is not published
    citation: str
    based_on: list[str]


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
    FOLDER: ClassVar[Path] = Path(__file__).parent
    jsonl: Literal["plain", "gz", "zst"]
    parquet: Parquet
    statistics: Statistics
    card: Card
    dataset: Dataset
    rai: ResponsibleAi
