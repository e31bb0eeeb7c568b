"""Steps of an ATIF document -> ReAct steps and user turns.

Most harnesses put calls and results into one step. Harbor's OpenClaw converter writes each result as an agent step of
its own (its text repeated as the message, no model call behind it), NeMo writes them as system steps: results belong to
the latest agent message, by call id, or by place where they name none. An agent without tool calls acts in its text:
what comes back names no call."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from openclawbench.sources.atif.records import (
    Agent,
    AtifStep,
    StepExtra,
    ToolCall,
    as_json,
    content_text,
    details_of,
    extra_of,
    figures_of,
    results_of,
)
from openclawbench.sources.io.json_values import count_of
from openclawbench.sources.io.jsonl import RawLine
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.io.usd import Usage
from openclawbench.sources.result_pairing import clean_name
from openclawbench.sources.step_builder import Feedback, Moment, Speech, StepList, note_message

FAILED = ("error", "aborted")


@dataclass
class NamedResult:
    """A result, and the call that it says it answers."""

    call_id: str | None
    feedback: Feedback
    moment: Moment


@dataclass
class Stretch:
    """One agent message and the results up to the next one."""

    row: RawLine
    moment: Moment
    extra: StepExtra
    model: str | None
    usage: dict[str, Any] | None  # MessageUsage
    results: list[NamedResult] = field(default_factory=list)

    @property
    def calls(self) -> list[ToolCall]:
        step: AtifStep = self.row.value
        return step.tool_calls or []


class AtifBuilder:
    """Takes the steps in the order of the document; `list` is complete after finish()."""

    def __init__(self, steps: StepList, agent: Agent | None) -> None:
        self.list = steps
        self.agent_name = agent.name if agent else None
        self.default_model = agent.model_name if agent else None
        self.models: dict[str, None] = {}
        self.usage = Usage()
        self.last_stop: str | None = None
        self.open: Stretch | None = None

    def take(self, row: RawLine) -> None:
        """One step, by source; a source never seen before is counted, not dropped."""
        step: AtifStep = row.value
        if step.is_copied_context is True:
            self.list.counts["copied_context"] += 1
            return
        time = iso_time(step.timestamp)
        if step.source == "user":
            self.follow()
            self.list.counts["user_turn"] += 1
            self.list.user(content_text(step.message), row, time)
        elif step.source == "system":
            self.system(row)
        elif step.source == "agent" and is_result(step):
            self.list.counts["step_result"] += 1
            self.add_results(row)
        elif (
            step.source == "agent"
            and count_of(step.llm_call_count) == 0
            and not step.tool_calls
            and not results_of(step)
        ):
            self.list.counts["injected:no_model_call"] += 1
        elif step.source == "agent":
            self.agent(row, time)
        else:
            self.list.note_role(step.source)

    def follow(self) -> None:
        """Something other than a result comes after the open message."""
        if self.open is not None:
            self.open.moment.followed = True

    def agent(self, row: RawLine, time: str | None) -> None:
        """A message of the agent opens a new stretch."""
        self.follow()
        self.close()
        model, usage = self.note_model(row.value)
        extra = extra_of(row.value)
        self.last_stop = extra.stop_reason if isinstance(extra.stop_reason, str) else None
        self.open = Stretch(row, self.list.moment(time), extra, model, usage)
        self.add_results(row)

    def system(self, row: RawLine) -> None:
        """A system step: a prompt or an operation. Results in it that name an open call are that call's."""
        step: AtifStep = row.value
        ids = {text_id(call.tool_call_id) for call in self.open.calls} if self.open else set()
        named = [result for result in results_of(step) if text_id(result.source_call_id) in ids - {None}]
        if named:
            self.add_results(row, only=ids)
            self.list.counts["step_result"] += 1
        else:
            self.list.counts["system_observation" if results_of(step) else "system"] += 1

    def add_results(self, row: RawLine, only: set[str | None] | None = None) -> None:
        """Results of a step; without an open message they are orphans at once."""
        step: AtifStep = row.value
        extra = extra_of(step)
        results = results_of(step)
        for result in results:
            call_id = text_id(result.source_call_id)
            if call_id is None and len(results) == 1:
                call_id = text_id(extra.tool_call_id)
            if only is not None and call_id not in only:
                continue
            details, error = details_of(result, extra, len(results) == 1)
            moment = Moment(self.list.message_index, len(self.list.user_turns) or None, iso_time(step.timestamp))
            named_result = NamedResult(call_id, Feedback(content_text(result.content), [row], details, error), moment)
            if self.open is None:
                self.list.orphan(None, named_result.feedback, named_result.moment)
            else:
                self.open.results.append(named_result)

    def note_model(self, step: AtifStep) -> tuple[str | None, dict[str, Any] | None]:
        """Which model answered, and what it used."""
        model = step.model_name or self.default_model
        if isinstance(model, str) and model:
            self.models[model] = None
        usage = self.usage.add(figures_of(step.metrics, "", self.agent_name), prices=False)
        return model if isinstance(model, str) and model else None, usage

    def finish(self) -> None:
        """Close what is open."""
        self.close()
        self.list.finish()

    def close(self) -> None:
        """Steps of the open message: calls with their results, or a reply; then orphan results."""
        if self.open is None:
            return
        stretch, self.open = self.open, None
        step: AtifStep = stretch.row.value
        answers, ambiguous, orphans = assign(stretch.calls, stretch.results)
        failed = stretch.extra.stop_reason in FAILED
        if failed:
            self.note_failure(stretch)
        executed = [index for index in range(len(stretch.calls)) if not failed or answers[index]]
        self.list.noise["unexecuted_calls"] += len(stretch.calls) - len(executed)
        before = len(self.list.steps)
        for place, index in enumerate(executed):
            speech = speech_of(step) if place == 0 else None
            self.call(stretch, stretch.calls[index], speech, answers[index], index in ambiguous)
        unnamed = [] if executed or failed else self.act_in_words(stretch, orphans)
        if unnamed:
            orphans = [orphan for orphan in orphans if orphan not in unnamed]
        elif not executed:
            self.reply_or_noise(stretch, failed)
        has_step = len(self.list.steps) > before
        if has_step:
            note_message(self.list.steps[before], stretch.model, stretch.usage)
        self.list.counts["step_call" if executed or unnamed else "step_reply" if has_step else "runner:no_step"] += 1
        for orphan in orphans:
            self.list.orphan(None, orphan.feedback, orphan.moment)

    def call(
        self, stretch: Stretch, call: ToolCall, speech: Speech | None, answers: list[NamedResult], ambiguous: bool
    ) -> None:
        """One call, with all results that name it."""
        arguments = bytes(call.arguments).decode("utf-8", "backslashreplace")
        known = arguments if arguments and arguments != "null" else None
        call_id = text_id(call.tool_call_id)
        step = self.list.call(name_of(call), known, stretch.moment, stretch.row, speech, call_id)
        step["order_ambiguous"] = ambiguous
        if answers:
            self.list.answer(step, merge_results([answer.feedback for answer in answers]))

    def act_in_words(self, stretch: Stretch, results: list[NamedResult]) -> list[NamedResult]:
        """An action that stands in the text, as harnesses without tool calls have it: what came back names no call.
        Returns the results that are its feedback; none where there is no such action."""
        step: AtifStep = stretch.row.value
        text = content_text(step.message)
        unnamed = [result for result in results if result.call_id is None]
        if text is None or stretch.calls or not unnamed:
            return []
        thinking = Speech(content_text(step.reasoning_content))
        action = self.list.call(None, None, stretch.moment, stretch.row, thinking)
        action["action_text"] = text
        self.list.answer(action, merge_results([result.feedback for result in unnamed]))
        return unnamed

    def note_failure(self, stretch: Stretch) -> None:
        """A message that ended in an error, or was aborted: counted whatever was done before it."""
        aborted = stretch.extra.stop_reason == "aborted"
        self.list.noise["aborted" if aborted else "provider_errors"] += 1
        if aborted:
            self.list.run_errors.add(stretch.moment.user_turn)

    def reply_or_noise(self, stretch: Stretch, failed: bool) -> None:
        """A reply where there is text; else the message is runner noise, counted."""
        step: AtifStep = stretch.row.value
        text = content_text(step.message)
        if text is not None:
            reply = self.list.reply(text, stretch.moment, [stretch.row], content_text(step.reasoning_content))
            reply["partial"] = failed
        elif not failed:
            self.list.noise["empty_replies"] += 1


