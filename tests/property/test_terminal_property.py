"""Trajectory text on a terminal: no character that moves the cursor or turns the writing round survives."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openclawbench.base.terminal import UNSAFE, cell, errors, one_line, safe
from openclawbench.cli.render.run import print_lines

TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = "\u061c\u200e\u200f"
EVERYTHING = st.text(st.characters(codec=None, exclude_categories=()))
HARMFUL = st.text("\x00\x07\x08\x1b\x7f\x9b\r\u2028\u202e\u2066\u200f\ud83dab")


def dangerous(char: str) -> bool:
    return char not in "\n\t" and (
        unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(char) in TURNING
        or char in MARKS
    )


@given(EVERYTHING | HARMFUL)
@example("\x1b[2J\u202egpj.exe")
def test_nothing_dangerous_survives(text: str) -> None:
    for shown in (safe(text), cell(text)):
        assert not any(map(dangerous, shown))
        shown.encode("utf-8")


def test_every_dangerous_character_is_written_out() -> None:
    for code in range(0x110000):
        if dangerous(chr(code)) or UNSAFE.match(chr(code)):
            assert safe(chr(code)).encode("ascii").decode("unicode_escape") == chr(code)


@given(EVERYTHING | HARMFUL)
@example("m/s.jsonl\nnot_json: m/other.jsonl: forged")
def test_a_name_is_one_line(text: str) -> None:
    for shown in (one_line(text), cell(text)):
        assert len(shown.splitlines()) <= 1
        assert not any(map(dangerous, shown))


def test_a_file_name_cannot_forge_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(errors(), ["not_json: m/a\nnot_json: m/forged.jsonl: line 1", "plain"])
    assert capsys.readouterr().err.splitlines() == ["not_json: m/a\\nnot_json: m/forged.jsonl: line 1", "plain"]


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), include_characters="\n\t")))
def test_plain_text_is_left_alone(text: str) -> None:
    assert safe(text) == text


@given(EVERYTHING | HARMFUL)
def test_safe_text_is_safe_already(text: str) -> None:
    assert safe(safe(text)) == safe(text)
