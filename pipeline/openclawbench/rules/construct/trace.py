"""Loader of trace.toml."""

from typing import ClassVar

import polars as pl
from pydantic import Field, field_validator

from openclawbench.records.evidence import Descriptor
from openclawbench.records.session import Step, TraceSummary
from openclawbench.records.vocabulary import Behaviour
from openclawbench.rules.loading.conditions import condition_over, holds
from openclawbench.rules.loading.numbers import AtLeastOne
from openclawbench.rules.loading.patterns import RustPattern
from openclawbench.rules.loading.references import Reference
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.tool_names import plain_name
from openclawbench.tables.record import Record


class SeenByBehaviour(Record):
    """What a behaviour rule sees beside the trace summary."""

    longest_repeat: int
    last_is_reply: bool | None
    last_failed: bool | None
    gave_up_words: bool | None
    aborted_last_run: bool
    run_end: str


class SeenByFailure(Record):
    """What the conditions of a step see beside the step and its descriptors."""

    answered: bool  # there is a result, and the runner did not make it up


class BehaviourRule(Record):
    """A class, and the condition under which it is given."""

    id: str
    behaviour: Behaviour = Field(alias="is")
    when: str

    _condition = field_validator("when")(condition_over(TraceSummary, SeenByBehaviour))

    @property
    def condition(self) -> pl.Expr:
        """True if the rule holds; null counts as false."""
        return holds(self.when)


class TraceRules(Rules):
    """How a run is classified."""

    FILE: ClassVar[str] = "trace.toml"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (
        Reference("waiting_tools", "describe.toml", ("tool.names",), spelled=plain_name),
    )
    failed: str
    waiting_tools: list[str]
    waiting_details: RustPattern
    waiting_text: RustPattern
    error_characters: AtLeastOne
    gave_up_pattern: RustPattern
    behaviours: list[BehaviourRule] = Field(alias="behaviour")

    _condition = field_validator("failed")(condition_over(Step, Descriptor, SeenByFailure))

    @property
    def waiting(self) -> pl.Expr:
        """True for a call that asks how a command is doing, and hears that it is still running."""
        runs = [
            pl.col("result_details").str.contains(self.waiting_details),
            pl.col("reflection_text").str.contains(self.waiting_text),
        ]
        return pl.col("tool_name").is_in(self.waiting_tools).fill_null(False) & pl.any_horizontal(runs).fill_null(False)

    def decided(self, column: str) -> pl.Expr:
        """`behaviour` or `id` of the first rule that holds."""
        value = pl.lit(None, pl.String)
        for rule in reversed(self.behaviours):
            value = pl.when(rule.condition).then(pl.lit(getattr(rule, column))).otherwise(value)
        return value
