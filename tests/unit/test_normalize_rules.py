"""Patterns of user turns: what spares looking for them changes nothing that they find."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.normalize import NormalizeRules, finder

RULES = NormalizeRules.load()
WAITING = [*RULES.user_kinds, *RULES.envelopes]
PLAIN = sorted(
    {one.holds for one in WAITING} | {"System (untrusted): [x] y\n", "[Mon 2026-02-01 10:00 UTC] ", "Heartbeat poll"}
)
TEXTS = st.lists(
    st.sampled_from([*PLAIN, "\n", " ", "a subagent task finished", "] ", "```"]) | st.text(max_size=5)
).map("".join)


@pytest.mark.parametrize("rule", [one for one in WAITING if one.holds], ids=lambda one: one.id)
def test_the_plain_text_that_a_pattern_waits_for_stands_in_the_pattern(rule: object) -> None:
    unescaped = re.sub(r"\\(\W)", r"\1", rule.pattern)  # type: ignore[attr-defined]
    assert rule.holds in unescaped  # type: ignore[attr-defined]


@given(TEXTS)
def test_waiting_for_a_plain_text_or_for_the_beginning_finds_what_the_pattern_finds(text: str) -> None:
    for rule in WAITING:
        pattern = re.compile(rule.pattern)
        found = rule.holds in text and finder(pattern)(text) is not None
        assert found == (pattern.search(text) is not None), rule.id


def test_a_pattern_with_a_branch_that_is_not_bound_is_looked_for_everywhere() -> None:
    assert [finder(re.compile(one)).__name__ for one in ("^a", r"(?i)^\s*(?:a|b)", r"\Aa[|)]")] == ["match"] * 3
    assert [finder(re.compile(one)).__name__ for one in ("a", "^a|b", "(?m)^a", r"^a\(|b\)")] == ["search"] * 4
    assert finder(re.compile("^(?:a|b)c|d"))("xd")


@given(TEXTS | st.sampled_from(["NO_REPLY", " **no_reply**. ", "HEARTBEAT_OK", "[[x]] HEARTBEAT_OK", "announce_skip"]))
def test_every_silent_reply_has_the_mark(text: str) -> None:
    found = [one.id for one in RULES.silent_tokens if re.fullmatch(one.pattern, text)]
    assert RULES.silent_token(text) == (found[0] if found else None)
