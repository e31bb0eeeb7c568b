"""Plain texts that rules look for first: all of them are found, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.loading.plain_texts import PlainTexts

RULES = NormalizeRules.load()
OWN = sorted({rule.holds for rule in (*RULES.user_kinds, *RULES.envelopes)})
PIECES = st.sampled_from([*OWN, *(text[:-1] for text in OWN), "[", "[A", "\n", "é"])


@given(st.lists(PIECES | st.text("[AaSy x,\n", max_size=6), max_size=8).map("".join))
def test_the_texts_of_the_rules_are_found_wherever_they_stand(text: str) -> None:
    assert PlainTexts(OWN).held_by(text) == {plain for plain in OWN if plain in text} | {""}


@given(st.sets(st.text("[AB a,", max_size=4)), st.text("[AB a,", max_size=20))
def test_texts_that_lie_in_each_other_are_all_found(plain_texts: set[str], text: str) -> None:
    assert PlainTexts(plain_texts).held_by(text) == {plain for plain in plain_texts if plain in text} | {""}
