"""A fault in a rule file is told with its line, however the file is written."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openclawbench.errors import InvalidRules
from openclawbench.rules.construct.align import AlignRules
from openclawbench.rules.construct.onset import OnsetRules
from openclawbench.rules.construct.risk import RiskRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.rules.loading.own_folder import rule_file_names, shipped_path
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.toml_lines import Place, line_of, lines_with, located

FILES = [shipped_path(name) for name in sorted(rule_file_names())]
TEXT = """\
# a comment with a [table] and a key = "value"
top = 1
[one]  # what it is
'a key' = '''
[[not]] a table
x = 1
'''
dotted.deep."with \\"quotes\\"" = { first = 1, second = [
    "a", # "b" is no value
    "b",
] }
[[two]]
id = "x"
[[two]]
id = "y"
  [two.inner]
  when = "status = 'x' # no comment"
[[two.inner_list]]
name = \"\"\"several
lines\"\"\"
"""


def leaves(content: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Everything in a rule file that holds nothing else, with where it stands."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(value, dict | list):
            yield from leaves(value, (*place, key))
        else:
            yield (*place, key), value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_value_of_every_rule_file_is_found_on_its_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines, known = text.split("\n"), {entry.place: entry for entry in located(text)}
    actual_leaves = list(leaves(tomllib.loads(text)))
    assert actual_leaves or path.name == "corpus.toml"
    for place, value in actual_leaves:
        assert place in known, place
        line = lines[known[place].line - 1]
        if isinstance(value, str) and "\\" not in line:
            assert value.split("\n")[0] in line, place


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("top",), 2),
        (("one",), 3),
        (("one", "a key"), 4),
        (("one", "dotted", "deep", 'with "quotes"'), 8),
        (("one", "dotted", "deep", 'with "quotes"', "second", 0), 9),
        (("one", "dotted", "deep", 'with "quotes"', "second", 1), 10),
        (("two", 0, "id"), 13),
        (("two", 1, "id"), 15),
        (("two", 1, "inner", "when"), 17),
        (("two", 1, "inner_list", 0, "name"), 19),
        (("two", 1, "inner", "missing"), 16),
        (("two", 1, "id", "[key]"), 15),
        (("nowhere",), None),
        ((), None),
    ],
)
def test_a_place_has_the_line_of_its_value_or_of_what_is_around_it(place: Place, line: int | None) -> None:
    tomllib.loads(TEXT)
    assert line_of(TEXT, place) == line


def test_words_are_found_as_values_and_as_keys_and_not_in_comments() -> None:
    assert lines_with(TEXT, ["top", "value"]) == [2]
    assert lines_with(TEXT, ["value", "b"]) == [10]
    assert lines_with(TEXT, ["x", "y"], within=("two", 1)) == [15]
    assert lines_with(TEXT, ["x", "a"], keys=["second"]) == [9]


@given(st.text(alphabet="[]{}=\"'#.,\n a1\\", max_size=60))
@example('"\\1"')  # no such escape
def test_any_text_ends(text: str) -> None:
    located_entries = list(located(text))
    assert all(1 <= entry.line <= text.count("\n") + 1 for entry in located_entries)


def refusal(kind: type[Rules], folder: Path, *changes: tuple[str, str]) -> str:
    """What is said of a rule file with these texts changed."""
    text = shipped_path(kind.FILE).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / kind.FILE
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRules) as error:
        kind.checked(tomllib.loads(text), path)
    return str(error.value)


def number(file: str, text: str) -> int:
    """The line of a built-in rule file on which a text stands first."""
    return shipped_path(file).read_text(encoding="utf-8").split(text)[0].count("\n") + 1


def test_a_fault_names_file_line_key_and_rule(tmp_path: Path) -> None:
    line = number("risk.toml", "event_type = 'state_write'")
    text = refusal(RiskRules, tmp_path, ("event_type = 'state_write'", "event_type = 'state_wirte'"))
    assert text.startswith(f'{tmp_path}/risk.toml: line {line}: signal.1.when: in "state_write_steps": in ')


def test_a_key_that_is_missing_or_none_has_the_line_of_its_entry(tmp_path: Path) -> None:
    line = number("risk.toml", "[[signal]]")
    assert f": line {line}: signal.0.field: " in refusal(
        RiskRules, tmp_path, ('field = "num_external_write_steps"\n', "")
    )
    line = number("onset.toml", "top_k")
    text = refusal(OnsetRules, tmp_path, ("top_k = 3", "top_q = 3\ntop_k = 3"))
    assert f": line {line}: top_q: there is no such key" in text


def test_words_that_do_not_fit_each_other_have_both_lines(tmp_path: Path) -> None:
    medium, high = number("risk.toml", "medium_from ="), number("risk.toml", "high_from =")
    text = shipped_path("risk.toml").read_text(encoding="utf-8")
    wrong = text.split("medium_from = ")[1].split()[0]
    assert f": lines {medium} and {high}: " in refusal(
        RiskRules, tmp_path, (f"medium_from = {wrong}", "medium_from = 99")
    )
    first = number("align.toml", 'id = "alias.read"')
    second = number("align.toml", 'id = "alias.write"')
    actual_text = refusal(AlignRules, tmp_path, ('id = "alias.write"', 'id = "alias.read"'))
    assert f": lines {first} and {second}: the file: " in actual_text and '"alias.read" is given twice' in actual_text
    line = number("taxonomy.toml", 'name = "premature_external_write"')
    actual_text = refusal(
        Taxonomy, tmp_path, ('name = "premature_external_write"', 'name = "weak_evidence_commitment"')
    )
    assert f"and {line}: " in actual_text


@pytest.mark.parametrize("written", ["inf", "-inf", "nan", "1e999"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_number_of_every_rule_file_must_be_finite(path: Path, written: str, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    own = tmp_path / path.name
    for hit in re.finditer(r"(?m)\b[a-z_]+ = ([0-9]+\.[0-9]+)\b", text):
        own.write_text(text[: hit.start(1)] + written + text[hit.end(1) :], encoding="utf-8")
        with pytest.raises(InvalidRules, match="must be a finite number") as error:
            Rules.checked(tomllib.loads(own.read_text(encoding="utf-8")), own)
        assert f": line {number_of(text, hit.start())}: " in str(error.value)


def number_of(text: str, at: int) -> int:
    """The line that a place in a text is on."""
    return text.count("\n", 0, at) + 1


def test_a_misspelt_key_is_named_and_not_what_lacks_because_of_it(tmp_path: Path) -> None:
    text = refusal(RiskRules, tmp_path, ("weight = 2.2", "weigth = 2.2"))
    line = number("risk.toml", "weight = 2.2")
    assert f"line {line}: " in text
    assert "weigth: " in text
    assert 'there is no such key; did you mean "weight"? (and 1 more)' in text


def test_a_file_with_a_byte_order_mark_and_line_ends_of_windows_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shipped_path("risk.toml").read_text(encoding="utf-8")
    (tmp_path / "risk.toml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    as_shipped = RiskRules.load()
    monkeypatch.setenv("OPENCLAWBENCH_RULES", str(tmp_path))
    assert RiskRules.load() == as_shipped
    (tmp_path / "risk.toml").write_bytes(b"\xef\xbb\xbf" + text.replace("scale = ", "scale = -").encode())
    line = number("risk.toml", "scale = ")
    with pytest.raises(InvalidRules, match=f"line {line}: scale"):
        RiskRules.load()
