"""Patterns of rule files that run over every text inside polars: ASCII classes and boundaries, no look-around."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from openclawbench.errors import InvalidRules
from openclawbench.rules.construct.align import AlignRules
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.loading.patterns import defer_compilation, rust_accepts, rust_pattern
from openclawbench.rules.loading.rule_file import Rules, read_rules

HOT = {"pattern", "unless", "pieces", "not_own", "exit_tail", "clear_unless", "remote_tools", "effect_when"}
ASCII_BOUNDARY = r"(?-u:\b)"


def patterns(content: Any, name: str = "") -> Iterator[str]:
    """Every pattern below the fields that hold patterns."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from patterns(value, key)
    elif isinstance(content, list):
        for entry in content:
            yield from patterns(entry, name)
    elif isinstance(content, str) and name in HOT:
        yield content


@pytest.mark.parametrize("kind", [FlagRules, DescribeRules, AlignRules])
def test_loaded_patterns_are_ascii_where_it_costs(kind: type[Rules]) -> None:
    sentences = list(patterns(kind.load().model_dump()))
    assert len(sentences) >= 8
    for pattern in sentences:
        rest = pattern.replace(ASCII_BOUNDARY, "")
        assert not re.search(r"(?<!\\)\\[bBwWdDsSpP]", rest), pattern
        assert not re.search(r"\(\?<?[=!]", rest), pattern
        assert pl.Series(["", "ü🦞"]).str.contains(pattern).len() == 2


def test_a_word_boundary_is_made_ascii() -> None:
    assert rust_pattern(r"\bno\b") == rf"{ASCII_BOUNDARY}no{ASCII_BOUNDARY}"
    assert rust_pattern(r"a\\b") == r"a\\b"
    assert pl.Series(["is not sure", "isnot"]).str.contains(rust_pattern(r"\bnot\b")).to_list() == [True, False]


@pytest.mark.parametrize("pattern", [r"\w+", r"[0-9]\d", r"a\s", "(?=a)", "(?<!a)b", "(", "[a"])
def test_a_pattern_that_would_be_slow_or_does_not_compile_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"write classes out|not a regular expression"):
        rust_pattern(pattern)


@pytest.mark.parametrize("wrong", ["a)|(?:b", "a)(b", "(a", "["])
def test_a_fault_is_found_among_patterns_that_are_asked_about_together(wrong: str) -> None:
    """Also one that only another pattern's brackets would close."""
    with defer_compilation() as waiting:
        assert [rust_pattern(entry) for entry in ("x", wrong, "y")] == ["x", wrong, "y"]
    assert not rust_accepts(waiting)
    with pytest.raises(ValueError, match=re.escape(repr(wrong))):
        rust_pattern(wrong)
    text = FlagRules.FILE
    content = read_rules(text)
    content["text"][3]["unless"] = ["x", wrong, "y"]
    with pytest.raises(InvalidRules, match=re.escape(f'text.3.unless: in "{content["text"][3]["id"]}": not a regular')):
        FlagRules.checked(content, Path("own", text))


def test_patterns_that_are_asked_about_together_are_what_they_are_alone() -> None:
    right = [r"\)[)(]a(b)", r"[](]x\b", "a|b", "[^])]"]
    with defer_compilation() as waiting:
        together = [rust_pattern(entry) for entry in right]
    assert rust_accepts(waiting) and waiting == together == [rust_pattern(entry) for entry in right]
