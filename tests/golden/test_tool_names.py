"""What the rules make of names of tools that they do not know (tool_names/README.md), as shares."""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple, get_args

import polars as pl
import pytest

from openclawbench.construct.describe.event_type import classify_calls
from openclawbench.records.vocabulary import EventType
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.shell import ShellRules

HELD_OUT = Path(__file__).parent / "tool_names" / "held_out.tsv"
EVENT_TYPES, ACTING, SEEN_TO_ACT, OTHER = 0.9, 0.95, 0.85, 0.08  # docs/why/evidence.md, with a little to spare


class Name(NamedTuple):
    """A labelled name."""

    name: str
    acts: str
    types: list[str]


@pytest.fixture(scope="module")
def names() -> list[Name]:
    lines = HELD_OUT.read_text(encoding="utf-8").splitlines()
    return [Name(name, acts, types.split()) for name, acts, types in (line.split("\t") for line in lines)]


@pytest.fixture(scope="module")
def described(names: list[Name]) -> dict[str, dict[str, object]]:
    rows = [
        {"action_kind": "tool_call", "tool_name_raw": name.name, "arguments": json.dumps({"x": "y"})} for name in names
    ]
    return {
        row["tool_name_raw"]: row
        for row in classify_calls(pl.LazyFrame(rows), DescribeRules.load(), ShellRules.load()).to_dicts()
    }


def test_the_names_are_those_of_the_part_set_aside(names: list[Name]) -> None:
    assert len({name.name for name in names}) == len(names) == 120
    assert all(hashlib.sha256(name.name.encode()).digest()[0] % 3 == 0 for name in names)
    assert {name.acts for name in names} == {"acts", "looks", "either"}
    assert {kind for name in names for kind in name.types} <= set(get_args(EventType))


def test_event_types_of_names(names: list[Name], described: dict[str, dict[str, object]]) -> None:
    right = [name.name for name in names if described[name.name]["event_type"] in name.types]
    assert len(right) >= EVENT_TYPES * len(names)
    unknown = [name.name for name in names if described[name.name]["event_type"] == "other"]
    assert len(unknown) <= OTHER * len(names)


def test_acting_names_are_seen_to_act_and_looking_ones_are_not(
    names: list[Name], described: dict[str, dict[str, object]]
) -> None:
    reported = [name for name in names if name.acts != "either"]
    acting = [entry for entry in reported if entry.acts == "acts"]
    right = [entry.name for entry in reported if described[entry.name]["effect"] == (entry.acts == "acts")]
    assert len(right) >= ACTING * len(reported)
    assert sum(described[entry.name]["effect"] is True for entry in acting) >= SEEN_TO_ACT * len(acting)
