"""Roles do not leak: neither an oracle outcome nor a risk score can move a label (paper C.7, D.4)."""

import json
import re
import shutil
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from child import EXAMPLE, Ran, call, few_shards, lines, table
from pydantic import BaseModel

from openclawbench.flow import FLOW
from openclawbench.fulltax.annotation.checks import check
from openclawbench.fulltax.annotation.repair_stage import annotate
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.fulltax.second_pass import SECOND_PASS
from openclawbench.records.evidence import Descriptor
from openclawbench.records.oracle import Contradiction, Coverage, EventDescriptor, Fused, OracleRow
from openclawbench.records.packet import Evidence, Packet, PacketIndex
from openclawbench.records.release import Master
from openclawbench.records.risk import Onset, Risk, StepRisk
from openclawbench.records.second_pass import PASS2
from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

ORACLE = EXAMPLE / "oracle" / "outcomes.jsonl"
RISK = shipped_path("risk.toml")
LABEL = [
    "is_anomalous",
    "anomaly_type_l1",
    "anomaly_type_l2",
    "absorbed_from",
    "dominant_episode_exists",
    "evidence_steps",
    "segment_spans",
    "earliest_recoverable_onset",
    "earliest_harmful_onset",
    "earliest_state_contamination_onset",
    "severity",
    "recoverability",
    "annotator_rationale",
    "quality_tier",
    "review_cause",
    "repairs",
]
STAGES = ["stage_a", "stage_b1", "stage_b2", "stage_c", "issues"]


