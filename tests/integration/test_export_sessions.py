"""`openclawbench export --to`: folders of labelled trajectories that other tools, and this program itself, open."""

import json
from pathlib import Path

import polars as pl
import pytest
from child import Ended, Ran, call, call_all, lines, table

pytestmark = pytest.mark.slow

KEPT = ["action_kind", "thinking", "narration", "action_text", "reflection_text", "tool_name_raw"]
Steps = list[tuple[str, list[list[str]]]]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exported sessions")


@pytest.fixture(scope="module")
def calls(small: Ran, out: Path) -> dict[str, Ended]:
    """The three exports, and what cannot be done."""
    on: list[str | Path] = ["--data", small.data]
    exports = call_all({form: ["export", "--to", form, *on, "-o", out / form] for form in ("atif", "scout", "pi")})
    wrong: dict[str, list[str | Path]] = {
        "no_such_form": ["export", "--to", "xml", *on, "-o", out / "xml"],
        "no_folder": ["export", "--to", "pi", *on],
        "both": ["export", "merge", "--to", "pi", *on, "-o", out / "both"],
        "neither": ["export", *on],
        "not_empty": ["export", "--to", "atif", *on, "-o", out / "pi"],
    }
    return exports | call_all(wrong)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_form", "export --to xml: there is no such form. Use one of: atif, scout, pi."),
        ("no_folder", "export --to pi: name a folder with -o."),
        ("both", "export: name a stage, or a form with --to."),
        ("neither", "export: name a stage, or a form with --to."),
        ("not_empty", "is not an empty folder. Name a new one."),
    ],
)
def test_what_cannot_be_done_is_refused(name: str, says: str, calls: dict[str, Ended], out: Path) -> None:
    assert (calls[name].status, calls[name].out) == (2, b"")
    assert says in calls[name].err
    assert not (out / "xml").exists()
    assert not (out / "both").exists()


@pytest.mark.parametrize("form", ["atif", "scout", "pi"])
def test_every_trajectory_is_exported(form: str, calls: dict[str, Ended], small: Ran, out: Path) -> None:
    assert calls[form].status == 0, calls[form].err
    assert "12 trajectories written to" in calls[form].text
    wanted = {f"{row['source_model']}/{row['trajectory_id']}" for row in table(small.data, "trajectory")}
    if form == "scout":
        frame = pl.read_parquet(out / "scout" / "*.parquet")
        assert set(frame["source_uri"].str.strip_prefix("openclawbench:")) == wanted
        assert frame["transcript_id"].n_unique() == frame.height
        assert not frame["transcript_id"].str.contains(r"[^A-Za-z0-9._:~-]").any()  # one part of an address
        assert set(frame["events"]) == {"[]"}
        assert all(isinstance(json.loads(text), list) for text in frame["messages"])
        return
    files = [path for path in (out / form).rglob("*") if path.is_file()]
    assert {f"{path.parent.name}/{path.stem}" for path in files} == wanted


def test_labels_are_those_of_the_release(calls: dict[str, Ended], small: Ran, out: Path) -> None:
    assert calls["atif"].status == 0
    masters = [row for path in (small.data / "release").rglob("master_table_all.jsonl") for row in lines(path)]
    frame = pl.read_parquet(out / "scout" / "*.parquet")
    assert len(masters) == 12
    for row in masters:
        name = f"{row['source_model']}/{row['trajectory_id']}"
        document = json.loads((out / "atif" / f"{name}.json").read_bytes())
        session = lines(out / "pi" / f"{name}.jsonl")
        transcript = json.loads(frame.filter(source_uri=f"openclawbench:{name}")["openclawbench"].item())
        label = {key: value for key, value in row.items() if key in document["extra"]["openclawbench"]}
        assert document["extra"]["openclawbench"] == label == session[-1]["data"] == transcript
        assert {"is_anomalous", "anomaly_type_l2", "evidence_steps", "quality_tier", "provenance"} <= label.keys()
        assert "steps" not in label


def texts_of_steps(data: Path) -> Steps:
    """Texts of the steps of each trajectory, in the order of what they say: formats form ids in different ways. A line
    end of Unicode in arguments is written as its escape in an export."""
    result: dict[tuple[str, str], list[list[str]]] = {}
    for row in sorted(table(data, "step"), key=lambda row: row["step_id"]):
        texts = [repr(row[name] and row[name].replace("\u2028", "\\u2028")) for name in KEPT]
        result.setdefault((row["source_model"], row["trajectory_id"]), []).append(texts)
    return sorted((model, steps) for (model, _), steps in result.items())


@pytest.mark.parametrize("form", ["atif", "pi"])
def test_the_program_reads_its_own_export(
    form: str, calls: dict[str, Ended], small: Ran, out: Path, tmp_path: Path
) -> None:
    assert calls[form].status == 0
    ended = call("normalize", "--raw", out / form, "--data", tmp_path / "data")
    assert ended.status == 0, ended.err
    before = texts_of_steps(small.data)
    if form == "atif":  # a result without a call has no tool name there
        before = [
            (m, [[*step[:-1], step[-1] if step[3] != "None" else "None"] for step in steps]) for m, steps in before
        ]
    assert len(before) == 12
    assert texts_of_steps(tmp_path / "data") == before
