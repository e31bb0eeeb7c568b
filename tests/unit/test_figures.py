"""Identities between published figures, on the paper's own rows and on made-up ones."""

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openclawbench.release.statistics.consistency import Detector, Identity, Same, Share, Sum, contradictions, figure

PAPER = tomllib.loads((Path(__file__).parent / "paper_figures.toml").read_text())
BASE, LORA, T43 = "T2 Base Gemma 3 12B (no FT)", "T2 Ours: Gemma 3 12B + LoRA", "T43 Ours, against T2"
PREDICTED = "predicted share = base rate x R / P"


def identities(figures: dict[str, Any]) -> list[Identity]:
    return [
        *(Detector(where, row) for where, row in figures["detectors"].items()),
        *(Sum(**entry) for entry in figures["sums"]),
        *(Share(**share) for share in figures["shares"]),
        *(Same(**item) for item in figures["same"]),
    ]


def test_the_papers_contradictions_are_found_and_nothing_else() -> None:
    """The two that are known (base Gemma; 391 against 388), and what else does not fit: the third row of T2 neither
    with itself nor with T43 (its recall .820 is 318 of T3's 388, its F1 .729 is of T43's 391)."""
    result = {(contradiction.where, contradiction.identity) for contradiction in contradictions(identities(PAPER))}
    parts = ", ".join(PAPER["sums"][1]["parts"])
    assert result == {
        (BASE, PREDICTED),
        ("T3 label anom, against T43's support", f"the sum of {parts}"),
        (LORA, "F1 = 2PR / (P + R)"),
        (LORA, PREDICTED),
        (T43, "F1 = 2PR / (P + R)"),
        (T43, PREDICTED),
        (T43, "R = TP / (TP + FN)"),
        (T43, "predicted share = (TP + FP) / n"),
        (T43, "base rate = (TP + FN) / n"),
    }


def test_a_contradiction_says_what_the_other_figures_imply() -> None:
    by_where = {contradiction.where: str(contradiction) for contradiction in contradictions(identities(PAPER))}
    assert by_where[BASE].startswith(f"{BASE}: {PREDICTED}: it says 49.9%, the other figures imply 26.09")
    assert "it says 391, the other figures imply 388" in by_where["T3 label anom, against T43's support"]
    exact = PAPER["detectors"][BASE] | {"base_rate": "0.146636"}  # 388 of 2,646, as T3 has it
    (only,) = contradictions([Detector("T2", exact)])
    low, high = (float(end) for end in only.implied.removesuffix(" %").split(" to "))
    assert low < 26.2 < high < low + 0.2


def test_the_papers_other_rows_hold_within_rounding() -> None:
    assert contradictions([Detector("gpt", PAPER["detectors"]["T2 GPT-5.4 (zero-shot, reasoning)"])]) == []


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("0.290", Fraction(579, 2000), Fraction(581, 2000)),
        ("49.9%", Fraction(4985, 10000), Fraction(4995, 10000)),
        ("2,646", Fraction(2646), Fraction(2646)),
        ("–23.9pt", Fraction(-2395, 100), Fraction(-2385, 100)),
    ],
)
def test_a_printed_figure_is_every_number_that_rounds_to_it(text: str, low: Fraction, high: Fraction) -> None:
    assert tuple(figure(text)) == (low, high)


def test_what_is_no_figure_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a figure"):
        figure("-")


@given(st.integers(1, 400), st.integers(0, 400), st.integers(0, 400), st.integers(0, 400), st.integers(2, 5))
@example(1, 206, 3, 57, 2)  # a precision that is printed as 0.00
def test_a_row_that_was_computed_and_rounded_never_contradicts_itself(
    tp: int, fp: int, fn: int, tn: int, places: int
) -> None:
    n = tp + fp + fn + tn
    row = {"n": n, "tp": tp, "fp": fp, "fn": fn, "tn": tn}
    shares = {
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "predicted": (tp + fp) / n,
        "base_rate": (tp + fn) / n,
    }
    printed = {name: f"{value:.{places}f}" for name, value in shares.items()}
    assert contradictions([Detector("made up", {name: str(value) for name, value in row.items()} | printed)]) == []


def test_one_count_off_is_found_in_each_identity() -> None:
    row = {"n": "100", "tp": "20", "fp": "10", "fn": "5", "tn": "65", "far": "0.133"}
    row |= {"precision": "0.667", "recall": "0.800", "f1": "0.727", "predicted": "30.0%", "base_rate": "25.0%"}
    assert contradictions([Detector("good", row)]) == []
    for name, wrong in {"tp": "21", "fp": "11", "fn": "6", "tn": "66", "n": "101", "f1": "0.729"}.items():
        assert contradictions([Detector("bad", row | {name: wrong})]), name


def test_shares_and_places_are_compared_and_nothing_is_said_without_a_whole() -> None:
    assert contradictions([Share("none", "0", "0", "0.5")]) == []
    assert len(contradictions([Share("half", "1", "2", "0.51")])) == 1
    (entry,) = contradictions([Same("total", {"summary": "3", "card": "3", "statistics": "4"})])
    assert str(entry) == "total: statistics and summary give the same: it says 4, the other figures imply 3"
