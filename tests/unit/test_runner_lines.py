"""Lines that the program writes in the place of an agent: failed turns, repeats, mirrors of deliveries."""

import json
from typing import Any

import pytest
from normalizing import RULES, Row, read

from openclawbench.sources.base import ParsedSession

HEADER: Row = {"type": "session", "id": "s", "timestamp": "2026-05-01T00:00:00.000Z"}
NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": {"total": 0}}
USAGE = {"input": 900, "output": 30, "totalTokens": 930, "cost": {"total": 0.001}}
OF_THE_RUN = USAGE | {"input": 2700, "totalTokens": 2730}  # of a run of three requests
FAILED = "[assistant turn failed before producing content]"


def session_of(*messages: Row) -> ParsedSession:
    """A session of these messages; read() checks that every record is counted."""
    records = [HEADER, *({"type": "message", "message": message} for message in messages)]
    session = read(b"".join(json.dumps(record).encode() + b"\n" for record in records)).session
    assert session is not None
    return session


def user(text: str) -> Row:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant_line(*texts: str, stop: str = "stop", **more: Any) -> Row:
    blocks = [{"type": "text", "text": text} for text in texts]
    return {"role": "assistant", "content": blocks, "usage": USAGE, "stopReason": stop} | more


def called(text: str | None = None, name: str = "exec", **arguments: Any) -> Row:
    texts = [{"type": "text", "text": text}] if text else []
    call = {"type": "toolCall", "id": "c1", "name": name, "arguments": arguments}
    return {"role": "assistant", "content": [*texts, call], "usage": USAGE, "stopReason": "toolUse"}


def result(text: str = "ok") -> Row:
    return {"role": "toolResult", "toolCallId": "c1", "toolName": "exec", "content": [{"type": "text", "text": text}]}


def mirror(text: str, model: str = "delivery-mirror") -> Row:
    return assistant_line(text, api="openai-responses", provider="openclaw", model=model, usage=NO_USAGE)


def cli(text: str, usage: Row) -> Row:
    return assistant_line(text, api="cli", provider="anthropic", model="opus", usage=usage)


def replies(session: ParsedSession) -> list[str]:
    return [step["action_text"] for step in session.steps if step["action_kind"] == "reply"]


@pytest.mark.parametrize("texts", [[FAILED], [f"{FAILED}\n"], [f"{FAILED}\n{FAILED}"], [FAILED, FAILED]])
@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_a_failed_turn_has_no_words_of_the_agents(texts: list[str], stop: str) -> None:
    session = session_of(user("go"), assistant_line(*texts, stop=stop, errorMessage="500 overloaded", usage=NO_USAGE))
    assert session.steps == []
    assert session.record_counts["runner_text:turn_failed"] == 1
    assert session.run["runner_texts"] == 1
    assert session.run["empty_replies"] == 0
    assert session.run["first_provider_error"] == "500 overloaded"
    assert session.run["end"] == stop


def test_a_model_that_repeats_such_a_text_has_said_it() -> None:
    session = session_of(user("go"), assistant_line(FAILED))
    assert replies(session) == [FAILED]
    assert session.run["runner_texts"] == 0


def test_such_a_text_that_used_nothing_is_the_programs_whatever_its_stop_reason() -> None:
    assert session_of(user("go"), assistant_line(FAILED, usage=NO_USAGE)).steps == []
    assert replies(session_of(user("go"), assistant_line(FAILED, usage=None))) == [
        FAILED
    ]  # another program's, which says nothing


def test_what_the_agent_says_beside_it_stays_as_it_was_written() -> None:
    beside = session_of(user("go"), assistant_line(FAILED, "It is done.", stop="aborted"))
    assert replies(beside) == ["It is done."]
    assert beside.run["runner_texts"] == 1
    quoted = f"The log says {FAILED}."
    assert replies(session_of(user("go"), assistant_line(quoted, stop="aborted"))) == [quoted]
    prefixed = f"{FAILED} The page is up."
    assert replies(session_of(user("go"), assistant_line(prefixed, stop="aborted"))) == [prefixed]


def test_it_is_no_narration_of_a_call() -> None:
    message = called(FAILED, command="ls") | {"usage": NO_USAGE}
    (step,) = session_of(user("go"), message, result()).steps
    assert (step["narration"], step["narration_position"]) == (None, None)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[assistant reasoning omitted]", "reasoning_omitted"),
        ("[tool calls omitted]", "content_omitted"),
        ("[empty content omitted]", "content_omitted"),
        ("[OpenClaw interruption] The Gateway disconnected. Check the session.", "interruption"),
        ("⚠️ Something went wrong while processing your request. Please try again, or use /new.", "run_failed"),
        ("⚠️ Agent failed before reply: no key.\nLogs: openclaw logs --follow", "run_failed"),
        (
            "I was interrupted by a gateway restart and couldn't safely resume the previous turn. Ask again.",
            "not_resumed",
        ),
    ],
)
def test_the_other_texts_of_the_program(text: str, rule: str) -> None:
    session = session_of(user("go"), assistant_line(text, usage=NO_USAGE))
    assert session.steps == []
    assert session.record_counts[f"runner_text:{rule}"] == 1


