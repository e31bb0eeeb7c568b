"""The command line: exit statuses, what goes to stdout and what to stderr, and nothing raw on a terminal."""

import fcntl
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from child import EXAMPLE, ROOT, Ended, Ran, call, call_all, few_shards, files, start, table

from openclawbench.cli.app import PANELS
from openclawbench.inspect.export.tables import TABLES

pytestmark = pytest.mark.slow

UNICODE_SESSION = "2026.4.15-unicode"
# Terminal escapes, C1, bidirectional and zero-width controls, line separators: in text, a tool's name, a file's name.
NASTY = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \u202egpj.exe\u202c \u2066x\u2069 \u2028 \u200b \x7f \r \x00"
NASTY_TOOL = "ex\x1b[2Jec\u202e"
NASTY_NAME = "na\x1b[31msty\u202e\x9b"


def nasty_session() -> bytes:
    """A session whose every text tries to steer the terminal."""

    def record(number: int, message: dict[str, object]) -> dict[str, object]:
        stamp = f"2026-11-21T12:00:0{number}.000Z"
        parent = f"r{number - 1}" if number > 1 else None
        return {"type": "message", "id": f"r{number}", "parentId": parent, "timestamp": stamp, "message": message}

    call_ = {"type": "toolCall", "id": "c1", "name": NASTY_TOOL, "arguments": {"command": f"echo {NASTY}"}}
    thinking = {"type": "thinking", "thinking": NASTY}
    agent = {"role": "assistant", "provider": "p", "model": NASTY, "usage": {}}
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": NASTY_TOOL, "isError": True}
    text = [{"type": "text", "text": NASTY}]
    rows = [
        {"type": "session", "version": 3, "id": NASTY, "timestamp": "2026-11-21T12:00:00.000Z", "cwd": "/"},
        record(1, {"role": "user", "content": text}),
        record(2, {**agent, "content": [thinking, *text, call_], "stopReason": "toolUse"}),
        record(3, {**result, "content": text}),
        record(4, {**agent, "content": [{"type": "text", "text": f"I verified it. {NASTY}"}], "stopReason": "stop"}),
    ]
    return b"".join(json.dumps(row, ensure_ascii=True).encode() + b"\n" for row in rows)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data folder of a run over the nasty session."""
    folder = tmp_path_factory.mktemp("nasty")
    (folder / "raw" / "m").mkdir(parents=True)
    (folder / "raw" / "m" / f"{NASTY_NAME}.jsonl").write_bytes(nasty_session())
    (folder / "raw" / "m" / f"{NASTY_NAME}-broken.jsonl").write_text("no json\n")
    data = few_shards(folder / "data", 1)
    ended = call("run", "--data", data, "--raw", folder / "raw", "--judge", "rules")
    assert ended.status == 1
    assert "not_json" in ended.err
    assert_harmless(ended.out + ended.err.encode())
    return data


def assert_harmless(shown: bytes) -> None:
    """Nothing but printable characters, tabs and newlines."""
    text = shown.decode()
    bad = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t"}
    assert not bad, sorted(map(hex, map(ord, bad)))


def full_id(ran: Ran, name: str, model: str = "scripted-a") -> str:
    """The id of the one trajectory of a session."""
    rows = table(ran.data, "trajectory")
    return next(
        str(row["trajectory_id"])
        for row in rows
        if row["native_session_basename"] == name and row["source_model"] == model
    )


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where exports go."""
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def calls(small: Ran, nasty: Path, out: Path) -> dict[str, Ended]:
    """Calls that change nothing."""
    on: list[str | Path] = ["--data", small.data]
    nasty_id = table(nasty, "trajectory")[0]["trajectory_id"]
    return call_all(
        {
            "help": ["--help"],
            "no_such_verb": ["frobnicate"],
            "no_such_stage": ["run", *on, "--to", "nonsense"],
            "no_such_fulltax_stage": ["annotate", *on, "--stage", "d"],
            "no_such_judge": ["run", *on, "--judge", "oracle"],
            "status": ["status", *on],
            "status_json": ["status", *on, "--json"],
            "status_nowhere": ["status", "--data", out / "nowhere"],
            "trace": ["trace", full_id(small, UNICODE_SESSION), "1", *on],
            "trace_all": ["trace", UNICODE_SESSION, *on],
            "trace_no_step": ["trace", UNICODE_SESSION, "99", *on],
            "show": ["show", "scripted-a/2026.6.11-hedge-in-thinking", *on],
            "unknown_id": ["show", "no-such-session", *on],
            "ambiguous_id": ["show", "2026.", *on],
            "nasty_show": ["show", nasty_id, "--full", "--data", nasty],
            "nasty_status": ["status", "--data", nasty],
            "nasty_explain": ["explain", nasty_id, "1", "--data", nasty],
            "nasty_explain_all": ["explain", nasty_id, "--data", nasty],
            "export": ["export", "merge", *on],
            "export_normalize": ["export", "normalize", *on],
            "export_parquet": ["export", "merge", *on, "--format", "parquet", "-o", out / "merge.parquet"],
            "export_csv": ["export", "enrich", *on, "--format", "csv"],
            "no_such_table": ["export", "everything", *on],
            "no_such_format": ["export", "merge", *on, "--format", "xml"],
            "export_to_a_folder": ["export", "slice", *on, "-o", small.data / "work"],
        }
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_such_verb", "No such command 'frobnicate'"),
        ("no_such_stage", "error: --to nonsense: there is no such stage. Use one of: normalize, enrich, "),
        ("no_such_fulltax_stage", "error: --stage d: FullTax has no such stage. Use a, b1, b2 or c."),
        ("no_such_judge", "error: judge oracle: there is no such judge. Use one of: none, openai."),
        ("status_nowhere", "nowhere: there is no such folder. Make one: openclawbench run --raw FOLDER"),
        ("trace_no_step", "has no step 99; it has "),
        (
            "unknown_id",
            "error: no-such-session: no trajectory has this id. `openclawbench export normalize` lists them.",
        ),
        ("ambiguous_id", "error: 2026.: names 12 trajectories: scripted-a/2026.2.1-tool-errors."),
        ("no_such_table", "error: export everything: there is no such table. Use one of: normalize, files, "),
        ("no_such_format", "error: format xml: use one of: jsonl, parquet, csv."),
        ("export_to_a_folder", "error: "),
    ],
)
def test_wrong_use_is_status_2_and_a_sentence_on_stderr(calls: dict[str, Ended], name: str, sentence: str) -> None:
    ended = calls[name]
    assert ended.status == 2
    assert ended.text == ""
    assert sentence in ended.err
    assert "Traceback" not in ended.err


