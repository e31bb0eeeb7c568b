"""The causes of a record's differences, read from the two records alone (own choice; docs/why/decisions/).

A cause is named if its mark differs between the records *and* it can have changed one of the fields that differ. If
several marks differ, all are named: two releases do not show which of them changed the field."""

import hashlib
from typing import Any

from openclawbench.base.canonical_json import canonical_json

SESSION, OUTCOME, RULES, PROMPT, JUDGE, CODE, KEY = (
    "raw_session",
    "raw_outcome",
    "rule_version",
    "prompt_version",
    "judge",
    "code",
    "other_key",
)
MEANINGS = {
    SESSION: "what the session says is different, or it is new or gone",
    OUTCOME: "the outcome record, or the task that the session is of, is different",
    RULES: "`rules_version` is different",
    PROMPT: "a stage that was asked both times has another prompt",
    JUDGE: "another judge or model, or a new answer of the same one to the same packet and prompt",
    CODE: "`schema_version` is different, or no other mark explains the change",
    KEY: "the same session, called by another source model or trajectory id",
}
Fields = list[str]
Prompts = set[str]  # "<stage>/<version>" of the prompts whose texts differ between the releases

# Fields of the record that come from the session itself.
STEP_TEXTS = ("action_kind", "thinking", "narration", "action_text", "reflection_text", "tool_name_raw")
SAID = {f"steps[].{name}" for name in STEP_TEXTS} | {
    *("session_id", "source_format", "models[]", "num_steps", "steps[]", "user_turns[]"),
    *("abandoned_steps[]", "parent_trajectory_id", "continues_trajectory_id", "truncated"),
}
USER_WORDS = "user_turns[].text"  # a rule takes the envelope off, so it speaks only where the rules are the same
TASK = {"oracle", "task_id", "subset", "attempt", "mode", "collection"}
LABEL = {
    *("is_anomalous", "anomaly_type_l1", "anomaly_type_l2", "absorbed_from", "dominant_episode_exists"),
    *("evidence_steps", "segment_spans", "earliest_recoverable_onset", "earliest_harmful_onset"),
    *("earliest_state_contamination_onset", "severity", "recoverability", "annotator_rationale"),
    *("quality_tier", "review_cause", "repairs", "stages"),
}
STAMP = "provenance"


def only_stamps(fields: Fields) -> bool:
    """True if the records differ only in their provenance."""
    return all(top(field) == STAMP for field in fields)


def causes(before: dict[str, Any], after: dict[str, Any], fields: Fields, prompts: Prompts) -> list[str]:
    """The causes of a changed record, in the order of MEANINGS; never empty."""
    old, new = before[STAMP], after[STAMP]
    same_rules = old["rules_version"] == new["rules_version"]
    label_moved = any(top(field) in LABEL for field in fields)
    marks = {
        SESSION: any(field in SAID or (same_rules and field == USER_WORDS) for field in fields),
        OUTCOME: any(top(field) in TASK & before.keys() & after.keys() for field in fields),  # not of another schema
        RULES: not same_rules,
        PROMPT: label_moved and other_prompt(old["prompt_versions"], new["prompt_versions"], prompts),
        JUDGE: label_moved and other_judge(old, new),
        CODE: old["schema_version"] != new["schema_version"],
    }
    moved_causes = [cause for cause, moved in marks.items() if moved]
    if not moved_causes:
        moved_causes = [JUDGE if answered_anew(old, new, fields) else CODE]
    return moved_causes


def other_prompt(old: dict[str, str | None], new: dict[str, str | None], prompts: Prompts) -> bool:
    """True if a stage that was asked both times has another prompt version, or another text of the same version."""
    for stage in old.keys() & new.keys():
        was, now = old[stage], new[stage]
        if was is not None and now is not None and (was != now or was in prompts):
            return True
    return False


def other_judge(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """True if both records were judged, by different judges."""
    if old["judge"] is None or new["judge"] is None:
        return False
    return bool((old["judge"], old["judge_model"]) != (new["judge"], new["judge_model"]))


def answered_anew(old: dict[str, Any], new: dict[str, Any], fields: Fields) -> bool:
    """True if a judge whose answers vary was asked the same question again and gave another answer."""
    same_packet = old["packet_sha256"] is not None and old["packet_sha256"] == new["packet_sha256"]
    return same_packet and old["judge"] != "rules" and any(top(field) == "stages" for field in fields)


def top(field: str) -> str:
    """The top-level field of a path."""
    return field.partition(".")[0].removesuffix("[]")


def content_digest(record: dict[str, Any]) -> bytes:
    """Digest of the content of the session, without its names."""
    steps = [[step.get(name) for name in STEP_TEXTS] for step in record["steps"]]
    content = [steps, [turn.get("text") for turn in record["user_turns"]]]
    return hashlib.sha256(canonical_json(content).encode()).digest()
