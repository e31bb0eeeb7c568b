"""What of a record is kept in memory while its neighbours are read: digests, and the columns that are counted."""

import hashlib
from dataclasses import dataclass
from typing import Any

from pipeline.canonical import canonical_json
from pipeline.records.release import LabelBasis, Master, PositiveStructured
from pipeline.records.tiers import STATUS_OF
from pipeline.release.render import POSITIVES_FILES
from pipeline.release.validate.lines import Line

SAME = sorted(set(LabelBasis.model_fields) & set(Master.model_fields))


@dataclass(frozen=True)
class Slim:
    """A record of the master table; about 1 KB."""

    tier: str
    digest: bytes  # of its line
    positive: bytes | None  # of the line it owes to the positives of its label_status
    stages: dict[str, bytes | None]  # stage -> digest of its parsed answer
    basis: dict[str, Any]  # a LabelBasis row, task_digest and partial_trial left to the label files


def slim(line: Line[Master]) -> Slim:
    """The slim form of a record and its line."""
    row, value = line.record, line.value
    owes = bool(row.is_anomalous) and STATUS_OF.get(row.quality_tier) in POSITIVES_FILES
    return Slim(
        tier=row.quality_tier,
        digest=hashlib.sha256(line.raw).digest(),
        positive=digest({name: value[name] for name in PositiveStructured.model_fields}) if owes else None,
        stages={name: None if answer is None else digest(answer) for name, answer in value["stages"].items()},
        basis=basis(row, value),
    )


def digest(value: Any) -> bytes:
    """sha256 of plain data in the form in which a release writes it."""
    return hashlib.sha256(canonical_json(value).encode()).digest()


def basis(row: Master, value: dict[str, Any]) -> dict[str, Any]:
    """The columns from which splits and summaries are made, from the released record alone; `value`: as plain data."""
    prompts = row.provenance.prompt_versions
    return {name: value[name] for name in SAME} | {
        "task_digest": f"task:{row.task_id}" if row.task_id else "turns:" + "\n".join(t.text for t in row.user_turns),
        "repair_rules": [one.rule_id for one in row.repairs],
        **{f"asked_{name}": getattr(prompts, name) is not None for name in ("a", "b1", "b2", "c")},
        "route_label": row.stages.a and row.stages.a.route_label,
        "incomplete": row.compacted or row.truncated,
        "partial_trial": row.review_cause == "partial_trial_record",
        "judge": row.provenance.judge,
        "judge_model": row.provenance.judge_model,
    }
