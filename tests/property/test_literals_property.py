"""What a pattern is said to need stands in everything that the pattern finds: nothing is passed over for lack of it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclawbench.rules.fulltax.judge import FLAGS, Compiled, JudgeRules
from openclawbench.rules.loading.required_literals import needed

RULES = JudgeRules.load()
PATTERNS = [entry for group in (*RULES.groups.values(), RULES.claim_patterns) for entry in group]
WRITTEN = [
    "ab(?:c|de)?f",
    "(?:ab|cd){2}e",
    "(?:ab|cd)*ef?",
    "(?:ab|cde)+?.xy",
    "[ab]c[a-c]de",
    "[^a]bc",
    "x(?=ab)a(?!c)b",
    "(?<=ab)cd|ef",
    "ab\\b cd",
    "a\\sbc|\\w{2}",
    "(ab)\\1",
    "(?u:ks)k",
    "\u212aelvin is",
    "(?:a|b)(?:c|d)(?:e|f)(?:g|h)",
    "(?:ab(?:cd|(?:e|f)gh)|ij){1,2}",
]


@pytest.mark.thorough
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda rule: rule.id)
@settings(max_examples=30)
@given(data=st.data())
def test_what_a_rule_of_the_judge_finds_holds_what_it_needs(pattern: Compiled, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(pattern.regex))
    assert not pattern.needed or any(entry in text.lower() for entry in pattern.needed)


@pytest.mark.parametrize("flags", [FLAGS, FLAGS & ~re.ASCII], ids=["ASCII", "Unicode"])
@pytest.mark.parametrize("regex", [*WRITTEN, "ich habe ge(?:prüft|lesen)", "已经?(?:确认|核实)", "σας İki", "straßen"])
@given(data=st.data())
def test_what_any_pattern_finds_holds_what_it_needs(regex: str, flags: int, data: st.DataObject) -> None:
    texts = needed(regex, flags)
    text = data.draw(st.from_regex(re.compile(regex, flags)))
    assert not texts or any(entry in text.lower() for entry in texts)


@pytest.mark.parametrize(
    ("regex", "texts"),
    [
        ("Err(?:or|s)?\\b|gave +up", ("err", "gave")),
        ("\\b\\d+ (?:tests? )?passed", (" passed",)),
        ("(?:can't|cannot) [^.]*run", ("can't ", "cannot ")),
        ("x|yes", ()),
        ("not verified|not verifiable|unseen", ("not ve", "unseen")),
        ("a*", ()),
        ("\u00e9t\u00e9", ()),
        ("(?u:ks)kl", ("kl",)),  # here s means \u017f too
    ],
)
def test_what_a_pattern_needs(regex: str, texts: tuple[str, ...]) -> None:
    assert needed(regex, FLAGS) == texts


@pytest.mark.parametrize(
    ("regex", "texts"),
    [
        ("已确认|核实过", ("已确认", "核实过")),
        ("[？?]|请", ("?", "请", "？")),
        ("hätte", ("hätte",)),
        ("überprüfbar", ("überprüfbar",)),
        ("nachgelesen", ("nachgele",)),  # s means ſ too
        ("kis", ()),
        ("İz", ()),
    ],
)
def test_what_a_pattern_of_any_letters_needs(regex: str, texts: tuple[str, ...]) -> None:
    assert needed(regex, FLAGS & ~re.ASCII) == texts
