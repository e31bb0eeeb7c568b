"""Descriptors of the labelled events (events/README.md): case by case in the part for tuning, else as a number.

docs/why/evidence.md prints the measured shares; `python -m benchmarks.events --write` writes them anew.
"""

import json
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from benchmarks.events import (
    DOCUMENT,
    FOLDER,
    Outcome,
    agrees,
    measure,
    measure_parts,
    misses,
    tables,
    with_tables,
)
from benchmarks.labelled import Case, held_out, read_cases
from openclawbench.errors import UnreadableInput
from openclawbench.records.vocabulary import EventType

KNOWN = FOLDER / "known_misses.txt"
RARE = 15  # cases that the rarest category has at least
AGENTS_WORDS = 120  # cases with thinking, narration or a reply at least


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Outcome]]:
    return measure_parts()


def known_misses() -> dict[str, str]:
    """Id -> reason."""
    lines = [line for line in KNOWN.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    pairs = [line.partition(": ") for line in lines]
    assert all(reason.strip() for _, _, reason in pairs), f"{KNOWN.name}: a line is `id: reason`"
    assert len({name for name, _, _ in pairs}) == len(pairs), f"{KNOWN.name}: an id stands there twice"
    return {name: reason for name, _, reason in pairs}


def test_labelled_events_of_the_part_for_tuning(parts: dict[str, list[Outcome]]) -> None:
    known = known_misses()
    outcomes = {entry.case.id: entry for entry in parts["tune"]}
    assert sorted(known.keys() - outcomes.keys()) == [], f"{KNOWN.name} names cases that do not exist"
    fresh = [json.dumps(miss, ensure_ascii=False) for miss in misses(parts["tune"]) if miss["id"] not in known]
    assert fresh == [], "\n".join(["not as labelled:", *fresh])
    right = sorted(name for name in known if outcomes[name].right)
    assert right == [], f"{KNOWN.name} lists cases that are right now; remove them: {right}"


def test_labelled_events_in_the_document(parts: dict[str, list[Outcome]]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    hint = "docs/why/evidence.md prints other shares than those measured: python -m benchmarks.events --write"
    assert with_tables(text, tables(parts)) == text, hint


def test_labelled_events_are_divided_by_the_hash_of_their_ids() -> None:
    cases = {part: read_cases(FOLDER / f"{part}.jsonl") for part in ("tune", "held_out")}
    ids = [case.id for part in cases.values() for case in part]
    assert len(set(ids)) == len(ids)
    assert all(held_out(case.id) == (part == "held_out") for part, chosen in cases.items() for case in chosen)
    everything = [case for part in cases.values() for case in part]
    by_type = Counter(case.expected.event_type for case in everything)
    assert min(by_type[name] for name in get_args(EventType)) >= RARE
    assert sum(bool(case.thinking or case.narration or case.reply) for case in everything) >= AGENTS_WORDS


def labelled(**more: object) -> Case:
    inputs = {
        "id": "x",
        "context": {"release": "2026.4.15", "cwd": "/home/user"},
        "tool_name": "exec",
        "arguments": {"command": "cat a.txt"},
        "result": {"text": "a", "isError": False, "details": {"status": "completed", "exitCode": 0}},
        "expected": {"event_type": "read", "side_effect": False, "tool_status": "ok", "auto_flags": []},
        "why": "cat reads",
    }
    return Case.model_validate(inputs | more)


def test_a_wrong_label_is_a_difference_in_its_field_and_in_no_other() -> None:
    right = {"event_type": "read", "side_effect": False, "tool_status": "ok", "state_write_target": None}
    wrong = {
        "event_type": right | {"event_type": "query"},
        "side_effect": right | {"side_effect": True},
        "tool_status": right | {"tool_status": ["error", "timeout"]},
        "artifact_target": right | {"artifact_target": "b.txt"},
        "state_write_target": right | {"state_write_target": "*"},
        "auto_flags": right | {"auto_flags": ["hedge"]},
    }
    cases = [labelled(expected=right)]
    cases += [labelled(id=name, expected=expected) for name, expected in wrong.items()]
    outcomes = measure(cases)
    assert outcomes[0].right
    for outcome in outcomes[1:]:
        assert [difference.field for difference in outcome.differences] == [outcome.case.id]


def test_what_is_open_in_a_label_is_right_either_way() -> None:
    assert agrees(["a", None], None)
    assert agrees("app.yaml", "/srv/app.yaml")
    assert agrees("./out/", "out")
    assert agrees("C:\\tmp\\a.txt", "C:/tmp/a.txt")
    assert not agrees("app.yaml", "myapp.yaml")
    assert not agrees(None, "a")
    assert not agrees("*", None)
    either = labelled(expected={"event_type": "query", "also": ["read"]})
    assert measure([either])[0].right


def test_a_flag_may_be_optional_and_any_other_is_a_false_alarm() -> None:
    words = {"thinking": "I'm not sure which file is meant.", "expected": {"event_type": "read"}}
    assert not measure([labelled(**words)])[0].right
    allowed = words | {"expected": {"event_type": "read", "flags_optional": ["uncertainty"]}}
    assert measure([labelled(**allowed)])[0].right


def test_a_broken_case_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    path.write_text(labelled().model_dump_json(exclude_unset=True) + '\n{"id": 3}\n', encoding="utf-8")
    with pytest.raises(UnreadableInput, match=r"tune\.jsonl:2: id: "):
        read_cases(path)
