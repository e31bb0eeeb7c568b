"""What `explain` says of a packet's size: whole or shortened, and whether it fits."""

import io
from typing import Any

import pytest
from rich.console import Console

from pipeline.console.explain_print import print_compaction

CUT = {"place": "step", "number": 1, "field": "thinking", "left_out": 9, "characters": 12, "rule": {"rule_id": "p.x"}}


@pytest.mark.parametrize(
    ("cuts", "fits", "says"),
    [
        ([], True, "budget 300; whole"),
        ([CUT], True, "budget 300; shortened"),
        ([CUT], False, "budget 300; shortened, too long even so"),
        ([], False, "budget 300; whole, too long, and nothing in it gets shorter"),
    ],
)
def test_what_is_whole_is_never_called_shortened(cuts: list[dict[str, Any]], fits: bool, says: str) -> None:
    shown = io.StringIO()
    found = {"estimated_tokens": 400, "budget_tokens": 300, "fits": fits, "compacted": bool(cuts), "cuts": cuts}
    print_compaction(found, Console(file=shown, width=200))
    assert shown.getvalue().splitlines()[0].endswith(says)
