"""`collect run` over programs that stand in for OpenClaw: retries, time limits, kills, keys, budgets."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from planned import plan_of, plan_of_models

from openclawbench.collect.isolation import can_isolate, without_network
from openclawbench.collect.plan import Plan, write_plan
from openclawbench.workspace.configuration.trust import PLAN_FILE, trust


def command(data: Path, verb: str, *more: str) -> list[str]:
    return [sys.executable, "-P", "-m", "openclawbench", "collect", verb, "--data", str(data), *more]


def collect(data: Path, environment: dict[str, str], *more: str) -> subprocess.CompletedProcess[str]:
    """`collect run`, with the network: a machine that tests may have no namespaces."""
    arguments = command(data, "run", "--allow-network", *more)
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=120)


def planned(data: Path, plan: Plan) -> Path:
    write_plan(data / "collect", plan)
    trust(data, PLAN_FILE)
    return data


def rows_of(data: Path) -> dict[str, dict[str, Any]]:
    lines = (data / "collect" / "sessions.jsonl").read_text().splitlines()
    return {row["planned"]: row for row in map(json.loads, lines)}


def test_sessions_are_collected_converted_and_not_made_twice(tmp_path: Path, installed: dict[str, str]) -> None:
    data = planned(tmp_path / "d", plan_of("t_0", "t_1", attempts=2))
    ended = collect(data, installed)
    assert (ended.returncode, "4 of 4 sessions collected" in ended.stdout) == (0, True), ended.stderr
    assert {row["status"] for row in rows_of(data).values()} == {"collected"}
    before = (data / "collect" / "sessions.jsonl").read_bytes()
    assert collect(data, installed).returncode == 0
    assert (data / "collect" / "sessions.jsonl").read_bytes() == before
    done = subprocess.run(command(data, "convert", "--json"), env=installed, capture_output=True, text=True, timeout=60)
    assert (json.loads(done.stdout)["sessions"], json.loads(done.stdout)["left"]) == (4, 0)
    manifest = [json.loads(line) for line in (data / "raw" / "run_manifest.jsonl").read_text().splitlines()]
    assert {(row["task_id"], row["attempt"], row["mode"]) for row in manifest} == {
        (task, attempt, "functions") for task in ("t_0", "t_1") for attempt in (1, 2)
    }
    results = data / "oracle" / "attempt-2" / "result" / "m" / "non_live" / "BFCL_v4_t_result.json"
    assert [json.loads(line)["result"] for line in results.read_text().splitlines()] == [
        [{"add": '{"a": 1, "b": 2}'}]
    ] * 2


def test_what_the_infrastructure_ends_is_tried_again_and_never_a_fail(
    tmp_path: Path, installed: dict[str, str]
) -> None:
    data = planned(tmp_path / "d", plan_of("once_0", "die_0", "lost_0"))
    ended = collect(data, installed, "--concurrency", "1")
    rows = rows_of(data)
    assert rows["once_0-a1"]["status"] == "collected" and len(rows["once_0-a1"]["earlier_errors"]) == 1
    assert (rows["die_0-a1"]["status"], len(rows["die_0-a1"]["earlier_errors"])) == ("infra_error", 2)
    assert "recorded no session" in rows["lost_0-a1"]["error"]
    assert ended.returncode == 1
    subprocess.run(command(data, "convert"), env=installed, check=True, capture_output=True, timeout=60)
    results = data / "oracle" / "attempt-1" / "result" / "m" / "non_live" / "BFCL_v4_die_result.json"
    assert json.loads(results.read_text())["result"].startswith("Error during inference")


def test_a_run_stops_after_three_failures_in_a_row(tmp_path: Path, installed: dict[str, str]) -> None:
    data = planned(tmp_path / "d", plan_of("die_0", "die_1", "die_2", "t_0"))
    ended = collect(data, installed, "--concurrency", "1")
    assert ended.returncode == 3
    assert "3 sessions in a row were ended by the infrastructure" in ended.stderr
    assert "t_0-a1" not in rows_of(data)


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, installed: dict[str, str]) -> None:
    names = [f"slow_{number}" for number in range(8)]
    data = planned(tmp_path / "d", plan_of(*names))
    arguments = command(data, "run", "--allow-network", "--concurrency", "1")
    with subprocess.Popen(arguments, env=installed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        log, deadline = data / "collect" / "sessions.jsonl", time.monotonic() + 60
        while not (log.exists() and log.read_bytes().count(b"\n") >= 2) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(run.pid, signal.SIGKILL)
    first = rows_of(data)
    assert 2 <= len(first) < len(names)
    assert collect(data, installed).returncode == 0
    rows = rows_of(data)
    assert len(rows) == len(names)
    assert {name: rows[name] for name in first} == first


def test_of_a_session_with_the_key_of_its_endpoint_nothing_is_kept(tmp_path: Path, installed: dict[str, str]) -> None:
    source = {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "SOME_KEY"}
    data, key = planned(tmp_path / "d", plan_of("key_0", "t_0", **source)), "sk-proj-" + "Zx9Qm4Lp7Tn2Vb8Rk5Wd" * 2
    ended = collect(data, installed | {"SOME_KEY": key})
    rows = rows_of(data)
    assert (ended.returncode, rows["t_0-a1"]["status"], rows["key_0-a1"]["status"]) == (1, "collected", "infra_error")
    assert "holds the key of its endpoint" in rows["key_0-a1"]["error"] and not rows["key_0-a1"]["earlier_errors"]
    assert not [path for path in data.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


def test_a_key_that_a_text_may_hold_by_chance_is_not_looked_for(tmp_path: Path, installed: dict[str, str]) -> None:
    data = planned(tmp_path / "d", plan_of("t_0", base_url="http://127.0.0.1:9/v1", api_key_env="SOME_KEY"))
    environment = installed | {"SOME_KEY": "Done"}
    assert collect(data, environment).returncode == 0
    done = subprocess.run(
        command(data, "convert", "--json"), env=environment, capture_output=True, text=True, timeout=60
    )
    assert (json.loads(done.stdout)["sessions"], json.loads(done.stdout)["left_out"]) == (1, 0)


def test_a_session_collected_without_its_key_is_left_out_when_converted(
    tmp_path: Path, installed: dict[str, str]
) -> None:
    data = planned(tmp_path / "d", plan_of("key_0", base_url="http://127.0.0.1:9/v1", api_key_env="SOME_KEY"))
    assert collect(data, installed | {"SOME_KEY": "another key of the endpoint"}).returncode == 0
    environment = installed | {"SOME_KEY": "sk-proj-" + "Zx9Qm4Lp7Tn2Vb8Rk5Wd" * 2}
    done = subprocess.run(
        command(data, "convert", "--json"), env=environment, capture_output=True, text=True, timeout=60
    )
    counts = json.loads(done.stdout)
    assert (done.returncode, counts["sessions"], counts["left_out"]) == (1, 0, 1)
    assert "holds the key of its endpoint and is left out" in counts["notes"][0]
    assert not list((data / "raw").rglob("key_0*.jsonl"))


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "https://collector.invalid/v1"])
def test_a_plan_that_was_not_made_here_asks_nobody(address: str, tmp_path: Path, installed: dict[str, str]) -> None:
    """It says where the value of a variable goes that it names itself."""
    data = planned(tmp_path / "d", plan_of("t_0", base_url=address, api_key_env="SOME_KEY"))
    copy = Path(shutil.copytree(data, tmp_path / "copy"))
    ended = collect(copy, installed | {"SOME_KEY": "sk-canary-1234567890abcdef"})
    assert ended.returncode == 2
    assert f"{copy}/collect/plan.json: was not made here" in ended.stderr
    assert "canary" not in ended.stderr + ended.stdout
    assert not (copy / "collect" / "sessions.jsonl").exists()
    plan = data / "collect" / "plan.json"
    plan.write_text(plan.read_text().replace(address, "http://127.0.0.1:8/v1"))
    assert "was not made here" in collect(data, installed | {"SOME_KEY": "k"}).stderr  # it has changed since


@pytest.mark.parametrize("stated", [{}, {"price_in": 1.0}, {"price_cached": 0.1, "price_out": 1.0}])
def test_a_budget_in_usd_needs_a_price(tmp_path: Path, installed: dict[str, str], stated: dict[str, float]) -> None:
    """Of every source model: one that would cost nothing for want of a price has no limit."""
    here = {"base_url": "http://127.0.0.1:9/v1"}
    priced = here | {"price_in": 1.0, "price_out": 1.0}
    data = planned(tmp_path / "d", plan_of_models("t_0", a=priced, b=here | stated))
    ended = collect(data, installed, "--budget-usd", "1")
    assert (ended.returncode, "the price of source model b is not known" in ended.stderr) == (2, True)


def test_cached_tokens_are_paid_and_an_unknown_price_is_no_zero(tmp_path: Path, installed: dict[str, str]) -> None:
    models = {
        "plain": {"price_in": 1.0, "price_out": 4.0},
        "cheaper": {"price_in": 1.0, "price_out": 4.0, "price_cached": 0.1},
        "free": {"price_in": 0.0, "price_out": 0.0},
        "unknown": {},
    }
    here = {"base_url": "http://127.0.0.1:9/v1"}
    data = planned(tmp_path / "d", plan_of_models("t_0", "t_1", **{name: here | own for name, own in models.items()}))
    ended = collect(data, installed, "--concurrency", "1")
    rows = [json.loads(line) for line in (data / "collect" / "sessions.jsonl").read_text().splitlines()]
    assert {(row["tokens_in"], row["tokens_cached"], row["tokens_out"]) for row in rows} == {(200, 20, 14)}
    assert {row["source_model"]: row["usd"] for row in rows} == {
        "plain": pytest.approx((200 + 14 * 4) / 1e6),
        "cheaper": pytest.approx((180 + 20 * 0.1 + 14 * 4) / 1e6),
        "free": 0.0,
        "unknown": None,
    }
    assert "2 sessions of unknown price not in the USD" in ended.stderr
    planned(data, plan_of_models("t_0", "t_1", "t_2", **{name: here | own for name, own in models.items()}))
    forecast = json.loads(collect(data, installed, "--dry-run", "--json").stdout)
    usd = {row["source_model"]: row["costs"]["usd"] for row in forecast["rows"]}
    assert (usd["unknown"], usd["free"], forecast["unpriced"]) == (None, 0.0, 1)
    assert usd["plain"] == pytest.approx(256e-6)


def test_a_source_model_that_fails_stops_itself_alone(tmp_path: Path, installed: dict[str, str]) -> None:
    names = [f"t_{number}" for number in range(5)]
    data = planned(tmp_path / "d", plan_of_models(*names, first={"model": "dead-model"}, second={}, third={}))
    ended = collect(data, installed, "--concurrency", "2", "--json")
    rows = [json.loads(line) for line in (data / "collect" / "sessions.jsonl").read_text().splitlines()]
    collected = {row["source_model"] for row in rows if row["status"] == "collected"}
    assert (collected, sum(row["status"] == "collected" for row in rows)) == ({"second", "third"}, 10)
    assert 3 <= sum(row["source_model"] == "first" for row in rows) < 5
    counts = json.loads(ended.stdout)
    assert (ended.returncode, counts["collected"], [*counts["stopped"]]) == (3, 10, ["first"])
    stderr = " ".join(ended.stderr.split())
    assert "source model first: " in stderr and "sessions in a row were ended by the infrastructure" in stderr


def test_what_looks_like_another_key_is_noted(tmp_path: Path, installed: dict[str, str]) -> None:
    """In a text of the session, whatever endpoint it belongs to; the note does not repeat it."""
    data = planned(tmp_path / "d", plan_of("t_0", "t_1"))
    assert collect(data, installed).returncode == 0
    row, key = rows_of(data)["t_0-a1"], "sk-proj-" + "Zx9Qm4Lp7Tn2Vb8Rk5Wd" * 2
    path = data / "collect" / "sessions" / row["source_model"] / f"{row['session']}.jsonl"
    content = path.read_text() + json.dumps({"type": "custom", "id": "c", "data": {"said": f"OPENAI_API_KEY={key}"}})
    path.write_text(content + "\n")
    log = data / "collect" / "sessions.jsonl"
    log.write_text(log.read_text().replace(row["sha256"], sha256(path.read_bytes()).hexdigest()))
    done = subprocess.run(command(data, "convert", "--json"), env=installed, capture_output=True, text=True, timeout=60)
    [note] = json.loads(done.stdout)["notes"]
    assert f"{row['session']}: line {content.count(chr(10)) + 1}: holds what looks like a key" in note
    assert key not in note


def test_each_task_has_a_home_of_its_own_whose_path_says_nothing(tmp_path: Path, installed: dict[str, str]) -> None:
    """The program in the place of OpenClaw ends where the home of a task was used before; none stays after the run."""
    data = planned(tmp_path / "d", plan_of("t_0", "t_1", "t_2"))
    assert collect(data, installed, "--concurrency", "1").returncode == 0
    assert [row["earlier_errors"] for row in rows_of(data).values()] == [[], [], []]
    assert not [path for path in (data / "collect" / "homes").iterdir() if path.is_dir()]


def test_what_an_earlier_plan_collected_leaves_the_raw_folder(tmp_path: Path, installed: dict[str, str]) -> None:
    data = planned(tmp_path / "d", plan_of("t_0", "other_0", attempts=2))
    assert collect(data, installed).returncode == 0
    subprocess.run(command(data, "convert"), env=installed, check=True, capture_output=True, timeout=60)
    raw, mine = data / "raw", {"source_model": "m", "native_session_basename": "mine", "task_id": "t_9"}
    with (raw / "run_manifest.jsonl").open("a") as file:
        file.write(json.dumps(mine) + "\n")
    (raw / "m" / "mine.jsonl").write_text("{}\n")
    (raw / "m" / "other_0-a2.jsonl").write_text("{}\n")  # changed by hand
    planned(data, plan_of("t_0"))
    done = subprocess.run(command(data, "convert", "--json"), env=installed, capture_output=True, text=True, timeout=60)
    counts = json.loads(done.stdout)
    assert (counts["sessions"], counts["removed"]) == (1, 2)
    assert "other_0-a2.jsonl: is not in the plan and was changed" in counts["notes"][0]
    assert sorted(path.name for path in (raw / "m").iterdir()) == ["mine.jsonl", "other_0-a2.jsonl", "t_0-a1.jsonl"]
    manifest = [json.loads(line) for line in (raw / "run_manifest.jsonl").read_text().splitlines()]
    assert [row["native_session_basename"] for row in manifest] == ["mine", "t_0-a1"]
    results = sorted(path.relative_to(data / "oracle").as_posix() for path in (data / "oracle").rglob("*.json"))
    assert results == ["attempt-1/result/m/non_live/BFCL_v4_t_result.json"]
    planned(data, plan_of("t_0", "other_0"))  # nothing was lost
    done = subprocess.run(command(data, "convert", "--json"), env=installed, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["sessions"] == 2


def test_sigterm_ends_a_run_as_ctrl_c_does(tmp_path: Path, installed: dict[str, str]) -> None:
    data = planned(tmp_path / "d", plan_of(*(f"slow_{number}" for number in range(20))))
    arguments = command(data, "run", "--allow-network", "--concurrency", "1")
    with subprocess.Popen(arguments, env=installed, stderr=subprocess.PIPE, text=True) as run:
        log, deadline = data / "collect" / "sessions.jsonl", time.monotonic() + 60
        while not log.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        run.terminate()
        _, stderr = run.communicate(timeout=60)
    assert (run.returncode, "run again to go on" in stderr) == (3, True)
    assert not processes_in(data / "collect" / "homes")


def processes_in(folder: Path) -> list[str]:
    """Ids of processes whose HOME is there."""
    ids = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            variables = (place / "environ").read_bytes()
        except OSError:
            continue
        if f"HOME={folder}".encode() in variables:
            ids.append(place.name)
    return ids


def test_a_line_that_a_kill_cut_off_is_made_again_and_in_nobodys_way(tmp_path: Path, installed: dict[str, str]) -> None:
    data = planned(tmp_path / "d", plan_of("t_0", "t_1"))
    assert collect(data, installed, "--concurrency", "1").returncode == 0
    log = data / "collect" / "sessions.jsonl"
    first, second, _ = log.read_bytes().split(b"\n")
    log.write_bytes(first + b"\n" + second[:100])
    for _ in range(2):
        assert collect(data, installed).returncode == 0
    lines = log.read_bytes().splitlines()
    assert lines[0] == first and [json.loads(line)["planned"] for line in lines] == ["t_0-a1", "t_1-a1"]


def test_a_key_that_is_not_set_is_named(tmp_path: Path, installed: dict[str, str]) -> None:
    data = planned(tmp_path / "d", plan_of("t_0", base_url="http://127.0.0.1:9/v1", api_key_env="SOME_KEY"))
    ended = collect(data, installed)
    assert (ended.returncode, "SOME_KEY is not set" in ended.stderr) == (2, True)


def test_a_budget_begins_no_further_session(tmp_path: Path, installed: dict[str, str]) -> None:
    data = planned(tmp_path / "d", plan_of("t_0", "t_1", "t_2"))
    ended = collect(data, installed, "--budget-tokens", "1", "--concurrency", "1")
    assert (ended.returncode, len(rows_of(data))) == (3, 1)
    assert "raise the budget" in ended.stderr


@pytest.mark.skipif(not can_isolate(), reason="this machine allows no network namespace")
def test_an_isolated_command_reaches_loopback_and_nothing_else() -> None:
    program = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname(), 2)\n"
        "print([name for _, name in socket.if_nameindex()])\n"
    )
    ended = subprocess.run(without_network([sys.executable, "-c", program]), capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "['lo']", ended.stderr
