"""Loader of control.toml."""

from typing import ClassVar

from pipeline.records.vocabulary import RoutingConfidence
from pipeline.rules.base import Rules


class ControlRules(Rules):
    """Who is asked what."""

    FILE: ClassVar[str] = "control.toml"
    triage_escape_audit_share: float
    doubtful_confidences: list[RoutingConfidence]
