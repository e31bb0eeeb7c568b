"""Loaders of evidence.toml and agreement.toml: what a report shows, how it measures, where rule files say their ids."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from openclawbench.records.vocabulary import EventType
from openclawbench.rules.loading.numbers import Count, Share
from openclawbench.rules.loading.references import ID, Other, texts_at
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import Unfit, one_of
from openclawbench.tables.record import Record


class RuleFile(Record):
    """A rule file of the evidence layer, and where its rule ids stand beside `id` and `*_rule`."""

    file: str
    stage: Annotated[str, one_of("describe", "align", "summary", "slice", "onset")]  # those whose rules fire
    values: list[str] = Field(default=[])  # tables whose values are ids
    names: list[str] = Field(default=[])  # "table.key": that key of each entry of a list is an id
    keys: list[str] = Field(default=[])  # tables whose keys are ids
    others: list[str] = Field(default=[])  # ids that stand nowhere in the file
    prefix: str = ""  # what a firing writes in front of an id


class EvidenceReportRules(Rules):
    """What the evidence report shows."""

    FILE: ClassVar[str] = "evidence.toml"
    FOLDER: ClassVar[Path] = Path(__file__).parent
    alignment_rows: Count
    unknown_rows: Count
    unmatched_rows: Count
    review_rows: Count
    review_examples: Count
    plotted_tools: Count
    high_share_warning: Share
    categories: dict[EventType, str]
    rule_files: list[RuleFile] = Field(alias="rule_file")

    def against(self, other: Other) -> None:
        """Unfit where a rule file has not what is said to name its rules: they would be said never to have fired."""
        for one in self.rule_files:
            content = other(one.file)
            for key in (*one.names, *(f"{table}{ID}" for table in (*one.values, *one.keys))):
                if not any(texts_at(content, key)):
                    raise Unfit(f"{one.file}: it has no {key.removesuffix(ID)}", key.removesuffix(ID))


class AgreementRules(Rules):
    """How agreement of two passes and escapes of the triage are measured."""

    FILE: ClassVar[str] = "agreement.toml"
    FOLDER: ClassVar[Path] = Path(__file__).parent
    confidence: float = Field(gt=0, lt=1)
    bootstrap_samples: int = Field(ge=100)
    seed: Count
    onset_windows: list[Count]
    disagreement_rows: Count
    escape_rows: Count
