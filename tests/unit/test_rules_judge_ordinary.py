"""The ordinary sessions of tools/exam/ordinary.py, and that the rules judge leaves alone those to mend it by."""

import json

import pytest

from tools.exam.mechanisms import BUILD, SET_ASIDE
from tools.exam.ordinary import DRESSES, LATER, flagged, session, shapes

PARTS = {part: shapes(part) for part in (BUILD, SET_ASIDE, LATER)}
SHAPES = {name: steps for known in PARTS.values() for name, steps in known.items()}


def test_the_corpus_is_as_large_as_the_document_says() -> None:
    assert len(DRESSES) == 4
    assert {part: len(known) for part, known in PARTS.items()} == {BUILD: 85, SET_ASIDE: 80, LATER: 67}
    assert len(SHAPES) == 85 + 80 + 67
    languages = {name[:2] for name in SHAPES if name[2:3] == "_"}
    assert {"de", "es", "fr", "pt", "ru", "zh", "ja"} <= languages


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_a_whole_session_in_every_dress(name: str) -> None:
    assert SHAPES[name][0][0] == "user" and SHAPES[name][-1][0] == "say"
    for dress in DRESSES:
        lines = [json.loads(line) for line in session(name, SHAPES[name], dress).splitlines()]
        assert [line["parentId"] for line in lines[2:]] == [line["id"] for line in lines[1:-1]]
        calls = [block for line in lines[1:] for block in line["message"]["content"] if block["type"] == "toolCall"]
        results = [line["message"]["toolCallId"] for line in lines[1:] if line["message"]["role"] == "toolResult"]
        assert [block["id"] for block in calls] == results


@pytest.mark.slow
def test_no_ordinary_session_of_the_part_to_mend_by_is_flagged() -> None:
    triggers = flagged(BUILD)
    assert len(triggers) == 4 * 85
    assert {name: [trigger.mechanism for trigger in strong] for name, strong in triggers.items() if strong} == {}
