"""The evidence report's numbers, each against rows made by hand or against the paper's."""

import json
from typing import Any

import pytest
from paper_tables import T14
from work_tables import described, step, tables, with_texts

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.oracle import Fused
from openclawbench.records.risk import Onset, Risk
from openclawbench.records.session import TraceSummaryRow
from openclawbench.reports.evidence.alignment import alignment, review_list
from openclawbench.reports.evidence.flags import flags
from openclawbench.reports.evidence.inventory import inventory
from openclawbench.reports.evidence.rules_fired import known_ids, rules_fired
from openclawbench.reports.evidence.slices import slices
from openclawbench.reports.evidence.statuses import statuses
from openclawbench.reports.evidence.unknown import unknown_commands, unknown_tools
from openclawbench.reports.section import Section
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.loading.rule_file import read_rules

RULES = EvidenceReportRules.load()


def by(section: Section, key: str) -> dict[Any, dict[str, Any]]:
    return {row[key]: row for row in section.rows}


def risk(label: str | None, bucket: str | None = None) -> dict[str, Any]:
    bucket = bucket or (label or "").split("_")[1]
    return {
        "source_model": "m",
        "trajectory_id": "t",
        "slice_label": label,
        "risk_bucket": bucket,
        "risk_breakdown": [],
    }


def test_the_inventory_has_every_category_and_adds_up() -> None:
    steps = [step(1), step(2, source_model="n"), step(3, event_type="query"), step(4, event_type="dreaming")]
    section = inventory(described(*steps), RULES)
    rows = by(section, "event_type")
    assert len(rows) == 14
    assert (rows["read"]["steps"], rows["read"]["by_model"]) == (2, {"m": 1, "n": 1})
    assert rows["query"]["by_model"] == {"m": 1, "n": 0}
    assert rows["communication"]["steps"] == 0
    assert rows["dreaming"]["definition"] == "not in the closed set"
    assert sum(row["share"] for row in section.rows) == pytest.approx(1)
    assert section.facts == {"steps": 4, "categories_without_a_step": 11, "outside_the_closed_set": 1}


def test_a_source_model_without_a_step_has_a_column_of_zeros() -> None:
    runs = [{"source_model": model, "trajectory_id": "t"} for model in ("idle", "m")]
    input_tables = tables({AlignedDescriptor: [step(1)], TraceSummaryRow: runs})
    for section in (inventory(input_tables, RULES), alignment(input_tables, RULES)):
        assert all(row["by_model"]["idle"] == 0 for row in section.rows)
        assert section.plot is not None
        figure = section.plot()
        shown = {text.get_text() for axes in figure.axes for text in [*axes.get_xticklabels(), *axes.get_yticklabels()]}
        assert shown & {"idle", "idle (0)"}


def test_the_inventory_of_nothing_has_no_shares() -> None:
    section = inventory(described(), RULES)
    assert {row["share"] for row in section.rows} == {None}


def test_alignment_counts_pairs_of_names_and_category_without_replies() -> None:
    moved = {"event_type": "query", "previous_event_type": "other", "alignment_case": "fuzzy", "alignment_rule": "f"}
    steps = [
        step(1),
        step(2, source_model="n"),
        step(3, tool_name="search", tool_name_raw="my_search", **moved),
        step(4, event_type="reply", alignment_case="reply", tool_name=None, alignment_rule=None),
    ]
    section = alignment(described(*steps), RULES)
    assert [(row["tool_name_raw"], row["steps"]) for row in section.rows] == [("read", 2), ("my_search", 1)]
    assert section.facts["tool_calls"] == 3
    assert section.facts["category_changed"] == 1
    assert section.facts["exact_share"] == pytest.approx(2 / 3, abs=1e-6)
    assert section.facts["ambiguous_share"] == 0


def test_the_review_list_has_what_alignment_left_open_with_steps_to_look_at() -> None:
    kept = {"alignment_case": "kept", "alignment_rule": None, "tool_name": "zap"}
    unclear = {
        "alignment_case": "ambiguous",
        "alignment_rule": "fuzzy.read fuzzy.write",
        "tool_name": "file_read_write",
    }
    section = review_list(described(step(1), *(step(n, **kept) for n in range(2, 7)), step(8, **unclear)), RULES)
    assert [(row["tool_name_raw"], row["steps"]) for row in section.rows] == [("file_read_write", 1), ("zap", 5)]
    assert section.rows[1]["examples"] == ["m/t 2", "m/t 3", "m/t 4"]
    assert section.facts == {"ambiguous_names": 1, "unknown_names": 1}


def test_the_papers_slices_give_the_papers_shares() -> None:
    rows = [risk(label) for label, (count, _) in T14.items() for _ in range(count)]
    section = slices(tables({Risk: rows}), RULES)
    shown = by(section, "slice_label")
    for label, (count, percentage) in T14.items():
        assert (shown[label]["trajectories"], round(100 * shown[label]["share"], 2)) == (count, percentage)
    assert shown["total"]["trajectories"] == 31_264
    assert round(100 * section.facts["passing_that_are_high_risk_share"], 2) == 6.12
    assert round(100 * section.facts["high_risk_that_are_passing_share"], 2) == 96.75
    assert "no_outcome" not in shown


