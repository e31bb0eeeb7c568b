"""Short ways to make steps by hand and to describe them."""

import json
from typing import Any

import polars as pl

from openclawbench.construct.describe.describe import describe
from openclawbench.records.evidence import Descriptor
from openclawbench.records.session import Step
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.construct.language import LanguageRules
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.tables.schema import conform, from_records

RULES, SHELL, FLAGS = DescribeRules.load(), ShellRules.load(), FlagRules.load()
LANGUAGES = LanguageRules.load()
DEFAULTS: dict[str, Any] = dict.fromkeys(Step.model_fields) | {
    "source_model": "m",
    "trajectory_id": "t",
    "user_turn": 1,
    "result_synthetic": False,
    "result_is_error": False,
    "has_result": True,
    "followed": True,
    "partial": False,
    "orphan": False,
    "order_ambiguous": False,
    "raw": [],
}


def call(tool: str, arguments: Any = None, text: str | None = "", details: Any = None, **more: Any) -> dict[str, Any]:
    """A tool call with its result; details and arguments as Python values."""
    known = None if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return {
        "action_kind": "tool_call",
        "tool_name_raw": tool,
        "arguments": known,
        "action_text": f"{tool} {known}",
        "reflection_text": text,
        "result_details": None if details is None else json.dumps(details),
    } | more


def shell(command: str, text: str = "", details: Any = None, **more: Any) -> dict[str, Any]:
    """An exec call."""
    return call("exec", {"command": command}, text, details, **more)


def reply(text: str, **more: Any) -> dict[str, Any]:
    """A reply."""
    return {"action_kind": "reply", "action_text": text, "has_result": False} | more


def steps(*given_steps: dict[str, Any]) -> pl.LazyFrame:
    """Steps of one trajectory, each in an agent message of its own unless told."""
    rows = [
        DEFAULTS | {"step_id": place, "message_index": place} | entry
        for place, entry in enumerate(given_steps, start=1)
    ]
    return from_records(rows, Step).lazy()


def apart(*given_steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Descriptors of steps that are each a trajectory of their own; one run for a whole table of cases."""
    return described(*(entry | {"trajectory_id": f"t{place:04}"} for place, entry in enumerate(given_steps)))


def described(*given_steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Descriptors of steps given as dicts."""
    frame = describe(steps(*given_steps), RULES, SHELL, FLAGS, LANGUAGES).collect()
    return conform(frame, Descriptor).to_dicts()
