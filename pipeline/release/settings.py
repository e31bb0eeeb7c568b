"""Loader of publish.toml: how a release is written."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.records.base import Record
from pipeline.rules.base import Rules


class Parquet(Record):
    """Sizes of Parquet files; bytes are of the JSONL lines that go in."""

    row_group_rows: int = Field(ge=1)
    row_group_bytes: int = Field(ge=1)
    shard_bytes: int = Field(ge=1)
    compression_level: int = Field(ge=1, le=22)


class PublishRules(Rules):
    """How a release is written."""

    FILE: ClassVar[str] = "publish.toml"
    FOLDER: ClassVar[Path] = Path(__file__).parent
    parquet: Parquet
