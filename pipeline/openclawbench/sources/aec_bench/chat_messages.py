"""Chat messages with OpenAI's `tool_calls`, one a line: aec-bench's imports of Prime rollouts (`conversation.jsonl`).

Such an import is a partial trial: `prime_sample.json` and the TrialRecord beside it say what it was rewarded, which is
context and no verdict.
"""

from typing import Any

import msgspec

from openclawbench.rules.normalize import NormalizeRules
from openclawbench.sources.aec_bench import context as aec_context
from openclawbench.sources.aec_bench.records import text_of
from openclawbench.sources.aec_bench.trajectory import begin, complete, opening_digest, trial_identity
from openclawbench.sources.base import MalformedSession, ParsedSession, Source, read_session_lines
from openclawbench.sources.io.json_values import number_of
from openclawbench.sources.io.jsonl import Fault, RawLine, UnexpectedShape
from openclawbench.sources.result_pairing import Called, pair
from openclawbench.sources.step_builder import Feedback, Moment, Speech, StepList, not_blank

ROLES = ("system", "developer", "user", "assistant", "tool")
SAMPLE = "prime_sample.json"
OTHERS = {"event", "step", "type", "format"}  # keys of the first records of other formats


class Function(msgspec.Struct):
    """What a call names."""

    name: Any = None
    arguments: msgspec.Raw = msgspec.Raw(b"")


class Call(msgspec.Struct):
    """An entry of `tool_calls`."""

    id: Any = None
    function: Function | None = None


class Message(msgspec.Struct):
    """One line. Lenient: every field optional; what is not of its type is refused with its line."""

    role: Any = None
    content: Any = None
    reasoning_content: Any = None
    tool_calls: list[Call] | None = None
    tool_call_id: Any = None
    name: Any = None
    timestamp: Any = None


MESSAGE = msgspec.json.Decoder(Message)


def decode_message(data: bytes) -> Message:
    """A line; ValueError if the bytes are not valid JSON, UnexpectedShape where they are not a message."""
    try:
        return MESSAGE.decode(data)
    except msgspec.ValidationError as error:
        raise UnexpectedShape(f"a message of unexpected shape: {error}") from error


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
        for at, row in enumerate(raw.lines):
            take(steps, row, raw.lines[at + 1 :])
        steps.finish()
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


def take(steps: StepList, row: RawLine, after: list[RawLine]) -> None:
    """One message, by role; the results of its calls are among those `after` it, up to the next assistant's."""
    message: Message = row.value
    if message.role == "user":
        steps.counts["user_turn"] += 1
        steps.user(content_text(message.content), row)
    elif message.role == "assistant":
        act(steps, row, after)
    elif message.role in ("system", "developer"):
        steps.counts["system"] += 1
    elif message.role != "tool":
        steps.note_role(message.role)


def act(steps: StepList, row: RawLine, after: list[RawLine]) -> None:
    """The steps of an assistant's message: its calls, each with its result; its text, where it calls nothing; and a
    result that fits no call."""
    message: Message = row.value
    text, thinking = not_blank(content_text(message.content)), not_blank(text_of(message.reasoning_content))
    moment = steps.moment(None)
    moment.followed = any(row.value.role in ("user", "assistant") for row in after)
    results = stretch(after)
    calls = message.tool_calls or []
    pairing = pair(
        [Called(id_of(call.id), name_of(call)) for call in calls],
        [Called(id_of(result.value.tool_call_id), text_of(result.value.name)) for result in results],
    )
    for index, call in enumerate(calls):
        speech = Speech(thinking, text, "before", []) if index == 0 else None
        step = steps.call(name_of(call), arguments_of(call), moment, row, speech)
        step["order_ambiguous"] = index in pairing.ambiguous
        if index in pairing.result_of:
            steps.answer(step, feedback_of(results[pairing.result_of[index]]))
    steps.counts["step_result"] += len(results)
    if calls:
        steps.counts["step_call"] += 1
    elif text is not None:
        steps.counts["step_reply"] += 1
        steps.reply(text, moment, [row], thinking)
    else:
        steps.counts["runner:no_step"] += 1
        steps.noise["empty_replies"] += 1
    for orphan in pairing.orphans:
        orphaned = results[orphan]
        steps.orphan(
            text_of(orphaned.value.name), feedback_of(orphaned), Moment(moment.message_index, moment.user_turn, None)
        )


def stretch(after: list[RawLine]) -> list[RawLine]:
    """The results up to the next message that a model wrote."""
    results = []
    for row in after:
        if row.value.role == "assistant":
            break
        if row.value.role == "tool":
            results.append(row)
    return results


def content_text(value: Any) -> str | None:
    """A message's text: itself, or its text parts, a newline between them; other parts are named by their type."""
    if not isinstance(value, list):
        return text_of(value)
    parts = [part if isinstance(part, dict) else {"text": text_of(part)} for part in value]
    texts = [text_of(part["text"]) if "text" in part else f"[{part.get('type')}]" for part in parts]
    return "\n".join(text for text in texts if text)


def arguments_of(call: Call) -> str | None:
    """A call's arguments as JSON text: the text that they are written as, or the value's own bytes."""
    data = bytes(call.function.arguments) if call.function else b""
    if data in (b"", b"null"):
        return None
    return msgspec.json.decode(data, type=str) if data.startswith(b'"') else data.decode("utf-8", "backslashreplace")


def name_of(call: Call) -> str | None:
    """The tool that a call names."""
    return not_blank(text_of(call.function.name)) if call.function else None


def id_of(value: Any) -> str | None:
    """An id that is text; null for any other value."""
    return value if isinstance(value, str) and value else None


def feedback_of(row: RawLine) -> Feedback:
    """What a tool's message says."""
    return Feedback(not_blank(content_text(row.value.content)), [row])
