"""Who, which licence and what people said: one source for each fact, in every file of a release that says it."""

import csv
import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from child import ROOT, Ran, call, lines

from openclawbench.release.validate.validate import validate

pytestmark = pytest.mark.slow

GIVEN = {"license": "mit", "creator": "Ada Lovelace", "contact": "ada at example", "version": "1.2.0"}


def own_rules(folder: Path, **rules_text: str) -> dict[str, str]:
    """The environment of a run with these values in [dataset] of publish.toml."""
    text = (ROOT / "pipeline" / "openclawbench" / "release" / "publish.toml").read_text(encoding="utf-8")
    for name, value in rules_text.items():
        text, count = re.subn(rf'(?m)^{name} = ""', f'{name} = "{value}"', text)
        assert count == 1, name
    (folder / "rules").mkdir()
    (folder / "rules" / "publish.toml").write_text(text, encoding="utf-8")
    return {"OPENCLAWBENCH_RULES": str(folder / "rules")}


@pytest.fixture(scope="module")
def published(small: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of twelve sessions by somebody who says who they are."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(small.data, folder / "data")
    ended = call("release", "--data", folder / "data", env=own_rules(folder, **GIVEN))
    assert ended.status == 0, ended.err
    return folder / "data" / "release"


def said_of(release: Path) -> dict[str, Any]:
    """What each file says of licence and publisher."""
    text = (release / "README.md").read_text()
    croissant = json.loads((release / "croissant.json").read_text())
    package = json.loads((release / "datapackage.json").read_text())
    return {"front": text.split("---")[1], "text": text, "croissant": croissant, "package": package}


def test_what_is_given_stands_everywhere_alike(published: Path) -> None:
    statements = said_of(published)
    assert 'license: "mit"' in statements["front"]
    assert "Data: MIT (https://opensource.org/license/mit)." in statements["text"]
    assert "| creator | Ada Lovelace |" in statements["text"] and "| version | 1.2.0 |" in statements["text"]
    assert statements["croissant"]["license"] == "https://opensource.org/license/mit"
    assert (statements["croissant"]["creator"]["name"], statements["croissant"]["version"]) == ("Ada Lovelace", "1.2.0")
    assert statements["package"]["licenses"][0] == {"name": "MIT", "title": "data"}
    assert "CC-BY" not in statements["text"] and "This release names no" not in statements["text"]
    assert validate(published).ok


@pytest.mark.parametrize(
    ("name", "before", "after", "check"),
    [
        ("README.md", 'license: "mit"', 'license: "cc0-1.0"', "card"),
        ("README.md", "Data: MIT", "Data: CC0-1.0", "card"),
        ("croissant.json", "opensource.org/license/mit", "creativecommons.org/publicdomain/zero/1.0/", "croissant"),
        ("croissant.json", "Ada Lovelace", "Charles Babbage", "croissant"),
        (
            "datapackage.json",
            '"name": "MIT",\n   "title": "data"',
            '"name": "CC0-1.0",\n   "title": "data"',
            "datapackage",
        ),
        ("publish.toml", 'license = "mit"', 'license = "cc0-1.0"', "card"),
    ],
)
def test_another_word_in_one_of_them_is_found(
    published: Path, name: str, before: str, after: str, check: str, tmp_path: Path
) -> None:
    shutil.copytree(published, tmp_path / "release")
    path = tmp_path / "release" / name
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    assert check in validate(tmp_path / "release").counts


def test_what_is_not_given_is_assumed_nowhere(small: Ran) -> None:
    statements = said_of(small.data / "release")
    assert "\nlicense" not in statements["front"] and "bfcl" not in statements["front"].lower()
    assert (
        "names no creator and no licence" in statements["text"] and "Data: no licence is given." in statements["text"]
    )
    assert not statements["croissant"].keys() & {"license", "creator", "url", "version", "isBasedOn", "citeAs"}
    assert [entry["title"] for entry in statements["package"]["licenses"]] == ["code, rules, schemas and prompts"]


def test_the_code_of_the_card_runs(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    text = (published / "README.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)).replace("PATH_OR_REPO", str(published))
    actual_row: dict[str, Any] = {}
    exec(code, actual_row)
    labels = lines(published / "silver_train_labels.jsonl")
    assert len(actual_row["joined"]) == len([row for row in labels if row["label_status"] == "baseline"]) > 0
    for row, label in zip(actual_row["joined"], actual_row["labels"]["train"], strict=True):
        assert (row["trajectory_id"], row["is_anomalous"]) == (label["trajectory_id"], label["is_anomalous"])
        assert row["steps"]


def test_no_text_of_the_data_ends_the_example(published: Path) -> None:
    text = (published / "README.md").read_text().split("## An example")[1].split("## Columns")[0]
    assert text.count("```") == 2
    row = json.loads(text.split("```json")[1].split("```")[0])
    assert row["label_status"] == "baseline" and row["is_anomalous"] is True


def test_verdicts_reach_the_next_release_and_change_no_label(example: Ran, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(example.data, data)
    before = {path.name: path.read_bytes() for path in (data / "release").glob("silver_*.jsonl")}
    drawn = call("audit", "sample-calibration", "--data", data, "--json")
    assert drawn.status == 0, drawn.err
    sheet = next(Path(path) for path in drawn.json["sheets"] if path.endswith(".csv"))
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"), newline="")))
    for number, row in enumerate(rows):
        row["human_anomaly_label"] = "anomalous" if number == 0 else "normal"
        row["audit_comment"] = "written by zelda@example.org"
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    sheet.write_text(buffer.getvalue(), newline="")
    taken = call("audit", "import", sheet, "--reviewer", "Zelda", "--reviewed-at", "2026-11-21", "--data", data)
    assert taken.status == 0, taken.err
    raw, oracle = example.raw, example.raw.parent / "oracle"
    ended = call("release", "--data", data, "--raw", raw, "--oracle", oracle)
    assert ended.status == 0, ended.err
    release = data / "release"
    actual_lines = lines(release / "human_audited.jsonl")
    assert len(actual_lines) == len(rows) > 1
    assert {row["settled_by"] for row in actual_lines} == {"one reviewer"} and {
        row["label_status"] for row in actual_lines
    } == {"baseline"}
    assert {path.name: path.read_bytes() for path in release.glob("silver_*.jsonl")} == before
    every = b"".join(path.read_bytes() for path in release.rglob("*") if path.is_file())
    assert b"Zelda" not in every and b"zelda" not in every
    assert validate(release).ok
    card = (release / "README.md").read_text()
    assert "| `baseline` |" in card.split("## Human verdicts")[1]
    assert f"corrected by {len(rows)} human verdicts" in card
    corrected = call("report", "gap", release, "--calibrated", "--json")
    sections = json.loads((release / "statistics.json").read_text())["sections"]
    assert corrected.json == sections["corrected_gap"]
    for verdicts in (data, release / "human_audited.jsonl", release / "human_audited.parquet"):
        again = call("report", "gap", release, "--calibrated", "--verdicts", verdicts, "--json")
        assert again.json == corrected.json, again.err
    neyman = call("audit", "sample-calibration", "--allocate", "neyman", "--n", 8, "--data", data, "--json")
    assert neyman.status == 0, neyman.err
    assert sum(stratum["drawn"] for stratum in neyman.json["strata"]) == 8
    assert {stratum["silver_anomalous"] for stratum in neyman.json["strata"] if stratum["drawn"]} == {True, False}
    blind = next(Path(path) for path in neyman.json["sheets"] if path.endswith(".jsonl"))
    risk = {name: number for number, name in enumerate(neyman.json["drawn"])}
    slices = {row["trajectory_id"]: risk[row["slice_label"]] for row in lines(release / "calibration_pool.jsonl")}
    order = [(slices[row["trajectory_id"]], row["source_model"], row["trajectory_id"]) for row in lines(blind)]
    assert order == sorted(order)  # by slice and key: the silver label decides nothing in it
    fewer = tmp_path / "fewer" / "release"
    shutil.copytree(release, fewer)
    (fewer / "human_audited.jsonl").write_bytes(
        b"".join((release / "human_audited.jsonl").read_bytes().splitlines(True)[1:])
    )
    assert any("human_verdicts has" in finding.message for finding in validate(fewer).kept)
    for change in (
        {"human_anomaly_label": None},
        {"same_label": False},
        {"is_anomalous": None},
        {"agreement_status": "x"},
    ):
        copy = tmp_path / f"{next(iter(change))}{os.sep}release"
        shutil.copytree(release, copy)
        text = [json.dumps(actual_lines[0] | change), *(json.dumps(row) for row in actual_lines[1:])]
        (copy / "human_audited.jsonl").write_text("".join(f"{line}\n" for line in text))
        assert validate(copy).counts.keys() & {"human", "schema"}, change