def test_a_call_that_reads_writes_nothing(calls: dict[str, Ended], tmp_path: Path) -> None:
    assert calls["status_nowhere"].status == 2
    named = re.search(r"error: --data (\S+): there is", calls["status_nowhere"].err)
    assert named and not Path(named[1]).exists()


def test_help_lists_the_verbs_that_exist_and_no_others(calls: dict[str, Ended]) -> None:
    listed = re.findall(r"^  ([a-z][a-z0-9-]+)  ", calls["help"].text.split("Pipeline:")[1], re.MULTILINE)
    commands = [name for panel in PANELS.values() for name in panel]
    assert {"run", "normalize", "release", "demo", "status", "show", "whatif"} <= set(commands)
    assert listed == commands


def test_status_says_what_is_up_to_date(calls: dict[str, Ended]) -> None:
    assert calls["status"].status == calls["status_json"].status == 0
    assert calls["status_json"].err == calls["status"].err == ""
    printed = calls["status_json"].json
    assert {stage["stale"] for stage in printed["stages"]} == {0}
    assert [stage["stage"] for stage in printed["stages"]][:3] == ["normalize", "describe", "summary"]
    assert [source["trajectories"] for source in printed["sources"]] == [7, 5]
    for stage in printed["stages"]:
        assert re.search(rf"^{stage['stage']} ", calls["status"].text, re.MULTILINE)


