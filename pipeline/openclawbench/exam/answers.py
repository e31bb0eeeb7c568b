"""A judge's answers to the items of a paper, read from the annotation tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.exam.paper import Item
from openclawbench.records.fulltax import Annotation
from openclawbench.records.session import FileOutcome
from openclawbench.records.tiers import REVIEW
from openclawbench.workspace.update import Tables

NOT_READ = "not_read"  # cause of an item that has no annotation


@dataclass(frozen=True)
class Answer:
    """A judge's label of an item. `is_anomalous` is None for one in review: then `cause` says why."""

    item: Item
    is_anomalous: bool | None
    subtype: str | None
    onset: int | None
    quotes: list[tuple[int, str]]  # step, field
    cause: str | None
    confidence: str | None  # routing_confidence of stage A: high, medium or low
    cost_usd: float
    tokens: int

    @property
    def is_right(self) -> bool:
        """True for the right label. Review is not."""
        return self.is_anomalous == (self.item.twin == "anomalous")


def read_answers(items: list[Item], tables: Tables) -> list[Answer]:
    """The answers to all items, in their order."""
    files = tables[FileOutcome].select("path", "member", "trajectory_id").collect()
    names = {row["trajectory_id"]: row["member"] or Path(row["path"]).stem for row in files.iter_rows(named=True)}
    rows = {names[row["trajectory_id"]]: row for row in annotations(tables).iter_rows(named=True)}
    return [answer(item, rows.get(item.id)) for item in items]


def annotations(tables: Tables) -> pl.DataFrame:
    """All columns of the annotations."""
    return tables[Annotation].collect()


def answer(item: Item, row: Mapping[str, Any] | None) -> Answer:
    """The answer in a row of Annotation."""
    if row is None:
        return Answer(item, None, None, None, [], NOT_READ, None, 0.0, 0)
    is_review = row["quality_tier"] == REVIEW
    provenance = row["provenance"]
    usage = provenance["usage"]
    return Answer(
        item=item,
        is_anomalous=None if is_review else row["is_anomalous"],
        subtype=row["anomaly_type_l2"],
        onset=row["earliest_recoverable_onset"],
        quotes=[(quote["step_id"], quote["field"]) for quote in row["evidence_steps"]],
        cause=row["review_cause"] if is_review else None,
        confidence=(row["stage_a"] or {}).get("routing_confidence"),
        cost_usd=provenance["cost_usd"],
        tokens=(usage["prompt_tokens"] or 0) + (usage["completion_tokens"] or 0),
    )
