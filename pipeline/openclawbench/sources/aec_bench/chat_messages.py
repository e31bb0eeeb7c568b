"""Chat messages with OpenAI's `tool_calls`, one a line: aec-bench's imports of Prime rollouts (`conversation.jsonl`).

Such an import is a partial trial: `prime_sample.json` and the TrialRecord beside it say what it was rewarded, which is
context and no verdict.
"""

from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.aec_bench import context as aec_context
from openclawbench.sources.aec_bench.trajectory import begin, complete, opening_digest, trial_identity
from openclawbench.sources.base import MalformedSession, ParsedSession, Source, read_session_lines
from openclawbench.sources.chat_dialects import ROLES, decode_message
from openclawbench.sources.chat_steps import take_messages
from openclawbench.sources.io.json_values import number_of
from openclawbench.sources.io.jsonl import Fault
from openclawbench.sources.step_builder import StepList

SAMPLE = "prime_sample.json"
OTHERS = {"event", "step", "type", "format"}  # keys of the first records of other formats


class ChatMessages(Source):
    """The adapter. Its sessions are of the format aec_trajectory, with session_version `chat`."""

    name = "aec_chat"
    source_format = "aec_trajectory"
    version = "chat"
    identity_lines = 3  # rollouts of one task open with the same prompt; the first answer tells them apart

    def detect(self, first: Any) -> bool:
        if not isinstance(first, dict) or not OTHERS.isdisjoint(first):
            return False
        has_message = "content" in first or isinstance(first.get("tool_calls"), list)
        return has_message and isinstance(first.get("role"), str) and first["role"] in ROLES

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """The first three lines, as far as `head` has them."""
        return None, opening_digest(head, self.identity_lines)

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """The files that may be the TrialRecord, and the sample that was imported."""
        sample = f"{path.rpartition('/')[0]}/{SAMPLE}"
        return aec_context.find_sidecars(path, paths) | ({"sample": sample} if sample in paths else {})

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        """The trial record, the reward of the sample, and the identity that the record gives the run."""
        context = aec_context.read_context(path, sidecars)
        sample = sidecars.get("sample")
        if isinstance(sample, dict):
            context["sample"] = {"reward": number_of(sample.get("reward"))}
        return context | trial_identity(context)

    def describe_use(self, first: Any, path: str, sidecars: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
        taken = {"sample": "the reward of the sample"} if "sample" in context else {}
        return aec_context.describe_use(path, sidecars, context) | taken

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        raw = read_session_lines(content, decode_message)
        if not any(row.value.role == "assistant" for row in raw.lines):
            raise MalformedSession(Fault("not_a_session", 1, "chat messages, none of them an assistant's"))
        session = begin(self.format_name, content, raw, context)
        session.session_version = self.version
        add_sample(session, context)
        steps = StepList(rules)
        take_messages(steps, raw.lines)
        return complete(session, steps, raw.lines, context, rules)


def add_sample(session: ParsedSession, context: dict[str, Any]) -> None:
    """What the sample says where no TrialRecord does: a partial trial, and its reward, which is not a verdict."""
    if "sample" not in context or "trial" in context:
        return
    session.completeness = "partial"
    if (reward := context["sample"]["reward"]) is not None:
        session.outcome = {"status": "not_scored", "success": None, "score": reward} | {
            "evaluator": {"name": "prime", "source_path": SAMPLE}
        }
