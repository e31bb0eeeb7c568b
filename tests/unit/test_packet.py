"""Packets: the fields of T16, the budget in the stage, what the rule file refuses."""

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from aligned_steps import aligned

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.construct.onset import onset
from openclawbench.construct.packet import fit_to_budget, packet, replace_packets
from openclawbench.construct.slice import slice
from openclawbench.errors import InvalidRules
from openclawbench.records.oracle import Fused
from openclawbench.records.packet import Evidence, Packet
from openclawbench.records.session import Step, Trajectory, UserTurn
from openclawbench.rules.construct.onset import OnsetRules
from openclawbench.rules.construct.packet import PacketRules
from openclawbench.rules.construct.risk import RiskRules
from openclawbench.rules.loading.rule_file import rule_path
from openclawbench.tables.schema import from_records

T16 = "trajectory_id subset oracle_outcome risk_bucket risk_score slice_label onset_candidates event_type_counts steps"
OTHERS = "source_model risk_signals num_steps user_turns annotation_schema_target compacted"  # T23, C.6, own
LONG = "".join(f"line {number} of a long output\n" for number in range(4000))


def packet_tables(
    steps: list[dict[str, Any]], user: str = "Do it.", outcome: str | None = "pass", budget: int = 2000
) -> list[pl.DataFrame]:
    """The stage's four tables for one trajectory; `steps` give text and descriptor of each step."""
    key = {"source_model": "m", "trajectory_id": "t"}
    flags = {"truncated": False, "order_ambiguous": False, "partial": False, "orphan": False}
    rows = [
        key | {"step_id": number, "user_turn": 1, "action_kind": "tool_call", "thinking": None, **flags} | step
        for number, step in enumerate(steps, 1)
    ]
    described = aligned(
        {"t": [{name: step[name] for name in ("event_type", "auto_flags") if name in step} for step in steps]}
    )
    fused = from_records([key | {"subset": "simple", "oracle_outcome": outcome}], Fused).lazy()
    risks, step_risks = slice(fused, described, RiskRules.load())
    tables = packet(
        from_records([key | flags | {"num_steps": len(steps)}], Trajectory).lazy(),
        from_records(rows, Step).lazy(),
        from_records([key | {"user_turn": 1, "kinds": ["user"], "text": user, "raw_text": user}], UserTurn).lazy(),
        described,
        fused,
        risks,
        onset(risks, described, step_risks, OnsetRules.load()),
        PacketRules.load().model_copy(update={"max_tokens": budget}),
    )
    evidence, packets, index, cuts = (table.collect() for table in tables)
    return [packets, evidence, index, cuts]


def test_a_packet_has_the_fields_of_t16_and_never_a_label() -> None:
    fields = set(Packet.model_fields)
    assert set(f"{T16} {OTHERS}".split()) <= fields
    assert not [name for name in fields if "anomal" in name or name in ("severity", "recoverability", "quality_tier")]
    assert fields - set(Evidence.model_fields) >= {
        "oracle_outcome",
        "risk_score",
        "risk_bucket",
        "slice_label",
        "onset_candidates",
    }


def test_a_packet_that_fits_is_whole() -> None:
    packets, evidence, index, cuts = packet_tables([{"reflection_text": "short"}])
    assert (packets["compacted"][0], evidence["compacted"][0], cuts.height) == (False, False, 0)
    assert packets["steps"][0][0]["reflection_text"] == "short"
    assert index["fits"][0] and 0 < index["estimated_tokens"][0] <= 2000
    assert index["packet_sha256"][0] == sha256_text(canonical_json(packets.to_dicts()[0]))


def test_a_packet_that_does_not_fit_is_shortened_where_no_evidence_is() -> None:
    steps = [
        {"reflection_text": LONG},
        {"reflection_text": LONG[:2500], "event_type": "read", "auto_flags": ["uncertainty"]},
    ]
    packets, evidence, index, cuts = packet_tables(steps)
    first, second = packets["steps"][0]
    assert packets["compacted"][0] and evidence["compacted"][0] and index["fits"][0]
    assert second["reflection_text"] == LONG[:2500]
    assert first["reflection_text"].startswith("line 0 of a long output\n")
    assert first["reflection_text"].endswith("line 3999 of a long output\n")
    assert f"[… {len(LONG) - 2000} characters left out …]" in first["reflection_text"]
    assert evidence["steps"][0][0]["reflection_text"] == LONG
    assert cuts.drop("source_model", "trajectory_id").to_dicts() == [
        {
            "place": "step",
            "number": 1,
            "field": "reflection_text",
            "characters": len(LONG),
            "left_out": len(LONG) - 2000,
            "rule_id": "packet.other_feedback_2000",
        }
    ]
    assert index["packet_sha256"][0] == sha256_text(canonical_json(packets.to_dicts()[0]))