def test_a_trajectory_without_an_outcome_is_counted_and_outside_the_shares() -> None:
    rows = [risk("pass_high_risk"), risk("pass_low_risk"), risk(None, "high"), risk(None, "high")]
    section = slices(tables({Risk: rows}), RULES)
    shown = by(section, "slice_label")
    assert shown["no_outcome"]["trajectories"] == 2
    assert (shown["pass_low_risk"]["share"], shown["pass_low_risk"]["scored_share"]) == (0.25, 0.5)
    assert section.facts["passing_that_are_high_risk_share"] == 0.5
    assert section.facts["high_risk_that_are_passing_share"] == 1
    assert (section.facts["high_bucket_share"], section.facts["high_bucket_is_too_full"]) == (0.75, True)


def test_failures_of_which_no_pass_can_be_known_are_in_no_share_of_the_scored() -> None:
    """Two of three high-risk failures are of a category without a result file."""
    names = ["pass_high_risk", "pass_low_risk", "fail_high_risk", "fail_high_risk", "fail_high_risk", "fail_low_risk"]
    alone = {3, 4, 5}
    rows = [risk(name) | {"trajectory_id": f"t{number}"} for number, name in enumerate(names)]
    outcomes = [
        {
            "source_model": "m",
            "trajectory_id": f"t{number}",
            "oracle": {"success": name.startswith("pass"), "flags": ["bfcl_failures_only"] if number in alone else []},
        }
        for number, name in enumerate(names)
    ]
    section = slices(tables({Risk: rows, Fused: outcomes}), RULES)
    shown = by(section, "slice_label")
    assert [
        (text, shown[text]["trajectories"], shown[text]["failures_only"]) for text in ("fail_high_risk", "total")
    ] == [
        ("fail_high_risk", 3, 2),
        ("total", 6, 3),
    ]
    assert section.facts["high_risk_that_are_passing_share"] == 0.5
    assert section.facts["failures_only_left_out"] == 3
    assert section.facts["high_risk_failures_only_left_out"] == 2
    assert sum(row["share"] for row in section.rows) == pytest.approx(2)
    assert {text: round(shown[text]["scored_share"], 2) for text in ("pass_high_risk", "fail_high_risk", "total")} == {
        "pass_high_risk": 0.33,
        "fail_high_risk": 0.33,
        "total": 1,
    }
    assert shown["fail_low_risk"]["scored_share"] == 0


def test_slices_of_nothing_have_no_shares() -> None:
    assert slices(tables({}), RULES).facts["passing_that_are_high_risk_share"] is None


def test_flags_that_stand_on_one_step_meet_in_both_directions() -> None:
    steps = [
        step(1, auto_flags=["hedge", "error_signal"]),
        step(2, auto_flags=["hedge"]),
        step(1, trajectory_id="other", auto_flags=["brand_new"]),
        step(3),
    ]
    section = flags(described(*steps), RULES)
    rows = by(section, "flag")
    assert (rows["hedge"]["steps"], rows["hedge"]["with error_signal"], rows["hedge"]["share"]) == (2, 1, 0.5)
    assert rows["error_signal"]["with hedge"] == 1
    assert rows["brand_new"]["steps"] == 1
    assert section.facts == {"flagged_steps": 3, "flagged_share": 0.75}


def test_statuses_by_tool_add_up_and_count_failures() -> None:
    ends = ["ok", "ok", "timeout", "unknown"]
    steps = [step(n, tool_status=end) for n, end in enumerate(ends)]
    section = statuses(
        described(*steps, step(9, tool_name="exec", tool_status="strange"), step(10, tool_status=None)), RULES
    )
    rows = by(section, "tool_name")
    assert (rows["read"]["calls"], rows["read"]["ok"], rows["read"]["timeout"]) == (4, 2, 1)
    assert rows["read"]["failed_share"] == 0.25
    assert rows["exec"]["strange"] == 1
    assert section.facts["tool_calls"] == 5


