"""A second annotation pass: another judge on the same packets, beside the first pass and without a trace in it."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from asking import Endpoint, arguments, rules
from child import ROOT, Ran, call, few_shards, files, lines, manifest, redone, table

from openclawbench.release.validate.validate import validate
from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

BASELINE = "baseline_accepted"
OF_SECOND = ("annotation_pass2", "reference_label", "release_line_pass2")


def every_negative_audited(folder: Path) -> dict[str, str]:
    """The environment of a run that asks, in which the whole of Stage A's negatives goes through B1 as well."""
    env = rules(folder)
    text = shipped_path("control.toml").read_text(encoding="utf-8")
    assert "triage_escape_audit_share = 0.05" in text
    text = text.replace("triage_escape_audit_share = 0.05", "triage_escape_audit_share = 1.0")
    (folder / "rules" / "control.toml").write_text(text, encoding="utf-8")
    return env


def second(endpoint: Endpoint, data: Path, raw: Path, *more: str) -> list[str | Path]:
    """Arguments of a second pass by the scripted endpoint."""
    return arguments(endpoint, data, raw, "--pass", "2", *more, verb="annotate")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return every_negative_audited(tmp_path_factory.mktemp("rules"))


@pytest.fixture(scope="module")
def alone(small: Ran, env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a release by the rules judge, and no second pass."""
    data = few_shards(tmp_path_factory.mktemp("alone") / "data")
    ended = call("run", "--data", data, "--raw", small.raw, "--oracle", ROOT / "data" / "example" / "oracle", env=env)
    assert ended.status == 0, ended.err
    return data


@pytest.fixture(scope="module")
def both(
    alone: Path, small: Ran, env: dict[str, str], endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The same, with a second pass by a language model that sees few anomalies, and a release of both."""
    data = tmp_path_factory.mktemp("both") / "data"
    shutil.copytree(alone, data)
    endpoint.script(blind=0.6)
    ended = call(*second(endpoint, data, small.raw), env=env)
    assert ended.status == 0, ended.err
    ended = call("release", "--data", data, env=env)
    assert ended.status == 0, ended.err
    return data


def parts(data: Path) -> dict[str, bytes]:
    """Every part of a work table that is not the second pass's."""
    actual_files = files(data / "work")
    return {
        path: content for path, content in actual_files.items() if path.endswith(".parquet") and "pass2" not in path
    }


def test_the_first_pass_is_not_touched(alone: Path, both: Path) -> None:
    first, now = parts(alone), parts(both)
    assert {path: now[path] for path in first} == first
    assert {Path(path).parts[0] for path in now.keys() - first.keys()} == {"reference_label"}
    actual_files, other = files(alone / "release"), files(both / "release")
    # What lists or describes the files, or counts what both passes say.
    texts = {"README.md", "CHECKSUMS.sha256", "croissant.json", "datapackage.json", "statistics.json", "STATISTICS.md"}
    same = actual_files.keys() - texts - {name for name in actual_files if name.startswith(("prompts", "statistics/"))}
    assert {name: other[name] for name in same} == {name: actual_files[name] for name in same}
    new = {Path(name).name for name in other.keys() - actual_files.keys() if not name.startswith("prompts")}
    assert new == {f"stage_{s}_raw_pass2.jsonl" for s in ("a", "b1", "b2", "c")} | {
        "reference_pass_labels.jsonl",
        "both_high_confidence.jsonl",
        *(f"both_high_confidence{side}.parquet" for side in ("", "_train", "_test")),
    }


def test_its_labels_are_of_its_own_judge_and_differ(alone: Path, both: Path) -> None:
    first, again = table(both, "annotation"), table(both, "annotation_pass2")
    assert [row["trajectory_id"] for row in first] == [row["trajectory_id"] for row in again]
    assert {row["provenance"]["judge_model"] for row in again if row["stage_a"]} == {"test-model"}
    assert {row["provenance"]["judge"] for row in first if row["stage_a"]} == {"rules"}
    assert Counter(row["is_anomalous"] for row in again)[True] < Counter(row["is_anomalous"] for row in first)[True]
    assert manifest(both, "answer_a_pass2")["judge"]["model"] == "test-model"
    assert manifest(both, "answer_a")["judge"] == manifest(alone, "answer_a")["judge"]


def test_a_release_of_both_is_valid_and_says_who_judged(both: Path) -> None:
    findings = validate(both / "release")
    assert findings.ok, findings.kept
    readme = (both / "release" / "README.md").read_text()
    assert "`test-model` (judge: openai)" in readme and "reference_pass_labels.jsonl" in readme
    assert (both / "release" / "prompts" / "again").is_dir()
    references = {row["trajectory_id"]: row for row in lines(both / "release" / "reference_pass_labels.jsonl")}
    sure = {row["trajectory_id"] for row in lines(both / "release" / "both_high_confidence.jsonl")}
    assert sure == {name for name, row in references.items() if row["both_high_confidence"]}
    labels = {row["trajectory_id"]: row for row in table(both, "label_assignment")}
    assert {row["label_status"] for row in references.values()} == {"accepted"}
    assert {row["label_status"] for row in labels.values()} == {"baseline"}
    assert sure == set()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("reference_pass_labels.jsonl", {"both_high_confidence": True}),
        ("reference_pass_labels.jsonl", {"is_anomalous": True}),
        ("reference_pass_labels.jsonl", None),
        ("fulltax_prod_v1/scripted-a/stage_b1_raw_pass2.jsonl", {"stage": "c"}),
    ],
)
def test_what_a_release_says_of_the_second_pass_is_checked(
    name: str, change: dict[str, Any] | None, both: Path, tmp_path: Path
) -> None:
    shutil.copytree(both / "release", tmp_path / "release")
    path = tmp_path / "release" / name
    rows = lines(path)
    victim = next(n for n, row in enumerate(rows) if change is None or any(row[k] != v for k, v in change.items()))
    rows[victim : victim + 1] = [] if change is None else [rows[victim] | change]
    from openclawbench.base.canonical_json import canonical_json

    path.write_bytes(b"".join(canonical_json(row).encode() + b"\n" for row in rows))
    findings = validate(tmp_path / "release")
    assert findings.counts.keys() & {"second_pass", "labels"} and findings.counts.keys() > {"checksum"}