def test_every_such_text_begins_with_a_mark() -> None:
    assert RULES.runner_text("⚠️ Disk almost full: 2 GB left.", True) is None
    assert RULES.runner_text("[x] done", True) is None
    for rule in RULES.runner_texts:
        opening = rule.pattern.removeprefix("(?:").replace("\\", "")
        assert opening.startswith(("[", "u26a0", "I was interrupted")), rule.id


@pytest.mark.parametrize("usage", [NO_USAGE, OF_THE_RUN], ids=["unused", "used"])
@pytest.mark.parametrize(
    "shown",
    [
        "I look first.",
        "All is there.",
        "I look first.\n\nNow the second.\n\nAll is there.",
        "I look first.\nAll is there.",
        "[[reply_to_current]] All is there.",
    ],
)
def test_a_line_of_the_end_of_a_run_that_joins_what_was_said_is_a_repeat(shown: str, usage: Row) -> None:
    run = [called("I look first.", command="ls"), result(), called("Now the second.", command="ls b"), result()]
    session = session_of(user("go"), *run, assistant_line("All is there."), cli(shown, usage))
    assert replies(session) == ["All is there."]
    assert session.record_counts["injected:cli_repeat"] == 1
    assert session.run["input_tokens"] == 3 * USAGE["input"]  # what the line says is of the whole run


@pytest.mark.parametrize(
    "shown", ["All is there. And more.", "All is there.\n\nI look first.", "is there", "There: 3."]
)
def test_one_that_says_anything_else_is_a_reply(shown: str) -> None:
    session = session_of(
        user("go"), called("I look first.", command="ls"), result(), assistant_line("All is there."), cli(shown, USAGE)
    )
    assert replies(session) == ["All is there.", shown]


def test_a_runner_that_writes_nothing_else_has_its_replies() -> None:
    session = session_of(
        user("a"), cli("Done.", USAGE), user("b"), cli("Done.", USAGE), user("c"), cli("Done.", NO_USAGE)
    )
    assert replies(session) == ["Done.", "Done."]


def test_many_short_texts_take_no_time() -> None:
    run = [assistant_line("a", usage=USAGE | {"input": number}) for number in range(1, 601)]
    lines = (cli("a" * 5000 + "b", USAGE | {"input": number}) for number in range(601, 621))
    session = session_of(user("go"), *run, *lines)
    assert len(session.steps) == 620


def test_a_mirror_that_nothing_else_says_is_the_reply() -> None:
    session = session_of(user("Is it up?"), mirror("It is up."), user("Thanks"))
    (step,) = session.steps
    assert (step["action_text"], step["action_kind"], step["user_turn"]) == ("It is up.", "reply", 1)
    assert [raw["part"] for raw in step["raw"]] == ["mirror"]
    assert session.run["mirrored_replies"] == 1
    assert session.record_counts["step_mirrored_reply"] == 1
    assert session.models == []
    assert [turn["before_step"] for turn in session.user_turns] == [1, None]
    assert session.run["end"] == "unanswered"


def test_it_completes_the_run_at_the_end_of_the_file() -> None:
    failed = assistant_line(stop="error", errorMessage="500", usage=NO_USAGE)
    session = session_of(user("a"), failed, user("b"), mirror("It is up."))
    assert (session.run["end"], session.run["stop_reason"]) == ("completed", "stop")


def test_several_mirrors_are_several_replies_in_their_order() -> None:
    session = session_of(user("Tell me"), mirror("One."), mirror("Two."), user("And?"), called(command="ls"), result())
    assert [step["action_text"] for step in session.steps][:2] == ["One.", "Two."]
    assert [step["step_id"] for step in session.steps] == [1, 2, 3]
    assert [step["message_index"] for step in session.steps] == [1, 2, 3]


def test_a_message_that_failed_behind_it_answers_nothing() -> None:
    failed = assistant_line(FAILED, stop="error", usage=NO_USAGE)
    for messages in ([failed, mirror("It is up.")], [mirror("It is up."), failed]):
        session = session_of(user("Is it up?"), *messages, user("Thanks"))
        assert replies(session) == (["It is up."] if messages[1] is failed else [])


