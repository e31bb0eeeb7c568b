"""What the pages read: one trajectory with everything known of it, the index of all, raw records, and why.

A Reader is over a data folder (data_folder.py) or over a copy of a release (release.py). It gives everything;
what a role may see of it is decided in access.py, never in a template.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from openclawbench.errors import NotFound
from openclawbench.records.vocabulary import ONSETS
from openclawbench.workbench.readers.index import find_text

Row = dict[str, Any]
Verdicts = Mapping[tuple[str, str], str]
SEARCHES = 8  # in the texts of steps, that are kept
NEAREST = 5  # ids that are named if one does not exist
MARKS = ("truncated", "order_ambiguous", "several_sessions", "divergent", "head_drop", "compacted")
LABEL = (
    "is_anomalous",
    "anomaly_type_l1",
    "anomaly_type_l2",
    "absorbed_from",
    "evidence_steps",
    "segment_spans",
    *ONSETS,
    "severity",
    "recoverability",
    "annotator_rationale",
    "quality_tier",
    "review_cause",
    "repairs",
)


class Reader(ABC):
    """One corpus, read."""

    KIND: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self.changed_rules: frozenset[str] = frozenset()  # rule files that differ from those of the last run
        self.searches: dict[str, pl.DataFrame] = {}

    @property
    @abstractmethod
    def digest(self) -> str:
        """What identifies the state that is read, 12 hex digits."""

    @property
    @abstractmethod
    def index(self) -> pl.DataFrame:
        """One row per trajectory: index.COLUMNS, without human verdicts. Empty if there is no trajectory."""

    @abstractmethod
    def packets(self) -> pl.LazyFrame:
        """Key, user_turns and steps of all trajectories: to search in."""

    def containing(self, text: str) -> pl.DataFrame:
        """The trajectories whose user turns or steps hold a text: index.containing(). The last searches are kept."""
        if text not in self.searches:
            while len(self.searches) >= SEARCHES:
                del self.searches[next(iter(self.searches))]
            self.searches[text] = find_text(self.packets(), text)
        return self.searches[text]

    @abstractmethod
    def trajectory(self, model: str, trajectory_id: str) -> Row:
        """Everything known of a trajectory: TRAJECTORY of inspect.blind, outcome, risk, onset candidates, label,
        second_label. NotFound if it does not exist."""

    @abstractmethod
    def raw(self, model: str, trajectory_id: str, step: int) -> list[Row]:
        """The raw records behind a step: part, source_file, line, offset, length, content (bytes). NotFound or
        UnreadableInput if they cannot be read."""

    @abstractmethod
    def why(self, model: str, trajectory_id: str, step: int) -> Row:
        """The sections of a step's explanation. NotFound if they are not known."""

    @abstractmethod
    def notices(self) -> list[str]:
        """Sentences for the top of every page: what is stale, damaged or left out."""

    @abstractmethod
    def has_changed(self) -> bool:
        """True if what is on disk is no longer what was read."""

    def key_of(self, path: str) -> tuple[str, str]:
        """The key that a path MODEL/ID names; both parts may contain slashes. NotFound with the nearest ids."""
        parts = path.split("/")
        for place in range(1, len(parts)):
            key = "/".join(parts[:place]), "/".join(parts[place:])
            if key in self.keys:
                return key
        raise NotFound(f"{path}: no trajectory has this id.{self.nearest(path)}")

    def nearest(self, path: str) -> str:
        """The ids that are most like a text, as a sentence; empty if no id resembles it."""
        import difflib

        wanted = path.rpartition("/")[2]
        near = difflib.get_close_matches(wanted, [key[1] for key in self.keys][:50_000], NEAREST, 0.5)
        begins = [key[1] for key in self.keys if wanted and key[1].startswith(wanted)][:NEAREST]
        names = list(dict.fromkeys([*begins, *near]))[:NEAREST]
        return f" Nearest: {', '.join(names)}." if names else ""

    @property
    @abstractmethod
    def keys(self) -> Mapping[tuple[str, str], Any]:
        """Key of each trajectory -> what finds its rows."""


def label_of(row: Row, stages: Row) -> Row:
    """The label as the pages show it. `row`: Annotation or Master; `stages`: answers by stage (a, b1, b2, c)."""
    provenance = row["provenance"]
    asked = {
        name: provenance.get(name) for name in ("judge", "judge_model", "packet_sha256", "cost_usd", "request_ids")
    }
    return {**{name: row[name] for name in LABEL}, **asked, "stages": stages}
