"""What the pages show is what the commands say: lists, trajectories, raw records, reports, a release."""

import html
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import polars as pl
import pytest
from child import call
from serving import Served, Visitor

from openclawbench.api import open_data
from openclawbench.errors import NotFound, UsageError
from openclawbench.workbench.readers.data_folder import DataReader
from openclawbench.workbench.readers.index import FACETS, NONE, facets, in_order, read_query, select_rows
from openclawbench.workbench.server import in_background, prepare
from openclawbench.workspace import inputs
from openclawbench.workspace.last_run import differences

pytestmark = pytest.mark.slow

SESSION = "scripted-a/2026.6.11-error-escalation.957ec224"
TAG = re.compile(r"<[^>]+>")


def rows_of(text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


def test_the_list_has_every_trajectory(reader: Visitor, demo: Path) -> None:
    data = json.loads(reader.get("/t.json").text)
    keys = {(row["source_model"], row["trajectory_id"]) for row in data["rows"]}
    assert keys == set(open_data(demo).trajectories().select("source_model", "trajectory_id").iter_rows())
    assert data["total"] == data["matching"] == len(keys)


def test_filters_count_what_export_has(reader: Visitor, demo: Path) -> None:
    """Each facet's counts are those of the exported records."""
    merged = open_data(demo).table("merge")
    data = json.loads(reader.get("/t.json").text)
    for facet, column in (("tier", "quality_tier"), ("subtype", "anomaly_type_l2"), ("slice_label", "slice_label")):
        counts = {entry["value"]: entry["count"] for entry in data["facets"][facet]}
        exported = {NONE if value is None else value: count for value, count in merged[column].value_counts().rows()}
        assert counts == exported
    anomalous = rows_of(reader.get("/t.json", params={"label": "anomalous"}).text)
    assert len(anomalous) == merged.filter("is_anomalous").height > 0
    assert {row["label"] for row in anomalous} == {"anomalous"}


def test_a_facet_is_counted_under_the_other_filters() -> None:
    index = pl.DataFrame(
        {"label": ["normal", "normal", "anomalous"], "tier": ["a", "b", "b"], "source_model": ["m"] * 3}
        | {"trajectory_id": ["x", "y", "z"], "task_id": [None, "T1", "t2"]}
    ).with_columns(pl.lit(None, pl.String).alias(name) for name in FACETS.keys() - {"label", "tier", "source_model"})
    query = read_query([("tier", "b"), ("nonsense", "x")])
    counts = facets(index, select_rows(index, query), query)
    assert {entry["value"]: entry["count"] for entry in counts["label"]} == {"normal": 1, "anomalous": 1}
    assert {entry["value"]: entry["count"] for entry in counts["tier"]} == {"a": 1, "b": 2}
    assert select_rows(index, read_query([("q", "T")]))["trajectory_id"].to_list() == ["y", "z"]
    assert select_rows(index, read_query([("subset", NONE)])).height == 3
    backwards = read_query([("sort", "-trajectory_id")])
    assert in_order(index, backwards)["trajectory_id"].to_list() == ["z", "y", "x"]
    assert in_order(index, backwards, 1, 1)["trajectory_id"].to_list() == ["y"]


def test_nothing_matches_says_which_filter_could_go(reader: Visitor) -> None:
    text = reader.get("/t?label=anomalous&q=no-such-thing").text
    assert "Nothing matches" in text
    assert "Without the search there would be 9" in text
    assert "Search the text of the steps, too" in text


def test_ids_and_csv_are_what_is_shown(reader: Visitor) -> None:
    ids = reader.get("/t?label=anomalous&format=ids").text.splitlines()
    assert SESSION in ids
    assert len(ids) == len(rows_of(reader.get("/t.json?label=anomalous").text))
    assert reader.get("/t?label=anomalous&format=csv").text.count("\n") == len(ids) + 1


def test_a_text_is_found_in_steps_and_user_turns(reader: Visitor, demo: Path, tmp_path: Path) -> None:
    texts = {
        (view.source_model, view.trajectory_id): [
            (step.step_id, text)
            for step in view.evidence.steps
            for text in (step.thinking, step.narration, step.action_text, step.reflection_text)
            if text
        ]
        + [(0, turn.text) for turn in view.evidence.user_turns]
        for view in map(open_data(demo).trajectory, reader.get("/t?format=ids").text.split())
    }
    words = ["no such file", "ERROR", "größe", "файл", "文件"]
    with in_background(prepare(Path(shutil.copytree(demo / "release", tmp_path / "copy")))) as address:
        copy = Served(address, tmp_path).visitor()
        for word in words:
            first = {
                key: min([place for place, text in own if place and word.lower() in text.lower()], default=0)
                for key, own in texts.items()
                if any(word.lower() in text.lower() for _, text in own)
            }
            for visitor in (reader, copy):
                rows = rows_of(visitor.get("/t.json", params={"q": word, "in": "steps"}).text)
                hits = {
                    (row["source_model"], row["trajectory_id"]): row["hit"] for row in rows if row["hit"] is not None
                }
                assert hits == {key: first[key] for key in first.keys() & hits.keys()}
                assert visitor is copy or hits.keys() == first.keys()
    page = reader.get("/t?q=NO+SUCH+FILE&in=steps").text
    assert re.search(r'#s[0-9]+">', page)
    assert rows_of(reader.get("/t.json?q=NO+SUCH+FILE").text) == []


def test_columns_and_a_selection_are_in_the_address(reader: Visitor) -> None:
    text = reader.get("/t?columns=judge,nonsense").text
    assert re.findall(r'<th scope="col"><a [^>]*>([^<]*)</a>', text) == ["id", "judge"]
    ids = reader.get("/t?format=ids").text.split()
    picks = [("pick", ids[0]), ("pick", ids[3]), ("pick", "no/such")]
    assert reader.get("/t", params=[*picks, ("only", "selection"), ("format", "ids")]).text.split() == [ids[0], ids[3]]
    page = reader.get("/t", params=picks).text
    assert page.count(" checked>") == 2
    assert 'name="pick" value="no/such"' in page, "a selected row of another page stays selected"
    walked = reader.get(
        f"/t/{ids[0]}", params={"from": "&".join(f"{n}={v}" for n, v in picks) + "&only=selection"}
    ).text
    assert "1 of 2 in the list" in walked


def test_a_trajectory_shows_its_steps_label_and_quotes(reader: Visitor, demo: Path) -> None:
    text = reader.get(f"/t/{SESSION}").text
    view = open_data(demo).trajectory(SESSION)
    assert view.label is not None
    for step in view.evidence.steps:
        assert f'id="s{step.step_id}"' in text
    for number, quote in enumerate(view.label.evidence_steps, 1):
        marked = re.search(rf'<mark class="evidence" id="e{number}"><sup>{number}</sup>(.*?)</mark>', text, re.DOTALL)
        assert marked
        assert html.unescape(TAG.sub("", marked[1])) == quote.quote
    assert "is not there" not in text


def test_raw_panes_are_the_bytes_of_trace(reader: Visitor, demo: Path) -> None:
    for step in open_data(demo).trajectory(SESSION).steps:
        expected = [record.content.decode() for record in step.raw()]
        text = reader.get(f"/raw/{SESSION}?step={step.step_id}").text
        shown = [
            html.unescape(TAG.sub("", part))
            for part in re.findall(r'<div class="bytes" tabindex="0">(.*?)</div>', text)
        ]
        assert shown == expected
        for record in step.raw():
            assert f"{record.source_file}:{record.line} · byte {record.offset}, {record.length} long" in text


def test_why_has_the_rules_and_marks_of_explain(reader: Visitor, demo: Path) -> None:
    view = open_data(demo).trajectory(SESSION)
    for step in view.steps:
        text = reader.get(f"/why/{SESSION}?step={step.step_id}").text
        for value in step.explain().values:
            if value.step_id is None:
                continue
            assert value.rule is None or value.rule.rule_id in text
            for mark in value.marks:
                place = f'data-field="{mark.field}" data-start="{mark.start}" data-end="{mark.end}"'
                assert place in text
                field = getattr(step.record, mark.field)
                assert field[mark.start : mark.end] == mark.text


def test_why_says_what_a_status_was_read_from(reader: Visitor, demo: Path) -> None:
    """As `explain` does: not every result has details, and a rule may read another field."""
    view = open_data(demo).trajectory(SESSION)
    seen = set()
    for step in view.steps:
        explained = step.explain().as_dict["steps"][0]["tool_status"] if step.record.tool_name_raw else {}
        read = {name: value for name, value in explained.get("read_from", {}).items() if value is not None}
        text = html.unescape(TAG.sub("", reader.get(f"/why/{SESSION}?step={step.step_id}").text))
        for name in ("result_is_error", "result_details"):
            assert (f"{name.replace('_', ' ')}: " in text) == (name in read)
        seen |= set(read)
    assert seen


def test_what_changed_since_the_last_run_is_named(demo: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(demo, tmp_path / "data"))
    reader = DataReader(data)
    assert reader.looked_at()
    assert (reader.stale, reader.changed_rules) == ([], frozenset())
    for path in (data / "work" / "manifests").glob("*.json"):
        manifest = json.loads(path.read_text())
        if "flags.toml" in manifest.get("rules", {}):
            manifest["rules"]["flags.toml"]["digest"] = "0" * 64
        if manifest["stage"] == "onset":
            manifest["code"] = "0" * 64
        path.write_text(json.dumps(manifest))
    assert str(differences(reader.looked_at())) == "flags.toml; the modules of onset"


def test_a_page_beyond_the_last_is_the_last(reader: Visitor) -> None:
    assert json.loads(reader.get("/t.json?page=999").text)["page"] == 1
    assert SESSION.split("/")[1] in reader.get("/t?page=999").text


def test_the_usual_port_and_ctrl_c(demo: Path) -> None:
    command = [sys.executable, "-m", "openclawbench", "view", str(demo)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as second,
    ):
        assert first.stdout and second.stdout
        addresses = [program.stdout.readline().split()[-1] for program in (first, second) if program.stdout]
        with httpx.Client(follow_redirects=True) as browser:
            for address in addresses:
                assert browser.get(address).status_code == 200
            for address in addresses:
                assert browser.get(address.split("?")[0]).status_code == 200, "one cookie in place of another"
        for program in (first, second):
            program.send_signal(signal.SIGINT)
        rest, _ = first.communicate(timeout=30)
        second.communicate(timeout=30)
    assert "Verdicts are on disk" in rest
    assert (first.returncode, second.returncode) == (0, 0)
    assert len({urlsplit(address).port for address in addresses}) == 2


def test_panes_are_pages_of_their_own(reader: Visitor) -> None:
    for pane in ("raw", "why"):
        text = reader.get(f"/{pane}/{SESSION}", params={"step": 1}).text
        assert "/static/style.css" in text
        assert f'<a href="/t/{SESSION}#s1">step 1</a>' in text
        assert f'<div class="pane {pane}' in text
    assert "is not the number of a step" in reader.get(f"/raw/{SESSION}").text


def test_inputs_are_scanned_alike_in_a_process(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = DataReader(demo).looked_at()
    monkeypatch.setattr(inputs, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(inputs, "take_in", None)  # of this process
    there = DataReader(demo).looked_at()
    assert there.keys == here.keys
    assert [dict(there.intake.entries), dict(there.intake.oracle_rows)] == [
        dict(here.intake.entries),
        dict(here.intake.oracle_rows),
    ]
    monkeypatch.undo()
    data = Path(shutil.copytree(demo, tmp_path / "data"))
    manifest = data / "work" / "manifests" / "intake.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"files": 10**6}))
    settings = data / "openclawbench.toml"
    settings.write_text(f'raw = "{tmp_path / "gone"}"\n')
    reader = DataReader(data)
    with pytest.raises(NotFound, match="there is no such folder"):
        reader.looked_at()


def test_every_trajectory_opens(reader: Visitor) -> None:
    for row in rows_of(reader.get("/t.json").text):
        answer = reader.get(f"/t/{row['source_model']}/{row['trajectory_id']}")
        assert answer.status_code == 200
        assert answer.text.count('data-step="') == row["num_steps"]


def test_an_unknown_id_names_its_neighbours(reader: Visitor) -> None:
    answer = reader.get("/t/scripted-a/2026.6.11-error-escalation")
    assert answer.status_code == 404
    assert "2026.6.11-error-escalation.957ec224" in answer.text


def test_reports_are_those_of_the_commands(reader: Visitor, demo: Path) -> None:
    for name in ("coverage", "evidence", "triage", "models"):
        shown = json.loads(reader.get(f"/reports/{name}.json").text)
        printed = call("report", name, "--data", demo, "--json")
        assert printed.status == 0, printed.err
        assert shown["sections"] == json.loads(printed.out)["sections"]
    assert "second pass" in reader.get("/reports/agreement").text
    assert reader.get("/reports/nothing").status_code == 404


def test_two_releases(reader: Visitor, demo: Path, tmp_path: Path) -> None:
    release = demo / "release"
    assert "identical" in reader.get("/diff", params={"before": str(release)}).text
    other = shutil.copytree(release, tmp_path / "other")
    with (other / "splits.json").open("a") as file:
        file.write(" ")
    data = json.loads(reader.get("/diff.json", params={"before": str(other)}).text)
    assert not data["difference"]["identical"]
    page = reader.get(f"/t/{SESSION}", params={"against": str(other)}).text
    assert "The two labels say the same" in page
    assert f"Label of {other.name}" in page
    nothing = {"before": str(tmp_path / "nothing")}
    assert "neither a data folder nor a release" in reader.get("/diff", params=nothing).text
    assert reader.get("/diff.json", params=nothing).status_code == 400


def test_two_labels_show_what_differs(served: Served, auditor: Visitor) -> None:
    """A release before a correction: the label that was is beside the one that is, and only what differs is listed."""
    before = Path(shutil.copytree(served.data / "release", served.data.parent / "before"))
    model, _, name = SESSION.partition("/")
    for path in before.rglob("master_table*.parquet"):
        records = pl.read_parquet(path, glob=False)
        is_session = (pl.col("source_model") == model) & (pl.col("trajectory_id") == name)
        other = pl.when(pl.col("severity") == "low").then(pl.lit("high")).otherwise(pl.lit("low"))
        severity = pl.when(is_session).then(other).otherwise("severity").cast(records.schema["severity"])
        records.with_columns(severity.alias("severity")).write_parquet(path)
    page = auditor.get(f"/t/{SESSION}", params={"against": str(before)}).text
    differing = page.partition("What differs")[2].partition("</table>")[0]
    assert re.findall(r'<th scope="row">([^<]*)</th>', differing) == ["severity"]
    assert 'class="second"' in page
    gone = auditor.get(f"/t/{SESSION}", params={"against": str(before.parent / "nothing")})
    assert gone.status_code == 400


def test_what_if_shows_what_moves(auditor: Visitor) -> None:
    text = json.loads(auditor.get("/whatif.json?file=risk.toml").text)["text"]
    other = re.sub(r"(?m)^weight = .*$", "weight = 9.9", text, count=1)
    assert other != text
    job = auditor.post("/whatif", file="risk.toml", text=other)
    data = finished(auditor, job.url.path)
    assert data["error"] is None
    assert data["result"]["moved"] > 0
    assert "trajectories change" in auditor.get(job.url.path).text
    broken = finished(auditor, auditor.post("/whatif", file="risk.toml", text=text + "\nnonsense").url.path)
    assert "risk.toml" in broken["error"]
    assert "/tmp" not in broken["error"]
    kept = auditor.get(f"{job.url.path}/file")
    assert (kept.text, "risk.toml" in kept.headers["content-disposition"]) == (other, True)
    edited = json.loads(auditor.get("/whatif.json", params={"edit": job.url.path.split("/")[-1]}).text)
    assert (edited["file"], edited["text"]) == ("risk.toml", other)
    assert auditor.get("/whatif/no-such-job/file").status_code == 404
    same = finished(auditor, auditor.post("/whatif", file="risk.toml", text=text).url.path)
    assert same["result"]["moved"] == 0


def finished(visitor: Visitor, path: str) -> dict[str, Any]:
    import time

    for _ in range(600):
        data: dict[str, Any] = json.loads(visitor.get(f"{path}.json").text)
        if data["ended"]:
            return data
        time.sleep(0.05)
    raise AssertionError("the what-if does not end")


def test_a_copy_of_a_release_is_read_without_raw_lines(demo: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(demo, tmp_path / "data"))  # whose labels its person has seen is written there
    release = Path(shutil.copytree(demo / "release", tmp_path / "copy"))
    with in_background(prepare(release)) as address, in_background(prepare(data)) as other:
        visitor, complete_visitor = Served(address, release).visitor(), Served(other, data).visitor()
        assert "holds no raw lines" in visitor.get("/").text
        key = ("source_model", "trajectory_id", "label", "tier", "subtype", "num_steps", "oracle_outcome")
        rows, expected = (rows_of(v.get("/t.json").text) for v in (visitor, complete_visitor))
        assert [[row[name] for name in key] for row in rows] == [[row[name] for name in key] for row in expected]
        text = visitor.get(f"/t/{SESSION}").text
        assert 'id="e1"' in text
        assert visitor.get(f"/raw/{SESSION}?step=1").status_code == 404
        assert "data folder that it was made from" in visitor.get(f"/why/{SESSION}?step=1").text
        assert visitor.get("/q").status_code == 400
        assert visitor.get(f"/export/{SESSION}.html").status_code == 200


def test_a_folder_that_is_neither(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="openclawbench demo"):
        prepare(tmp_path)


def test_sessions_without_labels_and_outcomes_are_read(demo: Path, tmp_path: Path) -> None:
    """Only normalize and enrich: no label, no outcome, no release. And a folder in which no run has come to its end."""
    raw = tmp_path / "raw" / "m"
    raw.mkdir(parents=True)
    for path in sorted((Path(__file__).parents[2] / "data" / "example" / "raw" / "scripted-a").glob("*.jsonl"))[:3]:
        shutil.copy(path, raw)
    assert call("packet", "--data", tmp_path / "data", "--raw", tmp_path / "raw").status == 0
    with in_background(prepare(tmp_path / "data")) as address:
        visitor = Served(address, tmp_path / "data").visitor()
        assert "No trajectory has a label yet" in visitor.get("/").text
        (row, *_) = rows_of(visitor.get("/t.json").text)
        page = visitor.get(f"/t/{row['source_model']}/{row['trajectory_id']}")
        assert "No label yet" in page.text
    shutil.rmtree(tmp_path / "data" / "work" / "manifests")
    with in_background(prepare(tmp_path / "data")) as address:
        visitor = Served(address, tmp_path / "data").visitor()
        assert visitor.get("/").status_code == 200


def test_a_part_that_was_swept_away_is_a_page(served: Served, auditor: Visitor) -> None:
    assert auditor.get("/t").status_code == 200
    shutil.rmtree(served.data / "work" / "annotation")
    answer = auditor.get("/t/scripted-a/2026.2.1-tool-errors.b8418f64")
    assert answer.status_code in (200, 409)
    assert "Traceback" not in answer.text
    answer = auditor.get(f"/t/{SESSION}")
    assert answer.status_code in (200, 409)


def test_a_run_beside_it_is_noticed(served: Served, auditor: Visitor) -> None:
    assert "has changed since it was opened" not in auditor.get("/").text
    manifest = served.data / "work" / "manifests" / "merge.json"
    manifest.write_text(manifest.read_text() + " ")
    assert "has changed since it was opened" in auditor.get("/").text
    assert auditor.post("/reload").status_code == 200
    assert "has changed since it was opened" not in auditor.get("/").text
