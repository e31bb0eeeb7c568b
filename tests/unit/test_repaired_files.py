"""Session files that OpenClaw repaired in place, beside backups made before: copies, unless a model says more."""

import json
from collections.abc import Callable

import pytest
from normalizing import Normalized, Row, normalized_rows, raw_row

FAILED = {"type": "text", "text": "[assistant turn failed before producing content]"}
BACKUP = "m/s.jsonl.bak-4242-1780000000000"
Records = list[Row]


def entry(name: str, parent: str | None, message: Row) -> Row:
    time = "2026-05-01T00:00:00.000Z"
    return {"type": "message", "id": name, "parentId": parent, "timestamp": time, "message": message}


def user(text: str) -> Row:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant_line(text: str, stop: str = "stop") -> Row:
    content = [{"type": "text", "text": text}] if text else []
    return {"role": "assistant", "content": content, "stopReason": stop, "provider": "p", "api": "q", "model": "m"}


def chain(*messages: Row) -> Records:
    """A session of these messages, each behind the one before."""
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-01T00:00:00.000Z"}
    ids = [f"r{number}" for number in range(len(messages))]
    parents = [None, *ids]
    return [header, *map(entry, ids, parents, messages)]


def rewritten(records: Records) -> Records:
    """With the text that the program writes into messages that failed without one."""
    document = json.loads(json.dumps(records))
    for record in document:
        message = record.get("message", {})
        if message.get("stopReason") == "error" and not message["content"]:
            message["content"] = [FAILED]
    return document


def without(records: Records, *names: str) -> Records:
    """With some records taken out, and what hung on them hanging on the one above."""
    parents = {record.get("id"): record.get("parentId") for record in records}
    built = []
    for record in records:
        if record.get("id") in names:
            continue
        parent = record.get("parentId")
        while parent in names:
            parent = parents[parent]
        built.append(record | ({"parentId": parent} if "parentId" in record else {}))
    return built


def read(**files: Records) -> Normalized:
    """Files as one shard; `main` is the session's own, the others are backups of it."""
    paths = {name: "m/s.jsonl" if name == "main" else f"{BACKUP}-{name}" for name in files}
    contents = {
        name: "".join(json.dumps(record) + "\n" for record in records).encode() for name, records in files.items()
    }
    rows = [raw_row([contents[name]], paths[name], sha256=name.ljust(64, "0")) for name in files]  # type: ignore[arg-type]
    return normalized_rows(rows)


TURNS = [
    user("look"),
    assistant_line("I looked."),
    user("and now?"),
    assistant_line("", "error"),
    assistant_line("", "error"),
    assistant_line("It is 5."),
    user("again"),
    assistant_line("", "error"),
    assistant_line("It is 6."),
]
WHOLE = chain(*TURNS)


@pytest.mark.parametrize(
    "backups",
    [
        {"a": WHOLE[:6]},
        {"a": WHOLE[:5], "b": WHOLE[:6], "c": WHOLE[:9]},
        {"a": rewritten(WHOLE[:6]), "b": WHOLE[:9]},
        {"a": without(WHOLE[:9], "r3"), "b": WHOLE[:9]},
    ],
    ids=["before a repair", "before each of three", "one that was repaired before", "one with a turn taken out"],
)
@pytest.mark.parametrize(
    "main", [rewritten(WHOLE), without(WHOLE, "r3", "r4", "r7"), without(rewritten(WHOLE), "r4")], ids=str
)
def test_what_differs_in_failed_messages_alone_is_one_trajectory(main: Records, backups: dict[str, Records]) -> None:
    normalized = read(main=main, **backups)
    (trajectory,) = normalized.trajectories
    assert (trajectory["source_file"], trajectory["divergent"]) == ("m/s.jsonl", False)
    assert [step["action_text"] for step in normalized.steps] == ["I looked.", "It is 5.", "It is 6."]
    fates = {row["path"]: (row["disposition"], row["reason"], row["trajectory_id"]) for row in normalized.files}
    assert fates.pop("m/s.jsonl") == ("trajectory", None, trajectory["trajectory_id"])
    assert set(fates.values()) == {("copy", "copy_of", trajectory["trajectory_id"])}


def changed(at: int, change: Callable[[Row], Row]) -> Records:
    return [record | {"message": change(record["message"])} if n == at else record for n, record in enumerate(WHOLE)]


