"""One OpenClaw process: one task after the other, each in a fresh home, ended when it hangs or fails."""

import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from openclawbench.collect.bfcl import PROGRAMS
from openclawbench.collect.isolation import without_network
from openclawbench.collect.openclaw import OpenClaw, agent_environment, make_home, session_of
from openclawbench.collect.plan import PlannedSession, SourceModel
from openclawbench.collect.recorded_session import RecordedSession, read_session
from openclawbench.collect.serve import CALLS, LISTED
from openclawbench.errors import UsageError

if TYPE_CHECKING:
    from openclawbench.collect.relay import Relay, Upstream

START_S = 300.0  # until OpenClaw has loaded; 8 s (2026.6.11) to 40 s (2026.9.6) were measured on two cores
POLL_S = 1.0
MOST_BYTES = 2 * 1024**3  # of a home
MOST_BYTES_OF_EARLIER_HOMES = 1024**3  # 3 MB (2026.6.11) to 7 MB (2026.9.6) a task were measured
LARGEST_FILE = 1024**3
MOST_PROCESSES = 512  # beside those that the user has already
MOST_CPU_S = 3600
START = "start"  # name of the home that an OpenClaw process begins in
TIMED_OUT = re.compile(r"abort|time", re.IGNORECASE)  # in OpenClaw's words
GRACE_S = 30.0  # beyond the time limit that OpenClaw itself keeps


@dataclass(frozen=True)
class SessionEnd:
    """How a session ended. `error`: of the infrastructure, never of the model; `content`: its records, if any."""

    error: str | None
    content: bytes | None
    journal: bytes  # the calls that reached the MCP server, a line each
    read: RecordedSession | None
    wall_s: float
    upstream: "Upstream"  # how the endpoint answered


class ProcessFailed(Exception):
    """The OpenClaw process ended, hung, or filled its disk."""


@dataclass(frozen=True)
class WorkerContext:
    """What all workers have in common. `folder`: the collection; `has_network`: the agent may use this machine's
    network."""

    folder: Path
    openclaw: OpenClaw
    bfcl: Path
    task_timeout_s: float
    has_network: bool
    relay: "Relay"


