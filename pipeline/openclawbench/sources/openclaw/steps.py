"""Messages of the active branch -> ReAct steps and user turns. A step is one executed agent action."""

from collections import deque
from typing import Any

import msgspec

from openclawbench.rules.intake.normalize import InjectedRule, NormalizeRules
from openclawbench.sources.io.content_text import slim_details
from openclawbench.sources.io.jsonl import RawLine
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.io.usd import Usage, openclaw_figures
from openclawbench.sources.openclaw.asides import Aside, Stretch, aside_of, gather, has_used
from openclawbench.sources.openclaw.dialect import RESULT_ROLE, results_beside, results_of
from openclawbench.sources.openclaw.records import FAILED, Block, Message
from openclawbench.sources.openclaw.texts import (
    as_text,
    joined_lines,
    narration_position,
    parts_of,
    result_text,
    texts_of,
)
from openclawbench.sources.result_pairing import Called, Pairing, clean_name, pair
from openclawbench.sources.step_builder import StepRows, note_message, pointer

# Roles of messages that the program or an extension adds for the model: neither a user's turn nor a step.
ADDED_ROLES = ("custom", "hookMessage", "branchSummary", "compactionSummary")
NOTHING, ONE_WITH_ONE = (
    Pairing(),
    Pairing({0: 0}),
)  # how most messages are paired: nothing to pair, a call with its result


class ToolResult(msgspec.Struct, gc=False):
    """A tool result in the open stretch."""

    row: RawLine
    message: Message
    user_turn: int | None
    time: str | None


class Mirror(msgspec.Struct, gc=False):
    """A line that no model wrote: a reply, if it is right behind a user's turn and no model answers that; or if it is
    what a gateway kept of an aborted reply, and no message of a model's says it."""

    row: RawLine
    message: Message
    text: str
    time: str | None
    rule: str

    @property
    def is_aborted(self) -> bool:
        """True for what a gateway kept of an aborted reply."""
        return bool(self.message.openclawAbort)