def test_status_adds_the_traces_up(calls: dict[str, Ended], small: Ran) -> None:
    summaries = [row["trace_summary"] for row in table(small.data, "trace_summary_row")]
    totals = {row["what"]: row for row in calls["status_json"].json["totals"]}
    assert {"user_turns", "tool_calls", "tool_errors", "total_tokens", "cost_usd", "wall_time_s"} <= set(totals)
    for name in ("tool_calls", "tool_errors", "total_tokens"):
        stated = [summary[name] for summary in summaries if summary[name] is not None]
        assert totals[name] == {"what": name, "total": sum(stated) if stated else None, "trajectories": len(stated)}
    calls_made = totals["tool_calls"]
    line = rf"^tool_calls +│ {calls_made['total']} +│ +{calls_made['trajectories']}\s*$"
    assert re.search(line, calls["status"].text, re.MULTILINE)


def test_trace_gives_the_raw_bytes_at_the_pointer(calls: dict[str, Ended], small: Ran) -> None:
    wanted = full_id(small, UNICODE_SESSION)
    raw = (small.raw / "scripted-a" / f"{UNICODE_SESSION}.jsonl").read_bytes()
    steps = {row["step_id"]: row["raw"] for row in table(small.data, "step") if row["trajectory_id"] == wanted}
    assert calls["trace"].status == calls["trace_all"].status == 0
    first = [raw[entry["offset"] : entry["offset"] + entry["length"]] for entry in steps[1]]
    assert len(first) == 2 and all(json.loads(piece)["type"] == "message" for piece in first)
    assert calls["trace"].out == b"\n".join(first) + b"\n"
    every = [
        raw[entry["offset"] : entry["offset"] + entry["length"]] for number in sorted(steps) for entry in steps[number]
    ]
    assert calls["trace_all"].out == b"\n".join(every) + b"\n"
    raw_lines = raw.split(b"\n")
    places = re.findall(r"^step (\d+) (\w+): scripted-a/\S+:(\d+) byte (\d+)$", calls["trace"].err, re.MULTILINE)
    assert [part for _, part, _, _ in places] == ["call", "result"]
    assert [raw_lines[int(line) - 1] for _, _, line, _ in places] == first


def test_a_file_that_changed_is_not_traced(small: Ran, tmp_path: Path) -> None:
    shutil.copytree(small.data, tmp_path / "data")
    shutil.copytree(small.raw, tmp_path / "raw")
    path = tmp_path / "raw" / "scripted-a" / f"{UNICODE_SESSION}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b" \n", 1))
    ended = call("trace", UNICODE_SESSION, "--data", tmp_path / "data", "--raw", tmp_path / "raw")
    assert (ended.status, ended.text) == (2, "")
    assert "is not up to date. Run `openclawbench run --data " in ended.err


def test_show_prints_steps_label_and_marked_evidence(calls: dict[str, Ended]) -> None:
    shown = calls["show"].text
    assert calls["show"].status == 0
    assert "┃ step 2  reply" in shown
    assert "◀ earliest_recoverable_onset" in shown
    assert "»I can't verify the key without a Windows machine, I only know it from memory.«" in shown
    assert "anomalous capability_gap_overcommitment" in shown
    assert re.search(r"^ +judge +rules", shown, re.MULTILINE)
    for line in (r"trace +\d+ steps?, \d+ turns?, \d+ tool calls?, ", r"ended +\w+, stop reason: ", "used +tokens: "):
        assert re.search(rf"^  {line}", shown, re.MULTILINE)


@pytest.mark.parametrize(
    "name", ["nasty_show", "nasty_status", "nasty_explain", "nasty_explain_all", "trace", "show", "status"]
)
def test_control_characters_never_reach_a_terminal_raw(calls: dict[str, Ended], name: str) -> None:
    ended = calls[name]
    assert ended.status == 0
    shown = ended.err.encode() if name == "trace" else ended.out + ended.err.encode()
    assert_harmless(shown)
    if name == "nasty_show":
        for written in ("\\x1b[31mred", "\\x9b2J", "\\u202egpj.exe", "\\u2066x", "\\u2028", "\\x7f", "\\x0d"):
            assert written in ended.text
        assert "I verified it." in ended.text


