"""Loaders of evidence.toml, agreement.toml and models.toml: what reports show, how they measure, where rule files name
their ids."""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from openclawbench.records.vocabulary import EventType
from openclawbench.rules.loading.numbers import AtLeastOne, Count, UnitInterval
from openclawbench.rules.loading.patterns import RustPattern
from openclawbench.rules.loading.references import ID, Other, texts_at
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import Unfit, one_of
from openclawbench.tables.record import Record


class RuleFile(Record):
    """A rule file of the evidence layer, and where it names rule ids other than under `id` and `*_rule`."""

    file: str
    stage: Annotated[str, one_of("describe", "align", "summary", "slice", "onset")]  # the stage that fires its rules
    values: list[str] = Field(default=[])  # tables whose values are rule ids
    names: list[str] = Field(default=[])  # "table.key": in a list of tables, the key that holds the rule id
    keys: list[str] = Field(default=[])  # tables whose keys are rule ids
    others: list[str] = Field(default=[])  # rule ids that the code fires and the file does not name
    prefix: str = ""  # what a firing writes before the id


class EvidenceReportRules(Rules):
    """What the evidence report shows."""

    FILE: ClassVar[str] = "evidence.toml"
    alignment_rows: Count
    unknown_rows: Count
    unmatched_rows: Count
    review_rows: Count
    review_examples: Count
    plotted_tools: Count
    high_share_warning: UnitInterval
    categories: dict[EventType, str]
    rule_files: list[RuleFile] = Field(alias="rule_file")

    def against(self, other: Other) -> None:
        """Raises Unfit if a rule file lacks a table or key given here: its rules would be reported as never fired."""
        for rule_file in self.rule_files:
            content = other(rule_file.file)
            for key in (*rule_file.names, *(f"{table}{ID}" for table in (*rule_file.values, *rule_file.keys))):
                if not any(texts_at(content, key)):
                    raise Unfit(f"{rule_file.file}: has no {key.removesuffix(ID)}", key.removesuffix(ID))


class AgreementRules(Rules):
    """How agreement of two passes and escapes of the triage are measured."""

    FILE: ClassVar[str] = "agreement.toml"
    confidence: float = Field(gt=0, lt=1)
    bootstrap_samples: int = Field(ge=100)
    seed: Count
    onset_windows: list[Count]
    disagreement_rows: Count
    escape_rows: Count


class ProviderFailure(Record):
    """What the text of an error says of why a session did not go through."""

    id: str
    status: Annotated[str, one_of("skipped_unavailable", "rate_limited", "auth_error", "error")] = Field(alias="is")
    pattern: RustPattern


class ModelsReportRules(Rules):
    """What the report on source models counts."""

    FILE: ClassVar[str] = "models.toml"
    confidence: float = Field(gt=0, lt=1)
    tool_use_tiers: tuple[UnitInterval, UnitInterval]
    pictured_rows: AtLeastOne
    provider_failures: list[ProviderFailure] = Field(alias="provider_failure")

    @model_validator(mode="after")
    def check_tiers(self) -> Self:
        """Raise ValueError unless tier 1 is above tier 2."""
        if self.tool_use_tiers[0] <= self.tool_use_tiers[1]:
            raise ValueError("tool_use_tiers: the first share must be larger than the second")
        return self
