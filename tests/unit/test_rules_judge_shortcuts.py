"""Short ways of the rules judge give what the long ways give, and long texts cost no more than their length."""

import json
import random
import re
import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules_judge_builders import RULES, call, evidence, find, follows, reply
from rules_judge_flow_cases import read, write

from openclawbench.fulltax.rules_judge.flow import calls, files, values
from openclawbench.fulltax.rules_judge.flow.provenance import Sources, own_paths, unsourced_values
from openclawbench.fulltax.rules_judge.hits import stands_in
from openclawbench.fulltax.rules_judge.replies import (
    NEGATING,
    RESERVATIONS,
    has_question,
    is_particular,
    mentioned,
    reserves,
)
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import Evidence, EvidenceStep

# ------------------------------------------------------------------------------------------------------- patterns
GROUPED = r"\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+(?:[.,]\d{1,4})?"
BEFORE = rf"(?<![{values.LETTER}.,/:#-])"
PLAIN = {  # as they are thought, each beside the form in which it is searched for
    "date": (r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])", values.DATE),
    "figure": (rf"{BEFORE}{GROUPED}{values.AFTER}|{BEFORE}\d+(?:[.,]\d+)?{values.AFTER}", values.FIGURE),
    "number": (rf"{GROUPED}|\d+(?:[.,]\d+)?", values.ANY_NUMBER),
    "path": (
        r"(?<![\w/.@:-])(?:~?/)?(?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,5}(?![\w/(])"
        r"|(?<![\w/.@:-])(?:[\w.@-]+/)+[\w.@-]+(?![\w/(])",
        calls.PATH,
    ),
    "wild": (r"[\w./-]*[*?\[{][^\s'\";|]*", files.WILD),
}
SIGNS = st.text(alphabet="0123456789012.,'  \u00a0:/#-_~@()*?[{\"';|\nabZé٣", max_size=40)


@pytest.mark.parametrize("name", PLAIN)
@given(text=SIGNS)
def test_a_pattern_finds_what_its_plain_form_finds(name: str, text: str) -> None:
    plain, pattern = PLAIN[name]
    assert [match.span() for match in pattern.finditer(text)] == [match.span() for match in re.finditer(plain, text)]


LANGUAGES = [frozenset({"en"}), frozenset({"en", "zh"}), RULES.languages]


@pytest.mark.parametrize(("group", "languages"), list(product(RULES.groups, LANGUAGES)))
def test_a_group_has_the_patterns_of_the_languages_asked_for(group: str, languages: frozenset[str]) -> None:
    patterns = RULES.patterns_in(group, languages)  # type: ignore[arg-type]
    assert patterns == [rule for rule in RULES.groups[group] if rule.language in {None, *languages}]


# --------------------------------------------------------------------------------------------------- reservations
SENTENCES = [
    "I could not read inventory.txt to its end.",
    "It may be 8215, but I am not sure.",
    "Perhaps it is so.",
    "The host could not be reached.",
    "lantern listens on port 8215.",
    "I guess that Corvus Optics has three.",
    "I assumed the default of 4711.",
    "As of my training data this holds.",
    "Is it 8215?",
    "All is done.",
]


def reserves_plainly(trace: Trace, step: EvidenceStep, about: list[str], claims: list[str]) -> bool:
    """What reserves() promises, with every hit looked at for each question."""
    if re.search("[?？]", step.action_text or ""):
        return True
    text = trace.text(step, "action_text")
    for group in RESERVATIONS:
        named = mentioned(about) if group in NEGATING else [*mentioned(about), *mentioned(claims)]
        for pattern in trace.patterns(group, step, "action_text"):
            for hit in text.hits(pattern):
                hedge = text.plain[hit.start : hit.end]
                if any(stands_in(name, hedge.lower(), "") for name in named) or not is_particular(trace, hedge):
                    return True
    return False


NAMES = st.lists(st.sampled_from(["8215", "inventory.txt", "Corvus", "lantern", "4711", "nothing"]), max_size=2)


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4), st.lists(st.tuples(NAMES, NAMES), min_size=1))
def test_reservations_that_are_kept_say_what_a_new_search_says(
    sentences: list[str], questions: list[tuple[list[str], list[str]]]
) -> None:
    trace = Trace(evidence(read("inventory.txt", "Corvus Optics: 8215"), reply(" ".join(sentences))), RULES)
    step = trace.steps[-1]
    for about, claims in questions:
        assert reserves(trace, step, about, claims) == reserves_plainly(trace, step, about, claims)
        assert reserves(trace, step, about) <= reserves(trace, step, about, claims)


@given(st.text(alphabet="a?？ ", max_size=4))
def test_a_question_mark_of_any_script_is_a_question(text: str) -> None:
    (step,) = evidence(reply(text)).steps
    assert has_question(step) == (re.search("[?？]", text) is not None)


