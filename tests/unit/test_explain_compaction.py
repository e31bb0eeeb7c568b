"""What `explain` says of a packet's size: whole or shortened, and whether it fits."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from openclawbench.cli.render.explain import print_compaction
from openclawbench.cli.render.explain_decision import print_stage
from openclawbench.inspect.explain.decision import saw

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
    result = {"estimated_tokens": 400, "budget_tokens": 300, "fits": fits, "compacted": bool(cuts), "cuts": cuts}
    print_compaction(result, Console(file=shown, width=200))
    assert shown.getvalue().splitlines()[0].endswith(says)


@pytest.mark.parametrize(
    ("reads", "compacted", "says"),
    [
        ("packet", True, "saw the packet (3 steps, about 400 tokens; shortened, see compaction)"),
        ("packet", False, "saw the packet (3 steps, about 400 tokens)"),
        ("evidence", True, "saw the evidence, without outcome and risk (3 steps, whole)"),
        ("evidence", False, "saw the evidence, without outcome and risk (3 steps, about 400 tokens)"),
    ],
)
def test_a_judge_that_reads_the_evidence_saw_the_whole(reads: str, compacted: bool, says: str) -> None:
    known: Any = SimpleNamespace(
        shortened={"estimated_tokens": 400, "compacted": compacted}, steps=dict.fromkeys("abc")
    )
    judge: Any = SimpleNamespace(reads=reads)
    asked = {"saw": saw(known, judge), "prompt_version": "v1", "packet_sha256": "0" * 64, "purpose": "label"}
    shown = io.StringIO()
    print_stage("stage a", {"asked": asked}, Console(file=shown, width=200))
    assert says in shown.getvalue()
