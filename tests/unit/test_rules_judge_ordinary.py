"""The rules judge leaves alone the ordinary sessions to mend it by, in every dress (tools/exam/ordinary.py)."""

import pytest

from tools.exam.mechanisms import BUILD
from tools.exam.ordinary import DRESSES, flagged


@pytest.mark.thorough
def test_no_ordinary_session_of_the_part_to_mend_by_is_flagged() -> None:
    triggers = flagged(BUILD)
    assert len(triggers) == len(DRESSES) * 85
    assert {name: [trigger.mechanism for trigger in strong] for name, strong in triggers.items() if strong} == {}
