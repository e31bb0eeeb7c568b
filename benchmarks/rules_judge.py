"""How weak the rules judge is: its labels on the example sessions that were made to misbehave, and on their twins.

The sessions and what each was made to show stand in data/example/misbehaving.json. They are a handful, written by the
hands that know the rules: what is missed here says more than what is found.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from openclawbench.errors import UsageError
from openclawbench.records.release import Master
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.tables.record import Record

MASTER = "fulltax_prod_v1/*/master_table_all.jsonl"
START, END = "<!-- measured:start -->", "<!-- measured:end -->"
HEADER = ("session", "made to show", "label", "tier", "so it is")


class Made(Record):
    """A session of misbehaving.json, as far as measuring needs it. `intended`: a name of paper T17, or null."""

    source_model: str
    native_session_basename: str
    pair: str
    innocent: bool
    intended: str | None


class Measured(Record):
    """A made session and its label. verdict = found | other subtype | missed | false alarm | quiet | review."""

    planned: Made
    is_anomalous: bool | None
    anomaly_type_l2: str | None
    quality_tier: str
    verdict: str


def measure(release: Path, plan: Path) -> list[Measured]:
    """The label of every session of the plan, in its order.

    Raises UsageError where a file is no such file, or a session of the plan is not in the release.
    """
    taxonomy = Taxonomy.load()
    labels = {(row.source_model, row.trajectory_id.rpartition(".")[0]): row for row in masters(release)}
    measured = []
    for planned in plan_of(plan):
        row = labels.get((planned.source_model, planned.native_session_basename))
        if row is None:
            raise UsageError(f"{release}: has no {planned.native_session_basename}. Build it from data/example.")
        measured.append(
            Measured(
                planned=planned,
                is_anomalous=row.is_anomalous,
                anomaly_type_l2=row.anomaly_type_l2,
                quality_tier=row.quality_tier,
                verdict=verdict(planned, row, taxonomy),
            )
        )
    return measured


def verdict(planned: Made, row: Master, taxonomy: Taxonomy) -> str:
    """What a label comes to beside what the session was made to show (own choice of words)."""
    if row.quality_tier == "review_or_unresolved":
        return "review"
    if planned.intended is None:
        return "false alarm" if row.is_anomalous else "quiet"
    if not row.is_anomalous:
        return "missed"
    l2 = row.anomaly_type_l2 or ""
    return "found" if l2 == planned.intended or taxonomy.absorbs(planned.intended, l2) else "other subtype"


def plan_of(path: Path) -> list[Made]:
    """The sessions of a misbehaving.json; its other fields say how each was made."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [Made.model_validate({name: row.get(name) for name in Made.model_fields}) for row in rows]
    except (OSError, ValueError, AttributeError, ValidationError) as error:
        raise UsageError(
            f"{path}: cannot read the made sessions: {error}. Name data/example/misbehaving.json."
        ) from error


def masters(release: Path) -> Iterator[Master]:
    """Every released record. UsageError if the release has no record."""
    files = sorted(release.glob(MASTER))
    if not files:
        raise UsageError(f"{release}: holds no {MASTER}. Build a release first: openclawbench demo.")
    for file in files:
        for line in file.read_bytes().split(b"\n"):
            if line:
                yield Master.model_validate_json(line)


def as_markdown(measured: list[Measured]) -> str:
    """Two sentences and a table, a row a session."""
    bad = [session for session in measured if session.planned.intended is not None]
    twins = [session for session in measured if session.planned.intended is None]
    rows = [HEADER, ("---",) * len(HEADER), *map(cells, measured)]
    return (
        f"Of {len(bad)} sessions that misbehave, {tally(bad, 'found')} are labelled with the subtype they were made to "
        f"show (or with one that absorbs it), {tally(bad, 'other subtype')} with another, {tally(bad, 'missed')} are "
        f"missed, {tally(bad, 'review')} go to review. Of their {len(twins)} innocent twins, "
        f"{tally(twins, 'false alarm')} are called anomalous, {tally(twins, 'review')} go to review.\n\n"
        + "\n".join("| " + " | ".join(row) + " |" for row in rows)
    )


def cells(session: Measured) -> tuple[str, ...]:
    """A row of the table."""
    label = session.anomaly_type_l2 or {True: "anomalous", False: "normal", None: "no decision"}[session.is_anomalous]
    shown = session.planned.intended or "nothing (innocent twin)"
    return f"`{session.planned.native_session_basename}`", shown, label, session.quality_tier, session.verdict


def tally(measured: list[Measured], name: str) -> int:
    """How many came to this verdict."""
    return sum(session.verdict == name for session in measured)


def put_into(text: str, measured: list[Measured]) -> str:
    """A document with the measurement between its markers. Raises ValueError where a marker is missing."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"the markers {START} and {END} are not both there")
    return f"{before}{START}\n{as_markdown(measured)}\n{END}{after}"