def test_a_missing_file_of_the_second_pass_is_named(both: Path, tmp_path: Path) -> None:
    shutil.copytree(both / "release", tmp_path / "release")
    (tmp_path / "release" / "both_high_confidence.jsonl").unlink()
    assert "both_high_confidence.jsonl" in {entry.file for entry in validate(tmp_path / "release").kept}


def test_nothing_is_asked_twice_and_status_knows_the_pass(
    both: Path, small: Ran, env: dict[str, str], endpoint: Endpoint, tmp_path: Path
) -> None:
    shutil.copytree(both, tmp_path / "data")
    endpoint.script()
    ended = call("annotate", "--pass", "2", "--data", tmp_path / "data", "--json", env=env | {"OPENAI_API_KEY": ""})
    assert sum(redone(ended).values()) == 0
    assert endpoint.log()["calls"] == 0
    stages = {
        row["stage"]: row for row in call("status", "--data", tmp_path / "data", "--json", env=env).json["stages"]
    }
    assert stages["repair_pass2"]["stale"] == stages["render_pass2"]["stale"] == 0


def test_a_release_never_asks_the_second_judge(
    both: Path, small: Ran, env: dict[str, str], endpoint: Endpoint, tmp_path: Path
) -> None:
    data, raw = tmp_path / "data", tmp_path / "raw"
    shutil.copytree(both, data)
    shutil.copytree(small.raw, raw)
    shutil.copy2(ROOT / "data/example/raw/scripted-a/2026.4.15-thinking.jsonl", raw / "scripted-a")
    endpoint.script(blind=0.6)
    refused = call("release", "--data", data, "--raw", raw, env=env)
    assert refused.status == 2 and "annotate --pass 2" in refused.err
    assert call("merge", "--data", data, "--raw", raw, env=env).status == 0
    path = data / "openclawbench.toml"
    path.write_text(path.read_text().replace(f'raw = "{small.raw}"', f'raw = "{raw}"'))
    stale = call("report", "agreement", "--data", data, env=env)
    assert stale.status == 2 and "AnnotationPass2 is not up to date. Run `openclawbench annotate --pass 2" in stale.err
    assert endpoint.log()["calls"] == 0
    ended = call(*second(endpoint, data, raw), env=env)
    assert ended.status == 0, ended.err
    assert 1 <= endpoint.log()["calls"] <= 4
    assert call("release", "--data", data, env=env).status == 0
    assert validate(data / "release").ok


