"""A judge that may answer anything that meets the schemas, as hypothesis draws it or at random: contradictory, out of
range, empty, repeated, about another trajectory."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args

from hypothesis import strategies as st

from openclawbench.judge.protocol import Question, QuestionSource, Reply
from openclawbench.records import vocabulary as words
from openclawbench.records.fulltax import Usage

REAL = "a text that stands there"  # the judge puts one of the packet in its place
FIXES = ("unsupported_onset", "malformed_span", "span_from_cue", "unfound_quote", "invented")
FIELDS = ("segment_spans", "earliest_harmful_onset", "severity", "annotator_rationale_refined", "evidence_steps")
VALUES = (
    *(None, "null", "2", "[]", "{}", '""', '"better"', '"half \\ud83d"', "[" * 3000, "9" * 5000, "not JSON", "NaN"),
    *('[{"start_step":1,"end_step":2,"label":"anomalous"}]', '[{"start_step":9,"end_step":-1,"label":"anomalous"}]'),
)
AMOUNT = Usage(prompt_tokens=1, completion_tokens=1, cached_tokens=0)

text = st.sampled_from(["", " ", REAL, "oracle_outcome=fail", "event_type=reply", "=1+1", "\x00", "\u2028"]) | st.text(
    st.characters(exclude_categories=()), max_size=6
)
step = st.sampled_from([*[1, 2, 3] * 4, 4, 0, -1, 10**6, 2**63 - 1, 1 - 2**63])
onset = st.none() | step
names = st.sampled_from([*["own", "sent"] * 6, "another", ""])


def word(name: str) -> st.SearchStrategy[Any]:
    """A word of a closed vocabulary."""
    return st.sampled_from(get_args(getattr(words, name)))


def several(entry: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """None, some, or one several times."""
    return st.lists(entry, max_size=3) | entry.map(lambda value: [value] * 3)


quote = st.fixed_dictionaries(
    {"step_id": step, "field": word("EvidenceField"), "quote": st.just(REAL) | st.just(REAL) | text}
)
span = st.fixed_dictionaries({"start_step": step, "end_step": step, "label": word("SpanLabel")})
issue = st.fixed_dictionaries({"check": word("Check"), "message": text})
fix = st.fixed_dictionaries(
    {
        "rule_id": st.sampled_from(FIXES) | text,
        "field": st.sampled_from(FIELDS) | text,
        "value": st.sampled_from(VALUES),
        "reason": text,
    }
)
trigger = st.fixed_dictionaries({"subtype": word("CandidateSubtype"), "step_id": step, "trigger": text})
ANSWERS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "a": st.fixed_dictionaries(
        {
            "trajectory_id": names,
            "route_label": st.just("structured_annotation") | word("RouteLabel"),
            "candidate_subtypes": several(word("CandidateSubtype")),
            "subtype_evidence_triggers": several(trigger),
            "reasoning_summary": text,
            "evidence_steps": several(quote),
            "routing_confidence": word("RoutingConfidence"),
        }
    ),
    "b1": st.fixed_dictionaries(
        {
            "trajectory_id": names,
            "trajectory_is_anomalous": st.sampled_from([True, True, False, None]),
            "dominant_episode_exists": st.booleans(),
            "anomaly_type_l1": st.none() | word("Family"),
            "anomaly_type_l2": st.none() | word("Subtype"),
            "absorbed_from": st.none() | st.none() | word("AbsorbedSubtype"),
            "evidence_steps": several(quote),
            "annotator_rationale": st.just("because") | text,
        }
    ),
    "b2": st.fixed_dictionaries(
        {
            "trajectory_id": names,
            "segment_spans": several(span),
            "earliest_recoverable_onset": onset,
            "earliest_harmful_onset": onset,
            "earliest_state_contamination_onset": onset,
            "recoverability": word("Recoverability"),
            "severity": word("Severity"),
            "annotator_rationale_refined": text,
        }
    ),
    "c": st.fixed_dictionaries(
        {
            "trajectory_id": names,
            "verdict": st.just("accept") | word("Verdict"),
            "issues": several(issue),
            "required_fixes": several(fix),
            "short_rationale": text,
        }
    ),
}
says = st.fixed_dictionaries({stage: st.lists(answer, min_size=1, max_size=4) for stage, answer in ANSWERS.items()})


@dataclass(frozen=True)
class AnyJudge:
    """Answers each question with one of `of(stage)`; which, follows from the question."""

    of: Callable[[str, int], dict[str, Any]]
    digest: str
    name: str = "openai"
    model: str = "any-answer"
    reads: str = "packet"
    embedded: bool = True

    @property
    def method_digest(self) -> str:
        return self.digest

    def prepare(self, stage: str, parts: Iterable[QuestionSource], total: int) -> None:
        """Nothing to prepare."""

    def ask(self, question: Question) -> Reply:
        """The answer, about the trajectory that it names, with texts that stand there where it wants some."""
        number = int(hashlib.sha256(f"{question.trajectory_id}{question.stage}".encode()).hexdigest()[:8], 16)
        ids = {"own": question.trajectory_id, "sent": question.sent_id, "another": "t-0123456789ab", "": ""}
        answer = dict(self.of(question.stage, number))
        answer["trajectory_id"] = ids[answer["trajectory_id"]]
        if "evidence_steps" in answer:
            packet = json.loads(question.material)
            answer["evidence_steps"] = [with_real_text(packet, cited) for cited in answer["evidence_steps"]]
        return Reply(json.dumps(answer), AMOUNT, 0.001, "req-1")

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "model": self.model}


def with_real_text(packet: dict[str, Any], cited: dict[str, Any]) -> dict[str, Any]:
    """The citation with a text of its step in place of REAL, or as it is where there is none."""
    if cited["quote"] != REAL:
        return cited
    field = "action_text" if cited["field"] in ("descriptor", "user_turn") else cited["field"]
    texts = [entry[field] for entry in packet["steps"] if entry["step_id"] == cited["step_id"] and entry[field]]
    return cited | {"field": field, "quote": texts[0][:80]} if texts else cited


def judge_of(answers: dict[str, list[dict[str, Any]]]) -> AnyJudge:
    """The judge with these answers of each stage."""
    digest = hashlib.sha256(json.dumps(answers).encode()).hexdigest()
    return AnyJudge(lambda stage, number: answers[stage][number % len(answers[stage])], digest)