def test_user_turns_are_shortened_before_evidence() -> None:
    packets, _, _, cuts = packet_tables([{"reflection_text": LONG[:1500], "auto_flags": ["hedge"]}], user=LONG)
    assert cuts["place"].to_list() == ["user_turn"]
    assert "characters left out" in packets["user_turns"][0][0]["text"]
    assert packets["steps"][0][0]["reflection_text"] == LONG[:1500]


def test_what_is_too_long_even_so_is_said() -> None:
    packets, _, index, _ = packet_tables([{"reflection_text": LONG}] * 40, budget=100)
    assert [step["step_id"] for step in packets["steps"][0]] == list(range(1, 41))
    assert packets["compacted"][0]
    assert not index["fits"][0]


def test_a_packet_of_which_nothing_can_be_left_out_is_whole_and_too_long() -> None:
    packets, evidence, index, cuts = packet_tables([{"reflection_text": "short"}] * 3, budget=10)
    assert not index["fits"][0] and index["estimated_tokens"][0] > 10
    assert (packets["compacted"][0], evidence["compacted"][0], cuts.height) == (False, False, 0)
    assert packets["steps"][0].to_list() == evidence["steps"][0].to_list()
    assert index["packet_sha256"][0] == sha256_text(canonical_json(packets.to_dicts()[0]))


@pytest.mark.parametrize("times", [1, 3, 12])
def test_of_several_packets_each_is_as_it_would_be_alone(times: int) -> None:
    rules = PacketRules.load().model_copy(update={"max_tokens": 2000})
    longest, long = {"reflection_text": LONG}, {"reflection_text": LONG[:2500]}
    several = [[longest, long | {"auto_flags": ["hedge"]}], [{"reflection_text": "done"}], [longest, long]] * times
    names = pl.Series("trajectory_id", [f"t{number}" for number in range(len(several))])
    packets = pl.concat(packet_tables(steps, budget=10**9)[0] for steps in several).with_columns(names)
    fitted = fit_to_budget(packets, pl.Series([True] * packets.height), rules)
    done = replace_packets(packets, fitted.compacted, fitted.short)
    assert done["compacted"].to_list() == [True, False, True] * times
    assert done["trajectory_id"].to_list() == names.to_list()
    alone = [packet_tables(steps)[0]["steps"][0].to_list() for steps in several]
    assert done["steps"].to_list() == alone and alone[0][1]["reflection_text"] != alone[2][1]["reflection_text"]
    digests = [sha256_text(canonical_json(packet)) for packet in done.to_dicts()]
    assert fitted.index["packet_sha256"].to_list() == digests


def test_neither_outcome_nor_risk_decides_what_is_shortened() -> None:
    steps = [{"reflection_text": LONG}, {"reflection_text": LONG, "auto_flags": ["hedge"]}]
    (_, *passed), (_, *failed), (_, *unknown) = (
        packet_tables(steps, outcome=entry) for entry in ("pass", "fail", None)
    )
    for evidence, index, cuts in (failed, unknown):
        assert evidence.equals(passed[0])
        assert index.drop("packet_sha256").equals(passed[1].drop("packet_sha256"))
        assert cuts.equals(passed[2])


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('steps = "other"', 'steps = "bearing"', "round: every round of `other` steps must stand before those of"),
        ('"reflection_text"]', '"reflexion"]', r'round\.0: in "other_feedback_8000": reflexion: no such text'),
        ("{left}", "some", r'marker: must hold "\{left\}"'),
        ("side_effect OR", "sideffect OR", 'bearing: .* the column "sideffect" is not one of .* mean "side_effect"'),
        ("max_tokens = 80000", "max_tokens = 0", "max_tokens: .*greater than 0"),
    ],
)
def test_a_broken_rule_file_is_refused(before: str, after: str, says: str) -> None:
    text = rule_path("packet.toml").read_text(encoding="utf-8")
    assert before in text
    with pytest.raises(InvalidRules, match=rf"^packet\.toml: {says}.*Correct the file"):
        PacketRules.checked(tomllib.loads(text.replace(before, after, 1)), Path("packet.toml"))
