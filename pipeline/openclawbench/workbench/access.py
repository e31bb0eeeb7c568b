"""Access control. Pages get their rows from here, never from the reader itself.

auditor: everything; gives verdicts with the label in sight, and none on rows of a blind sample whose labels were seen.
reviewer: the rows of samples, without what says or hints at a label. adjudicator: rows on which reviewers differ, their
verdicts without names, and the silver label once the row is settled.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, get_args

import polars as pl

from openclawbench.base.terminal import warn
from openclawbench.errors import OpenClawBenchError, UnreadableInput
from openclawbench.inspect.blind import blind_explanation, blind_trajectory
from openclawbench.storage.append_log import append, read_complete_lines
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workbench.readers.reader import Reader, Row

Key = tuple[str, str]  # source_model, trajectory_id
Role = Literal["auditor", "reviewer", "adjudicator"]
ROLES: tuple[str, ...] = get_args(Role)


class Refused(OpenClawBenchError):
    """A page that a role may not see. The sentence says the same of every row."""


class SeenLabels:
    """Keys of the trajectories whose label a person has seen. With a file, a line each, they outlast the
    workbench."""

    def __init__(self, path: Path | None = None) -> None:
        """UnreadableInput for a file that is not one of these."""
        self.path, self.lock = path, Lock()
        self.keys = read_keys(path) if path is not None and path.exists() else set[Key]()

    def __contains__(self, key: Key) -> bool:
        return key in self.keys

    def add(self, keys: Iterable[Key]) -> None:
        """Remember keys. In a folder that cannot be written they are remembered until the workbench ends, which a
        warning says once."""
        with self.lock:
            new = sorted({*keys} - self.keys)
            self.keys.update(new)
            if not new or self.path is None:
                return
            try:
                append(self.path, map(line_of, new), sync=False)
            except OSError as error:
                warn(
                    f"{self.path}: cannot be written: {error.strerror}. Whose labels you have seen is remembered until "
                    "the workbench ends."
                )
                self.path = None


def line_of(key: Key) -> bytes:
    """A line of a file of SeenLabels."""
    return json.dumps(dict(zip(TRAJECTORY_KEY, key, strict=True))).encode() + b"\n"


def read_keys(path: Path) -> set[Key]:
    """The keys in a file of SeenLabels. UnreadableInput with file and line."""
    keys = set()
    for number, line in enumerate(read_complete_lines(path).splitlines(), 1):
        try:
            row = json.loads(line)
            keys.add((str(row["source_model"]), str(row["trajectory_id"])))
        except (ValueError, TypeError, KeyError) as error:
            raise UnreadableInput(
                f"{path}: line {number}: does not name a trajectory whose label was seen. Remove the line."
            ) from error
    return keys


@dataclass
class Person:
    """Who looks: the name of the login and the role."""

    name: str
    role: Role
    opened: SeenLabels = field(default_factory=SeenLabels)
    token: str = ""  # of the forms of this session

    def saw(self, rows: pl.DataFrame) -> None:
        """Remember the keys of rows of the index, in which labels stand."""
        self.opened.add(rows.select(TRAJECTORY_KEY).iter_rows())

    def saw_in(self, value: Any) -> None:
        """Remember every key in the data of a page that shows labels, risk or flags beside it."""
        self.opened.add(keys_in(value))

    def needs(self, *roles: Role) -> None:
        """Raise Refused for another role."""
        if self.role not in roles:
            allowed = " or ".join(roles)
            raise Refused(f"This page is for the role {allowed}. You are here as {self.role}.")


def keys_in(value: Any) -> Iterator[Key]:
    """Every trajectory key in the data of a page."""
    if isinstance(value, Mapping):
        if set(TRAJECTORY_KEY) <= value.keys():
            yield value["source_model"], value["trajectory_id"]
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for inner in value:
        yield from keys_in(inner)


def open_trajectory(reader: Reader, person: Person, model: str, trajectory_id: str) -> Row:
    """A trajectory with its label, for an auditor."""
    person.needs("auditor")
    row = reader.trajectory(model, trajectory_id)
    person.opened.add([(model, trajectory_id)])
    return row


def open_drawn(reader: Reader, person: Person, drawn: Any) -> Row:
    """The trajectory of a drawn row, without what says or hints at its label. Refused for a row of a blind sample
    whose label this person has seen; who reviews event descriptors may have seen it."""
    key = drawn.source_model, drawn.trajectory_id
    blind = getattr(drawn, "blind", False)
    if blind and key in person.opened:
        raise Refused(
            "You have seen the label of this trajectory, so a verdict of yours would not be blind. Leave the row to "
            "another reviewer."
        )
    return blind_trajectory(reader.trajectory(*key))


def explain_step(reader: Reader, person: Person, key: tuple[str, str], step: int) -> Row:
    """Why the values of a step are what they are, for an auditor: with flags, risk and onset candidates."""
    person.needs("auditor")
    explained = reader.why(*key, step)
    person.opened.add([key])
    return explained


def explain_drawn(reader: Reader, drawn: Any, step: int) -> Row:
    """Why the values of a step of a drawn row are what they are, without what hints at its label: whoever gives a
    verdict there gives it blind, an auditor too."""
    return blind_explanation(reader.why(drawn.source_model, drawn.trajectory_id, step))
