"""Loader of control.toml."""

from typing import ClassVar

from openclawbench.records.vocabulary import RoutingConfidence
from openclawbench.rules.loading.numbers import Share
from openclawbench.rules.loading.rule_file import Rules


class ControlRules(Rules):
    """Who is asked what."""

    FILE: ClassVar[str] = "control.toml"
    triage_escape_audit_share: Share
    doubtful_confidences: list[RoutingConfidence]
