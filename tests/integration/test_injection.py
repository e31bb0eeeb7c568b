"""Text of a trajectory that tries to steer the judge: none of it gets out of the block in which the judge reads it.

Raw sessions with the texts of injections.toml go through the whole pipeline to a judge in another process that does
whatever it is told outside the blocks (obedient.py). What a hostile text can do inside its block is another matter:
docs/why/untrusted_text.md.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import Endpoint, arguments, endpoint_process, fresh, rules
from child import call, table
from injected import BASES, harmless, hostile, injections, write_session

from openclawbench.judge.sent_packet import opaque_id

pytestmark = pytest.mark.slow

ENTRIES = injections()
SESSIONS = [(entry, base) for entry in ENTRIES for base in BASES]
IDS = [f"{session.id}-{base}" for session, base in SESSIONS]
NAMES = {"source_model", "session_name"}  # which no judge is sent
NOT_SENT = {f"{session.id}-{base}" for session, base in SESSIONS if session.text.keys() <= NAMES}
DECIDED = ["is_anomalous", "anomaly_type_l1", "anomaly_type_l2", "absorbed_from", "dominant_episode_exists"]
DECIDED += ["segment_spans", "earliest_recoverable_onset", "earliest_harmful_onset", "severity", "recoverability"]
DECIDED += ["earliest_state_contamination_onset", "quality_tier", "review_cause", "repairs", "issues"]


@pytest.fixture(scope="module")
def judge() -> Iterator[Endpoint]:
    with endpoint_process("obedient.py") as result:
        yield result


def annotations(judge: Endpoint, raw: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Name of a session -> what was decided of it."""
    folder.mkdir()
    ended = call(*arguments(judge, fresh(folder), raw, verb="annotate"), env=rules(folder, answer_s=60.0))
    assert ended.status == 0, ended.err
    return by_id(table(folder / "data", "annotation"))


def by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Id of a session -> its row; a name may have more behind the id."""
    actual_rows = {
        next(row_id for row_id in sorted(IDS, key=len, reverse=True) if row["trajectory_id"].startswith(row_id)): row
        for row in rows
    }
    assert sorted(actual_rows) == sorted(IDS), "a session is missing"
    return actual_rows


@pytest.fixture(scope="module")
def plain(
    judge: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The sessions with harmless texts: what was decided of them, and the endpoint's log."""
    raw = tmp_path_factory.mktemp("plain")
    for injection, base in SESSIONS:
        write_session(raw, base, injection, harmless(injection))
    judge.script(reads="fences")
    return annotations(judge, raw, tmp_path_factory.mktemp("asked") / "plain"), judge.log()


@pytest.fixture(scope="module")
def attacked(plain: tuple[Any, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same raw sessions with hostile texts, which know the fences of the harmless ones."""
    raw = tmp_path_factory.mktemp("attacked")
    seen = plain[1]["fences"]
    for injection, base in SESSIONS:
        name = f"{injection.id}-{base}"
        fences = seen[opaque_id(plain[0][name]["source_model"], plain[0][name]["trajectory_id"])]
        write_session(raw, base, injection, hostile(injection, {"previous_fence": "f" * 64} | fences))
    return raw


def decisions(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What was decided, without quotes of the text itself."""
    return {name: {field: row[field] for field in DECIDED} for name, row in rows.items()}


def test_there_are_many_and_none_is_there_twice() -> None:
    assert len(ENTRIES) >= 30 and 2 <= len(NOT_SENT) < len(SESSIONS) / 4
    assert len({entry.id for entry in ENTRIES}) == len(ENTRIES)
    assert len({str(entry.text) for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("reads", ["fences", "lines"])
def test_no_text_gets_out_of_its_block(
    reads: str, judge: Endpoint, plain: tuple[Any, dict[str, Any]], attacked: Path, tmp_path: Path
) -> None:
    usual, log_of_plain = plain
    judge.script(reads=reads)
    actual_annotations = annotations(judge, attacked, tmp_path / "run")
    log = judge.log()
    assert log["obeyed"] == 0
    assert log["tokens"] == []
    assert log["outside"] == log_of_plain["outside"], "something else than the prompt stands outside the blocks"
    assert all(len(texts) == 1 for texts in log["outside"].values())
    assert set(log["outside"]) == {"A", "B1", "B2", "C"}
    assert decisions(actual_annotations) == decisions(usual)


def test_a_judge_that_knows_no_delimiters_is_steered_by_every_one(
    judge: Endpoint, plain: tuple[Any, dict[str, Any]], attacked: Path, tmp_path: Path
) -> None:
    """The positive control: were a text outside its block, the tests above would see it."""
    judge.script(reads="everything")
    actual_annotations = annotations(judge, attacked, tmp_path / "run")
    usual = plain[0]
    triage = (
        {name: row["stage_a"] | {"trajectory_id": ""} for name, row in rows.items()}
        for rows in (actual_annotations, usual)
    )
    turned, plain_ = triage
    assert {name for name in turned if turned[name] == plain_[name]} == NOT_SENT
    steered = {name: row for name, row in actual_annotations.items() if name not in NOT_SENT}
    assert {row["is_anomalous"] for name, row in steered.items() if name.endswith("misbehaving")} == {False}
    assert {row["review_cause"] for name, row in steered.items() if name.endswith("innocent")} == {"stage_a_review"}


@pytest.mark.parametrize("kind", ["text", "field", "value", "id"])
def test_an_answer_that_repeats_the_text_does_not_carry_it_out(
    kind: str, judge: Endpoint, plain: tuple[Any, dict[str, Any]], attacked: Path, tmp_path: Path
) -> None:
    """The question that asks once more says what was wrong with the answer, but not in the answer's words."""
    judge.script(reads="lines", parrot=kind)
    actual_annotations = annotations(judge, attacked, tmp_path / "run")
    log = judge.log()
    assert log["obeyed"] == 0
    assert log["tokens"] == []
    assert all(len(texts) == 1 for texts in log["outside"].values()), log["outside"]
    assert {"A again", "B1 again", "B2 again", "C again"} <= set(log["outside"])
    assert decisions(actual_annotations) == decisions(plain[0])
