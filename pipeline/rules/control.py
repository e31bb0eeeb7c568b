"""Loader of control.toml."""

from typing import ClassVar

from pipeline.records.vocabulary import RoutingConfidence
from pipeline.rules.base import Rules
from pipeline.rules.numbers import Share


class ControlRules(Rules):
    """Who is asked what."""

    FILE: ClassVar[str] = "control.toml"
    triage_escape_audit_share: Share
    doubtful_confidences: list[RoutingConfidence]