def is_result(step: AtifStep) -> bool:
    """True for an agent step that holds results only: it has no call, and no model call is behind its message, or the
    message is empty or the result's text over again."""
    if step.tool_calls or not results_of(step):
        return False
    if count_of(step.llm_call_count) == 0 or extra_of(step).openclaw_role == "toolResult":
        return True
    text = content_text(step.message)
    if text is None:
        return content_text(step.reasoning_content) is None
    return [text] == [content_text(result.content) for result in results_of(step)]


def assign(
    calls: list[ToolCall], results: list[NamedResult]
) -> tuple[list[list[NamedResult]], set[int], list[NamedResult]]:
    """(results of each call, ambiguous calls, orphans).

    A result goes to the call that it names; calls that share an id take theirs in order. Results that name none go by
    place, if there are as many as calls left; more than one of them is ambiguous. Nothing is guessed.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for index, call in enumerate(calls):
        if (known := text_id(call.tool_call_id)) is not None:
            places[known].append(index)
    answers: list[list[NamedResult]] = [[] for _ in calls]
    ambiguous = {index for shared in places.values() if len(shared) > 1 for index in shared}
    seen: Counter[str] = Counter()
    unnamed, orphans = [], []
    for answered in results:
        if answered.call_id is None:
            unnamed.append(answered)
            continue
        shared = places.get(answered.call_id, [])
        place = seen[answered.call_id] if len(shared) > 1 else 0
        seen[answered.call_id] += 1
        if place < len(shared):
            answers[shared[place]].append(answered)
        else:
            orphans.append(answered)
    free = [index for index in range(len(calls)) if not answers[index]]
    if free and len(free) == len(unnamed):
        for index, answered in zip(free, unnamed, strict=True):
            answers[index].append(answered)
        ambiguous |= set(free) if len(free) > 1 else set()
        unnamed = []
    return answers, ambiguous, [answered for answered in results if answered in orphans or answered in unnamed]


def merge_results(parts: list[Feedback]) -> Feedback:
    """Several results that name one call, as one: texts with a newline between, details of the first that has any."""
    texts = [part.text for part in parts if part.text is not None]
    errors = [part.is_error for part in parts if part.is_error is not None]
    return Feedback(
        "\n".join(texts) or None,
        [row for part in parts for row in part.rows],
        next((part.details for part in parts if part.details is not None), None),
        any(errors) if errors else None,
    )


def speech_of(step: AtifStep) -> Speech:
    """Thinking and text beside the calls of a step; the format has the text before them."""
    return Speech(content_text(step.reasoning_content), content_text(step.message), "before")


def name_of(call: ToolCall) -> str | None:
    """Tool name of a call."""
    name = call.function_name
    return clean_name(name if name is None or isinstance(name, str) else as_json(name))


def text_id(value: Any) -> str | None:
    """An id as text, or None."""
    return None if value is None or value == "" else value if isinstance(value, str) else as_json(value)