# -------------------------------------------------------------------------------------------------------- sources
FIGURES = ["2748", "2,748", "1452", "4200", "815", "77.5", "815 kg", "12", "AB-1204"]
OUTPUTS = st.lists(st.sampled_from([*FIGURES, "total"]), max_size=4).map(" and ".join)
STEPS = st.lists(st.tuples(st.sampled_from(["read", "write", "reply", "echo"]), OUTPUTS), min_size=1, max_size=8)


def session(parts: list[tuple[str, str]]) -> Evidence:
    built = {
        "read": lambda text: read("list.txt", text),
        "write": lambda text: write("out.txt", text),
        "reply": reply,
        "echo": lambda text: call("code_execution", json.dumps({"command": f"echo {text}"}), reflection_text=text),
    }
    return evidence(*(built[kind](text) for kind, text in parts), user="There are 500 of 815.")


def unsourced_plainly(given_session: Evidence) -> list[tuple[int, str, int | None]]:
    """What unsourced_values() promises, with every source read anew for each value."""
    steps, named, result = given_session.steps, set[str](), []
    for place, step in enumerate(steps):
        is_reply = step.action_kind == "reply"
        content = (step.action_text or "") if is_reply else calls.written(step)
        texts, numbers, columns, lasts, own = ["There are 500 of 815."], {500.0, 815.0}, [], [], set[str]()
        for other in steps[:place]:
            asked, output = other.action_text or "", other.reflection_text or ""
            if calls.written(other):
                own |= own_paths(other)
            elif other.action_kind == "tool_call" and not any(path in asked for path in own):
                texts.append(output)
                read_numbers, column = values.all_readings(output)
                numbers |= read_numbers - (values.all_numbers(asked) - numbers)
                if column:
                    columns.append(column)
                    lasts.append(column[-1])
        new = [text for text in values.figure_texts(content) + values.codes(content) if text not in named]
        new = [text for text in dict.fromkeys(new) if not any(text in known for known in texts)]
        named.update(new)
        for text in new:
            own_files = own_paths(step)
            held = (
                other.step_id
                for other in ([] if is_reply else steps[place + 1 :])
                if other.action_kind == "tool_call" and text in (other.reflection_text or "")
                if text not in (other.action_text or "") and not any(p in (other.action_text or "") for p in own_files)
            )
            if not follows(values.readings(text), numbers, [*columns, lasts]):
                result.append((step.step_id, text, next(held, None)))
    return result


@given(STEPS)
def test_sources_that_are_read_late_say_what_sources_that_are_read_at_once_say(parts: list[tuple[str, str]]) -> None:
    new_evidence = session(parts)
    values_found = list(unsourced_values(Trace(new_evidence, RULES), lambda _: True))
    assert [
        (value.step.step_id, value.text, value.later and value.later.step_id) for value in values_found
    ] == unsourced_plainly(new_evidence)


def test_sources_read_no_further_than_a_known_number() -> None:
    sources = Sources(new=["There are 815.", "Others have 2748 and 3."])
    assert not sources.contains("4711")
    assert sources.makes("815") and len(sources.pending) == 1
    assert sources.makes("2748") and not sources.pending
    assert not sources.makes("AB-1204") and not sources.makes("998.257")


def test_a_growth_is_a_share_less_one_hundred() -> None:
    sources = Sources(new=["year,members\n2023,1180\n2024,1262\n2025,1401\n2026,1387"])
    assert not sources.contains("4711")
    assert all(map(sources.makes, ["139", "11.0", "207", "17.5"]))
    assert not sources.makes("23.7") and not sources.makes("7391")


def test_cells_of_a_table_are_numbers_of_their_own() -> None:
    assert values.all_numbers("2024,1262") == {2024.0, 1262.0}
    assert values.figure_texts("north,1262\n7001,28013\n18,450\n12,5") == ["7001", "28013", "18,450", "12,5"]


# ------------------------------------------------------------------------------------------------------ long texts
LONG = 300_000
NUMBERS = " ".join(str(random.Random(1).randrange(100, 10**9) + number) for number in range(LONG // 10))
LONG_TEXTS = {"digits": "1" * LONG, "word": "a." * (LONG // 2), "grouped": "111 " * (LONG // 4), "numbers": NUMBERS}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["reply", "output", "write", "command"])
@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_long_text_costs_no_more_than_its_length(name: str, kind: str) -> None:
    text, end = LONG_TEXTS[name], reply("There are 9341 of them, and 7722 in all.")
    steps = {
        "reply": [reply(text)],
        "output": [read("more.txt", text), end],
        "write": [write("out.txt", text), end],
        "command": [call("code_execution", json.dumps({"command": text}), reflection_text="ok"), end],
    }
    given_session = evidence(read("list.txt", "Part 12: 8215"), *steps[kind], user="Look at list.txt and report.")
    started = time.process_time()
    find(given_session)
    assert time.process_time() - started < 20  # a quadratic way takes minutes
