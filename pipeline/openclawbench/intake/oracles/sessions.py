"""Which session an oracle row means: names of sessions as rows write them, and tasks as the run manifest names them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.storage.spilled_values import Multimap

NO_MANIFEST_ROW, AMBIGUOUS_ATTEMPTS, OTHER_TASK = "no_manifest_row", "ambiguous_attempts", "other_task"
OTHER_RUN = "other_run"
ATTEMPT = ("native_session_basename", "run_id", "attempt", "scored")  # columns of RunManifestRow


@dataclass(frozen=True)
class NamedSession:
    """The session that a row means: its name here, how many sessions it can mean, and whether the row's session id
    decides."""

    basename: str
    sessions: int
    by_session_id: bool = False


class SessionNames:
    """The names and ids of all sessions, per source model. A name that is written otherwise is found by its own rules:
    folders and `.jsonl` left out, then the time of a reset, then without regard to case; never by likeness. Where
    several sessions have a name, the folders decide, as far as they are written."""

    def __init__(self, rules: OracleRules) -> None:
        self.rules = rules
        self.models: set[str] = set()  # every source model that has a session
        self.sessions = Multimap[str]()  # (source model, name) -> identities
        self.folded = Multimap[str]()  # (source model, folded name) -> names, if any is not folded itself
        self.ids = Multimap[str]()  # (source model, session id) -> identities
        self.paths = Multimap[str]()  # (source model, bare name) -> names with folders

    def add(self, source_model: str, name: str, session_id: str, identity: str) -> None:
        """Add a name of a session; a name with folders distinguishes it from others with its basename."""
        self.models.add(source_model)
        if "/" in name:
            self.paths.add((source_model, self.rules.bare_name(name)), name)
        self.sessions.add((source_model, name), identity)
        if (folded := name.casefold()) != name:
            self.folded.add((source_model, folded), name)
        self.ids.add((source_model, session_id), identity)

    def find(self, source_model: str, written: str, session_id: str | None = None) -> NamedSession:
        """The session of this name. If there are several, the session id decides. Names that differ only in case are
        one name for a row that has none of them exactly."""
        bare = self.rules.bare_name(written)
        name = self.known_spelling(source_model, bare)
        sessions = self.sessions.get((source_model, name))
        if len(sessions) > 1 and (path := self.by_path(source_model, name, written)):
            return NamedSession(path, len(self.sessions.get((source_model, path))))
        if not sessions:
            spellings = self.spellings(source_model, bare)
            identities = {session for each in spellings for session in self.sessions.get((source_model, each))}
            return NamedSession(name, len(identities))
        if len(sessions) > 1 and session_id is not None:
            with_id = set(sessions).intersection(self.ids.get((source_model, session_id)))
            return NamedSession(name, len(with_id), True)
        return NamedSession(name, len(sessions))

    def known_spelling(self, source_model: str, bare: str) -> str:
        """A name as the sessions here have it: the only one that is equal but for case, else the name itself."""
        spellings = self.spellings(source_model, bare)
        return spellings[0] if len(spellings) == 1 else bare

    def spellings(self, source_model: str, bare: str) -> tuple[str, ...]:
        """The names of sessions here that are equal to a name but for case."""
        folded = bare.casefold()
        itself = (folded,) if (source_model, folded) in self.sessions else ()
        return itself + self.folded.get((source_model, folded))

    def by_path(self, source_model: str, name: str, written: str) -> str | None:
        """The only name with folders that what is written ends with, or that ends with it, or None."""
        folder = written.replace("\\", "/").removeprefix("./").rpartition("/")[0]
        if not folder:
            return None
        path = f"/{folder}/{name}"
        names = self.paths.get((source_model, name))
        suffixes = [name for name in names if path.endswith(f"/{name}")]
        fitting = sorted(suffixes, key=len)[-1:] or [name for name in names if f"/{name}".endswith(path)]
        return fitting[0] if len(fitting) == 1 else None

    def of_id(self, source_model: str, session_id: str) -> int:
        """How many sessions have this id."""
        return len(self.ids.get((source_model, session_id)))


class TaskSessions:
    """The sessions that the run manifest names for each task of each source model."""

    def __init__(self, rows: Iterable[dict[str, Any]], runs: Iterable[str], rules: OracleRules) -> None:
        """`rows`: RunManifestRow dicts; `runs`: the names of all trees' folders."""
        self.runs = set(runs)
        self.rows: dict[tuple[str, str | None], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            if row["task_id"] is not None:
                attempt = {name: row[name] for name in ATTEMPT}
                self.rows[row["source_model"], rules.canonical_id(row["task_id"])].append(attempt)

    def find(
        self, source_model: str, task_id: str | None, run: str, outcome: dict[str, Any]
    ) -> tuple[dict[str, Any] | None, str | None]:
        """({native_session_basename, run_id, attempt}, None) of the scored attempt, or (None, why there is none).

        A result line that names its session needs no manifest. Of several attempts the one counts whose run or attempt
        the result line names, or whose run_id is the name of the tree's folder, or that the manifest says is `scored`;
        never simply the first or the last. A run_id that is another tree's name belongs to that tree.
        """
        if "native_session_basename" in outcome:
            return {"run_id": None, "attempt": None} | outcome, None
        of_task = self.rows.get((source_model, task_id), [])
        rows = [
            row
            for row in of_task
            if row["scored"] is not False
            and all(row[name] == value for name, value in outcome.items())
            and (row["run_id"] == run or row["run_id"] not in self.runs)
        ]
        for better in ([row for row in rows if row["run_id"] == run], [row for row in rows if row["scored"]]):
            rows = better or rows
        if len(rows) == 1:
            return rows[0], None
        return None, AMBIGUOUS_ATTEMPTS if rows else OTHER_RUN if of_task else NO_MANIFEST_ROW


@dataclass
class OtherSubsets:
    """The lines of a file whose subset is another category of BFCL than the one of their task; it is used as it is
    written, and the risk prior goes by it."""

    kind: str
    file: str
    rules: OracleRules
    lines: int = 0
    first: tuple[int, str, str] | None = None  # line, subset, task

    def look(self, line: int, row: dict[str, Any]) -> None:
        """Count a line if it is one of them."""
        if row["subset"] and not is_subset(row, self.rules):
            self.lines += 1
            self.first = self.first or (line, row["subset"], row["task_id"])

    def warnings(self) -> Iterator[dict[str, Any]]:
        """A warning if there is such a line."""
        if self.first is not None:
            line, subset, task_id = self.first
            message = (
                f"{self.file}: line {line}: says subset {subset}, and the task {task_id} is of "
                f"{self.rules.known_subset(task_id)}; {self.lines} such lines. It is used as it is written, the risk "
                "prior with it; correct what is wrong and run again."
            )
            yield {"reason": f"{self.kind}_other_subset", "file": self.file, "line": line, "message": message}


def is_subset(row: dict[str, Any], rules: OracleRules) -> bool:
    """False if a row's subset is a category of BFCL and not the one of its task, whatever the spelling of either.
    Names of a corpus's own do not contradict."""
    known, named = rules.known_subset(row["task_id"]), rules.canonical_category(row["subset"])
    return known is None or named not in rules.known or rules.subset(named) == known
