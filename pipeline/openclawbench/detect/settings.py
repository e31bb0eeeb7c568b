"""Loader of detect.toml: vocabulary, packets, protocols and scores of detectors."""

from functools import cached_property
from typing import ClassVar, Self, get_args

from pydantic import Field, model_validator

from openclawbench.errors import UsageError
from openclawbench.records.detection.prediction import Label, Protocol
from openclawbench.rules.judge.request import RequestRules
from openclawbench.rules.loading.numbers import Amount, AtLeastOne, Count, MoreThanNothing, UnitInterval
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.tables.record import Record

LABELS: tuple[Label, ...] = get_args(Label)
NORMAL = LABELS[0]
PROTOCOLS: tuple[str, ...] = get_args(Protocol)


class LabelRule(Record):
    """A label with its symbol and its short name."""

    name: Label
    symbol: str = Field(min_length=1, max_length=1)
    short: str


class DetectorPacketRules(Record):
    """How long a packet may be, and how a longer one is shortened."""

    max_tokens: AtLeastOne
    bytes_per_token: MoreThanNothing
    keep: list[AtLeastOne] = Field(min_length=1)
    text_head_share: UnitInterval
    block_head_share: UnitInterval
    text_marker: str


class ProtocolRules(Record):
    """What decides an answer beside model and messages."""

    temperature: Amount
    seed: Count
    max_output_tokens: AtLeastOne
    top_logprobs: Count


class Protocols(Record):
    """The two protocols."""

    symbol: ProtocolRules
    json_: ProtocolRules = Field(alias="json")


class ScoreRules(Record):
    """How predictions are scored."""

    confidence: float = Field(gt=0, lt=1)
    draws: int = Field(ge=100)
    seed: Count
    threshold: UnitInterval
    bins: AtLeastOne
    few: Count
    lengths: list[AtLeastOne]
    probability_tolerance: UnitInterval
    split_tolerance: UnitInterval
    posterior_draws: int = Field(ge=100)


class BaselineRules(Record):
    """How baselines are fitted."""

    seed: Count
    words_at_least: AtLeastOne
    words_at_most: AtLeastOne
    rounds: AtLeastOne


class DetectRules(Rules):
    """Everything about detectors that a person may want to change."""

    FILE: ClassVar[str] = "detect.toml"
    labels: list[LabelRule] = Field(alias="label")
    packet: DetectorPacketRules
    protocol: Protocols
    score: ScoreRules
    baseline: BaselineRules

    @model_validator(mode="after")
    def check_labels(self) -> Self:
        """ValueError unless the six labels stand in their order, with symbols and short names that differ."""
        if tuple(rule.name for rule in self.labels) != LABELS:
            raise ValueError(f"label: must hold {', '.join(LABELS)}, in this order")
        for field in ("symbol", "short"):
            if len({getattr(rule, field) for rule in self.labels}) < len(LABELS):
                raise ValueError(f"label: a {field} stands twice")
        return self

    @property
    def symbols(self) -> dict[str, Label]:
        """Symbol -> label."""
        return {rule.symbol: rule.name for rule in self.labels}

    @cached_property
    def symbol_of(self) -> dict[Label, str]:
        """Label -> symbol."""
        return {rule.name: rule.symbol for rule in self.labels}

    @property
    def names(self) -> dict[str, Label]:
        """Name or short name -> label."""
        return {name: rule.name for rule in self.labels for name in (rule.short, rule.name)}

    def protocol_rules(self, protocol: str) -> ProtocolRules:
        """The rules of a protocol."""
        return self.protocol.symbol if protocol == "symbol" else self.protocol.json_

    def request_rules(self, protocol: str) -> RequestRules:
        """The parameters of a request, as the judge's engine takes them."""
        rules = self.protocol_rules(protocol)
        return RequestRules(
            version=self.version,
            temperature=rules.temperature,
            seed=rules.seed,
            max_output_tokens=rules.max_output_tokens,
        )


def check_protocol(name: str) -> None:
    """Raises UsageError for a protocol that does not exist."""
    if name not in PROTOCOLS:
        raise UsageError(f"--protocol {name}: there is no such protocol. Use one of: {', '.join(PROTOCOLS)}.")