def labels(data: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Key -> label fields and every stage's answer."""
    return {
        (row["source_model"], row["trajectory_id"]): {name: row[name] for name in LABEL + STAGES}
        for row in table(data, "annotation")
    }


def column(data: Path, name: str, field: str) -> list[Any]:
    return [row[field] for row in table(data, name)]


def flipped(folder: Path) -> list[str | Path]:
    """Every pass is a fail, every fail and everything that was not scored a pass."""
    rows = lines(ORACLE)
    text = "".join(json.dumps(row | {"success": not row["success"], "status": "scored"}) + "\n" for row in rows)
    (folder / "flipped.jsonl").write_text(text)
    return ["--oracle", folder / "flipped.jsonl"]


def other_risk(folder: Path) -> dict[str, str]:
    """Every weight, cut, prior and the scale changed."""
    text = re.sub(r"weight = ([0-9.]+)", lambda m: f"weight = {float(m[1]) * 7 + 1}", RISK.read_text(encoding="utf-8"))
    for name, value in {"scale": 3.0, "medium_from": 1.0, "high_from": 2.0, "default_prior": 9.0}.items():
        text, count = re.subn(rf"(?m)^{name} = [0-9.]+", f"{name} = {value}", text)
        assert count == 1
    (folder / "rules").mkdir()
    (folder / "rules" / "risk.toml").write_text(text, encoding="utf-8")
    return {"OPENCLAWBENCH_RULES": str(folder / "rules")}


def run(folder: Path, arguments: list[str | Path], env: dict[str, str] | None = None) -> Path:
    """The whole example under other circumstances."""
    data = few_shards(folder / "data")
    ended = call("annotate", "--data", data, "--raw", EXAMPLE / "raw", *arguments, env=env)
    assert ended.status == 0, ended.err
    return data


def test_flipped_oracle_outcomes_move_no_label(example: Ran, tmp_path: Path) -> None:
    data = run(tmp_path, flipped(tmp_path))
    before, after = column(example.data, "fused", "oracle_outcome"), column(data, "fused", "oracle_outcome")
    assert len(before) == len(after) == 92
    assert sum(a == b for a, b in zip(before, after, strict=True)) == before.count(None) - 9 == 1
    assert labels(data) == labels(example.data)


def test_no_oracle_at_all_moves_no_label(example: Ran, tmp_path: Path) -> None:
    data = run(tmp_path, [])
    assert set(column(data, "fused", "oracle_outcome")) == {None}
    assert labels(data) == labels(example.data)


def test_other_risk_weights_and_cuts_move_no_label(example: Ran, tmp_path: Path) -> None:
    data = run(tmp_path, ["--oracle", ORACLE], other_risk(tmp_path))
    before, after = column(example.data, "risk", "risk_score_raw"), column(data, "risk", "risk_score_raw")
    assert all(a != b for a, b in zip(before, after, strict=True))
    assert set(column(data, "risk", "risk_bucket")) != set(column(example.data, "risk", "risk_bucket"))
    assert labels(data) == labels(example.data)


def test_the_comparison_would_see_a_label_that_moves(example: Ran, tmp_path: Path) -> None:
    """Another process, other labels: without this, the tests above could compare nothing."""
    raw = tmp_path / "raw" / "scripted-a"
    raw.mkdir(parents=True)
    name = "2026.6.11-hedge-in-thinking.jsonl"
    content = (EXAMPLE / "raw" / "scripted-a" / name).read_bytes()
    shutil.copy2(EXAMPLE / "raw" / "scripted-a" / name, raw)
    (raw / name).write_bytes(content.replace(b"Set NoLockScreen", b"I could not check this here. Set NoLockScreen", 1))
    data = few_shards(tmp_path / "data", 1)
    assert call("annotate", "--data", data, "--raw", tmp_path / "raw").status == 0
    (key, result), *none = labels(data).items()
    assert none == []
    former = labels(example.data)[key]
    assert former["is_anomalous"] is True
    assert result["evidence_steps"] != former["evidence_steps"]


def test_every_label_field_of_the_contract_is_compared() -> None:
    context = set(Evidence.model_fields) | set(Packet.model_fields) | set(Fused.model_fields) | set(Risk.model_fields)
    known = {"parent_trajectory_id", "session_id", "source_format", "models", "escaped_fields", "abandoned_steps"}
    known |= {"continues_trajectory_id", "mode", "collection", "trace_summary", "stages", "provenance"}
    known.add("label_status")  # it follows from quality_tier
    assert set(Master.model_fields) - context - known == set(LABEL)


def below(record: type[BaseModel]) -> dict[str, set[str]]:
    """Record name -> field names, of a record and of every record in it."""
    result = {record.__name__: set(record.model_fields)}
    waiting = list(get_type_hints(record).values())
    while waiting:
        hint = waiting.pop()
        if isinstance(hint, type) and issubclass(hint, BaseModel):
            result |= below(hint)
        elif get_origin(hint) in (list, Union, UnionType):
            waiting.extend(get_args(hint))
    return result


def test_evidence_has_no_field_of_oracle_risk_slice_or_onset_candidates() -> None:
    in_evidence = below(Evidence)
    own = {"Evidence", "EvidenceStep", "PacketUserTurn", "EventTypeCounts", "LanguageCounts", "StepLanguage"}
    assert own == in_evidence.keys()
    names = set().union(*in_evidence.values())
    keys = {"source_model", "trajectory_id", "step_id"}
    assert not names & (set(Risk.model_fields) | set(StepRisk.model_fields) | set(Onset.model_fields)) - keys
    of_step = set(Descriptor.model_fields)
    assert not names & (set(OracleRow.model_fields) | set(Fused.model_fields) | set(Coverage.model_fields)) - keys
    assert not names & (set(EventDescriptor.model_fields) - of_step) - keys
    assert not [name for name in names if re.search("oracle|outcome|success|risk|slice|bucket|onset|candidate", name)]
    assert not {"mode", "collection"} & (names | set().union(*below(Packet).values()))
    left_out = set(Packet.model_fields) - set(Evidence.model_fields)
    assert {"oracle_outcome", "risk_bucket", "risk_score", "slice_label", "risk_signals", "onset_candidates"} < left_out


FORBIDDEN = (Packet, Fused, OracleRow, Risk, StepRisk, Onset, EventDescriptor, Coverage, Contradiction)


FULLTAX = [stage for stage in [*FLOW, *SECOND_PASS] if ".fulltax." in stage.call.__module__]


@pytest.mark.parametrize("stage", FULLTAX, ids=lambda stage: stage.name)
def test_what_a_fulltax_stage_reads(stage: Any) -> None:
    reads = set(stage.reads.values())
    if stage.name == "merge":  # copies context beside the label that `repair` has made
        return
    if stage.name.startswith("answer_"):  # a language model reads the packet, risk-aware as in the paper
        reads -= {Packet}
    assert not reads & set(FORBIDDEN)
    if stage.name.startswith("repair"):
        assert Evidence in reads


@pytest.mark.parametrize("stage", SECOND_PASS, ids=lambda stage: stage.name)
def test_no_stage_of_the_second_pass_reads_or_writes_what_the_first_one_judged(stage: Any) -> None:
    assert not (set(stage.reads.values()) | set(stage.writes)) & set(PASS2)


def test_what_decides_takes_evidence() -> None:
    assert get_type_hints(annotate)["evidence"] is Evidence
    assert get_type_hints(check)["evidence"] is Evidence
    assert not {Packet, PacketIndex} & set(get_type_hints(annotate).values())
    assert RulesJudge().reads == "evidence"
