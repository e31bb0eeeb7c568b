"""`explain`: every value of the tables with a rule that the files have, and texts that stand where they are said to."""

import json
import math
from typing import Any

import polars as pl
import pytest
from child import Ran, call

from openclawbench.inspect.explain.explain import explain
from openclawbench.inspect.find import trajectory_keys
from openclawbench.rules.loading.rule_file import rule_path
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run

pytestmark = pytest.mark.slow

WITHOUT_PLACE = {"onset.top_k_risky_steps"}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def explained(example: Ran) -> list[Row]:
    """Every trajectory of the example, explained."""
    folder = DataFolder(example.data)
    run = open_run(folder, settings(folder))
    return [explain(run, key, None) for key in trajectory_keys(run)]


@pytest.fixture(scope="module")
def steps(example: Ran) -> dict[tuple[str, str, int], Row]:
    """Key -> step and descriptor, as the tables have them."""
    names = ("step", "aligned_descriptor", "descriptor")
    tables = [pl.read_parquet(example.data / "work" / name / "*.parquet") for name in names]
    tables[-1] = tables[-1].select(
        "source_model", "trajectory_id", "step_id", "command_parts", "flag_evidence", "languages"
    )
    rows: dict[tuple[str, str, int], Row] = {}
    for table in tables:
        for row in table.to_dicts():
            rows.setdefault((row["source_model"], row["trajectory_id"], row["step_id"]), {}).update(row)
    return rows


def rules_in(value: Any) -> list[Row]:
    """Every rule at any depth."""
    if isinstance(value, dict):
        own = [value] if {"rule_id", "place", "says"} == value.keys() else []
        return own + [row for inner in value.values() for row in rules_in(inner)]
    return [row for inner in value for row in rules_in(inner)] if isinstance(value, list) else []


def marks_in(value: Any) -> list[Row]:
    """Every marked text at any depth, but for those of other steps."""
    if isinstance(value, dict):
        own = [value] if {"field", "start", "end", "text"} <= value.keys() else []
        return own + [row for name, inner in value.items() if name != "because_of" for row in marks_in(inner)]
    return [row for inner in value for row in marks_in(inner)] if isinstance(value, list) else []


def test_every_rule_is_found_in_its_file_and_says_something(explained: list[Row]) -> None:
    for entry in explained:
        for rule in rules_in(entry):
            assert rule["says"], rule
            assert rule["place"] or rule["rule_id"] in WITHOUT_PLACE, rule


def test_every_value_is_that_of_the_tables_and_every_text_stands_where_it_is_said_to(
    explained: list[Row], steps: dict[tuple[str, str, int], Row]
) -> None:
    seen = 0
    for entry in explained:
        for step in entry["steps"]:
            row = steps[entry["source_model"], entry["trajectory_id"], step["step_id"]]
            for name in ("event_type", "tool_status", "side_effect"):
                assert step[name]["value"] == row[name]
            assert list(dict.fromkeys(flag["value"] for flag in step["flags"])) == row["auto_flags"]
            assert [flag["rule"]["rule_id"] for flag in step["flags"]] == [e["rule_id"] for e in row["flag_evidence"]]
            for mark in marks_in(step):
                text = row[mark["field"]]
                assert text[mark["start"] : mark["end"]] == mark["text"] != ""
                assert mark["before"] + mark["text"] + mark["after"] in text
                seen += 1
    assert seen > 100


def test_the_sums_add_up(explained: list[Row]) -> None:
    for entry in explained:
        risk = entry["risk"]
        assert math.isclose(sum(part["contribution"] for part in risk["signals"]), risk["risk_score_raw"], abs_tol=1e-6)
        for part in risk["signals"]:
            assert math.isclose(part["count"] * part["weight"], part["contribution"], abs_tol=1e-6)
            assert not part["steps"] or len(part["steps"]) == part["count"]
        for step in entry["steps"]:
            weights = sum(part["weight"] for part in step["risk"]["signals"])
            assert math.isclose(weights, step["risk"]["step_risk"], abs_tol=1e-6)


def test_a_write_under_uncertainty_names_the_words_and_a_retry_the_failure(explained: list[Row]) -> None:
    resting = [flag for entry in explained for step in entry["steps"] for flag in step["flags"] if "because_of" in flag]
    unsure = [flag for flag in resting if flag["value"] == "write_under_uncertainty"]
    assert unsure
    for flag in unsure:
        assert any(mark["text"] for entry in flag["because_of"] for mark in entry["marked"])
    for flag in resting:
        if flag["value"] == "retry_of_failed":
            assert {entry["tool_status"] for entry in flag["because_of"]} <= {"error", "timeout", "not_found", "denied"}


def test_every_flag_names_a_place_or_what_it_follows_from(explained: list[Row]) -> None:
    fired = [flag for entry in explained for step in entry["steps"] for flag in step["flags"]]
    assert any("cause" in flag for flag in fired)
    for flag in fired:
        assert flag["marked"] or flag.get("cause") or flag.get("because_of"), flag
        if flag["value"] == "external_interaction":
            assert flag["cause"]["marked"], flag


def test_the_prior_names_the_line_that_gives_it(explained: list[Row]) -> None:
    priors = {
        (entry["outcome"]["subset"], signal["rule"]["place"], signal["rule"]["says"])
        for entry in explained
        for signal in entry["risk"]["signals"]
        if signal["signal"] == "subset_prior"
    }
    lines = rule_path("risk.toml").read_text(encoding="utf-8").splitlines()
    assert priors
    for subset, place, says in priors:
        line = lines[int(place.removeprefix("risk.toml:")) - 1]
        assert f'"{subset}"' in line or (line.startswith("default_prior") and "default_prior" in says)


def test_the_command_prints_what_it_knows(example: Ran) -> None:
    wanted = "2026.6.11-ambiguous-write"
    complete, step, machine = (
        call("explain", *more, "--data", example.data) for more in ([wanted], [wanted, "2"], [wanted, "2", "--json"])
    )
    assert (complete.status, step.status, machine.status) == (0, 0, 0)
    for text in ("raw 8.1; 37.9029 = 100 * (1 - exp(-8.1 / 17))", "step 2: earliest_side_effect_step", "tier baseline"):
        assert text in complete.text
    for text in ("»it is not clear«", "flag write_under_uncertainty", "risk.toml:", "onset candidate earliest_"):
        assert text in step.text
    long = [rule["says"] for rule in rules_in(machine.json) if len(rule["says"]) > 300]
    assert "more characters)" in step.text
    assert long
    assert not any(entry in step.text.replace("\n", "") for entry in long)
    (result,) = machine.json["steps"]
    assert result["step_id"] == 2
    assert json.dumps(machine.json)
    assert "has no step 9; it has 3." in call("explain", wanted, "9", "--data", example.data).err