def test_export_as_jsonl_parquet_and_csv_says_the_same(calls: dict[str, Ended], small: Ran, out: Path) -> None:
    rows = [json.loads(line) for line in calls["export"].out.split(b"\n") if line]
    assert len(rows) == 12
    released = b"".join(
        (small.data / "release" / "fulltax_prod_v1" / model / "master_table_all.jsonl").read_bytes()
        for model in ("scripted-a", "scripted-b")
    )
    assert calls["export"].out == released
    assert (calls["export_parquet"].status, calls["export_parquet"].out) == (0, b"")
    parquet = pl.read_parquet(out / "merge.parquet")
    assert parquet.to_dicts() == rows
    csv = pl.read_csv(io.BytesIO(calls["export_csv"].out), infer_schema_length=None)
    described = pl.read_parquet(small.data / "work" / "aligned_descriptor" / "*.parquet")
    assert csv.columns == described.columns
    assert csv.height == described.height
    assert sorted(csv["event_type"]) == sorted(described["event_type"])
    assert all(isinstance(json.loads(auto_flag), list) for auto_flag in csv["auto_flags"])


def test_export_normalize_is_a_trajectory_a_line_with_its_steps(calls: dict[str, Ended]) -> None:
    rows = [json.loads(line) for line in calls["export_normalize"].out.split(b"\n") if line]
    assert len(rows) == 12
    assert all(row["num_steps"] == len(row["steps"]) > 0 for row in rows)
    assert all([step["step_id"] for step in row["steps"]] == list(range(1, row["num_steps"] + 1)) for row in rows)
    assert all(row["user_turns"] for row in rows)


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_that_export_names_is_a_work_table(name: str, small: Ran) -> None:
    folder = re.sub(r"(?<!^)([A-Z])", r"_\1", TABLES[name].__name__).lower().replace("_b_", "_b")
    assert list((small.data / "work").glob(f"{folder}/*.parquet")), folder


def test_messages_go_to_stderr_and_results_to_stdout(demo: Ran) -> None:
    lines = demo.ended.text.splitlines()
    assert len(lines) + len(demo.ended.err.splitlines()) <= 40
    for name in ("sessions", "outcomes", "labels", "subtypes", "gap", "splits", "release"):
        assert sum(line.startswith(f"{name} ") for line in lines) == 1, name
    assert "One anomaly, back to its raw lines: " in demo.ended.text
    assert [line.split()[1] for line in lines[-3:]] == ["show", "view", "validate"]
    assert "warning: " in demo.ended.err and "warning: " not in demo.ended.text


