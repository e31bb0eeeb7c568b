"""The folder of a collection, and how its sessions ended."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from openclawbench.base.terminal import flat
from openclawbench.errors import DataFolderLocked, UnreadableInput
from openclawbench.storage import append_log
from openclawbench.storage.file_lock import file_lock


class CollectedSession(BaseModel):
    """A line of collect/sessions.jsonl: how a planned session ended. The last line of a session counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    source_model: str
    planned: str  # <task_id>-a<attempt>
    digest: str  # of what was planned
    session: str | None  # id and file stem of what was recorded; None where nothing was
    task_id: str
    subset: str
    attempt: int
    mode: str
    status: str  # collected | infra_error
    error: str | None
    earlier_errors: list[str]  # of the tries before the last
    wall_s: float
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    usd: float | None  # null where the price was not known
    tool_calls: int
    requests: int  # of the last try, that reached the endpoint or failed on the way
    rate_limited: int  # of these, answered with HTTP 429
    sha256: str | None
    plan: str  # digest of the plan
    openclaw: str
    network: str  # endpoint: the agent reached nothing else; open: it had this machine's network
    evaluator: str
    endpoint_host: str
    model: str
    parameters: dict[str, Any]


class Collection:
    """The folder of a collection: plan.json, sessions.jsonl, sessions/<source_model>/<session>.jsonl, homes/, logs/."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.log = self.folder / "sessions.jsonl"

    def rows(self) -> Iterator[CollectedSession]:
        """Every line of the log, in its order. A last line that a kill cut off does not count."""
        if not self.log.exists():
            return
        for number, line in enumerate(append_log.read_complete_lines(self.log).split(b"\n"), 1):
            if not line:
                continue
            try:
                yield CollectedSession.model_validate_json(line)
            except ValidationError as error:
                problem = f"{self.log}: line {number}: is not a line of this file: {flat(str(error))[:200]}"
                raise UnreadableInput(f"{problem}. Remove it: the session is collected again.") from error

    def ended(self) -> dict[tuple[str, str], CollectedSession]:
        """(source model, planned session) -> how it ended last."""
        return last_rows(self.rows())

    def append(self, row: CollectedSession) -> None:
        """Add a line, on disk when this returns."""
        append_log.append(self.log, [row.model_dump_json().encode() + b"\n"])

    def session_file(self, source_model: str, session: str, kind: str = "jsonl") -> Path:
        """Where the records of a session are kept, or (`calls.jsonl`) the calls that reached its MCP server."""
        return self.folder / "sessions" / source_model / f"{session}.{kind}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the collection: one run at a time."""
        held = DataFolderLocked(f"{self.folder}: another run collects here. Wait for it, or end it.")
        with file_lock(self.folder / "run.lock", self.folder, held, UnreadableInput, "Make the folder writable."):
            yield


def last_rows(rows: Iterable[CollectedSession]) -> dict[tuple[str, str], CollectedSession]:
    """(source model, planned session) -> its last line."""
    return {(row.source_model, row.planned): row for row in rows}