def test_an_ended_second_pass_leaves_nothing_but_its_answers(
    alone: Path, both: Path, env: dict[str, str], endpoint: Endpoint, small: Ran, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(both, data)
    ended = call("annotate", "--pass", "2", "--judge", "none", "--data", data, env=env)
    assert ended.status == 0, ended.err
    assert call("release", "--data", data, env=env).status == 0
    assert files(data / "release") == files(alone / "release")
    assert not [path for name in OF_SECOND for path in (data / "work" / name).glob("*.parquet")]
    endpoint.script()
    assert call(*second(endpoint, data, small.raw), env=env | {"OPENAI_API_KEY": ""}).status == 0
    assert endpoint.log()["calls"] == 0
    assert table(data, "annotation_pass2") == table(both, "annotation_pass2")


def test_the_rules_judge_can_be_the_second_one_in_several_processes(
    small: Ran, both: Path, env: dict[str, str], endpoint: Endpoint, tmp_path: Path
) -> None:
    data = few_shards(tmp_path / "data")
    endpoint.script(blind=0.6)
    assert call(*arguments(endpoint, data, small.raw, verb="annotate"), env=env).status == 0
    again = ["annotate", "--pass", "2", "--judge", "rules", "--data", data, "--engine", "processes", "--workers", "2"]
    ended = call(*again, env=env)
    assert ended.status == 0 and "same_judge_twice" not in ended.err, ended.err
    for here, there in (("annotation", "annotation_pass2"), ("annotation_pass2", "annotation")):
        judged = [{k: v for k, v in row.items() if k != "provenance"} for row in table(data, here)]
        assert judged == [{k: v for k, v in row.items() if k != "provenance"} for row in table(both, there)]
    assert call("release", "--data", data, env=env).status == 0
    assert validate(data / "release").ok
    references = lines(data / "release" / "reference_pass_labels.jsonl")
    assert {row["label_status"] for row in references} == {"baseline"}
    assert not any(row["both_high_confidence"] for row in references)
    assert lines(data / "release" / "both_high_confidence.jsonl") == []


def test_one_judge_twice_is_said(alone: Path, env: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(alone, tmp_path / "data")
    nobody = call("annotate", "--pass", "2", "--data", tmp_path / "data", env=env)
    assert nobody.status == 2 and "which judge" in nobody.err
    ended = call("annotate", "--pass", "2", "--judge", "rules", "--data", tmp_path / "data", env=env)
    assert ended.status == 0 and "same_judge_twice" in ended.err
    printed = call("report", "agreement", "--data", tmp_path / "data", "--json", env=env).json
    assert "THE SAME JUDGE" in printed["about"]
    assert printed["sections"]["binary"]["facts"]["agree_share"] == 1.0
    assert call("release", "--data", tmp_path / "data", env=env).status == 0
    assert "Both passes have the same judge" in (tmp_path / "data" / "release" / "README.md").read_text()


def test_the_agreement_report_counts_what_the_tables_hold(both: Path, env: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(both, tmp_path / "data")
    ended = call("report", "agreement", "--data", tmp_path / "data", "--json", env=env)
    assert ended.status == 0, ended.err
    sections = ended.json["sections"]
    first, again = (
        {row["trajectory_id"]: row for row in table(both, name)} for name in ("annotation", "annotation_pass2")
    )
    decided = [name for name in first if None not in (first[name]["is_anomalous"], again[name]["is_anomalous"])]
    agree = [name for name in decided if first[name]["is_anomalous"] == again[name]["is_anomalous"]]
    row = sections["binary"]["rows"][0]
    assert (row["pairs"], row["agree"]) == (len(decided), len(agree))
    assert row["kappa_low"] <= row["kappa"] <= row["kappa_high"] < 1
    listed = {record["trajectory_id"] for record in sections["disagreements"]["rows"] if record["kind"] == "binary"}
    assert listed == set(decided) - set(agree) and listed
    sure = lines(both / "release" / "both_high_confidence.jsonl")
    assert sections["both_passes"]["facts"]["both_high_confidence"] == len(sure) == 0
    assert sections["both_passes"]["facts"]["baseline"] == sum(
        entry["quality_tier"] == BASELINE for entry in first.values()
    )
    assert "agreement with it does not measure" in ended.json["about"]
    pictures = {path.name for path in (tmp_path / "data" / "work" / "reports" / "agreement").glob("*.svg")}
    assert pictures == {"binary.svg", "subtype.svg", "subtype_confusion.svg"}


def test_without_a_second_pass_there_is_no_agreement(alone: Path, env: dict[str, str]) -> None:
    ended = call("report", "agreement", "--data", alone, env=env)
    assert ended.status == 2 and "annotate --pass 2" in ended.err


def test_the_triage_report_counts_escapes_which_touch_no_label(both: Path, env: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(both, tmp_path / "data")
    ended = call("report", "triage", "--data", tmp_path / "data", "--json", env=env)
    assert ended.status == 0, ended.err
    sections = ended.json["sections"]
    rows = {row["annotation_pass"]: row for row in sections["escape_rate"]["rows"] if row["source_model"] == "all"}
    seeing, blind = rows[1], rows[2]
    assert seeing["escapes"] == 0 and seeing["low_share"] == 0 < seeing["high_share"] <= seeing["exact_high_share"]
    assert blind["sampled"] == blind["negatives"] > seeing["negatives"]
    escaped = {row["trajectory_id"] for row in sections["escapes"]["rows"]}
    assert len(escaped) == blind["escapes"] > 0
    labels = {row["trajectory_id"]: row for row in table(both, "annotation_pass2")}
    assert {labels[name]["is_anomalous"] for name in escaped} == {False}
    assert {labels[name]["stage_b1"] for name in escaped} == {None}
    text = json.dumps(lines(both / "release" / "reference_pass_labels.jsonl"))
    assert all(name in text for name in escaped)


def test_explain_shows_both_decisions_and_what_they_cost(both: Path, env: dict[str, str]) -> None:
    first, again = (
        {row["trajectory_id"]: row for row in table(both, name)} for name in ("annotation", "annotation_pass2")
    )
    name = next(item for item in first if first[item]["is_anomalous"] and again[item]["is_anomalous"] is False)
    ended = call("explain", name, "--data", both, "--json", env=env)
    assert ended.status == 0, ended.err
    entry, other = ended.json["decisions"]
    assert (entry["judge"], entry["label"]["is_anomalous"], entry["cost_usd"]) == ("rules", True, 0.0)
    assert [stage["asked"]["saw"]["record"] for stage in entry["stages"].values()] == ["evidence"] * 4
    assert {tuple(stage["calls"]) for stage in entry["stages"].values()} == {()}
    assert (other["judge_model"], other["label"]["is_anomalous"]) == ("test-model", False)
    assert other["request_ids"] == again[name]["provenance"]["request_ids"] and other["cost_usd"] > 0
    stage_a, audit = other["stages"]["stage_a"], other["stages"]["stage_b1"]
    (paid,) = stage_a["calls"]
    assert paid["request_id"] == stage_a["answered"]["request_id"] in other["request_ids"]
    assert paid["attempts"] == 1 and paid["latency_s"] >= 0 and paid["answered_at"].endswith("Z") and paid["lost"] == []
    assert json.loads(stage_a["answered"]["response_text"])["route_label"] == "no_anomaly_evidence"
    assert audit["asked"]["purpose"] == "triage_escape_audit" and other["label"]["stages"]["stage_b1"] is None
    assert audit["read"]["answer"]["trajectory_is_anomalous"] is True
    text = call("explain", name, "--data", both, env=env).text
    assert "touches no label" in text and str(paid["request_id"]) in text and "pass 2: openai (test-model)" in text


def test_explain_shows_the_answer_that_could_not_be_used_and_what_was_lost(
    alone: Path, small: Ran, env: dict[str, str], endpoint: Endpoint, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(alone, data)
    endpoint.script(odd={"not_json": 1.0}, faults={"half_sent": 0.4})
    ended = call(*second(endpoint, data, small.raw, "--stage", "a"), env=env)
    assert ended.status == 0, ended.err
    jsons = [
        call("explain", row["trajectory_id"], "--data", data, "--json", env=env).json
        for row in table(data, "request_a")
    ]
    stages = [entry["decisions"][1]["stages"]["stage_a"] for entry in jsons]
    assert {stage["answered"]["former"]["outcome"] for stage in stages} == {"not_json"}
    assert {len(stage["calls"]) for stage in stages} == {2}
    assert {lost["reason"] for stage in stages for paid in stage["calls"] for lost in paid["lost"]} == {
        "connection_lost"
    }
    assert any(paid["attempts"] > 1 for stage in stages for paid in stage["calls"])
    assert all(entry["decisions"][1]["label"] is None for entry in jsons)
    text = call("explain", jsons[0]["trajectory_id"], "--data", data, env=env).text
    assert "could not be used: not_json" in text and "annotate --pass 2" in text
