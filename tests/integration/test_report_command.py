"""`openclawbench report`: files, headline and JSON; refused where the tables are not up to date."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from child import EXAMPLE, Ran, call, few_shards, files, table
from test_command_line import NASTY_TOOL, assert_harmless, nasty  # noqa: F401 (a fixture)

from openclawbench.construct.describe.describe import describe
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.construct.language import LanguageRules
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

PICTURES = {
    f"{name}.{kind}"
    for name in ("inventory", "alignment", "slices", "flags", "statuses", "rules")
    for kind in ("png", "svg")
}


@pytest.fixture
def reported(small: Ran, tmp_path: Path) -> Path:
    """A copy of a data folder in which a report may be written."""
    shutil.copytree(small.data, tmp_path / "data")
    return tmp_path / "data"


def test_the_evidence_report_is_files_a_headline_and_json(reported: Path) -> None:
    first = call("report", "evidence", "--data", reported)
    assert first.status == 0, first.err
    assert "code_execution" in first.text
    folder = reported / "work" / "reports" / "evidence"
    written = files(folder)
    assert set(written) == PICTURES | {"evidence.md", "evidence.json"}
    (folder / "left-over.png").write_bytes(b"")
    again = call("report", "evidence", "--data", reported, "--json")
    assert again.out == written["evidence.json"]
    assert files(folder) == written


def test_its_numbers_are_those_of_the_tables(reported: Path) -> None:
    sections = call("report", "evidence", "--data", reported, "--json").json["sections"]
    steps = table(reported, "aligned_descriptor")
    assert sections["inventory"]["facts"]["steps"] == len(steps)
    counted = {row["event_type"]: row["steps"] for row in sections["inventory"]["rows"]}
    assert {name: sum(step["event_type"] == name for step in steps) for name in counted} == counted
    assert sections["rules"]["facts"]["ids_in_no_file"] == 0
    slices = {row["slice_label"]: row["trajectories"] for row in sections["slices"]["rows"]}
    assert slices["total"] == len(table(reported, "risk"))


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data")
    ended = call("report", "evidence", "--data", data, env={"OPENCLAWBENCH_RAW": str(EXAMPLE / "raw")})
    assert (ended.status, ended.out) == (2, b"")
    assert "is not up to date. Run `openclawbench run" in ended.err
    assert not (data / "work" / "reports").exists()


def test_tables_of_former_rules_are_refused(reported: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    text = shipped_path("risk.toml").read_text()
    (rules / "risk.toml").write_text(text.replace("weight = 2.2", "weight = 2.3"))
    ended = call("report", "evidence", "--data", reported, env={"OPENCLAWBENCH_RULES": str(rules)})
    assert ended.status == 2
    assert "Risk is not up to date" in ended.err


def test_nothing_of_a_session_steers_a_terminal_or_the_markdown(nasty: Path) -> None:  # noqa: F811
    for arguments in ([], ["--json"]):
        ended = call("report", "evidence", "--data", nasty, *arguments)
        assert ended.status == 0, ended.err
        assert_harmless(ended.out + ended.err.encode())
    folder = nasty / "work" / "reports" / "evidence"
    assert_harmless((folder / "evidence.md").read_bytes())
    assert NASTY_TOOL in {
        row["tool_name_raw"]
        for row in json.loads((folder / "evidence.json").read_bytes())["sections"]["alignment"]["rows"]
    }


def test_commands_and_tools_whose_rules_never_fired_are_not_missed(reported: Path) -> None:
    """Without them the descriptors of the corpus are the same; without a rule that fired in part alone they are not."""
    sections = call("report", "evidence", "--data", reported, "--json").json["sections"]
    silent = {row["rule_id"] for row in sections["rules_never_fired"]["rows"]}
    in_part = {row["rule_id"] for row in sections["rules_fired"]["rows"] if not row["fired"]}
    steps = pl.read_parquet(reported / "work" / "step" / "*.parquet").lazy()
    shell, tools = ShellRules.load(), DescribeRules.load()

    def without(ids: set[str]) -> pl.DataFrame:
        fewer = shell.model_copy(update={"commands": [command for command in shell.commands if command.id not in ids]})
        verbs = {"verbs": [verb for verb in tools.verbs if verb.id not in ids]}
        return describe(steps, tools.model_copy(update=verbs), fewer, FlagRules.load(), LanguageRules.load()).collect()

    frame = without(set())
    assert len(silent & {command.id for command in shell.commands}) > 20
    assert without(silent).equals(frame)
    used = sorted(in_part & {command.id for command in shell.commands})
    assert used
    for entry in used:
        assert not without({entry}).equals(frame), entry
