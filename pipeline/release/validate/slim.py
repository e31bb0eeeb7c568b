"""What of a record is kept in memory while its neighbours are read: digests, and the columns that are counted."""

import hashlib
from dataclasses import dataclass
from typing import Any

from pipeline.canonical import canonical_json
from pipeline.records.release import LabelBasis, Master, PositiveStructured


@dataclass(frozen=True)
class Slim:
    """A record of the master table; about 1 KB."""

    tier: str
    digest: bytes  # of its line
    positive: bytes | None  # of the line it owes to the positives
    stages: dict[str, bytes | None]  # stage -> digest of its parsed answer
    basis: dict[str, Any]  # a LabelBasis row, task_digest and partial_trial left to the label files


def slim(row: Master, raw: bytes) -> Slim:
    """The slim form of a record and its line."""
    owes = bool(row.is_anomalous) and row.quality_tier != "review_or_unresolved"
    return Slim(
        tier=row.quality_tier,
        digest=hashlib.sha256(raw).digest(),
        positive=digest({name: getattr(row, name) for name in PositiveStructured.model_fields}) if owes else None,
        stages={name: None if answer is None else digest(answer) for name, answer in row.stages},
        basis=basis(row),
    )


def digest(value: Any) -> bytes:
    """sha256 of a value in the form in which a release writes it."""
    return hashlib.sha256(canonical_json(plain(value)).encode()).digest()


def plain(value: Any) -> Any:
    """Records as plain data, however deep."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.model_dump() if hasattr(value, "model_dump") else value


def basis(row: Master) -> dict[str, Any]:
    """The columns from which splits and summaries are made, from the released record alone."""
    same = set(LabelBasis.model_fields) & set(Master.model_fields)
    prompts = row.provenance.prompt_versions
    return {name: plain(getattr(row, name)) for name in sorted(same)} | {
        "task_digest": f"task:{row.task_id}" if row.task_id else "turns:" + "\n".join(t.text for t in row.user_turns),
        "repair_rules": [one.rule_id for one in row.repairs],
        **{f"asked_{name}": getattr(prompts, name) is not None for name in ("a", "b1", "b2", "c")},
        "route_label": row.stages.a and row.stages.a.route_label,
        "incomplete": row.compacted or row.truncated,
        "partial_trial": row.review_cause == "partial_trial_record",
        "judge": row.provenance.judge,
        "judge_model": row.provenance.judge_model,
    }
