"""What each source model did: each number against rows made by hand, or against the benchmark's definitions in plain
Python."""

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from normalizing import SAMPLES, normalized_folder
from work_tables import tables

from openclawbench.errors import InvalidRules
from openclawbench.records.evidence import Descriptor
from openclawbench.records.oracle import FAILURES_ONLY, Fused, OracleRecord
from openclawbench.records.session import BenchmarkRow, RunContext, RunSummary, Trajectory
from openclawbench.reports import plots
from openclawbench.reports.files import as_files
from openclawbench.reports.models.report import HEADLINE, ModelsReport, headline, models_report
from openclawbench.reports.models.summary import FIELDS, tier
from openclawbench.reports.settings import ModelsReportRules

Row = dict[str, Any]
RULES = ModelsReportRules.load()
RUN: Row = dict.fromkeys(RunSummary.model_fields) | {"end": "completed"}
SUMMARY_JSON = [  # the schema's fields of an object of summary.json
    *("provider", "model", "thinking_level", "n_total", "n_ok", "n_success", "n_skipped_unavailable"),
    *("n_rate_limited", "n_error", "success_rate_ok", "objective_pass_rate", "wall_clock_ms", "latency_ms"),
    *("resources_before", "resources_after"),
]
SAID = {"provider": "p", "model": "m", "availability_status": "ok", "success": True}


def trajectory(number: int, run: Row | None = None, **more: Any) -> Row:
    blank = {"source_model": "s", "trajectory_id": f"t{number:03}", "num_steps": 1, "run": RUN | (run or {})}
    return blank | {"context": dict.fromkeys(RunContext.model_fields), "models": ["p/m"]} | more


def of_row(number: int, run: Row | None = None, **fields: Any) -> Row:
    """A row of a benchmark's results as a trajectory."""
    row = dict.fromkeys(BenchmarkRow.model_fields) | SAID | fields
    return trajectory(number, run, source_model="bench", benchmark=row, models=[])


def call(number: int, step: int, status: str | None) -> Row:
    return {"source_model": "s", "trajectory_id": f"t{number:03}", "step_id": step, "tool_status": status}


def outcome(number: int, word: str | None, model: str = "s", **oracle: Any) -> Row:
    record = dict.fromkeys(OracleRecord.model_fields) | {"flags": [], "status": "scored"} | oracle
    record["success"] = None if word is None else word == "pass"
    return {"source_model": model, "trajectory_id": f"t{number:03}", "oracle_outcome": word, "oracle": record}


def report(
    trajectories: Sequence[Row], calls: Sequence[Row] = (), outcomes: Sequence[Row] = (), **more: Any
) -> ModelsReport:
    inputs = {Trajectory: [*trajectories], Descriptor: [*calls], Fused: [*outcomes]}
    return models_report(tables(inputs | more))


def summary(*arguments: Any) -> Row:
    """The one summary of these rows."""
    (result,) = report(*arguments).models
    return result


def test_a_row_counts_under_the_word_that_it_says() -> None:
    words = ["ok", "ok", "skipped_unavailable", "rate_limited", "auth_error", "error", "error", "on_holiday", None]
    rows = [of_row(n, availability_status=word, success=n == 0) for n, word in enumerate(words)]
    actual_summary = summary(rows)
    assert (actual_summary["records"], actual_summary["provider"], actual_summary["model"]) == (
        "benchmark_rows",
        "p",
        "m",
    )
    assert (actual_summary["n_total"], actual_summary["n_ok"], actual_summary["n_success"]) == (9, 2, 1)
    assert (
        actual_summary["n_skipped_unavailable"],
        actual_summary["n_rate_limited"],
        actual_summary["n_auth_error"],
    ) == (1, 1, 1)
    assert (actual_summary["n_error"], actual_summary["n_availability_unknown"], actual_summary["success_rate_ok"]) == (
        2,
        2,
        0.5,
    )
    counted = ("n_ok", "n_skipped_unavailable", "n_rate_limited", "n_auth_error", "n_error", "n_availability_unknown")
    assert sum(actual_summary[name] for name in counted) == actual_summary["n_total"]


