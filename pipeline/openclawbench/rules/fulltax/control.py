"""Loader of control.toml."""

from typing import ClassVar

from openclawbench.records.vocabulary import RoutingConfidence
from openclawbench.rules.loading.numbers import UnitInterval
from openclawbench.rules.loading.rule_file import Rules


class ControlRules(Rules):
    """Who is asked what."""

    FILE: ClassVar[str] = "control.toml"
    triage_escape_audit_share: UnitInterval
    doubtful_confidences: list[RoutingConfidence]
