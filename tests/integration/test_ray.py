"""The engine `ray` on one cluster: the bytes of one process, a worker that is killed, a shard that fails, Ctrl-C."""

import hashlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from child import EXAMPLE, ROOT, Started, call, few_shards, files, spoil, start, temporary
from conftest import Ran
from dying import STAGES

from openclawbench.runtime.engines.protocol import LostTask
from openclawbench.runtime.engines.ray_core import GONE, RayCore

pytestmark = pytest.mark.slow
PATIENCE = 100.0  # seconds
SHARDS = 7
CPUS = 2
CLUSTER = """
import sys
import ray
ray.init(address="local", num_cpus=int(sys.argv[1]), include_dashboard=False, object_store_memory=100 << 20,
         log_to_driver=False, logging_level="ERROR")
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""


ENV = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on 127.0.0.1
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}",
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster in a process of its own; it ends with whoever started it."""
    command = [sys.executable, "-c", CLUSTER, str(CPUS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | ENV) as process:
        assert process.stdout is not None and process.stdin is not None
        text = process.stdout.readline().decode().strip()
        assert text, "the cluster did not start"
        yield text
        process.stdin.close()
        process.wait()


def arguments(data: Path, raw: Path, address: str, verb: str = "run") -> list[str | Path]:
    inputs = [verb, "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle"]
    return [*inputs, "--engine", "ray", "--ray-address", address, "--workers", "2"]


@pytest.fixture(scope="module")
def serial(small: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of one process."""
    data = few_shards(tmp_path_factory.mktemp("serial") / "data", SHARDS)
    assert call("run", "--data", data, "--raw", small.raw, "--oracle", EXAMPLE / "oracle").status == 0
    return data


def parts(data: Path) -> dict[str, bytes]:
    """Every part of every table."""
    return {name: content for name, content in files(data / "work").items() if name.endswith(".parquet")}


def same(data: Path, serial: Path) -> None:
    for folder in (data, serial):
        assert temporary(folder) == []
    assert parts(data) == parts(serial)
    assert files(data / "release") == files(serial / "release")


def under_way(child: Started, data: Path) -> None:
    """Wait until shards are being computed."""
    limit = time.monotonic() + PATIENCE
    while not list((data / "work").glob("step/*.parquet")):
        assert not child.has_ended(), child.wait().err
        assert time.monotonic() < limit
        time.sleep(0.003)


def at_work() -> list[int]:
    """Workers that carry out a task of this program."""
    result = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cmdline").read_bytes().startswith(b"ray::carry_out"):
                result.append(int(path.name))
        except OSError:
            continue
    return result


def test_the_bytes_are_those_of_one_process_also_when_a_worker_is_killed(
    address: str, serial: Path, small: Ran, tmp_path: Path
) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    child = start(*arguments(data, small.raw, address), env=ENV)
    under_way(child, data)
    killed = at_work()
    for pid in killed[:1]:
        os.kill(pid, signal.SIGKILL)
    ended = child.wait()
    assert ended.status == 0 and killed, ended.err
    same(data, serial)


DEADLY = """
import sys
from pathlib import Path
from dying import Dying
from openclawbench.flow import stages_up_to
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.intake.intake import take_in
from openclawbench.runtime.engines.ray_core import RayCore
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import DataFolder

address, root, raw, oracle, deaths = sys.argv[1:]

class Deadly(RayCore):
    def run(self, function, tasks, begun):
        return super().run(Dying(function.__self__, Path(deaths)).carry_out, tasks, begun)

data = DataFolder(Path(root))
run = Run(data, take_in(data, Path(raw), Path(oracle), save=True), RulesJudge(), lambda _: Deadly(2, address))
print([report.failed for report in run.update(stages_up_to("release"), lambda *_: None) if report.failed])
"""


@pytest.mark.thorough
def test_a_worker_killed_at_a_stage_over_all_shards_changes_nothing(
    address: str, serial: Path, small: Ran, tmp_path: Path
) -> None:
    data, deaths = few_shards(tmp_path / "data", SHARDS), tmp_path / "deaths"
    deaths.mkdir()
    command = [sys.executable, "-c", DEADLY, address, data, small.raw, EXAMPLE / "oracle", deaths]
    done = subprocess.run(command, env=os.environ | ENV, capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
    assert {path.name for path in deaths.iterdir()} == set(STAGES)
    assert parts(data) == parts(serial)


@pytest.mark.thorough
def test_a_failing_shard_is_listed_and_the_others_go_on(address: str, serial: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    assert call("normalize", "--data", data, "--raw", small.raw).status == 0
    spoilt = sorted((data / "work" / "step").glob("*.parquet"))[1]
    spoil(spoilt)
    ended = call(*arguments(data, small.raw, address), env=ENV)
    assert ended.status == 1 and "Traceback" not in ended.err
    assert f"stage describe: 1 of {SHARDS} shards failed; shard {int(spoilt.name[:4])}: " in ended.err
    done = len(list((data / "work" / "release_line").glob("*.parquet")))
    assert done == len(list((serial / "work" / "release_line").glob("*.parquet"))) - 1


@pytest.mark.thorough
def test_ctrl_c_stops_the_run_and_leaves_no_task(address: str, serial: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    child = start(*arguments(data, small.raw, address), env=ENV)
    under_way(child, data)
    child.send(signal.SIGINT)
    ended = child.wait()
    assert (ended.status, "Traceback" in ended.err) == (3, False), ended.err
    limit = time.monotonic() + PATIENCE
    while at_work():
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert call("run", "--data", data, "--raw", small.raw, "--oracle", EXAMPLE / "oracle").status == 0
    same(data, serial)


DIES = """
import os, signal
from pathlib import Path

def dies_of_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number

def refuses_three(number):
    if number == 3:
        raise ValueError("three")
    return number
"""


@pytest.mark.thorough
def test_the_task_at_which_workers_die_twice_is_lost_and_no_other(address: str) -> None:
    script = DIES + (
        "from openclawbench.runtime.engines.ray_core import RayCore\n"
        f"engine = RayCore(2, {address!r})\n"
        "print(sorted(engine.run(dies_of_three, range(5)), key=lambda one: one[0]))\n"
        "try:\n    list(engine.run(refuses_three, range(5)))\n"
        "except ValueError as error:\n    print(type(error).__name__, error)\n"
    )
    command, env = [sys.executable, "-c", script], os.environ | ENV
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE)
    lost = repr((3, LostTask(GONE)))
    assert done.stdout.splitlines() == [f"[(0, 0), (1, 1), (2, 2), {lost}, (4, 4)]", "ValueError three"], done.stderr


@pytest.mark.thorough
def test_a_cluster_of_this_machine_alone_begins_and_ends_with_the_run(serial: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    ended = call("run", "--data", data, "--raw", small.raw, "--oracle", EXAMPLE / "oracle", "--engine", "ray")
    assert ended.status == 0, ended.err
    same(data, serial)


@pytest.mark.thorough
def test_workers_import_nothing_from_the_folder_that_a_person_works_in(tmp_path: Path) -> None:
    folder, program = tmp_path / "here", tmp_path / "program.py"
    folder.mkdir()
    for name in ("struct", "polars", "openclawbench"):
        (folder / f"{name}.py").write_text(f"open('imported-{name}', 'w').close()\nraise SystemExit(1)\n")
    program.write_text(
        "from openclawbench.base.canonical_json import sha256_text\n"
        "from openclawbench.runtime.engines.ray_core import RayCore\n"
        "if __name__ == '__main__': print([*RayCore(1).run(sha256_text, ['a'])])"
    )
    ended = subprocess.run([sys.executable, "-P", program], cwd=folder, capture_output=True, text=True, check=True)
    assert hashlib.sha256(b"a").hexdigest() in ended.stdout, ended.stderr
    assert [path.name for path in folder.glob("imported-*")] == []


def test_without_an_answer_at_the_address_the_sentence_says_so(small: Ran, tmp_path: Path) -> None:
    ended = call(*arguments(tmp_path / "data", small.raw, "127.0.0.1:1"), env=ENV)
    assert (ended.status, "Check --ray-address" in ended.err, "Traceback" in ended.err) == (2, True, False), ended.err


def test_without_the_extra_the_sentence_names_it(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('ray is not here')\n")
    env = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"}
    code = "from openclawbench.runtime.engines.ray_core import RayCore; list(RayCore(1).run(abs, [1]))"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "Install the extra `ray`: run `make setup`" in done.stderr


def test_nothing_to_do_starts_nothing() -> None:
    assert list(RayCore(2, "127.0.0.1:1").run(abs, [])) == []
