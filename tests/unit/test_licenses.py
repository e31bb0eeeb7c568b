"""Licences of raw sessions: what allows no commercial use is kept out unless the user says otherwise, and is named."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from session_tables import document, jsonl, trace_row

from openclawbench.construct.normalize.normalize import normalize
from openclawbench.intake.intake import take_in
from openclawbench.intake.licenses import LICENSE, card_of
from openclawbench.records.session import FileOutcome, RunManifestRow, SourceFile, Trajectory
from openclawbench.release.input_files import counted, sorted_inputs
from openclawbench.release.provenance import stated_licenses
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.intake.tables import TableRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.schema import empty

RULES = TableRules.load()
CARD = "---\npretty_name: ClawsBench\nlicense: {}\ntags:\n- x\n---\n# A data set\n"
TITLE = "Creative Commons Attribution-NonCommercial-ShareAlike 4.0 International\n"


def read(tmp_path: Path, accept: bool = False) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, str | None]]:
    """(rows of files by path and member, trajectories, licence of each entry)."""
    intake = take_in(DataFolder(tmp_path / "data"), tmp_path / "raw", None, True, accept_noncommercial=accept)
    files, trajectories = [], []
    for shard in intake.entries:
        tables = normalize(intake.read(SourceFile, shard), empty(RunManifestRow).lazy(), NormalizeRules.load())
        built = dict(zip(normalize.writes, tables, strict=True))
        files += built[FileOutcome].collect().to_dicts()
        trajectories += built[Trajectory].collect().to_dicts()
    entries = [entry for some in intake.entries.values() for entry in some]
    licenses = {f"{entry.path}#{entry.member}": json.loads(entry.context or "{}").get(LICENSE) for entry in entries}
    return {f"{row['path']}#{row['member']}": row for row in files}, trajectories, licenses


def test_non_commercial_data_is_refused_by_name(tmp_path: Path) -> None:
    jsonl(tmp_path / "raw/claws/data/train.jsonl", [trace_row(1, 1.0)])
    (tmp_path / "raw/claws/README.md").write_text(CARD.format("cc-by-nc-sa-4.0"))
    jsonl(tmp_path / "raw/free/train.jsonl", [trace_row(2, 1.0)])
    files, trajectories, licenses = read(tmp_path)
    refused = files["claws/data/train.jsonl#line1"]
    assert (refused["disposition"], refused["reason"], refused["line"]) == ("quarantined", "noncommercial_license", 1)
    assert refused["records_in"] == 1
    text = (
        "claws/data/train.jsonl: line 1: is licensed cc-by-nc-sa-4.0 (claws/README.md), which allows no commercial use"
    )
    assert refused["message"].startswith(text)
    assert "--noncommercial accept" in refused["message"]
    assert [row["session_id"] for row in trajectories] == ["u-2"]
    assert licenses["claws/data/train.jsonl#line1"] == "cc-by-nc-sa-4.0"


def test_accepted_data_keeps_its_licence(tmp_path: Path) -> None:
    jsonl(tmp_path / "raw/claws/train.jsonl", [trace_row(1, 1.0)])
    card = tmp_path / "raw/claws/README.md"
    card.write_text(CARD.format("cc-by-nc-sa-4.0"))
    files, trajectories, licenses = read(tmp_path, accept=True)
    assert files["claws/train.jsonl#line1"]["disposition"] == "trajectory"
    assert [row["subset"] for row in trajectories] == ["email"]
    assert licenses["claws/train.jsonl#line1"] == "cc-by-nc-sa-4.0"
    card.write_text(CARD.format("apache-2.0"))  # the table itself has not changed
    assert read(tmp_path)[2]["claws/train.jsonl#line1"] == "apache-2.0"


def test_the_licence_of_a_row_comes_first(tmp_path: Path) -> None:
    rows = [trace_row(1, 1.0, license="mit"), trace_row(2, 1.0, license="CC-BY-NC-4.0"), trace_row(3, 1.0)]
    jsonl(tmp_path / "raw/m/train.jsonl", rows)
    (tmp_path / "raw/m/README.md").write_text(CARD.format("[cc-by-4.0]"))
    files, trajectories, licenses = read(tmp_path)
    assert [licenses[f"m/train.jsonl#line{n}"] for n in (1, 2, 3)] == ["mit", "CC-BY-NC-4.0", "cc-by-4.0"]
    assert {row["session_id"] for row in trajectories} == {"u-1", "u-3"}
    assert "(its row)" in files["m/train.jsonl#line2"]["message"]


@pytest.mark.parametrize("name", ["LICENSE", "LICENCE.txt"])
def test_a_licence_text_is_known_by_its_title(tmp_path: Path, name: str) -> None:
    path = tmp_path / "raw/m/job/trajectory.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document(1)))
    (tmp_path / f"raw/m/{name}").write_text(TITLE)
    files, trajectories, _ = read(tmp_path)
    assert trajectories == []
    assert files["m/job/trajectory.json#None"]["reason"] == "noncommercial_license"
    (tmp_path / f"raw/m/{name}").write_text("GNU GENERAL PUBLIC LICENSE\n" + "text\n" * 300 + "noncommercial license\n")
    assert len(read(tmp_path)[1]) == 1


@pytest.mark.parametrize(
    ("front", "license_name", "refused"),
    [
        ("license: cc-by-nc-4.0", "cc-by-nc-4.0", True),
        ("license:\n- mit\n- cc-by-nc-sa-3.0", "cc-by-nc-sa-3.0", True),
        ("license: other\nlicense_name: research-only-1", "research-only-1", True),
        ('license: "apache-2.0"  ', "apache-2.0", False),
        ("license: cc-by-sa-4.0", "cc-by-sa-4.0", False),
        ("license: llama3", "llama3", False),
        ("license: unknown", "unknown", False),
        ("license: openrail", "openrail", False),
    ],
)
def test_what_a_card_states(front: str, license_name: str, refused: bool) -> None:
    card = card_of("m/README.md", f"---\n{front}\n---\n", RULES)
    assert card["license"] == license_name
    assert RULES.license.is_noncommercial(license_name) is refused


def test_a_readme_without_front_matter_states_nothing() -> None:
    assert card_of("m/README.md", "# Notes\n\nlicense: cc-by-nc-4.0\n", RULES) == {}


def test_provenance_states_the_licences(tmp_path: Path) -> None:
    jsonl(tmp_path / "raw/m/train.jsonl", [trace_row(1, 1.0, license="cc-by-nc-4.0"), trace_row(2, 1.0)])
    intake = take_in(DataFolder(tmp_path / "data"), tmp_path / "raw", None, False, accept_noncommercial=True)
    manifest, rules = empty(RunManifestRow).lazy(), NormalizeRules.load()
    tables = [normalize(intake.read(SourceFile, shard), manifest, rules)[-1] for shard in intake.entries]
    licenses: Counter[str] = Counter()
    rows = pl.concat(counted(sorted_inputs(tables, tmp_path), licenses))
    assert rows["license"].to_list() == ["cc-by-nc-4.0", None]
    assert rows["disposition"].to_list() == ["trajectory", "trajectory"]
    stated = stated_licenses(licenses)
    assert [(entry.name, entry.title) for entry in stated] == [("cc-by-nc-4.0", "1 session, as their source states it")]
