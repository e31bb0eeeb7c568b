"""Loaders of evidence.toml and agreement.toml: what a report shows, how it measures, where rule files say their ids."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.records.base import Record
from pipeline.records.vocabulary import EventType
from pipeline.rules.base import Rules


class RuleFile(Record):
    """A rule file of the evidence layer, and where its rule ids stand beside `id` and `*_rule`."""

    file: str
    stage: str
    values: list[str] = Field(default=[])  # tables whose values are ids
    names: list[str] = Field(default=[])  # "table.key": that key of each entry of a list is an id
    keys: list[str] = Field(default=[])  # tables whose keys are ids
    others: list[str] = Field(default=[])  # ids that stand nowhere in the file
    prefix: str = ""  # what a firing writes in front of an id


class EvidenceReportRules(Rules):
    """What the evidence report shows."""

    FILE: ClassVar[str] = "evidence.toml"
    FOLDER: ClassVar[Path] = Path(__file__).parent
    alignment_rows: int
    unknown_rows: int
    unmatched_rows: int
    review_rows: int
    review_examples: int
    plotted_tools: int
    high_share_warning: float
    categories: dict[EventType, str]
    rule_files: list[RuleFile] = Field(alias="rule_file")


class AgreementRules(Rules):
    """How agreement of two passes and escapes of the triage are measured."""

    FILE: ClassVar[str] = "agreement.toml"
    FOLDER: ClassVar[Path] = Path(__file__).parent
    confidence: float = Field(gt=0, lt=1)
    bootstrap_samples: int = Field(ge=100)
    seed: int
    onset_windows: list[int]
    disagreement_rows: int
    escape_rows: int
