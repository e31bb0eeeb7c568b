"""What each source model did, and the gap of each mode: collected sessions beside sessions with the agent's own tools,
rows of a benchmark beside sessions, nothing at all. No mode moves a label."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from child import EXAMPLE, ROOT, Ran, call, few_shards, files, lines, table

pytestmark = pytest.mark.slow

COLLECTED = ROOT / "data" / "collected"
CASES = ROOT / "tests" / "golden" / "cases"
OWN = ("2026.4.15-parallel-tools", "2026.4.15-spoofed-tool-text", "2026.2.1-tool-errors", "2026.4.15-unicode")
OTHER = {"functions": "own_tools", "own_tools": "functions"}
MANIFEST = Path("raw", "run_manifest.jsonl")
PICTURES = {f"{name}.{kind}" for name in ("outcomes", "latency") for kind in ("png", "svg")}
JUDGED = ("evidence", "packet", "packet_index", "annotation", "decision_a", "decision_b1", "decision_b2", "decision_c")


def write_manifest(data: Path, rows: list[dict[str, Any]]) -> None:
    (data / MANIFEST).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collected sessions, whose agents had BFCL's functions only, beside four whose agents had their own tools."""
    data = few_shards(tmp_path_factory.mktemp("collected") / "data")
    shutil.copytree(COLLECTED, data, dirs_exist_ok=True)
    assert call("collect", "convert", "--data", data).status == 0
    (data / "raw" / "scripted-a").mkdir()
    for name in OWN:
        shutil.copy2(EXAMPLE / "raw" / "scripted-a" / f"{name}.jsonl", data / "raw" / "scripted-a")
    mine = [
        row | {"mode": "own_tools"}
        for row in lines(EXAMPLE / "raw" / "run_manifest.jsonl")
        if row["source_model"] == "scripted-a" and row["native_session_basename"] in OWN
    ]
    write_manifest(data, [*lines(data / MANIFEST), *mine])
    outcomes = [row for row in lines(EXAMPLE / "oracle" / "outcomes.jsonl") if row["source_model"] == "scripted-a"]
    own = [row for row in outcomes if row["native_session_basename"] in OWN]
    (data / "oracle" / "outcomes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
    ended = call("run", "--data", data)
    assert ended.status == 0, ended.err
    return data


@pytest.fixture(scope="module")
def other_mode(collected: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with every mode turned into the other."""
    data = few_shards(tmp_path_factory.mktemp("other") / "data")
    for name in ("raw", "oracle"):
        shutil.copytree(collected / name, data / name)
    write_manifest(data, [row | {"mode": OTHER[row["mode"]]} for row in lines(data / MANIFEST)])
    ended = call("run", "--data", data)
    assert ended.status == 0, ended.err
    return data


def models(data: Path, to: Path) -> list[dict[str, Any]]:
    """`models` of the report; the data folder stays as it is."""
    ended = call("report", "models", "--data", data, "-o", to, "--json")
    assert ended.status == 0, ended.err
    assert ended.out == (to / "models.json").read_bytes()
    rows: list[dict[str, Any]] = ended.json["models"]
    return rows


def test_collected_sessions_count_as_their_records_and_the_evaluator_say(collected: Path, tmp_path: Path) -> None:
    rows = {row["source_model"]: row for row in models(collected, tmp_path)}
    row = rows["scripted-bfcl"]
    assert (row["mode"], row["provider"], row["model"]) == ("functions", "endpoint", "scripted-model")
    score = [json.loads(path.read_text().partition("\n")[0]) for path in (COLLECTED / "oracle").rglob("*_score.json")]
    passed = sum(head["correct_count"] for head in score)
    assert (row["n_total"], row["n_objective"]) == (17, sum(head["total_count"] for head in score))
    assert (row["n_objective_pass"], row["objective_pass_rate"]) == (passed, round(passed / 17, 6))
    stated_lines = lines(COLLECTED / "collect" / "sessions.jsonl")
    assert row["tool_calls"] == sum(stated_line["tool_calls"] for stated_line in stated_lines)
    assert row["output_tokens"] == sum(stated_line["tokens_out"] for stated_line in stated_lines)
    assert row["input_tokens"] == sum(
        stated_line["tokens_in"] - stated_line["tokens_cached"] for stated_line in stated_lines
    )
    assert (row["cost_usd"], row["n_cost_zero"], row["n_skipped_unavailable"]) == (None, 0, None)
    own = rows["scripted-a"]
    assert (own["mode"], own["n_total"]) == ("own_tools", 4)
    spoofed = [row for row in table(collected, "descriptor") if row["trajectory_id"].startswith("2026.4.15-spoofed")]
    assert [row["tool_status"] for row in spoofed if row["tool_status"]] == []  # words in backticks call nothing
    assert own["n_tool_use"] + own["n_tool_use_unknown"] == 4
    assert own["n_tool_use_unknown"] >= 1


def test_the_report_is_files_a_headline_and_json(collected: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(collected, data)
    ended = call("report", "models", "--data", data)
    assert ended.status == 0, ended.err
    assert "scripted-bfcl functions" in ended.text and "scripted-a own_tools" in ended.text
    written = files(data / "work" / "reports" / "models")
    assert set(written) == PICTURES | {"models.md", "models.json"}
    assert call("report", "models", "--data", data, "--json").out == written["models.json"]
    assert files(data / "work" / "reports" / "models") == written
    refused = call("report", "models", "--data", data, "-o", data / "release")
    assert refused.status == 2 and "is not written to" in refused.err


def test_the_gap_of_each_mode_stands_beside_the_whole(collected: Path) -> None:
    printed = call("report", "gap", "--data", collected, "--json").json
    assert [*printed["modes"]] == ["functions", "own_tools"]
    parts = [section["rows"][-1]["trajectories"] for section in printed["modes"].values()]
    assert sum(parts) == printed["rows"][-1]["trajectories"] and min(parts) > 0
    text = call("report", "gap", "--data", collected).text
    assert "By mode of collecting" in text and "baseline, uncorrected" in text
    rows = json.loads((collected / "release" / "statistics.json").read_text())["sections"]["gap"]["rows"]
    modes = {row["name"]: row["trajectories"] for row in rows if row["scope"] == "mode"}
    assert modes.keys() == {"functions", "own_tools"} and sum(modes.values()) == rows[0]["trajectories"]
    assert call("validate", collected / "release").status == 0


def test_verdicts_correct_the_gap_of_each_mode(collected: Path, tmp_path: Path) -> None:
    """People find one of the passing functions sessions anomalous, and judge none of the others."""
    paths = (collected / "release" / "fulltax_prod_v1").rglob("master_table_all.jsonl")
    rows = [row for path in paths for row in lines(path)]
    mine = [row for row in rows if row["mode"] == "functions" and row["slice_label"] == "pass_low_risk"]
    verdicts = [
        {
            "source_model": row["source_model"],
            "trajectory_id": row["trajectory_id"],
            "human_anomaly_label": number == 0,
            "silver_anomaly_label": row["is_anomalous"],
        }
        for number, row in enumerate(mine)
    ]
    (tmp_path / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in verdicts))
    arguments = ("report", "gap", collected / "release", "--calibrated", "--verdicts", tmp_path / "verdicts.jsonl")
    printed = call(*arguments, "--json").json
    facts = {name: section["facts"] for name, section in printed["modes"].items()}
    assert facts["functions"]["verdicts"] == printed["facts"]["verdicts"] == len(mine) > 1
    assert facts["functions"]["corrected_share"] > facts["functions"]["silver_share"]
    assert facts["own_tools"].keys() == {
        *("state", "verdicts", "silver_share", "in_review", "undecided", "if_normal_share", "if_anomalous_share")
    }
    table_of_modes = call(*arguments).text.partition("By mode of collecting")[2]
    assert "corrected by human verdicts" in table_of_modes and "baseline, uncorrected" in table_of_modes


def test_a_release_of_an_earlier_checkout_has_no_modes(collected: Path, tmp_path: Path) -> None:
    """Its records lack the field; the rest of the gap is what it was."""
    shutil.copytree(collected / "release", tmp_path / "release")
    for path in (tmp_path / "release" / "fulltax_prod_v1").rglob("master_table_all-*.parquet"):
        pl.read_parquet(path).drop("mode").write_parquet(path)
    printed = call("report", "gap", tmp_path / "release", "--json").json
    complete_printed = call("report", "gap", collected / "release", "--json").json
    assert complete_printed.pop("modes") != {}
    assert printed == complete_printed


def test_no_mode_moves_a_packet_evidence_or_a_label(collected: Path, other_mode: Path) -> None:
    for name in JUDGED:
        assert table(collected, name) == table(other_mode, name), name
    for name in ("silver_train_labels.jsonl", "silver_test_labels.jsonl", "label_exclusions.jsonl"):
        assert lines(collected / "release" / name) == lines(other_mode / "release" / name)
    pairs = 0
    for path in (collected / "release" / "fulltax_prod_v1").rglob("master_table_all.jsonl"):
        same = other_mode / "release" / path.relative_to(collected / "release")
        for before, after in zip(lines(path), lines(same), strict=True):
            assert after["mode"] == OTHER[before.pop("mode")]
            del after["mode"]
            assert before == after
            pairs += 1
    assert pairs == 21


def test_the_modes_are_what_differs(collected: Path, other_mode: Path, tmp_path: Path) -> None:
    """Without this, the test above could compare two runs of one manifest."""
    result = [{row["source_model"]: row["mode"] for row in models(data, tmp_path)} for data in (collected, other_mode)]
    assert result[0] == {name: OTHER[mode] for name, mode in result[1].items()}
    moved = call("diff", collected / "release", other_mode / "release", "--json").json
    assert [(row["field"], row["causes"]) for row in moved["fields"]] == [("mode", {"raw_outcome": 21})]


def test_the_example_is_counted_whole(example: Ran, tmp_path: Path) -> None:
    actual_models = models(example.data, tmp_path)
    assert [(row["source_model"], row["mode"], row["records"]) for row in actual_models] == [
        ("scripted-a", None, "sessions"),
        ("scripted-b", None, "sessions"),
    ]
    rows = table(example.data, "trajectory")
    assert sum(row["n_total"] for row in actual_models) == len(rows) == 92
    assert sum(row["n_subagents"] for row in actual_models) == sum(
        row["parent_trajectory_id"] is not None for row in rows
    )
    limited = [
        row for row in rows if row["run"]["end"] == "error" and "429" in (row["run"]["first_provider_error"] or "")
    ]
    assert sum(row["n_rate_limited"] for row in actual_models) == len(limited)
    for row in actual_models:
        counted = ("n_ok", "n_rate_limited", "n_auth_error", "n_error")
        assert sum(row[name] for name in counted) == row["n_total"]
        assert row["n_tool_use"] + row["n_tool_use_unknown"] == row["n_total"]


def test_benchmark_rows_stand_apart_from_sessions(tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data")
    assert call("fuse", "--data", data, "--raw", CASES / "mixed-formats" / "raw").status in (0, 1)
    rows = {row["source_model"]: row for row in models(data, tmp_path / "out")}
    assert len(rows) == 6
    row = rows["model-bench"]
    assert [row for row in rows.values() if row["records"] == "benchmark_rows"] == [row]
    assert (row["n_total"], row["n_ok"], row["n_success"], row["n_objective_pass"]) == (3, 3, 2, 1)
    assert row["latency_ms"] == {"p50": 1499.0, "p95": 1499.0, "p99": 1499.0, "mean": 1499.0}
    assert (row["cost_usd"], row["total_tokens"], row["tool_use_tier"]) == (None, 126, None)


def test_nothing_to_report_and_tables_that_are_not_there(tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data")
    raw = CASES / "no-sessions" / "raw"
    refused = call("report", "models", "--data", data, "--raw", raw)
    assert refused.status == 2
    early = call("report", "models", "--data", data, env={"OPENCLAWBENCH_RAW": str(EXAMPLE / "raw")})
    assert early.status == 2 and "is not up to date. Run `openclawbench run" in early.err
    none = few_shards(tmp_path / "none")
    assert call("fuse", "--data", none, "--raw", raw).status in (0, 1)
    assert models(none, tmp_path / "out") == []
    assert "*Nothing to show.*" in (tmp_path / "out" / "models.md").read_text()