def test_the_evidence_that_the_demo_prints_stands_in_the_raw_line_it_names(demo: Ran) -> None:
    cited = re.findall(r"^  step \d+ (\w+), (\S+):(\d+): »(.*)«$", demo.ended.text, re.MULTILINE)
    assert cited
    for field, file, line, quote in cited:
        raw = (ROOT / "data" / "example" / "raw" / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert field == "descriptor" or json.dumps(quote.replace("⏎", "\n"), ensure_ascii=False)[1:-1] in raw


def test_quiet_prints_errors_alone_and_verbose_a_line_for_each_stage(small: Ran, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(small.data, data)
    (data / "openclawbench.toml").open("a", encoding="utf-8").write("test_share = 0.3\n")
    quiet = call("run", "--data", data, "-q")
    assert (quiet.status, quiet.text, quiet.err) == (0, "", "")
    (data / "openclawbench.toml").open("a", encoding="utf-8").write('unmatched = "review"\n')
    verbose = call("run", "--data", data, "--verbose")
    assert re.search(r"^packet: \d+ of \d+ shards, ", verbose.err, re.MULTILINE)
    again = call("run", "--data", data)
    assert (len(again.text.splitlines()), again.err) == (2, "")
    wrong = call("run", "--data", data, "-q", "--judge", "nobody")
    assert (wrong.status, wrong.text) == (2, "") and "nobody" in wrong.err


@pytest.mark.parametrize(
    ("verb", "title"),
    [
        ("normalize", "sessions_in = "),
        ("enrich", "Event types"),
        ("slice", "Risk slices"),
        ("onset", "Onset candidates"),
        ("packet", "packets: "),
        ("annotate", "Quality tiers"),
        ("merge", "Quality tiers"),
    ],
)
def test_a_stage_prints_what_it_made(verb: str, title: str, small: Ran) -> None:
    ended = call(verb, "--data", small.data)
    assert ended.status == 0 and title in ended.text


def test_json_is_all_that_a_run_prints(small: Ran) -> None:
    printed = small.ended.json
    (line,) = small.ended.err.splitlines()
    assert "openclawbench.toml: written, so that later runs do the same" in line
    assert printed["verb"] == "release"
    assert printed["redone"] == sum(stage["redone"] for stage in printed["stages"]) > 0
    assert printed["summary"]["totals"]["trajectories"] == 12
    assert printed["needs_a_person"] == []
    assert sum(source["trajectories"] for source in printed["sources"]) == 12


def test_control_c_is_status_3_and_a_rerun_goes_on(small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data")
    arguments: list[str | Path] = ["run", "-v", "--data", data, "--raw", small.raw, "--oracle", EXAMPLE / "oracle"]
    child = start(*arguments)
    while "\nalign: " not in child.read_stderr():
        assert not child.has_ended(), child.wait()
        time.sleep(0.003)
    child.send(signal.SIGINT)
    stopped = child.wait()
    assert stopped.status == 3
    assert stopped.err.endswith("\nstopped; everything done so far is kept, run again to go on\n")
    assert "Traceback" not in stopped.err
    ended = call(*arguments)
    assert ended.status == 0
    assert not re.search(r"^(normalize|describe|align): ", ended.err, re.MULTILINE)
    assert files(data / "release") == files(small.data / "release")


def test_a_data_folder_in_use_is_refused(small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data")
    with (data / "work" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = files(data)
        ended = call("run", "--data", data, "--raw", small.raw)
    assert (ended.status, ended.text) == (2, "")
    assert ended.err.endswith("another run is writing here. Wait for it to end.\n")
    assert files(data) == before


def test_flags_beat_the_environment_which_beats_the_settings_file(small: Ran, tmp_path: Path) -> None:
    """Each layer names a raw folder that is not there, so that the sentence says which one was in force."""
    data = few_shards(tmp_path / "data")
    (data / "openclawbench.toml").write_text('raw = "/of-the-file"\njudge = "rules"\n')
    env = {"OPENCLAWBENCH_DATA": str(data)}
    more = env | {"OPENCLAWBENCH_RAW": "/of-the-environment"}
    actual_calls = [
        call("normalize", env=env),
        call("normalize", env=more),
        call("normalize", "--raw", "/of-the-flag", env=more),
    ]
    matches = [re.match(r"error: /of-the-(\w+): there is no such folder", ended.err) for ended in actual_calls]
    assert [match and match[1] for match in matches] == ["file", "environment", "flag"]
    assert call("normalize", "--raw", small.raw, "--data", tmp_path / "flag", env=env).status == 0
    assert (tmp_path / "flag" / "work" / "trajectory").is_dir()
    assert not (data / "work" / "trajectory").exists()


def test_a_judge_that_cannot_be_asked_is_refused_and_not_remembered(small: Ran, tmp_path: Path) -> None:
    shutil.copytree(small.data, tmp_path / "data")
    ended = call("run", "--data", tmp_path / "data", "--judge", "openai")
    assert ended.status == 2
    assert "Name it with --model" in ended.err
    again = call("run", "--data", tmp_path / "data")
    assert again.status == 0
    assert "nothing was redone" in again.text


def test_the_installed_command_is_this_program() -> None:
    command = Path(sys.executable).with_name("openclawbench")
    if not command.exists():
        pytest.skip("not installed")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version and done.stdout == f"openclawbench {version[1]}\n"


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_a_reader_that_has_gone_ends_a_command_as_sigpipe_does(command: str, example: Ran) -> None:
    """Not with 1: that means that a person must look at something."""
    arguments = [str(example.raw)] if command == "doctor" else ["--data", str(example.data)]
    line = [sys.executable, "-m", "openclawbench", command, *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as running:
        assert running.stdout and running.stderr
        running.stdout.close()
        assert (running.wait(60), running.stderr.read()) == (141, "")
