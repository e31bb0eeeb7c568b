"""Messages of a chat -> ReAct steps and user turns, shared by adapters of several formats."""

from dataclasses import dataclass, field

from openclawbench.sources.base import MalformedSession
from openclawbench.sources.chat_dialects import Call, Message, Result
from openclawbench.sources.io.jsonl import Fault, RawLine
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.result_pairing import Called, pair
from openclawbench.sources.step_builder import Feedback, Moment, Speech, StepList

SEVERAL_SPEAKERS = "several_speakers"  # reason code


@dataclass
class Event:
    """A message; of the agent with the items of its response, each a record of its own."""

    role: str
    rows: list[RawLine]
    results: list[tuple[Result, RawLine]] = field(default_factory=list)  # up to the agent's next message
    is_followed: bool = False  # the agent or the user says something after it

    @property
    def calls(self) -> list[tuple[Call, RawLine]]:
        return [(call, row) for row in self.rows for call in row.value.calls]


def take_messages(steps: StepList, rows: list[RawLine]) -> None:
    """All messages of a session, in order. Raises MalformedSession for a conversation of several agents."""
    refuse_several_speakers(rows)
    for event in events_of(steps, rows):
        if event.role == "assistant":
            act(steps, event)
        elif event.role == "user":
            (row,) = event.rows
            steps.user(row.value.text, row, iso_time(row.value.timestamp))
    steps.finish()


def refuse_several_speakers(rows: list[RawLine]) -> None:
    """Raises MalformedSession if agents talk to each other: their messages are neither a user's words nor one agent's
    steps, and nothing says whose step each is."""
    spoken = [row for row in rows if row.value.role in ("user", "assistant") and (row.value.text or row.value.calls)]
    names = {
        role: {row.value.speaker for row in spoken if row.value.role == role} - {None} for role in ("user", "assistant")
    }
    opens = not spoken or (spoken[0].value.role == "user")
    several = len(names["user"]) > 1 or len(names["assistant"]) > 1 or bool(names["user"] and not opens)
    if not several:
        return
    speakers = ", ".join(sorted(str(name) for group in names.values() for name in group))
    line = next(row.line for row in spoken if row.value.speaker is not None)
    sentence = "whose steps they are is not said: not read"
    raise MalformedSession(Fault(SEVERAL_SPEAKERS, line, f"a conversation of several agents ({speakers}): {sentence}"))


def events_of(steps: StepList, rows: list[RawLine]) -> list[Event]:
    """The user's turns and the agent's messages in order, with the results that follow each. Every other record is
    counted; a result before any message of the agent is an orphan."""
    events: list[Event] = []
    agent: Event | None = None
    answered = False  # a result or a turn came since the agent's last item
    for row in rows:
        message: Message = row.value
        if message.is_simulated:
            steps.counts["simulated_user_tool"] += 1
            if message.role == "user" and message.text is None:
                continue
        if message.role == "assistant":
            goes_on = agent is not None and not answered and (message.goes_on or agent.rows[-1].value.goes_on)
            if goes_on and agent is not None and not (message.text and any(other.value.calls for other in agent.rows)):
                agent.rows.append(row)
            else:
                if agent is not None:
                    agent.is_followed = True
                agent = Event("assistant", [row])
                events.append(agent)
            answered = False
            continue
        if message.role == "system":
            steps.counts["system"] += 1
            continue
        if message.is_simulated and message.role == "tool":
            continue
        answered = True
        if message.results:
            if agent is None:
                agent = Event("assistant", [])
                events.append(agent)
            agent.results += [(result, row) for result in message.results]
        if message.role == "user" and (message.text or not message.results):
            if not message.is_simulated:
                steps.counts["user_turn_with_results" if message.results else "user_turn"] += 1
            if agent is not None:
                agent.is_followed = True
            events.append(Event("user", [row]))
        elif not message.is_simulated:
            steps.counts["step_result"] += 1
    return events


def act(steps: StepList, event: Event) -> None:
    """The steps of an agent's message: its calls, each with its result; its text, where it calls nothing; and a result
    that fits no call."""
    time = next((known for row in event.rows if (known := iso_time(row.value.timestamp))), None)
    text = "\n".join(row.value.text for row in event.rows if row.value.text) or None
    thinking = "\n".join(row.value.thinking for row in event.rows if row.value.thinking) or None
    moment = steps.moment(time) if event.rows else Moment(steps.message_index, steps.current_turn(), None)
    moment.followed = event.is_followed
    calls = event.calls
    pairing = pair(
        [Called(call.id, call.name) for call, _ in calls],
        [Called(result.id, result.name) for result, _ in event.results],
        by_place=True,
    )
    for index, (call, row) in enumerate(calls):
        speech = Speech(thinking, text, "before", spoken_beside(event, row)) if index == 0 else None
        step = steps.call(call.name, call.arguments, moment, row, speech, call.id)
        step["order_ambiguous"] = index in pairing.ambiguous
        if index in pairing.result_of:
            steps.answer(step, feedback_of(*event.results[pairing.result_of[index]]))
    if not calls and text is not None:
        steps.reply(text, moment, [row for row in event.rows if row.value.text], thinking)
    elif not calls and event.rows:
        steps.noise["empty_replies"] += 1
    count_rows(steps, event, bool(calls), text is not None)
    for orphan in pairing.orphans:
        result, row = event.results[orphan]
        nowhere = Moment(moment.message_index, moment.user_turn, None)
        steps.orphan(result.name, feedback_of(result, row), nowhere)


def spoken_beside(event: Event, row: RawLine) -> list[RawLine]:
    """The other records of a message in which something is said or thought."""
    return [other for other in event.rows if other is not row and (other.value.text or other.value.thinking)]


def count_rows(steps: StepList, event: Event, has_calls: bool, has_text: bool) -> None:
    """Where each record of an agent's message went."""
    for row in event.rows:
        if row.value.calls:
            steps.counts["step_call"] += 1
        elif row.value.text and not has_calls:
            steps.counts["step_reply"] += 1
        elif (row.value.text or row.value.thinking) and (has_calls or has_text):
            steps.counts["step_narration"] += 1
        else:
            steps.counts["runner:no_step"] += 1


def feedback_of(result: Result, row: RawLine) -> Feedback:
    """What a result says."""
    return Feedback(result.text, [row], result.details, result.is_error)
