"""What a rule file takes from another has to be there: it is looked up when the file is read."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from openclawbench.errors import InvalidRules
from openclawbench.inspect.whatif.rules import read_own
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.trace import TraceRules
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.fulltax.repairs import RepairRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.loading.own_folder import PACKAGE, shipped_path
from openclawbench.rules.loading.references import texts_at
from openclawbench.rules.loading.rule_file import Rules, read_rules

Kind = type[Rules]


def own(folder: Path, monkeypatch: pytest.MonkeyPatch, file: str, *changes: tuple[str, str]) -> int:
    """Rules of one's own in force: a built-in file with some texts changed. The line of the first change."""
    text = shipped_path(file).read_text(encoding="utf-8")
    line = text.split(changes[0][0])[0].count("\n") + 1
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    (folder / file).write_text(text, encoding="utf-8")
    monkeypatch.setenv("OPENCLAWBENCH_RULES", str(folder))
    return line


CASES: list[tuple[Kind, str, str, list[str]]] = [
    (
        JudgeRules,
        'onset_order = "unsupported_onset"',
        'onset_order = "unsuported_onset"',
        ['fixes.onset_order: "unsuported_onset" is not one of unsupported_onset, ', "which repairs.toml has as fixes"],
    ),
    (
        JudgeRules,
        'onset_order = "unsupported_onset"',
        'onset_order = "malformed_span"',
        ["fixes.onset_order: malformed_span may not touch earliest_recoverable_onset"],
    ),
    (
        JudgeRules,
        'into = "weak_evidence_commitment"',
        'into = "capability_gap_overcommitment"',
        ['mechanism "act_before_end_of_job": taxonomy.toml lets error_ignored_escalation or ', "not capability_gap"],
    ),
    (
        JudgeRules,
        'subtype = "weak_evidence_commitment"\n',
        'subtype = "weak_evidence_commitment"\ninto = "weak_evidence_commitment"\n',
        ["weak_evidence_commitment is released, so `into` must be left out"],
    ),
    (
        TraceRules,
        '["process"]',
        '["proces"]',
        ['waiting_tools: "proces" is not one of the ', 'did you mean "process"?'],
    ),
    (
        NormalizeRules,
        'process_tools = ["process"]',
        'process_tools = ["processs"]',
        ["background.process_tools: ", 'did you mean "process"?', "which describe.toml has as tool.names"],
    ),
    (
        NormalizeRules,
        '["approval-pending"]',
        '["aproval-pending"]',
        ["background.awaiting: ", 'did you mean "approval-pending"?', "as status.values"],
    ),
    (DescribeRules, '\ntools = ["process"]', '\ntools = ["proces"]', ["clear.tools: "]),
]


@pytest.mark.parametrize(("kind", "old", "new", "says"), CASES)
def test_a_name_that_another_file_does_not_have_is_refused(
    kind: Kind, old: str, new: str, says: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(tmp_path, monkeypatch, kind.FILE, (old, new))
    with pytest.raises(InvalidRules) as error:
        kind.load()
    stated = str(error.value)
    assert re.match(rf"{tmp_path}/{kind.FILE}: lines? [0-9, and]+: ", stated), stated
    assert all(entry in stated for entry in says), stated
    assert stated.endswith("Correct one of the files.")


def test_a_report_that_counts_rules_where_there_are_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = tomllib.loads(shipped_path("evidence.toml").read_text(encoding="utf-8"))
    content["rule_file"][5]["names"] = ["signal.nam"]
    path = shipped_path("evidence.toml")
    rules = EvidenceReportRules.checked(content, path)
    with pytest.raises(InvalidRules, match=r"evidence\.toml: risk\.toml: has no signal\.nam"):
        rules.must_fit(content, path, read_rules)
    content["rule_file"][5]["stage"] = "slize"
    with pytest.raises(InvalidRules, match='did you mean "slice"'):
        EvidenceReportRules.checked(content, path)
    EvidenceReportRules.load()


def test_the_other_file_is_the_one_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = own(tmp_path, monkeypatch, "repairs.toml", ("unsupported_onset = [", "onset_off = ["))
    assert line
    RepairRules.load()
    with pytest.raises(InvalidRules, match=r"judge\.toml: lines? .*onset_off"):
        JudgeRules.load()
    changes = [(f'{name} = "unsupported_onset"', f'{name} = "onset_off"') for name in ("onset_order", "onset_outside")]
    changes += [
        ('contamination_without_state_write = "unsupported_onset"', 'contamination_without_state_write = "onset_off"')
    ]
    own(tmp_path, monkeypatch, "judge.toml", *changes)
    assert JudgeRules.load().fixes.onset_order == "onset_off"


def test_a_mechanism_or_a_group_that_detectors_need_may_not_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(tmp_path, monkeypatch, "judge.toml", ('id = "state_write_weak"', 'id = "state_write_feeble"'))
    with pytest.raises(InvalidRules, match="there is no mechanism state_write_weak, which detectors fire"):
        JudgeRules.load()
    own(tmp_path, monkeypatch, "judge.toml", ('group = "tool_gap"', 'group = "capability_gap"'))
    with pytest.raises(InvalidRules, match="no pattern has the group tool_gap"):
        JudgeRules.load()


def test_every_mechanism_that_a_detector_fires_is_in_the_shipped_rules() -> None:
    folder = PACKAGE / "fulltax" / "rules_judge"
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
    fired = set(re.findall(r'fire\(\s*trace,\s*"(\w+)"', text))
    known = {rule.id for rule in JudgeRules.load().mechanisms}
    assert fired and fired <= known


def test_spellings_of_a_tool_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own(tmp_path, monkeypatch, "trace.toml", ('["process"]', '["Process", "WebFetch"]'))
    assert TraceRules.load().waiting_tools == ["Process", "WebFetch"]


def test_what_if_asks_the_files_that_are_given_together(tmp_path: Path) -> None:
    describe = shipped_path("describe.toml").read_text(encoding="utf-8").replace('"process"', '"handler"')
    trace = shipped_path("trace.toml").read_text(encoding="utf-8").replace('"process"', '"handler"')
    kinds: dict[str, Kind] = {"describe.toml": DescribeRules, "trace.toml": TraceRules}
    (tmp_path / "trace.toml").write_text(trace, encoding="utf-8")
    with pytest.raises(InvalidRules, match=r"trace\.toml: line [0-9]+: waiting_tools: \"handler\" is not one of"):
        read_own([tmp_path / "trace.toml"], kinds)
    (tmp_path / "describe.toml").write_text(describe, encoding="utf-8")
    assert set(read_own([tmp_path], kinds)) == set(kinds)


def test_a_taxonomy_has_every_subtype_and_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shipped_path("taxonomy.toml").read_text(encoding="utf-8")
    own(
        tmp_path,
        monkeypatch,
        "taxonomy.toml",
        (text[text.index('[[candidate]]\nname = "parallel_coordination_breakdown"') :], ""),
    )
    with pytest.raises(InvalidRules, match="lacks parallel_coordination_breakdown"):
        Taxonomy.load()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("a", ["x"]),
        ("b.c", ["y", "z", "w"]),
        ("d{}", ["k"]),
        ("d.k", []),
        ("nowhere.at.all", []),
        ("a{}", []),
        ("b.c.deeper", []),
    ],
)
def test_texts_of_a_key_are_found_at_any_depth(key: str, expected: list[str]) -> None:
    content: dict[str, Any] = {"a": "x", "b": [{"c": ["y", "z"]}, {"c": "w"}, {"e": 1}], "d": {"k": 3}}
    assert list(texts_at(content, key)) == expected