def test_a_rows_own_verdicts_count_among_its_successful_calls_alone() -> None:
    """A validator also looks at the text of an error; the benchmark leaves that out, and so does the rate."""
    rows = [
        of_row(0, objective_pass=True, tool_use_success=True),
        of_row(1, objective_pass=False, tool_use_success=False),
        of_row(2, objective_pass=None, tool_use_success=None),
        of_row(3, success=False, objective_pass=False, tool_use_success=False),
        of_row(4, availability_status="rate_limited", success=False, objective_pass=False, tool_use_success=False),
        of_row(5, success=None, objective_pass=True),
    ]
    actual_summary = summary(rows)
    assert (
        actual_summary["n_objective"],
        actual_summary["n_objective_pass"],
        actual_summary["objective_pass_rate"],
    ) == (2, 1, 0.5)
    assert (actual_summary["n_objective_unknown"], actual_summary["n_objective_unsuccessful"]) == (1, 3)
    assert (actual_summary["n_success"], actual_summary["n_success_unknown"], actual_summary["success_rate_ok"]) == (
        3,
        1,
        0.75,
    )
    assert (
        actual_summary["n_tool_use"],
        actual_summary["n_tool_use_success"],
        actual_summary["n_tool_use_unknown"],
    ) == (3, 1, 3)
    assert actual_summary["tool_use_tier"] == 3
    assert "nothing called" in actual_summary["tool_use_basis"]
    assert (
        actual_summary["tool_calls"],
        actual_summary["tool_calls_ok"],
        actual_summary["tool_call_success_rate"],
    ) == (None, None, None)


def test_another_outcome_of_a_row_does_not_replace_its_own() -> None:
    actual_summary = summary([of_row(0, objective_pass=True)], [], [outcome(0, "fail", "bench")])
    assert (actual_summary["n_objective"], actual_summary["n_objective_pass"]) == (1, 1)


def test_thinking_levels_and_models_of_a_file_are_apart() -> None:
    rows = [of_row(0), of_row(1, thinking_level="high"), of_row(2, model="n"), of_row(3, provider="q")]
    result = [(row["provider"], row["model"], row["thinking_level"]) for row in report(rows).models]
    assert result == [("p", "m", None), ("p", "m", "high"), ("p", "n", None), ("q", "m", None)]


def test_tool_use_of_a_session_is_what_was_called_and_how_it_ended() -> None:
    """One of several ended well; all failed; nobody knows; nothing was called, whatever a reply says in backticks."""
    statuses = [["error", "ok"], ["error", "denied"], ["unknown", "error"], [None, None], [], ["ok"]]
    calls = [call(n, step, status) for n, some in enumerate(statuses) for step, status in enumerate(some, 1)]
    actual_summary = summary([trajectory(n) for n in range(len(statuses))], calls)
    assert (
        actual_summary["n_tool_use"],
        actual_summary["n_tool_use_success"],
        actual_summary["n_tool_use_unknown"],
    ) == (3, 2, 3)
    assert (actual_summary["tool_use_success_rate"], actual_summary["tool_use_tier"]) == (0.666667, 2)
    assert (actual_summary["tool_calls"], actual_summary["tool_calls_ok"], actual_summary["tool_calls_failed"]) == (
        7,
        2,
        4,
    )
    assert actual_summary["tool_call_success_rate"] == 0.333333
    assert actual_summary["tool_use_basis"].startswith("tool calls of the session")


@pytest.mark.parametrize(
    ("part", "threshold", "expected"),
    [(0, 0, None), (4, 5, 1), (80, 100, 1), (799, 1000, 2), (1, 2, 2), (49, 100, 3), (499999, 1000000, 3), (0, 1, 3)],
)
def test_a_tier_begins_where_the_benchmark_says(part: int, threshold: int, expected: int | None) -> None:
    assert tier(part, threshold, RULES) == expected


ENDS = [
    ({"end": "completed"}, {}, "n_ok", True),
    ({"end": "completed", "first_provider_error": "429 Too Many Requests"}, {}, "n_ok", True),
    ({"end": "completed"}, {"num_steps": 0}, "n_ok", False),
    ({"end": "completed"}, {"context": {"aborted_last_run": True}}, "n_ok", False),
    ({"end": "aborted"}, {}, "n_ok", False),
    ({"end": "timeout"}, {}, "n_ok", False),
    ({"end": "unanswered"}, {}, "n_ok", False),
    ({"end": "error"}, {}, "n_error", False),
    ({"end": "error", "first_provider_error": "HTTP 500: boom"}, {}, "n_error", False),
    ({"end": "error", "first_provider_error": "429 You exceeded your current quota"}, {}, "n_rate_limited", False),
    ({"end": "error", "first_provider_error": "Rate limit reached for requests"}, {}, "n_rate_limited", False),
    ({"end": "error", "first_provider_error": "401 Incorrect API key provided"}, {}, "n_auth_error", False),
    ({"end": "error", "first_provider_error": "status_code: 403, body: no"}, {}, "n_auth_error", False),
    ({"end": "error", "first_provider_error": "400 messages resulted in 429 tokens"}, {}, "n_error", False),
]


