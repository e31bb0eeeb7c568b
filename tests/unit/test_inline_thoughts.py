"""Thoughts that a model writes into its text, in a tag: the user was not shown them."""

import pytest

from openclawbench.sources.openclaw.records import Block, Message
from openclawbench.sources.openclaw.texts import parts_of


def message(*blocks: Block) -> Message:
    """An agent's message of these blocks."""
    return Message(role="assistant", content=list(blocks))


@pytest.mark.parametrize("tag", ["think", "thinking"])
def test_a_thought_at_the_beginning_of_a_text_is_thinking(tag: str) -> None:
    block = Block(type="text", text=f"<{tag}>\nThe gauge may be old.\n</{tag}>\n\nThe gauge shows 4 bar.")
    assert parts_of(message(block))[1:3] == ("The gauge may be old.", "The gauge shows 4 bar.")


def test_it_follows_what_the_message_thinks_elsewhere() -> None:
    blocks = [Block(type="thinking", thinking="First."), Block(type="text", text="<think>Second.</think>Done.")]
    assert parts_of(message(*blocks))[1:3] == ("First.\nSecond.", "Done.")


def test_a_message_of_thought_alone_says_nothing() -> None:
    assert parts_of(message(Block(type="text", text="<think>Nothing to say.</think>\n")))[1:3] == (
        "Nothing to say.",
        None,
    )


@pytest.mark.parametrize(
    ("text", "thinking", "shown"),
    [
        ("<think>\nIt failed.\n</think>\n\n<final>It failed.</final>", "It failed.", "It failed."),
        ("<final>On it.</final>\n", None, "On it."),
        ("\n<FINAL><final>On it.</final></FINAL>", None, "On it."),
        ('<final format="plain">Two lines:\nA</final>', None, "Two lines:\nA"),
        ("<think>I may not send it.<final>May I send it?</final>", "I may not send it.", "May I send it?"),
        ("<thought>One.</thought><Think>Two.</Think>Done.", "One.\nTwo.", "Done."),
        ("<thinking>Why?</thinking>Because.", "Why?", "Because."),
        ("<think>I write <final>x</final> at the end.</think>4.", "I write <final>x</final> at the end.", "4."),
        ("<think>It wants <final> tags.</think>\n<final>4</final>", "It wants <final> tags.", "4"),
        ("\n" * 50 + "<think>a</think >b", "a", "b"),
        ("<final>One.</final>\n\n<final>Two.</final>", None, "One.\n\nTwo."),
        ("<final> One. <final>Two.</final>\n</final>\n", None, "One. Two."),
        ("<final>Write:\n```\n<final>x</final>\n```\nDone.</final>", None, "Write:\n```\n<final>x</final>\n```\nDone."),
        ("<final>Write `<final>` first.</final>", None, "Write `<final>` first."),
        ("<final>```\nx = 1\n```</final>", None, "```\nx = 1\n```"),
        ("<final>```\nx = 1</final>\n", None, "```\nx = 1"),
    ],
)
def test_an_answer_is_what_the_runtime_shows(text: str, thinking: str | None, shown: str) -> None:
    assert parts_of(message(Block(type="text", text=text)))[1:3] == (thinking, shown)


@pytest.mark.parametrize(
    "text",
    [
        "Models write <think>words</think> like these.",
        "<think>never closed",
        "<thinker>a</thinker> b",
        "It wrote <final>v2</final>.",
        "<finale>a</finale>",
        "<final-report>a</final-report>",
        "plain",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert parts_of(message(Block(type="text", text=text)))[1:3] == (None, text)
