"""A RunArtifact's trace -> ReAct steps and user turns, one executed action a step."""

from dataclasses import dataclass, field
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.io.json_values import text_of
from openclawbench.sources.io.jsonl import Fault
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.result_pairing import Called, clean_name, pair
from openclawbench.sources.run_artifact.document import Event
from openclawbench.sources.run_artifact.results import ToolResult, belongs, repeats
from openclawbench.sources.step_builder import Feedback, Moment, Speech, StepList

ARGUMENTS = ("raw_arguments", "parsed_arguments", "arguments")  # the first that is there is what the agent wrote


@dataclass
class Stretch:
    """What one agent message did, and what came back until the next one. `message` is None if only calls are."""

    moment: Moment
    message: Event | None = None
    calls: list[Event] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)


class TraceBuilder:
    """Takes events in order; `list` has steps, user turns and counts of events, complete after finish().

    `executes` is false for a run whose agent had no tools: a call without a result was then never executed.
    """

    def __init__(self, rules: NormalizeRules, executes: bool) -> None:
        self.executes = executes
        self.list = StepList(rules)
        self.counts = self.list.counts
        self.warnings: list[Fault] = []
        self.last_text: str | None = None
        self.spoke = False  # a model said or did something
        self.stretch = Stretch(Moment(0, None, None))

    def take(self, event: Event) -> None:
        """One event of the run; a kind never seen before is counted, not dropped."""
        if event.kind == "message":
            self.message(event)
        elif event.kind == "tool_call":
            if self.list.message_index == 0 or self.is_over():
                self.open_message(event, None)
            self.stretch.calls.append(event)
        elif event.kind == "tool_result":
            self.result(event)
        elif event.kind == "final_output":
            self.final_output(event)
        else:
            self.counts.note("unknown_type:", event.kind)

    def take_input(self, event: Event) -> None:
        """One event from before the first provider attempt: what the run was given, whatever role it names."""
        if event.role in ("user", "system"):
            self.message(event)
        else:
            self.counts.note("input:", event.role or event.kind)

    def message(self, event: Event) -> None:
        """A message event, by role."""
        if event.role == "assistant":
            self.open_message(event, event)
            self.last_text = text_of_message(event) or self.last_text
        elif event.role == "tool":
            self.tool_message(event)
        elif event.role == "user":
            self.stretch.moment.followed = True
            self.counts["user_turn"] += 1
            self.list.user(event.text("content"), event.row, time_of(event))
        elif event.role == "system":
            self.counts["metadata:system"] += 1
        else:
            self.counts.note("unknown_role:", event.role)

    def result(self, event: Event) -> None:
        """A result; before any agent message it belongs to one that the trace does not have."""
        if self.list.message_index == 0:
            self.stretch = Stretch(self.list.moment(time_of(event)))
        self.stretch.results.append(ToolResult(event))

    def tool_message(self, event: Event) -> None:
        """The repetition of a result, counted once; where no result event has it, the result itself."""
        own_result = next((result for result in self.stretch.results if belongs(result, event)), None)
        if own_result is None:
            self.result(event)
        elif repeats(own_result.event, event):
            own_result.echo = event
            self.counts["repeated_result"] += 1
        else:
            self.counts["differing_result_message"] += 1
            line = event.row.line
            sentence = f"line {line}: the tool message does not say what the call's result says"
            self.warnings.append(Fault("differing_result_message", line, sentence))

    def final_output(self, event: Event) -> None:
        """The final answer: a reply, unless it says again what the last agent message said."""
        text = event.text("content")
        if text is None:
            self.counts["empty_final_output"] += 1
        elif text.strip() == (self.last_text or "").strip():
            self.counts["repeated_final_output"] += 1
        else:
            self.open_message(event, event)
            self.last_text = text

    def is_over(self) -> bool:
        """True if a call can no longer be the open message's: results or a user came after it, or it was final."""
        now = self.stretch
        final = now.message is not None and now.message.kind == "final_output"
        return bool(now.results) or now.moment.followed or final

    def open_message(self, event: Event, message: Event | None) -> None:
        """A new agent message begins: by its own event, or (message None) by a call after results."""
        self.stretch.moment.followed = True
        self.close_stretch()
        self.stretch = Stretch(self.list.moment(time_of(event)), message)
        self.spoke = True

    def finish(self) -> None:
        """Close the last stretch and tell each user turn which step follows it."""
        self.close_stretch()
        self.list.finish()

    def close_stretch(self) -> None:
        """Steps of the open message: calls paired with results, then orphan results; a reply where it has no calls."""
        now = self.stretch
        pairing = pair(
            [Called(text_of(call.value.get("call_id")), tool_name(call)) for call in now.calls],
            [Called(result.call_id, result.name) for result in now.results],
        )
        executed = [i for i in range(len(now.calls)) if self.executes or i in pairing.result_of]
        for position, index in enumerate(executed):
            step = self.call_step(now.calls[index], first=position == 0)
            step["order_ambiguous"] = index in pairing.ambiguous
            if index in pairing.result_of:
                self.list.answer(step, feedback(now.results[pairing.result_of[index]]))
        self.counts["step_call"] += len(executed)
        self.counts["unexecuted_call"] += len(now.calls) - len(executed)
        self.list.noise["unexecuted_calls"] += len(now.calls) - len(executed)
        if now.message is not None:
            self.close_message(now.message, acted=bool(executed))
        self.counts["step_result"] += len(now.results)
        for index in pairing.orphans:
            orphan = now.results[index]
            self.list.orphan(clean_name(orphan.name), feedback(orphan), now.moment)

    def call_step(self, call: Event, first: bool) -> dict[str, Any]:
        """One executed call. Thinking and narration of the message belong to its first call, never copied."""
        message = self.stretch.message
        speech = None
        if first and message is not None:
            speech = Speech(thought(message), text_of_message(message), "before", [message.row])
        arguments = next((text for key in ARGUMENTS if (text := call.text(key)) is not None), None)
        step = self.list.call(
            tool_name(call), arguments, self.stretch.moment, call.row, speech, text_of(call.value.get("call_id"))
        )
        step["timestamp"] = time_of(call) or step["timestamp"]
        return step

    def close_message(self, message: Event, acted: bool) -> None:
        """Count the message; a reply step where it speaks and has no executed calls."""
        text = text_of_message(message)
        if acted:
            self.counts["step_message"] += 1
        elif text is None:
            self.counts["runner:no_step"] += 1
            self.list.noise["empty_replies"] += not self.stretch.calls
        else:
            self.counts["step_reply"] += 1
            self.list.reply(text, self.stretch.moment, [message.row], thought(message))


def feedback(result: ToolResult) -> Feedback:
    """A result as a step keeps it."""
    return Feedback(result.text, [event.row for event in result.events], result.details, result.is_error)


def time_of(event: Event) -> str | None:
    """When an event was recorded; None if it does not say."""
    return iso_time(event.value.get("timestamp"))


def tool_name(call: Event) -> str | None:
    """The called tool's name without padding."""
    return clean_name(text_of(call.value.get("tool_name") or call.value.get("name")))


def text_of_message(message: Event) -> str | None:
    """What a message says to the user: its content, else the refusal that it has instead."""
    return message.text("content") or text_of(message.metadata.get("refusal"))


def thought(message: Event) -> str | None:
    """The reasoning that came with a message: its text, else the texts of its parts."""
    if (text := text_of(message.metadata.get("reasoning"))) is not None:
        return text
    parts = message.metadata.get("reasoning_details")
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return text_of("\n".join(text for text in texts if isinstance(text, str)))