@pytest.mark.parametrize(("run", "more", "counted", "success"), ENDS)
def test_a_session_counts_by_how_its_run_ended(run: Row, more: Row, counted: str, success: bool) -> None:
    context = dict.fromkeys(RunContext.model_fields) | more.get("context", {})
    actual_summary = summary([trajectory(0, run, **(more | {"context": context}))])
    names = ("n_ok", "n_rate_limited", "n_auth_error", "n_error")
    assert {name: actual_summary[name] for name in names} == dict.fromkeys(names, 0) | {counted: 1}
    assert actual_summary["n_success"] == success
    assert actual_summary["n_skipped_unavailable"] is None  # a session that was not made leaves no record


def test_what_the_infrastructure_ended_did_not_go_through() -> None:
    rows = [trajectory(n) for n in range(3)]
    why = ["Error during inference: 429 slow down", "the container died", None]
    outcomes = [outcome(n, None, status="infra_error", error_message=text) for n, text in enumerate(why)]
    actual_summary = summary(rows, [], outcomes)
    assert (
        actual_summary["n_ok"],
        actual_summary["n_rate_limited"],
        actual_summary["n_error"],
        actual_summary["success_rate_ok"],
    ) == (0, 1, 2, None)


def test_failures_without_known_passes_are_counted_and_in_no_rate() -> None:
    outcomes = [outcome(0, "pass"), outcome(1, "fail"), outcome(2, "fail", flags=[FAILURES_ONLY]), outcome(3, None)]
    actual_summary = summary([trajectory(n) for n in range(5)], [], outcomes)
    assert (
        actual_summary["n_objective"],
        actual_summary["n_objective_pass"],
        actual_summary["objective_pass_rate"],
    ) == (2, 1, 0.5)
    assert (actual_summary["n_objective_unknown"], actual_summary["n_failures_only"]) == (3, 1)


def test_what_nobody_says_is_null_and_counted() -> None:
    for row in (trajectory(0), of_row(0, **dict.fromkeys(SAID))):
        actual_summary = summary([row])
        figures = ("wall_clock_ms", "input_tokens", "output_tokens", "total_tokens", "cost_usd", "objective_pass_rate")
        assert [actual_summary[name] for name in figures] == [None] * 6
        assert (
            actual_summary["n_tokens_unknown"],
            actual_summary["n_cost_unknown"],
            actual_summary["n_wall_clock_unknown"],
        ) == (1, 1, 1)
        assert actual_summary["latency_ms"] == dict.fromkeys(("p50", "p95", "p99", "mean"))
        assert (
            actual_summary["tool_use_success_rate"],
            actual_summary["tool_use_tier"],
            actual_summary["n_cost_zero"],
        ) == (None, None, 0)


def test_sums_leave_out_what_is_not_said() -> None:
    runs = [{"input_tokens": 3, "output_tokens": 1, "cost_usd": 0.1}, {"output_tokens": 2, "cost_usd": 0.0}, {}]
    actual_summary = summary([trajectory(n, run) for n, run in enumerate(runs)])
    assert (actual_summary["input_tokens"], actual_summary["output_tokens"], actual_summary["total_tokens"]) == (
        3,
        3,
        None,
    )
    assert (
        actual_summary["n_tokens_unknown"],
        actual_summary["cost_usd"],
        actual_summary["n_cost_unknown"],
        actual_summary["n_cost_zero"],
    ) == (
        1,
        0.1,
        1,
        1,
    )


def at(seconds: float) -> str:
    whole_seconds = int(seconds)
    return (
        f"2026-11-25T10:{whole_seconds // 60:02}:{whole_seconds % 60:02}.{round((seconds - whole_seconds) * 1000):03}Z"
    )


def test_the_wall_clock_counts_what_runs_at_once_once_and_no_pause() -> None:
    spans = [(0, 10), (2, 4), (5, 12.5), (100, 101), (100, 101)]
    rows = [
        trajectory(n, {"started_at": at(begin), "ended_at": at(end), "wall_time_s": float(end - begin)})
        for n, (begin, end) in enumerate(spans)
    ]
    alone = trajectory(9, {"started_at": at(7), "ended_at": at(7)})  # of one record alone a time is known
    actual_summary = summary([*rows, alone])
    assert (actual_summary["wall_clock_ms"], actual_summary["n_wall_clock_unknown"]) == (13500, 1)


