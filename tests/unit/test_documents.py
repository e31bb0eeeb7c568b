"""README and docs: links lead somewhere, generated parts are up to date, and settings, reasons and files are named."""

import re
import tomllib
from pathlib import Path

import pytest

from openclawbench.cli.app import PANELS
from openclawbench.flow import FLOW
from openclawbench.records.json_schema import PUBLIC
from openclawbench.release.files.names import LINE_FILES
from openclawbench.workspace.configuration.setting_table import OTHER_VARIABLES, SETTINGS
from tools.site.fields import GROUPS
from tools.site.pages import PAGES, ROOT, stale, with_table
from tools.site.picture import ARROWS, BOXES, OUTSIDE, links_between_commands, stages_of_commands

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROOT_DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGE_FILES = sorted(DOCS.rglob("*.md"))
CODE = ROOT / "pipeline" / "openclawbench"


def read(name: str) -> str:
    """A page of docs/."""
    return (DOCS / name).read_text(encoding="utf-8")


def test_readme_and_changelog_are_short() -> None:
    assert len(README.splitlines()) <= 185
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 240


def test_generated_parts_of_committed_files_are_up_to_date() -> None:
    assert stale() == [], "run `python -m tools.site`"


def test_a_document_without_markers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("text <!-- flow:start --> text")
    with pytest.raises(ValueError, match="flow:end"):
        with_table(tmp_path / "page.md", "flow", "")


def test_the_table_and_the_picture_have_every_stage() -> None:
    table = README.partition("<!-- flow:start -->")[2].partition("<!-- flow:end -->")[0]
    named = re.findall(r"`(\w+)`", "".join(line.split("|")[2] for line in table.splitlines() if line.startswith("| `")))
    assert named == [stage.name for stage in FLOW]
    assert stages_of_commands().keys() <= BOXES.keys()


def test_the_readme_has_every_command_in_the_group_of_the_help() -> None:
    table = README.partition("## Commands")[2].partition("```")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ")][2:]
    named = {group.strip(): re.findall(r"`(\w+)`", names) for group, names in rows}
    named["pipeline"] += named.pop("single stages")
    assert named == {panel.lower(): list(commands) for panel, commands in PANELS.items()}


def test_an_arrow_of_the_picture_stands_for_a_table_that_is_read() -> None:
    assert set(ARROWS) - OUTSIDE <= links_between_commands()