def test_rules_that_fired_are_those_that_gave_a_value() -> None:
    evidence = [{"flag": "hedge", "rule_id": "hedge.seems", "field": "thinking", "start": 0, "end": 5, "cause": None}]
    part = {"event_type": None, "rule_id": "shell.nothing", "command": "cd a", "side_effect": False, "target": None}
    parts = [part, part, part | {"rule_id": "git.send"}]
    place = {"field": "action_text", "start": None, "end": None, "cause": "shell.run_elsewhere"}
    leaves = {"flag": "external_interaction", "rule_id": "flag.leaves_machine", **place}
    unclear = "fuzzy.read fuzzy.write"
    key = {"source_model": "m", "trajectory_id": "t"}
    breakdown = [{"signal": "other_steps", "count": 0}, {"signal": "subset_prior", "count": 1}]
    onset = {"candidate": "c", "step_id": 1, "rule_id": "onset.earliest_side_effect_step"}
    rows: dict[Any, list[dict[str, Any]]] = {
        AlignedDescriptor: [
            step(1, flag_evidence=evidence, alignment_rule=unclear),
            step(2, event_rule="shell.no_such_rule"),
            step(3, event_rule="git.send", command_parts=parts, flag_evidence=[leaves], alignment_rule=None),
        ],
        Risk: [risk("pass_low_risk") | {"risk_breakdown": breakdown}],
        Onset: [key | {"onset_rules": [onset]}],
        TraceSummaryRow: [key | {"trace_summary": {"behaviour_rule": "otherwise"}}],
    }
    by_file, never, ever = rules_fired(tables(rows), RULES)
    fired = {(row["file"], row["rule_id"]): row["fired"] for row in ever.rows if row["fired"]}
    in_part = {row["rule_id"]: row["in_part"] for row in ever.rows if row["in_part"]}
    silent = {row["rule_id"] for row in never.rows}
    assert fired == {
        ("describe.toml", "tool.read"): 1,
        ("describe.toml", "status.no_sign_of_failure"): 3,
        ("describe.toml", "effect.none"): 3,
        ("shell.toml", "git.send"): 1,
        ("flags.toml", "flag.leaves_machine"): 1,
        ("flags.toml", "hedge.seems"): 1,
        ("align.toml", "alias.read"): 1,
        ("align.toml", "fuzzy.read"): 1,
        ("align.toml", "fuzzy.write"): 1,
        ("risk.toml", "subset_prior"): 1,
        ("onset.toml", "onset.earliest_side_effect_step"): 1,
        ("trace.toml", "otherwise"): 1,
        (None, "shell.no_such_rule"): 1,
    }
    assert in_part == {"shell.nothing": 2, "shell.run_elsewhere": 1}
    assert by(by_file, "file")["shell.toml"]["in_part_only"] == 2
    assert by_file.facts["ids_in_no_file"] == 1
    assert by_file.facts["never_fired"] == len(never.rows) == by_file.facts["rules"] - 14
    assert not {"shell.nothing", "git.send"} & silent
    assert {"other_steps", "shell.nothing_else", "flag.memory_target", "alias.exec", "effect.not_done"} <= silent


@pytest.mark.parametrize("spec", RULES.rule_files, ids=lambda spec: spec.file)
def test_every_id_of_a_rule_file_is_known_once(spec: Any) -> None:
    ids = known_ids(spec)
    assert len(ids) == len(set(ids)) > 0
    text = json.dumps(read_rules(spec.file))
    assert set(spec.others) < set(ids)
    assert all(json.dumps(row_id.removeprefix(spec.prefix)) in text for row_id in ids if row_id not in spec.others)


def test_unknown_tools_come_with_what_little_is_known_of_them() -> None:
    verb = step(3, tool_name="get_weather", event_rule="verb.read")
    section = unknown_tools(described(step(1), step(2, tool_name="zap", event_rule="tool.unknown"), verb), RULES)
    assert [(row["tool_name_raw"], row["event_rule"]) for row in section.rows] == [
        ("zap", "tool.unknown"),
        ("get_weather", "verb.read"),
    ]
    assert section.facts == {"unknown_tool_calls": 1, "known_by_a_verb_only": 1}


def test_unknown_commands_are_found_behind_wrappers_and_among_known_ones() -> None:
    def call(number: int, command: str, rule: str = "shell.program") -> dict[str, Any]:
        return step(number, tool_name="exec", event_rule=rule, arguments=json.dumps({"command": command}))

    steps = [
        call(1, "sudo frobnicate --all && ls"),
        call(2, "cd x; ./bin/frobnicate | head; quux"),
        call(3, "frobnicate", rule="shell.redirect"),
    ]
    section = unknown_commands(with_texts(*steps), RULES)
    assert [(row["command"], row["steps"]) for row in section.rows] == [("frobnicate", 2), ("quux", 1)]
    assert section.facts == {"steps_named_by_the_fallback": 2, "different_commands": 2}


def test_a_command_is_counted_in_every_call_and_for_every_model() -> None:
    def call(number: int, model: str, command: str) -> dict[str, Any]:
        arguments = json.dumps({"command": command})
        return step(number, source_model=model, tool_name="exec", event_rule="shell.program", arguments=arguments)

    same = [call(1, model, "zorptool --x") for model in ("ma", "mb", "mc")]
    other = [call(2, model, "sudo zorptool --x; cd y && zorptool --x") for model in ("ma", "mb")]
    section = unknown_commands(with_texts(*same, *other), RULES)
    assert section.rows == [{"command": "zorptool", "steps": 5, "by_model": {"ma": 2, "mb": 2, "mc": 1}}]
    assert section.facts == {"steps_named_by_the_fallback": 5, "different_commands": 1}
