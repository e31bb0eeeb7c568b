"""Who may see what. Pages get their rows from here, never from the reader itself.

auditor: everything; gives verdicts with the label in sight, and none on rows of a blind sample whose labels were seen.
reviewer: the rows of samples, without what says or hints at a label. adjudicator: rows on which reviewers differ, their
verdicts without names, and the silver label once the row is settled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import polars as pl

from openclawbench.errors import OpenClawBenchError
from openclawbench.inspect.blind import blind_explanation, blind_trajectory
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workbench.readers.reader import Reader, Row

Role = Literal["auditor", "reviewer", "adjudicator"]
ROLES: tuple[str, ...] = get_args(Role)


class Refused(OpenClawBenchError):
    """A page that a role may not see. The sentence says the same of every row."""


@dataclass
class Person:
    """Who looks: the name of the login and the role."""

    name: str
    role: Role
    token: str = ""  # of the forms of this session
    opened: set[tuple[str, str]] = field(default_factory=set)  # keys whose label this person has seen

    def saw(self, rows: pl.DataFrame) -> None:
        """Remember the keys of rows of the index, in which labels stand."""
        self.opened.update(rows.select(TRAJECTORY_KEY).iter_rows())

    def saw_in(self, value: Any) -> None:
        """Remember every key in the data of a page that shows labels, risk or flags beside it."""
        if isinstance(value, Mapping):
            if set(TRAJECTORY_KEY) <= value.keys():
                self.opened.add((value["source_model"], value["trajectory_id"]))
            value = value.values()
        elif not isinstance(value, list | tuple):
            return
        for inner in value:
            self.saw_in(inner)

    def needs(self, *roles: Role) -> None:
        """Raise Refused for another role."""
        if self.role not in roles:
            allowed = " or ".join(roles)
            raise Refused(f"This page is for the role {allowed}. You are here as {self.role}.")


def open_trajectory(reader: Reader, person: Person, model: str, trajectory_id: str) -> Row:
    """A trajectory with its label, for an auditor."""
    person.needs("auditor")
    row = reader.trajectory(model, trajectory_id)
    person.opened.add((model, trajectory_id))
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
    person.opened.add(key)
    return explained


def explain_drawn(reader: Reader, drawn: Any, step: int) -> Row:
    """Why the values of a step of a drawn row are what they are, without what hints at its label: whoever gives a
    verdict there gives it blind, an auditor too."""
    return blind_explanation(reader.why(drawn.source_model, drawn.trajectory_id, step))