@pytest.mark.parametrize(
    "after",
    [
        [assistant_line("Well: It is  up.\nAnything else?")],
        [called(name="message", action="send", message="It is up."), result("sent")],
        [assistant_line("The site is up.")],
    ],
    ids=["the reply", "a call", "another reply"],
)
def test_where_a_model_answers_the_turn_it_is_a_mirror(after: list[Row]) -> None:
    session = session_of(user("Is it up?"), mirror("It is up."), *after)
    assert len(session.steps) == 1
    assert session.record_counts["injected:delivery_mirror"] == 1
    assert session.run["mirrored_replies"] == 0


@pytest.mark.parametrize(
    "messages",
    [
        [user("go"), assistant_line("It is up."), mirror("It is up.")],
        [user("go"), assistant_line("It is up.\nAnd on."), user("And now?"), mirror("It is up.")],
        [user("go"), called(command="ls"), mirror("It is up."), result()],
        [user("/status"), mirror("Model: x")],
        [mirror("Good morning.")],
        [user("go"), mirror("⚠️ Something went wrong while processing your request. Please try again.")],
        [user("go"), mirror("Stopped.", model="gateway-injected")],
    ],
    ids=[
        "behind the reply",
        "late",
        "in mid-call",
        "of a command",
        "before any turn",
        "of a failure",
        "by the gateway",
    ],
)
def test_any_other_line_that_no_model_wrote_is_no_step(messages: list[Row]) -> None:
    session = session_of(*messages)
    assert [raw["part"] for step in session.steps for raw in step["raw"]].count("mirror") == 0
    assert session.run["mirrored_replies"] == 0
    assert sum(count for name, count in session.record_counts.items() if name.startswith("injected:")) == 1


THINK = {"type": "thinking", "thinking": "It may be down."}


def codex_result(call_id: str, text: str) -> Row:
    block = {"type": "toolResult", "id": call_id, "toolCallId": call_id, "content": text}
    return {"role": "toolResult", "toolCallId": call_id, "toolName": "bash", "content": [block], "isError": False}


def codex_call(call_id: str, command: str, name: str = "input") -> Row:
    block = {"type": "toolCall", "id": call_id, "name": "bash", name: {"command": command}}
    return {"role": "assistant", "content": [block], "usage": NO_USAGE, "stopReason": "toolUse"}


def test_thoughts_and_a_plan_of_the_codex_harness_are_no_replies() -> None:
    reasoning = assistant_line("Codex reasoning:\nI look first.", usage=NO_USAGE)
    plan = assistant_line("Codex plan:\n1. look", usage=NO_USAGE)
    called_once = [codex_call("a", "ls"), codex_result("a", "x")]
    session = session_of(user("go"), reasoning, plan, *called_once, assistant_line("Done."))
    assert replies(session) == ["Done."]
    assert session.steps[0]["thinking"] == "I look first.\n\nCodex plan:\n1. look"
    assert [raw["part"] for raw in session.steps[0]["raw"]] == ["narration", "narration", "call", "result"]
    assert session_of(user("go"), reasoning).steps == []


def test_what_codex_says_between_its_calls_is_their_narration() -> None:
    between = assistant_line("I look first.", usage=NO_USAGE) | {
        "openclawStreamFallback": {"source": "segment", "itemId": "m1"}
    }
    thoughts = assistant_line(usage=NO_USAGE) | {"content": [THINK]}
    calls = [codex_call("a", "ls"), codex_call("b", "pwd"), codex_result("a", "x"), codex_result("b", "/w")]
    session = session_of(user("go"), thoughts, between, *calls, between, assistant_line("Done."))
    first, second = session.steps[:2]
    assert (first["thinking"], first["narration"], first["narration_position"]) == (
        "It may be down.",
        "I look first.",
        "before",
    )
    assert [step["reflection_text"] for step in (first, second)] == ["x", "/w"]
    assert first["arguments"] == '{"command": "ls"}'
    assert replies(session) == ["I look first.", "Done."]
    assert session.unknown_blocks == {}


def aborted(text: str) -> Row:
    return mirror(text, model="gateway-injected") | {"openclawAbort": {"aborted": True, "origin": "rpc", "runId": "r"}}


def test_what_a_gateway_kept_of_an_aborted_reply_is_kept() -> None:
    session = session_of(user("go"), called(command="ls"), aborted("Half a"), result(), user("on"), aborted("One"))
    assert replies(session) == ["Half a", "One"]
    assert [step["partial"] for step in session.steps] == [False, True, True]
    assert session.steps[0]["reflection_text"] == "ok"
    assert session.run["end"] == "aborted"


@pytest.mark.parametrize("is_before", [True, False])
def test_it_is_not_kept_twice(is_before: bool) -> None:
    pair = [aborted("Half a"), assistant_line("Half a reply", stop="aborted")]
    assert replies(session_of(user("go"), *(pair if is_before else pair[::-1]))) == ["Half a reply"]