@pytest.mark.parametrize("path", [*ROOT_DOCUMENTS, *PAGE_FILES], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    generated = {(DOCS / name).resolve() for name in PAGES} if path in PAGE_FILES else set()
    broken = [
        target
        for target in targets
        if target and not (path.parent / target).exists() and (path.parent / target).resolve() not in generated
    ]
    assert broken == []


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_commands_for_users_need_no_file_of_a_checkout(name: str) -> None:
    blocks = re.findall(r"^```console\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if not line.startswith("$ make ")]
    assert commands and [line for line in commands if re.search(r"\bpipeline/|\bdata/(example|collected)/", line)] == []


def test_pages_that_are_generated_are_told_of_where_a_reader_begins() -> None:
    section = read("index.md").partition("## Generated pages")[2].partition("!!!")[0]
    assert set(re.findall(r"\]\(([\w/]+\.md)\)", section)) == PAGES.keys()
    assert "docs/index.md#generated-pages" in README


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = re.findall(r"^ +- (?:[^:\n]+: )?([\w/.]+\.md)$", navigation, re.MULTILINE)
    assert len(pages) == len(set(pages)) and not re.search(r"^[<=>]{7}", navigation, re.MULTILINE)
    assert set(pages) == {str(path.relative_to(DOCS)) for path in PAGE_FILES} | PAGES.keys()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_has_a_title_and_no_open_table_cell(name: str) -> None:
    text = PAGES[name]()
    assert re.match(r"(---\n.*?\n---\n\n)?# ", text, re.DOTALL)
    for line in text.splitlines():
        assert not line.startswith("| ") or line.endswith(" |")


def test_every_public_record_stands_among_the_fields() -> None:
    page = PAGES["reference/fields.md"]()
    assert [name for name in PUBLIC if f"### `{name}`" not in page] == []
    assert {name for names in GROUPS.values() for name in names} <= PUBLIC.keys()


def test_settings_are_all_named() -> None:
    text = read("reference/settings.md")
    assert "`[bfcl.models]`" in text
    own = {setting.variable for setting in SETTINGS.values() if setting.variable}
    code = "\n".join(path.read_text(encoding="utf-8") for path in CODE.rglob("*.py"))
    assert set(re.findall(r'"(OPENCLAWBENCH_[A-Z_]+[A-Z])"', code)) <= own | OTHER_VARIABLES.keys()
    assert set(re.findall(r"OPENCLAWBENCH_[A-Z_]+", text)) == own | OTHER_VARIABLES.keys()


def test_reasons_are_all_named() -> None:
    folders = [CODE / name for name in ("construct/normalize", "sources", "intake")]
    text = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.rglob("*.py")))
    reasons = set(re.findall(r'(?:Fault\(|refuse\(file, |fault\(name, number, |"reason": )"(\w+)"', text))
    reasons |= {f"bfcl_{reason}" for reason in re.findall(r'unscorable\("(\w+)"', text)} | {"bfcl_failures_only"}
    assert {
        "empty_file",
        "bfcl_duplicate_ids",
        "bfcl_no_manifest",
        "broken_json",
        "torn_last_line",
        "oracle_malformed",
        "run_manifest_malformed",
    } <= reasons
    page = read("reference/reason_codes.md")
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in page] == []


def test_files_of_a_release_are_all_named() -> None:
    page = read("reference/release_files.md")
    for name in LINE_FILES:
        generic = re.sub(r"stage_\w+_raw", "stage_{a,b1,b2,c}_raw", name)
        assert f"`fulltax_prod_v1/<model>/{generic}`" in page


def test_numbers_of_the_readme_are_those_that_were_measured() -> None:
    right, of = re.findall(r"\| all \|.*\| (\d+)/(\d+) \(", read("why/evidence.md"))[0]
    assert f"{right} of {of} are right in every field" in " ".join(README.split())
    result, other, missed = re.findall(
        r"(\d+) are labelled .*?, (\d+) with another, (\d+) are missed", read("why/rules_judge.md")
    )[0]
    assert f"finds {result}, gives {other} another subtype and misses {missed}" in " ".join(README.split())
    (exam,) = re.findall(r"both twins right in (\d+ of \d+) \(", read("why/rules_judge.md"))
    assert f"gets {exam} pairs right" in " ".join(README.split())
    assert f"| {exam} (" in read("guides/exam.md")


def test_the_site_asks_nothing_of_the_network() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in text
    assert "://" not in text
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extra["docs"]) <= set(extra["dev"])


DECISIONS = [path for path in sorted((DOCS / "why" / "decisions").glob("*.md")) if path.name != "index.md"]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_decision_names_a_module_or_file_that_exists(path: Path) -> None:
    entries = path.read_text(encoding="utf-8").split("\n## ")[1:]
    assert entries
    for entry in entries:
        pointer = entry.strip().splitlines()[-1]
        assert pointer.startswith("*`"), entry.splitlines()[0]
        names = [name for name in re.findall(r"`([\w/.-]+)`", pointer) if "/" in name or "." in name]
        assert any((place / name).is_file() for name in names for place in (CODE, ROOT)), pointer
        assert [name for name in names if not (CODE / name).exists() and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", [*ROOT_DOCUMENTS, *DECISIONS], ids=lambda path: path.name)
def test_lines_of_prose_have_at_most_122_characters(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 122 and not line.startswith("|")] == []
