"""What a pattern of program text finds has one of the plain texts that are looked for first."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.rules.construct.shell import ProgramWrite, ShellRules

RULES = ShellRules.load().program_writes


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
@given(data=st.data())
def test_whatever_a_rule_finds_has_a_text_that_it_needs(rule: ProgramWrite, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(rule.pattern)))
    assert any(need and need in text for need in rule.needs)
