"""Who may see what. Pages get their rows from here, never from the reader itself.

auditor: everything; gives verdicts with the label in sight, and none on rows of a blind sample whose labels were seen.
reviewer: the rows of samples, without what says or hints at a label. adjudicator: rows on which reviewers differ, their
verdicts without names, and the silver label once the row is settled.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import polars as pl

from openclawbench.errors import OpenClawBenchError
from openclawbench.inspect.blind import blind_explanation, blind_trajectory
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workbench.readers.reader import Reader, Row

Role = Literal["auditor", "reviewer", "adjudicator"]
ROLES: tuple[str, ...] = get_args(Role)
SIGHTED = ("oracle_outcome", "oracle", "risk", "onset_candidates", "label", "second_label")


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
    """The trajectory of a drawn row: blind if its sample is. Refused for a blind row whose label this person has
    seen."""
    key = drawn.source_model, drawn.trajectory_id
    blind = getattr(drawn, "blind", True)
    if blind and key in person.opened:
        raise Refused(
            "You have seen the label of this trajectory, so a verdict of yours would not be blind. Leave the row to "
            "another reviewer."
        )
    return blind_trajectory(reader.trajectory(*key))


def explain_step(reader: Reader, person: Person, key: tuple[str, str], step: int) -> Row:
    """Why the values of a step are what they are, as far as the role may know."""
    explained = reader.why(*key, step)
    return explained if person.role == "auditor" else blind_explanation(explained)
