"""Every way in which an answer is none is an outcome of its own, at every stage: in the raw answers of the release and,
with its cause, in review."""

import json
from pathlib import Path
from typing import Any

import pytest
from asking import Endpoint, arguments, fresh, rules
from child import call, lines
from injected import Injection, write_session

pytestmark = pytest.mark.slow

PARSE, FIELDS = "truncation_or_parse_failure", "missing_structural_fields"
# Kind of answer -> outcome, failure, review cause. `fenced` is read; `usual` is an answer like any other.
KINDS: dict[str, tuple[str, str | None, str | None]] = {
    "usual": ("parsed", None, None),
    "fenced": ("parsed", None, None),
    "not_json": ("parse_failure", "not_json", PARSE),
    "truncated": ("parse_failure", "truncated", PARSE),
    "refusal": ("parse_failure", "refusal", PARSE),
    "empty": ("parse_failure", "empty", PARSE),
    "wrong_enum": ("parse_failure", "wrong_enum", PARSE),
    "extra_fields": ("parse_failure", "extra_fields", PARSE),
    "missing_fields": ("parse_failure", "missing_fields", FIELDS),
    "wrong_trajectory": ("parse_failure", "wrong_trajectory", PARSE),
}
STAGES = ["a", "b1", "b2", "c"]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For each kind a session that goes through every stage, named after it, which also says it: no name is sent."""
    folder = tmp_path_factory.mktemp("raw")
    for kind in KINDS:
        write_session(folder, "misbehaving", Injection(kind, {}), {"user_turn": f" Kind {kind}."})
    return folder


@pytest.mark.parametrize("stage", STAGES)
def test_each_is_told_apart_in_the_raw_answers_and_in_review(
    stage: str, endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(odd_stage=stage.upper())
    ended = call(*arguments(endpoint, data, raw), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    release = data / "release" / "fulltax_prod_v1" / "model"
    input_by_kind = by_kind(release / f"stage_{stage}_raw_pass1.jsonl")
    labels = by_kind(release / "master_table_all.jsonl")
    actual_by_kind = {
        kind: (input_by_kind[kind]["outcome"], input_by_kind[kind]["failure"], labels[kind]["review_cause"])
        for kind in KINDS
    }
    assert actual_by_kind == KINDS
    for kind, (outcome, failure, cause) in KINDS.items():
        row, asked_again = input_by_kind[kind], outcome == "parse_failure"
        assert (row["former"] is not None) == asked_again
        assert (row["parsed"] is None) == asked_again
        if not asked_again:
            assert [repair["rule_id"] for repair in row["repairs"]] == (["code_fence"] if kind == "fenced" else [])
        else:
            assert row["former"]["outcome"] == failure
            assert row["former"]["text"] == row["response_text"], "verbatim, both times"
        assert (labels[kind]["quality_tier"] == "review_or_unresolved") == (cause is not None)
        assert labels[kind]["stages"][stage] == (json.loads(row["parsed"]) if row["parsed"] else None)
    later = STAGES[STAGES.index(stage) + 1 :]
    lost = {kind for kind, (outcome, *_) in KINDS.items() if outcome == "parse_failure"}
    for other in later:
        assert by_kind(release / f"stage_{other}_raw_pass1.jsonl").keys() == KINDS.keys() - lost, "asked on after it"


def by_kind(path: Path) -> dict[str, dict[str, Any]]:
    """Kind -> line."""
    return {row["trajectory_id"].partition("-")[0]: row for row in lines(path)}
