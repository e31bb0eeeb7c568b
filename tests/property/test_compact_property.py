"""Compaction: deterministic, within the budget where that can be had, evidence last, nothing lost unsaid."""

import json
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.construct.packet import json_rows
from openclawbench.construct.shorten_packet import compact
from openclawbench.records.packet import EvidenceStep
from openclawbench.rules.construct.packet import PacketRules
from openclawbench.tables.schema import from_records

RULES = PacketRules.load()
TEXTS = ("thinking", "narration", "action_text", "reflection_text", "artifact_target")
MARKER = RULES.marker.split("{left}")

pieces = st.sampled_from(
    ["word ", "\n", "文字", "\u2028", '"', "\\", "🌍", "[… 9 characters left out …]", "x" * 700, "y" * 9000]
)
text = st.none() | st.lists(pieces, max_size=12).map("".join)
step = st.fixed_dictionaries(dict.fromkeys(TEXTS, text))
turns = st.lists(text.map(lambda text: text or ""), max_size=3)


@st.composite
def packets(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]], set[int]]:
    steps = [
        {"step_id": number, "auto_flags": ["hedge"], **entry}
        for number, entry in enumerate(draw(st.lists(step, max_size=6)), 1)
    ]
    users = [{"user_turn": number, "kinds": ["user"], "text": entry} for number, entry in enumerate(draw(turns), 1)]
    ids = [action["step_id"] for action in steps]
    bearing = draw(st.sets(st.sampled_from(ids))) if ids else set()
    return steps, users, bearing


budgets = st.sampled_from([1, 200, 900, 3000, 20000, 10**9])


def with_budget(tokens: int) -> PacketRules:
    return RULES.model_copy(update={"max_tokens": tokens})


def estimated(steps: list[dict[str, Any]], users: list[dict[str, Any]], rules: PacketRules) -> int:
    return rules.tokens(len(canonical_bytes(steps)) + len(canonical_bytes(users)))


@given(st.lists(st.dictionaries(st.sampled_from(TEXTS), st.text(st.characters(exclude_categories=["Cs"]))), max_size=4))
def test_a_row_of_steps_written_by_polars_is_canonical_json(rows: list[dict[str, Any]]) -> None:
    steps = from_records(
        [{"step_id": 1, "side_effect": True, "auto_flags": list(row), **row} for row in rows], EvidenceStep
    )
    lists = steps.select(pl.struct(pl.all()).implode().alias("steps"))["steps"]
    assert json_rows(lists.to_frame()).to_list() == [canonical_bytes({"steps": entry}) for entry in lists.to_list()]


@given(packets(), budgets)
def test_every_step_survives_and_every_gap_is_said(packet: Any, budget: int) -> None:
    steps, users, bearing = packet
    compacted = compact(steps, users, bearing, with_budget(budget))
    assert [action["step_id"] for action in compacted.steps] == [action["step_id"] for action in steps]
    assert [user_turn["user_turn"] for user_turn in compacted.user_turns] == [user["user_turn"] for user in users]
    cuts = {(cut["place"], cut["number"], cut["field"]): cut for cut in compacted.cuts}
    for place, name, before, after in [
        ("step", "step_id", steps, compacted.steps),
        ("user_turn", "user_turn", users, compacted.user_turns),
    ]:
        for old, new in zip(before, after, strict=True):
            for field, value in old.items():
                cut = cuts.pop((place, old[name], field), None)
                if cut is None:
                    assert new[field] == value
                    continue
                assert cut["characters"] == len(value)
                left = MARKER[0] + str(cut["left_out"]) + MARKER[1]
                head, _, tail = new[field].partition(left)
                assert value.startswith(head) and value.endswith(tail)
                assert len(value) - len(head) - len(tail) == cut["left_out"] > len(left)
    assert not cuts


@given(packets(), budgets)
def test_the_estimate_is_that_of_the_result_and_the_budget_is_kept_where_it_fits(packet: Any, budget: int) -> None:
    rules = with_budget(budget)
    steps, users, bearing = packet
    compacted = compact(steps, users, bearing, rules)
    assert compacted.tokens == estimated(compacted.steps, compacted.user_turns, rules)
    assert compacted.fits == (compacted.tokens <= budget)
    assert bool(compacted.cuts) <= (estimated(steps, users, rules) > budget)
    again = compact(json.loads(json.dumps(steps)), json.loads(json.dumps(users)), set(bearing), rules)
    assert again == compacted


@given(packets(), budgets)
def test_a_step_that_bears_evidence_is_cut_after_all_others(packet: Any, budget: int) -> None:
    steps, users, bearing = packet
    compacted = compact(steps, users, bearing, with_budget(budget))
    if any(cut["place"] == "step" and cut["number"] in bearing for cut in compacted.cuts):
        last = [rule for rule in RULES.rounds if rule.steps == "other"][-1]
        for action in compacted.steps:
            for field in last.fields if action["step_id"] not in bearing else ():
                value = action.get(field)
                assert value is None or len(value) <= last.keep + len(RULES.marker.format(left=10**6))


@given(packets(), st.sampled_from([200, 900, 3000]))
def test_a_smaller_budget_never_shows_more(packet: Any, budget: int) -> None:
    steps, users, bearing = packet
    small, large = (compact(steps, users, bearing, with_budget(entry)) for entry in (budget, budget * 3))
    assert small.tokens <= large.tokens
    assert {(cut["place"], cut["number"], cut["field"]) for cut in large.cuts} <= {
        (cut["place"], cut["number"], cut["field"]) for cut in small.cuts
    }