INSERTED = entry(
    "repair-1", "r5", {"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "aborted"}]}
)
LABEL = {"type": "label", "id": "l", "parentId": "r3", "targetId": "r3", "label": "here it failed"}
ORPHANED = [*WHOLE[:3], entry("x", "r1", user("asked twice")), *WHOLE[3:]]


@pytest.mark.parametrize(
    "other",
    [
        changed(2, lambda message: message | {"provider": "openai", "api": "openai-chatgpt-responses"}),
        [*WHOLE[:7], INSERTED, *WHOLE[7:]],
        [*WHOLE[:7], entry("n", "r5", {"role": None, "content": []}), *WHOLE[7:]],
        [*WHOLE[:5], LABEL, WHOLE[5] | {"parentId": "l"}, *WHOLE[6:]],
        ORPHANED,
        [dict(reversed(record.items())) for record in without(WHOLE, "r3", "r4", "r7")],
    ],
    ids=[
        "another provider",
        "an inserted result",
        "a message without a role",
        "a label",
        "a branch left",
        "keys in another order",
    ],
)
def test_what_else_a_repair_changes_makes_no_other_session(other: Records) -> None:
    normalized = read(main=WHOLE, other=other)
    assert len(normalized.trajectories) == 1
    assert [step["action_text"] for step in normalized.steps] == ["I looked.", "It is 5.", "It is 6."]


def test_blank_words_and_broken_images_may_have_been_replaced() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "??"}
    before = chain(
        {"role": "user", "content": [{"type": "text", "text": " "}, image]},
        assistant_line("ok"),
        user(""),
        assistant_line("so"),
    )
    gone = {"type": "text", "text": "[image omitted: corrupted base64 payload]"}
    after = chain(
        {"role": "user", "content": [gone]}, assistant_line("ok"), user("(continue)"), assistant_line("so"), user("x")
    )
    assert len(read(main=after, backup=before).trajectories) == 1


@pytest.mark.parametrize(
    "other",
    [
        changed(2, lambda message: assistant_line("I looked away.")),
        changed(6, lambda message: assistant_line("It is 7.")),
        [*WHOLE[:9], entry("x8", "r7", assistant_line("It is 8."))],
    ],
    ids=["another reply", "a later one", "another end"],
)
def test_files_that_differ_in_what_the_model_says_stay_apart_and_are_flagged(other: Records) -> None:
    normalized = read(main=rewritten(WHOLE), other=other)
    assert [trajectory["divergent"] for trajectory in normalized.trajectories] == [True, True]
    assert len({trajectory["trajectory_id"] for trajectory in normalized.trajectories}) == 2


@pytest.mark.parametrize(
    "other",
    [changed(7, lambda message: user("and again")), without(WHOLE, "r1"), without(WHOLE, "r5")],
    ids=["other words", "a reply less", "a later one less"],
)
def test_files_without_messages_of_the_model_on_both_sides_are_one_session(other: Records) -> None:
    normalized = read(main=WHOLE, other=other)
    (trajectory,) = normalized.trajectories
    assert [step["action_text"] for step in normalized.steps] == ["I looked.", "It is 5.", "It is 6."]
    parts = [removed["part"] for removed in trajectory["removed_records"]]
    assert parts == (["turn"] if other[7] != WHOLE[7] and len(other) == len(WHOLE) else [])


def test_the_file_with_the_most_that_lasts_is_the_trajectory() -> None:
    """A backup with more records, all of failures, is no longer session."""
    short = chain(*TURNS[:3], *[assistant_line("", "error")] * 20)
    normalized = read(main=without(WHOLE, "r3", "r4", "r7"), backup=short)
    (trajectory,) = normalized.trajectories
    assert trajectory["source_file"] == "m/s.jsonl"
    assert trajectory["num_steps"] == 3


def test_the_order_of_files_changes_nothing() -> None:
    files = {
        "main": rewritten(WHOLE),
        "a": WHOLE[:6],
        "b": WHOLE[:9],
        "c": changed(6, lambda _: assistant_line("It is 7.")),
    }
    normalized, other = read(**files), read(**dict(reversed(files.items())))
    key = "trajectory_id"
    assert sorted(normalized.trajectories, key=lambda row: row[key]) == sorted(
        other.trajectories, key=lambda row: row[key]
    )
    assert len(normalized.trajectories) == 2


def test_values_that_are_too_deep_are_no_reason_to_fail() -> None:
    deep: object = 1
    for _ in range(600):
        deep = [deep]
    records = [*WHOLE[:2], {"type": "custom", "id": "d", "parentId": "r0", "customType": "x", "data": deep}]
    assert (
        len(read(main=[*records, *WHOLE[2:]], other=[*records, entry("z", "d", assistant_line("no"))]).trajectories)
        == 2
    )