class Worker:
    """Runs tasks, one at a time, in an OpenClaw process. `number`: of the worker, from 0."""

    def __init__(self, number: int, context: WorkerContext) -> None:
        self.context, self.number = context, number
        folder = context.folder
        self.homes = folder / "homes" / str(number)  # of the process, and below it that of the present task
        self.home = self.homes / START
        self.homes_made = 0
        self.bytes_of_homes = 0  # in which the process began, and of the tasks that it has done
        self.state = folder / "homes" / f"{number}-state"
        self.log = folder / "logs" / f"openclaw-{number}.log"
        self.source: SourceModel | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.answers: BinaryIO | None = None

    def run_task(self, planned: PlannedSession, session: str, base_url: str, key: str | None) -> SessionEnd:
        """Run a task as the session of this id. `base_url`, `key`: of the endpoint."""
        began = time.monotonic()
        self.context.relay.set_endpoint(self.number, base_url, key)
        try:
            if self.process is None or not self.is_reusable(planned.source_model):
                self.start(planned.source_model)
            self.begin(planned)
            timeout_s = self.context.task_timeout_s
            answer = self.ask(
                {
                    "session": session,
                    "home": str(self.home),
                    "turns": planned.task.turns,
                    "timeout_s": int(timeout_s),
                },
                (timeout_s + GRACE_S) * len(planned.task.turns),
            )
            errors = [run["error"] for run in answer["runs"] if run["error"]]
        except ProcessFailed as failed:
            errors = [str(failed)]
        content = session_of(self.home, session)
        journal = self.state / CALLS
        calls = journal.read_bytes() if journal.exists() else b""
        read = None if content is None else read_session(content, planned.task, calls)
        upstream = self.context.relay.upstreams[self.number]
        if read is not None and read.error and not errors:
            errors = [read.error]
        if upstream.was_cut:
            openclaw_says = f": {errors[0]}" if errors else ""
            errors = [f"{planned.source_model.endpoint_host} broke off an answer in the middle{openclaw_says}"]
        if not errors and (fault := self.fault_of(read, planned)) is not None:
            errors = [f"OpenClaw {self.context.openclaw.version} {fault}"]
        seconds = round(time.monotonic() - began, 3)
        self.bytes_of_homes += bytes_in(self.home)
        if errors:
            self.close()
        return SessionEnd(
            self.explain_error(errors[0], seconds) if errors else None, content, calls, read, seconds, upstream
        )

    def explain_error(self, error: str, seconds: float) -> str:
        """OpenClaw's message about an error, with the time limit if that is the cause."""
        limit_s = self.context.task_timeout_s
        is_late = seconds >= limit_s and TIMED_OUT.search(error) is not None
        return f"a user turn took longer than --timeout {limit_s:g} s: {error}" if is_late else error

    def fault_of(self, read: RecordedSession | None, planned: PlannedSession) -> str | None:
        """What shows that the agent did not have the tools of its mode; None if it had them."""
        if read is None:
            return "recorded no session where it is looked for"
        if read.not_offered:
            return f"did not offer the agent {read.not_offered[0]}, a function of the task"
        listed = self.state / LISTED
        turns = {json.loads(line)["turn"] for line in listed.read_text().splitlines()} if listed.exists() else set()
        if len(turns) < (planned_turns := len(planned.task.turns)):
            return f"asked for the task's functions in {len(turns)} of {planned_turns} turns only"
        if planned.source_model.mode == "functions" and read.other_tools:
            return f"gave the agent {min(read.other_tools)}, which mode functions leaves out"
        return None

    def start(self, source: SourceModel) -> None:
        """A new process in a fresh home. UsageError if this OpenClaw cannot be driven."""
        self.close()
        openclaw, relay = self.context.openclaw, self.context.relay
        self.state.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        end_processes_of(self.homes)  # of a run that was killed
        self.fresh_home(START, source)
        reading, writing = os.pipe()
        try:
            with self.log.open("ab") as log:
                command = [
                    str(openclaw.node),
                    str(PROGRAMS / "openclaw_driver.mjs"),
                    str(openclaw.package),
                    str(self.state),
                    str(writing),
                    str(relay.socket(self.number)),
                ]
                self.process = subprocess.Popen(
                    command if self.context.has_network else without_network(command),
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=(writing,),
                    env=dict(agent_environment(self.home, openclaw.node, relay.token)),
                    cwd=self.home,
                    start_new_session=True,
                )
        finally:
            os.close(writing)
        self.answers = os.fdopen(reading, "rb", buffering=0)
        limit(self.process.pid)
        self.source = source
        first = self.answer(START_S)
        self.bytes_of_homes = bytes_in(self.home)
        if "fault" in first:
            self.close()
            raise UsageError(f"{openclaw.package}: OpenClaw {openclaw.version}: {first['fault']}.")

    def is_reusable(self, source: SourceModel) -> bool:
        """True if the process may run another task: not if its agent has tools of its own, or if there are too many
        homes."""
        has_room = self.bytes_of_homes < MOST_BYTES_OF_EARLIER_HOMES
        return source == self.source and source.mode != "own_tools" and has_room

    def fresh_home(self, name: str, source: SourceModel) -> None:
        """Make a home with nothing of an earlier task. Earlier homes stay until the process ends, because it may have
        their stores open: 2026.9 fails if one is gone."""
        if name == START:
            shutil.rmtree(self.homes, ignore_errors=True)
        elif self.home.name != START:  # in which OpenClaw itself runs
            end_processes_of(self.home)
        self.home = self.homes / name
        make_home(self.home, source, self.state, self.context.openclaw.version)

    def remove_homes(self) -> None:
        """Remove the homes of a process that has ended, and the last task with its calls."""
        shutil.rmtree(self.homes, ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)

    def begin(self, planned: PlannedSession) -> None:
        """Write the task where the MCP server reads it, and make its home. The home's name has no meaning, because the
        agent sees it. An agent with tools of its own also gets a fresh process."""
        self.homes_made += 1
        self.fresh_home(str(self.homes_made), planned.source_model)
        for name in (CALLS, LISTED, "turn.json"):
            (self.state / name).unlink(missing_ok=True)
        task = planned.task.model_dump(exclude={"script"}, mode="json")
        text = json.dumps({"task": task, "bfcl": str(self.context.bfcl)})
        (self.state / "task.json").write_text(text, encoding="utf-8")

    def ask(self, task: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a task and return its answer. Raises ProcessFailed with the reason."""
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise ProcessFailed(f"the OpenClaw process ended: see {self.log}") from error
        return self.answer(timeout_s)

    def answer(self, timeout_s: float) -> dict[str, Any]:
        """The next line of the driver. Watches the time limit and the disk meanwhile."""
        assert self.answers is not None
        deadline, line = time.monotonic() + timeout_s, b""
        while True:
            ready, _, _ = select.select([self.answers], [], [], POLL_S)
            if ready:
                piece = self.answers.read(65536)
                if not piece:
                    raise ProcessFailed(f"the OpenClaw process ended: see {self.log}")
                line += piece
                if line.endswith(b"\n"):
                    answer: dict[str, Any] = json.loads(line)
                    return answer
            elif time.monotonic() > deadline:
                raise ProcessFailed(f"no end after {timeout_s:.0f} s")
            elif bytes_in(self.home) > MOST_BYTES:
                raise ProcessFailed(f"its home holds more than {MOST_BYTES // 1024**2} MB")

    def close(self) -> None:
        """End the process and whatever it started."""
        if self.process is None:
            return
        self.kill()
        self.process.wait()
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        if self.answers is not None:
            self.answers.close()
        self.process = None

    def kill(self) -> None:
        """End the process and whatever it started, from any thread: the one that waits for an answer then goes on."""
        if (process := self.process) is not None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            end_processes_of(self.homes)


def limit(pid: int) -> None:
    """Limit what a process and its children may take."""
    with contextlib.suppress(OSError):  # it may have ended already
        for which, value in (
            (resource.RLIMIT_FSIZE, LARGEST_FILE),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, MOST_CPU_S),
            (resource.RLIMIT_NPROC, MOST_PROCESSES + processes_of_user()),
        ):
            _, hard = resource.prlimit(pid, which)
            most = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, which, (most, most))


def processes_of_user() -> int:
    """How many processes and threads the user has: the limit on them counts every one."""
    total = 0
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and folder.stat().st_uid == os.getuid():
                total += sum(1 for _ in (folder / "task").iterdir())
    return total


def end_processes_of(home: Path) -> None:
    """End every process whose HOME is this folder or in it: what an agent left in the background has left its group."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                variables = (folder / "environ").read_bytes().split(b"\0")
                homes = (os.fsdecode(line[5:]) for line in variables if line.startswith(b"HOME="))
                if any(Path(each).is_relative_to(home) for each in homes):
                    os.kill(int(folder.name), signal.SIGKILL)


def bytes_in(folder: Path) -> int:
    """Bytes of the files in a folder."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(root) / name).lstat().st_size
    return total