class StepBuilder(StepRows):
    """Takes the messages in order; `steps`, `user_turns` and `counts` are complete after finish()."""

    def __init__(self, rules: NormalizeRules) -> None:
        super().__init__(rules)
        self.injected = rules.injected_models
        self.models: dict[str, None] = {}
        self.usage = Usage()
        self.first_error: str | None = None
        self.first_error_after: int | None = None  # steps before it
        self.last_stop: str | None = None
        self.last_error: str | None = None  # errorMessage of the last message
        self.last_reply: str | None = None
        self.run_error: str | None = None  # of the last run, if it failed and the model did nothing after it
        self.escaped = False  # a line with something written out has been seen
        self.stretch = Stretch()
        self.recent_texts: deque[str] = deque(maxlen=rules.repeat.texts)  # the latest texts of the current user turn
        self.mirrors: list[Mirror] = []  # what is not decided yet
        self.asides: list[Aside] = []  # of the next action
        self.unanswered: dict[str, dict[str, Any]] = {}  # steps of this turn without a result, by the call's id

    def message(self, row: RawLine, message: Message, time: str | None) -> None:
        """One message record with its line's time, by role; a role never seen before is counted, not dropped."""
        time = time or iso_time(message.timestamp)
        self.escaped |= row.escaped
        if message.role == "assistant":
            self.assistant(row, message, time)
        elif message.role == "toolResult":
            if not all(mirror.is_aborted for mirror in self.mirrors):
                self.decide_mirrors()
            self.stretch.results.append(ToolResult(row, message, self.current_turn(), time))
        elif message.role == "user":
            self.user(row, message, time)
        elif message.role == "bashExecution":
            self.counts["user_shell"] += 1
        elif message.role == RESULT_ROLE:
            self.results(row, results_of(message), time)
            self.counts["step_result"] += 1
        elif message.role in ADDED_ROLES:
            self.counts[f"metadata:role:{message.role}"] += 1
        else:
            self.counts.note("unknown_role:", message.role)

    def user(self, row: RawLine, message: Message, time: str | None) -> None:
        """What a user said, or a runner in a user's name; the results that another program puts into such a message."""
        results, message = results_beside(message)
        if results:
            self.results(row, results, time)
        if results and not message.content:
            self.counts["step_result"] += 1
            return
        self.end_turn()
        self.recent_texts.clear()
        self.stretch.followed = True
        self.counts["user_turn_with_results" if results else "user_turn"] += 1
        self.new_turn(result_text(message, self.unknown_block) or "", row, time)

    def results(self, row: RawLine, results: list[Message], time: str | None) -> None:
        """Several results in one record, which the caller counts: each of them will be counted as one."""
        self.decide_mirrors()
        self.stretch.results.extend(ToolResult(row, result, self.current_turn(), time) for result in results)
        self.counts["step_result"] -= len(results)

    def assistant(self, row: RawLine, message: Message, time: str | None) -> None:
        calls, thinking, text, unknown = parts_of(message)
        injected = self.injected.get(message.model or "")
        runner_text = None
        if text is not None:
            text, runner_text = self.without_runner_texts(message, text, injected is not None)
        if injected is not None:
            self.injected_line(row, message, text, time, injected)
            return
        if calls or text is not None:
            self.decide_mirrors(text, is_answered=True)
        self.open_turn &= bool(self.mirrors)
        if message.api == self.rules.repeat.api and not calls and text is not None and self.repeats(message, text):
            self.counts[f"injected:{self.rules.repeat.id}"] += 1
            return
        stretch = Stretch(row, message, calls, thinking, text, self.current_turn(), time)
        stretch.runner_text, stretch.unknown = runner_text, bool(unknown)
        if runner_text is None and (aside := aside_of(stretch, self.rules)) is not None:
            self.asides.append(aside)
        else:
            self.act(stretch)
        self.note_model(message, stretch)
        if message.stopReason not in FAILED and (calls or text):
            self.run_error = None
        for kind in unknown:
            self.unknown_block(kind)

    def act(self, stretch: Stretch) -> None:
        """Begin with a message; an action takes what a harness wrote before it."""
        if self.asides and (stretch.calls or stretch.text is not None):
            asides, self.asides = self.asides, []
            for reply in gather(asides, stretch):
                self.open_stretch(reply)
        self.open_stretch(stretch)

    def end_turn(self) -> None:
        """Decide what is open at the end of a user turn."""
        self.decide_mirrors()
        asides, self.asides = self.asides, []
        for aside in asides:
            self.open_stretch(aside.stretch)

    def open_stretch(self, stretch: Stretch) -> None:
        """Close the stretch before, and begin with another message."""
        self.stretch.followed = True
        self.close_stretch()
        self.message_index += 1
        self.stretch = stretch
        if stretch.text is not None:
            self.recent_texts.append(stretch.text)

    def without_runner_texts(self, message: Message, text: str, is_injected: bool) -> tuple[str | None, str | None]:
        """A message's text without the blocks that the program wrote in the agent's place, and the rule of the first of
        these; the text as it is, and None, where there is none."""
        is_unused = is_injected or message.stopReason in FAILED or (bool(message.usage) and not has_used(message))
        text_rules = [(part, self.rules.runner_text(part, is_unused)) for part in texts_of(message)]
        rule = next((rule for _, rule in text_rules if rule is not None), None)
        return (
            (text, None) if rule is None else (joined_lines([part for part, rule in text_rules if rule is None]), rule)
        )

    def injected_line(
        self, row: RawLine, message: Message, text: str | None, time: str | None, rule: InjectedRule
    ) -> None:
        """A line that no model wrote: counted, but where it may be all that is left of a reply."""
        may_be_reply = self.open_turn and text is not None and rule.may_answer(self.user_turns[-1]["text"])
        if text is not None and (may_be_reply or message.openclawAbort) and not self.was_said(text):
            self.mirrors.append(Mirror(row, message, text, time, rule.id))
            return
        self.open_turn &= bool(self.mirrors)
        self.counts[f"injected:{rule.id}"] += 1

    def was_said(self, text: str) -> bool:
        """True if the latest message or reply has the same text: this one was delivered late."""
        rule = self.rules.repeat
        spoken = (self.stretch.text, self.last_reply, *(aside.text for aside in self.asides))
        if any(rule.plain(text) in rule.plain(earlier) for earlier in spoken if earlier):
            return True
        return rule.joins(text, self.recent_texts)

    def decide_mirrors(self, answer: str | None = None, is_answered: bool = False) -> None:
        """The lines right behind the user's turn become replies, unless a message of the model's answers it; what was
        kept of an aborted reply becomes one, unless that message (`answer`: its text) says it."""
        mirrors, self.mirrors = self.mirrors, []
        plain = self.rules.repeat.plain
        for mirror in mirrors:
            is_said = mirror.is_aborted and answer is not None and plain(mirror.text) in plain(answer)
            if is_said or (is_answered and not mirror.is_aborted):
                self.counts[f"injected:{mirror.rule}"] += 1
                continue
            turn = self.current_turn()
            self.act(Stretch(mirror.row, mirror.message, text=mirror.text, user_turn=turn, time=mirror.time))
            self.stretch.is_mirror = True
            self.noise["mirrored_replies"] += 1
            self.open_turn = False
            self.run_error = self.run_error if mirror.is_aborted else None
            self.last_stop, self.last_error = mirror.message.stopReason, None
            if mirror.is_aborted:
                self.last_stop = "aborted"
                self.run_errors.add(turn)

    def failed_run(self, error: str) -> None:
        """Note a run that was aborted, timed out or failed."""
        self.decide_mirrors()
        self.run_error = error
        self.open_turn = False
        self.run_errors.add(self.current_turn())
        self.note_error(error, len(self.stretch.calls) or self.stretch.text is not None)

    def note_error(self, error: str | None, open_steps: int = 0) -> None:
        """The first error in the file, and how many steps were before it, `open_steps` not made yet among them."""
        if error is not None and self.first_error is None:
            self.first_error = error
            self.first_error_after = (self.steps[-1]["step_id"] if self.steps else 0) + open_steps

    def repeats(self, message: Message, text: str) -> bool:
        """True for the line that is written at the end of a run with what was shown: the text of the previous reply, if
        it used nothing, or one or several of the texts of its turn."""
        rule = self.rules.repeat
        if not has_used(message) and rule.plain(text) == rule.plain(self.stretch.text or self.last_reply or ""):
            return True
        return rule.joins(text, self.recent_texts)

    def note_model(self, message: Message, stretch: Stretch) -> None:
        if message.model:
            name = f"{message.provider}/{message.model}" if message.provider else message.model
            self.models[name] = None
            stretch.model = name
        self.last_stop = message.stopReason
        self.last_error = as_text(message.errorMessage)
        if message.stopReason in FAILED:
            self.note_error(self.last_error)
            self.noise["aborted" if message.stopReason == "aborted" else "provider_errors"] += 1
            if message.stopReason == "aborted":
                self.run_errors.add(self.current_turn())
        stretch.usage = self.usage.add(openclaw_figures(message.usage), spoke=bool(message.content))

    def finish(self) -> None:
        """Close the last stretch, tell each user turn which step follows it."""
        self.end_turn()
        self.close_stretch()
        self.number_turns()

    def close_stretch(self) -> None:
        """Steps of the open message: calls paired with results, then orphan results."""
        open_one, message = self.stretch, self.stretch.message
        pairing = pair_message(open_one.calls, open_one.results)
        if message is not None:
            self.message_steps(open_one, pairing, message.stopReason in FAILED)
        if open_one.results:
            self.counts["step_result"] += len(open_one.results)
        for index in pairing.orphans:
            self.late_result(open_one.results[index])

    def message_steps(self, open_one: Stretch, pairing: Pairing, failed: bool) -> None:
        """A step for each call that was executed, else a reply, else a count."""
        before, executed = len(self.steps), 0
        for index, call in enumerate(open_one.calls):
            result = pairing.result_of.get(index)
            if failed and result is None:
                self.noise["unexecuted_calls"] += 1
                continue
            self.call_step(call, None if result is None else open_one.results[result], index in pairing.ambiguous)
            if result is None and call.id:
                self.unanswered[call.id] = self.steps[-1]
            executed += 1
            if executed == 1:
                self.add_speech(self.steps[-1], open_one, call)
        if not executed:
            self.reply_or_noise(open_one, failed)
        made_step = len(self.steps) > before
        if made_step:
            note_message(self.steps[before], open_one.model, open_one.usage)
        if open_one.runner_text is not None:
            self.noise["runner_texts"] += 1
            no_step_reason = f"runner_text:{open_one.runner_text}"
        else:
            no_step_reason = "unknown_blocks_only" if open_one.unknown and not failed else "runner:no_step"
        reply = "step_mirrored_reply" if open_one.is_mirror else "step_reply"
        if open_one.speech_rows:
            self.counts["step_narration"] += len(open_one.speech_rows)
        self.counts["step_call" if executed else reply if made_step else no_step_reason] += 1

    def call_step(self, call: Block, result: ToolResult | None, ambiguous: bool) -> None:
        name = clean_name(call.name)
        arguments = str(call.arguments, "utf-8", "backslashreplace")
        shown = name or "(no name)"
        has_arguments = arguments not in ("", "null")
        step = self.step("tool_call", f"{shown} {arguments}" if has_arguments else shown, name)
        step["call_id"] = call.id or None
        step["arguments"] = arguments if has_arguments else None  # never inferred: absent is null
        step["order_ambiguous"] = ambiguous
        if result is not None:
            self.attach_result(step, result)
        if self.escaped:
            self.note(step)

    def late_result(self, result: ToolResult) -> None:
        """A result without a call in the message before it: of an earlier call of the turn, where a harness has a
        message for each of several calls at a time; else an orphan."""
        step = self.unanswered.pop(result.message.toolCallId or "", None)
        is_open = step is not None and any(step is row for row in reversed(self.steps))
        if step is None or not is_open or step["user_turn"] != result.user_turn:
            self.orphan_step(result)
            return
        self.attach_result(step, result)
        self.note_escapes(step, [result.row])

    def orphan_step(self, result: ToolResult) -> None:
        """A result without a call: newer releases don't write the line of an unknown tool's call."""
        if self.is_synthetic(result_text(result.message)):
            self.noise["synthetic_orphans"] += 1
            return
        step = self.new_orphan(clean_name(result.message.toolName), result.user_turn, result.time)
        step["call_id"] = result.message.toolCallId or None
        self.attach_result(step, result)
        self.note(step)

    def reply_or_noise(self, open_one: Stretch, failed: bool) -> None:
        """A reply step where there is text; else the message is runner noise, counted."""
        if open_one.text is None:
            if not failed and not open_one.unknown and open_one.runner_text is None:
                self.noise["empty_replies"] += 1
            return
        step = self.step("reply", open_one.text, None)
        step["partial"] = failed or bool(open_one.message and open_one.message.openclawAbort)
        step["thinking"] = open_one.thinking
        self.last_reply = open_one.text
        self.note(step)

    def step(self, kind: str, action_text: str | None, name: str | None) -> dict[str, Any]:
        """A step that the open message issued."""
        open_one = self.stretch
        step = self.new_step(kind, action_text, name, open_one.user_turn, open_one.time, open_one.followed)
        if open_one.row is not None:
            reply = "mirror" if open_one.is_mirror else "reply"
            if open_one.speech_rows and (len(self.steps) < 2 or self.steps[-2]["message_index"] != self.message_index):
                step["raw"] += [pointer("narration", row) for row in open_one.speech_rows]
            step["raw"].append(pointer("call" if kind == "tool_call" else reply, open_one.row))
        return step

    def add_speech(self, step: dict[str, Any], open_one: Stretch, call: Block) -> None:
        """Thinking and narration belong to the first step of the message, never copied to its siblings."""
        step["thinking"] = open_one.thinking
        step["narration"] = open_one.text
        if open_one.text is not None and open_one.message is not None:
            step["narration_position"] = narration_position(open_one.message, call, open_one.is_said_before)
        if self.escaped:
            self.note(step)

    def attach_result(self, step: dict[str, Any], result: ToolResult) -> None:
        """Give a call its result."""
        message = result.message
        self.add_result(
            step, result_text(message, self.unknown_block), message.isError, slim_details(bytes(message.details))
        )
        step["raw"].append(pointer("result", result.row))

    def note(self, step: dict[str, Any]) -> None:
        """Name the fields in which something of the open stretch was written out."""
        if self.escaped:
            self.note_escapes(step, [self.stretch.row, *(result.row for result in self.stretch.results)])


def pair_message(calls: list[Block], results: list[ToolResult]) -> Pairing:
    """pair() of a message's calls and the results after it; most come back one by one in the order of the calls."""
    if not calls and not results:
        return NOTHING
    if len(calls) == len(results) == 1 and calls[0].id and calls[0].id == results[0].message.toolCallId:
        return ONE_WITH_ONE
    ids = [call.id for call in calls]
    if ids == [result.message.toolCallId for result in results] and all(ids) and len(set(ids)) == len(ids):
        return Pairing({index: index for index in range(len(ids))})
    return pair(
        [Called(call.id, call.name) for call in calls],
        [Called(result.message.toolCallId, result.message.toolName) for result in results],
    )