def percentile(values: list[float], part: float) -> float:
    """The benchmark's: linear between ranks."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * part
    low, high = math.floor(place), math.ceil(place)
    return ordered[low] if low == high else ordered[low] * (high - place) + ordered[high] * (place - low)


ROW = st.fixed_dictionaries(
    {
        "availability_status": st.sampled_from(["ok", "ok", "ok", "error", "rate_limited", "skipped_unavailable"]),
        "success": st.booleans(),
        "objective_pass": st.none() | st.booleans(),
        "e2e_ms": st.none() | st.integers(0, 10**6).map(float),
        "thinking_level": st.none() | st.just("low"),
    }
)


@given(st.lists(ROW, max_size=30))
def test_the_numbers_are_those_of_the_benchmarks_definitions(fields: list[Row]) -> None:
    rows = {row["thinking_level"]: row for row in report([of_row(n, **row) for n, row in enumerate(fields)]).models}
    assert rows.keys() == {row["thinking_level"] for row in fields}
    for level, row in rows.items():
        own = [entry for entry in fields if entry["thinking_level"] == level]
        ok = [entry for entry in own if entry["availability_status"] == "ok"]
        success = [entry for entry in ok if entry["success"]]
        checked = [entry["objective_pass"] for entry in success if entry["objective_pass"] is not None]
        times = [entry["e2e_ms"] for entry in success if entry["e2e_ms"] is not None]
        assert (row["n_total"], row["n_ok"], row["n_success"]) == (len(own), len(ok), len(success))
        assert row["success_rate_ok"] == (round(len(success) / len(ok), 6) if ok else None)
        assert row["objective_pass_rate"] == (round(sum(checked) / len(checked), 6) if checked else None)
        expected: dict[str, float | None] = dict.fromkeys(("p50", "p95", "p99", "mean"))
        if times:
            expected = {name: percentile(times, part) for name, part in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}
            expected["mean"] = statistics.mean(times)
        assert row["latency_ms"] == pytest.approx(expected, abs=1e-3)


def test_modes_are_apart_where_they_are_known() -> None:
    modes = ["functions", "own_tools", None, "functions"]
    actual_models_report = report([trajectory(n, mode=mode) for n, mode in enumerate(modes)])
    assert [(row["mode"], row["n_total"]) for row in actual_models_report.models] == [
        (None, 1),
        ("functions", 2),
        ("own_tools", 1),
    ]
    assert [row[0] for row in headline(actual_models_report)] == ["s mode not said", "s functions", "s own_tools"]
    unsaid = report([trajectory(0)])
    assert [row[0] for row in headline(unsaid)] == ["s"]
    assert "mode" not in unsaid.sections[0].columns


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (["functions", None], "functions"),
        (["functions", "own_tools"], None),
        ([None, None], None),
        (["odd words", "odd words"], "odd words"),
    ],
)
def test_a_mode_that_two_names_of_a_session_contradict_is_not_known(
    modes: list[str | None], expected: str | None, tmp_path: Path
) -> None:
    """A session and its copy, each with a line of the run manifest; the task stays known."""
    folder = tmp_path / "raw" / "s"
    folder.mkdir(parents=True)
    content = (SAMPLES / "2026.4.15" / "one-tool-exec.jsonl").read_bytes()
    for name in ("first", "second"):
        (folder / f"{name}.jsonl").write_bytes(content)
    row = {"source_model": "s", "task_id": "simple_python_0", "subset": "simple_python", "attempt": 1}
    names = [row | {"native_session_basename": name} for name in ("first", "second")]
    rows = [line | ({"mode": mode} if mode else {}) for line, mode in zip(names, modes, strict=True)]
    (tmp_path / "raw" / "run_manifest.jsonl").write_text("".join(json.dumps(line) + "\n" for line in rows))
    _, normalized = normalized_folder(tmp_path / "raw", tmp_path / "data")
    (result,) = normalized.trajectories
    assert (result["mode"], result["task_id"], result["attempt"]) == (expected, "simple_python_0", 1)


def test_the_model_of_sessions_is_named_where_there_is_one_alone() -> None:
    named: list[tuple[list[list[str]], Any]] = [
        ([["p/a/b"], ["p/a/b"], []], ("p", "a/b")),
        ([["p/a"], ["p/b"]], (None, None)),
        ([["bare"]], (None, "bare")),
        ([[]], (None, None)),
    ]
    for models, expected in named:
        actual_summary = summary([trajectory(n, models=names) for n, names in enumerate(models)])
        assert (actual_summary["provider"], actual_summary["model"]) == expected
        assert actual_summary["models"] == sorted({name for names in models for name in names})


def test_the_json_has_the_shape_of_the_benchmarks_summary() -> None:
    data = report([trajectory(0, parent_trajectory_id="t9"), of_row(1)]).data()
    for row in data["models"]:
        assert [*row] == [*FIELDS] == [*data["definitions"]]
        assert set(SUMMARY_JSON) <= row.keys()
        assert [*row["latency_ms"]] == ["p50", "p95", "p99", "mean"]
    assert [row["n_subagents"] for row in data["models"]] == [0, 1]
    assert json.loads(json.dumps(data)) == data


def test_nothing_at_all_is_a_report_without_rows() -> None:
    empty = report([])
    assert (empty.models, headline(empty)) == ([], [])
    files = as_files(empty)
    assert set(files) == {"models.md", "models.json"}
    assert files["models.md"].count(b"*Nothing to show.*") == len(empty.sections)


def test_text_of_a_session_is_a_code_span_and_a_label() -> None:
    nasty = "`|[x](y)\x1b[31m"
    actual_models_report = report([trajectory(0, mode=nasty, models=[nasty]), of_row(1, model=nasty)])
    text = as_files(actual_models_report)["models.md"].decode()
    assert "\x1b" not in text
    assert "`\\x60\\x7c[x](y)\\x1b[31m`" in text
    assert len(headline(actual_models_report)[0]) == len(HEADLINE)


def test_pictures_are_the_same_every_time() -> None:
    runs = [{"wall_time_s": 0.5 * n, "started_at": at(0), "ended_at": at(n)} for n in range(4)]
    actual_models_report = report([trajectory(n, run, mode=f"mode {n % 2}") for n, run in enumerate(runs)])
    for section in actual_models_report.sections[:2]:
        assert section.plot is not None
        first, again = (plots.pictures(section.plot, ["svg"])["svg"] for _ in range(2))
        assert first == again
        assert b"mode 1" in first
        assert b"mathdefault" not in first  # numbers of an axis are plain


def test_rows_of_a_results_file_come_through_normalize(tmp_path: Path) -> None:
    """What a row says stands in the trajectory, what it says in another type is null; nothing of it is in a step."""
    stated = SAID | {
        "record_type": "result",
        "prompt_id": "P",
        "raw_output": "Run `df -h`.",
        "e2e_ms": 12,
        "run_id": "r",
    }
    rows = [stated | {"tool_use_success": True}, stated | {"prompt_id": "Q", "tool_use_success": "yes", "e2e_ms": -1}]
    (tmp_path / "raw" / "bench").mkdir(parents=True)
    content = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "raw" / "bench" / "results.jsonl").write_text(content)
    _, normalized = normalized_folder(tmp_path / "raw", tmp_path / "data")
    benchmarks = {row["task_id"] or row["session_id"]: row["benchmark"] for row in normalized.trajectories}
    assert sorted((row["tool_use_success"], row["e2e_ms"]) for row in benchmarks.values() if row["e2e_ms"]) == [
        (True, 12.0)
    ]
    assert [row["tool_use_success"] for row in benchmarks.values() if not row["e2e_ms"]] == [None]
    assert {step["tool_name_raw"] for step in normalized.steps} == {None}


def test_tiers_must_descend() -> None:
    content = {"version": "1", "confidence": 0.9, "tool_use_tiers": [0.5, 0.8], "pictured_rows": 3}
    assert ModelsReportRules.checked(
        content | {"tool_use_tiers": [0.8, 0.5], "provider_failure": []}, Path("models.toml")
    )
    with pytest.raises(InvalidRules, match="first share must be larger"):
        ModelsReportRules.checked(content | {"provider_failure": []}, Path("models.toml"))


def test_memory_grows_with_trajectories_and_not_with_what_they_hold() -> None:
    """The cases are small columns of numbers and names: no text of a session is among them."""
    from openclawbench.reports.models.cases import cases

    long = "x" * 100_000
    rows = [trajectory(n, {"end": "error", "first_provider_error": long}) for n in range(20)]
    frame = cases(tables({Trajectory: rows}), RULES)
    assert frame.height == 20
    assert frame.estimated_size() < 20 * 300
    assert pl.Int64 in frame.dtypes
