"""A session is one trajectory, and each thing in it counts once, however often the program wrote it into its files."""

import json
from typing import Any

import pytest
from normalizing import Normalized, Row, normalized_rows, raw_row, read

Records = list[Row]
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-01T00:00:00.000Z", "cwd": "/home/user/ws"}
POLL = "[OpenClaw heartbeat poll]"


def entry(name: str, parent: str | None, second: int, message: Row) -> Row:
    time = f"2026-05-01T00:{second // 60:02d}:{second % 60:02d}.000Z"
    return {"type": "message", "id": name, "parentId": parent, "timestamp": time, "message": message}


def user(text: str) -> Row:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def reply(text: str, used: int = 10, **more: Any) -> Row:
    content = [{"type": "text", "text": text}]
    usage = {"input": used, "output": 5, "totalTokens": used + 5, "cost": {"total": 0.001}}
    return {"role": "assistant", "content": content, "stopReason": "stop", "model": "m", "usage": usage} | more


def call(name: str, command: str, used: int = 10, **more: Any) -> Row:
    block = {"type": "toolCall", "id": name, "name": "exec", "arguments": {"command": command}}
    return reply("", used) | {"content": [block], "stopReason": "toolUse"} | more


def result(name: str, text: str) -> Row:
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": name, "toolName": "exec", "content": content, "isError": False}


def chain(*messages: Row, header: Row = HEADER) -> Records:
    """A session of these messages, each behind the one before, a second apart."""
    parents = [None, *(f"r{number}" for number in range(len(messages)))]
    return [header, *(entry(f"r{n}", parents[n], n + 1, message) for n, message in enumerate(messages))]


def written(records: Records) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def files(**contents: Records) -> Normalized:
    """Files as one shard: `main` is the session's own, a name with `bak` a backup that the program made, others lie
    beside it."""
    rows = []
    for name, records in contents.items():
        path = "m/s.jsonl" if name == "main" else f"m/s.jsonl.{name.replace('bak', 'bak-77-178')}"
        rows.append(raw_row([written(records)], path, sha256=name.ljust(64, "0")))  # type: ignore[arg-type]
    return normalized_rows(rows)


def actions(normalized: Normalized) -> list[str]:
    return [step["action_text"] for step in normalized.steps]


# What stands twice in a file


def counted(records: Records) -> tuple[Row, dict[str, int]]:
    session = read(written(records)).session
    assert session is not None
    return session.run, dict(session.record_counts)


def shown(records: Records) -> list[tuple[str, str | None]]:
    session = read(written(records)).session
    assert session is not None
    return [(step["action_text"], step["reflection_text"]) for step in session.steps]


TWIN = reply("Lima.", 20, provider="google")


@pytest.mark.parametrize(
    "more",
    [{}, {"responseId": "x"}, {"content": [{"type": "thinking", "thinking": "hm"}, *TWIN["content"]]}],
    ids=["without an id", "with one id", "with thoughts"],
)
def test_a_reply_that_stands_twice_behind_itself_is_one(more: Row) -> None:
    for times in (2, 3):
        records = chain(user("Capital of Peru?"), *[TWIN | more] * times, user("Thanks"), reply("Welcome.", 30))
        assert [text for text, _ in shown(records)] == ["Lima.", "Welcome."]
        run, counts = counted(records)
        assert (run["input_tokens"], run["cost_usd"]) == (50, 0.002)
        assert counts["repeated_record"] == times - 1


def test_a_message_with_a_call_that_stands_twice_is_executed_once() -> None:
    once = call("c1", "ls", 20)
    records = chain(user("List"), once, once, result("c1", "a.txt"), reply("One file.", 30))
    assert shown(records) == [('exec {"command": "ls"}', "a.txt"), ("One file.", None)]
    assert counted(records)[0]["input_tokens"] == 50


SAME = reply("Still running.", 20)


@pytest.mark.parametrize(
    "between",
    [
        [SAME | {"responseId": "one"}, SAME | {"responseId": "two"}],
        [SAME, reply("Still running.", 21)],
        [SAME, user("and now?"), SAME],
        [SAME | {"responseId": "one"}, user("and now?"), SAME | {"responseId": "one"}],
        [SAME | {"usage": None}, SAME | {"usage": None}],
        [SAME, call("c1", "date", 25), result("c1", "noon"), SAME],
    ],
    ids=["other ids", "other usage", "another turn", "an id used again", "nothing but words", "a step between"],
)
def test_equal_words_alone_are_no_repeat(between: list[Row]) -> None:
    texts = [text for text, _ in shown(chain(user("Status?"), *between))]
    assert texts.count("Still running.") == 2


def test_a_turn_that_was_delivered_twice_is_one() -> None:
    answer = reply("Not possible from here.", responseId="resp_9")
    stamp = "[Fri 2026-05-01 00:00 UTC] "
    records = chain(user("Restart nginx"), answer, user(f"{stamp}Restart nginx"), answer, user("Why?"), reply("No."))
    session = read(written(records)).session
    assert session is not None
    assert [turn["text"] for turn in session.user_turns] == ["Restart nginx", "Why?"]
    assert [step["action_text"] for step in session.steps] == ["Not possible from here.", "No."]
    assert session.run["input_tokens"] == 20


def test_a_turn_that_was_replayed_behind_a_compaction_is_one() -> None:
    turn = [user("Clean up"), call("c1", "rm a", 20, responseId="r1"), result("c1", "(no output)"), reply("Done.", 30)]
    first = chain(*turn)
    compaction = {"type": "compaction", "id": "k", "parentId": "r3", "timestamp": HEADER["timestamp"], "summary": "s"}
    again = [entry(f"a{n}", f"a{n - 1}" if n else "k", 20 + n, message) for n, message in enumerate(turn)]
    new = [entry("b0", "a3", 30, user("More")), entry("b1", "b0", 31, reply("No more.", 40))]
    records = [*first, compaction, *again, *new]
    assert [text for text, _ in shown(records)] == ['exec {"command": "rm a"}', "Done.", "No more."]
    run, counts = counted(records)
    assert (run["input_tokens"], counts["repeated_record"], counts["user_turn"]) == (90, 4, 2)


def rewritten(result_text: str, full: str, called: Row | None = None) -> Records:
    """A session whose second result was written anew with all that followed it, on a branch of its own."""
    before = chain(user("Read"), call("b1", "cat big", 20), result("b1", full), reply("Long.", 30))
    rest = [entry("n1", "r1", 50, result("b1", result_text)), entry("n2", "n1", 51, reply("Long.", 30))]
    if called is not None:
        before += [entry("d1", "r3", 6, called), entry("d2", "d1", 7, result("b2", "(no output)"))]
    new = [entry("n3", "n2", 60, user("Thanks")), entry("n4", "n3", 61, reply("Welcome.", 40))]
    return [*before, *rest, *new]


CUT = "HEAD\n\n\u26a0\ufe0f [... middle content omitted \u2014 showing head and tail ...]\n\nTAIL"
CLEARED = "[compacted: tool output removed to free context]"


@pytest.mark.parametrize(("now", "full"), [(CUT, "HEAD" + "x" * 90 + "TAIL"), (CLEARED, "short"), ("", "all of it")])
def test_the_result_that_was_not_cut_is_shown(now: str, full: str) -> None:
    records = rewritten(now, full)
    session = read(written(records)).session
    assert session is not None
    assert session.steps[0]["reflection_text"] == full
    assert [pointer["line"] for pointer in session.steps[0]["raw"]] == [3, 4]
    assert session.abandoned_steps == []


def test_a_fuller_result_on_the_active_branch_stays() -> None:
    session = read(written(rewritten("HEAD" + "x" * 90, CUT))).session
    assert session is not None
    assert [pointer["line"] for pointer in session.steps[0]["raw"]] == [3, 6]


def test_what_was_truly_abandoned_is_still_listed() -> None:
    session = read(written(rewritten(CUT, "x" * 99, call("b2", "rm big")))).session
    assert session is not None
    assert [step["action_text"] for step in session.abandoned_steps] == ['exec {"command": "rm big"}']


def test_an_action_on_both_branches_is_not_abandoned_and_another_under_its_id_is() -> None:
    def both(name: str, command: str, **more: Any) -> list[Row]:
        return [
            entry(f"{name}1", "r0", 10, call("c1", command, **more)),
            entry(f"{name}2", f"{name}1", 11, result("c1", f"{name}")),
        ]

    start = chain(user("Go"))
    end = entry("e", "z2", 40, reply("Done.", 50))
    records = [*start, *both("a", "ls"), *both("b", "pwd"), *both("z", "ls"), end]
    session = read(written(records)).session
    assert session is not None
    assert [step["action_text"] for step in session.abandoned_steps] == ['exec {"command": "pwd"}']
    other = [*start, *both("a", "ls", responseId="1"), *both("z", "ls", responseId="2"), end]
    session = read(written(other)).session
    assert session is not None
    assert [step["action_text"] for step in session.abandoned_steps] == ['exec {"command": "ls"}']


def leaf(name: str, parent: str, target: str, **more: Any) -> Row:
    return {"type": "leaf", "id": name, "parentId": parent, "timestamp": HEADER["timestamp"], "targetId": target} | more


@pytest.mark.parametrize("more", [{}, {"appendParentId": "side"}], ids=["its target", "another record"])
def test_a_session_goes_on_where_its_leaf_record_says(more: Row) -> None:
    start = chain(user("Read"), reply("Read."), user("More?"), reply("More."))
    side = [entry("side", "r0", 20, reply("Written anew.")), leaf("l", "side", "r3", **more)]
    texts = [text for text, _ in shown([*start, *side])]
    assert texts == ["Read.", "More."]
    parent = more.get("appendParentId", "r3")
    after = [entry("n0", parent, 30, user("And?")), entry("n1", "n0", 31, reply("That is all."))]
    assert [text for text, _ in shown([*start, *side, *after])] == ["Read.", "More.", "That is all."]


@pytest.mark.parametrize("target", [{"targetId": "gone"}, {}], ids=["a record that is not there", "none"])
def test_a_leaf_record_that_names_no_record_moves_nothing(target: Row) -> None:
    start = chain(user("Read"), reply("Read."))
    end = {"type": "leaf", "id": "l", "parentId": "r1", "timestamp": HEADER["timestamp"]} | target
    assert [text for text, _ in shown([*start, end])] == ["Read."]


# Files of one session


def beat(turn: str = POLL) -> tuple[Records, dict[str, Records]]:
    """A session whose answers to three polls the program took out again, and the backups that hold them."""
    start = chain(user("Make a.txt"), call("m1", "touch a.txt"), result("m1", "(no output)"), reply("Made.", 20))
    main, backups, parent = list(start), {}, "r3"
    for number in range(3):
        poll = entry(f"p{number}", parent, 10 * number + 10, user(turn))
        main.append(poll)
        answer = entry(f"q{number}", poll["id"], 10 * number + 12, reply(f"Nothing {number}.", 30 + number))
        backups[f"bak{number}"] = [*main, answer]
        parent = poll["id"]
    poll = entry("p", parent, 50, user(turn))
    return [*main, poll, entry("last", "p", 60, reply("Nothing now.", 90))], backups


@pytest.mark.parametrize("turn", [POLL, "Anything new?"], ids=["a poll", "a person's turn"])
@pytest.mark.parametrize("names", ["bak", "copied"])
def test_an_answer_that_was_taken_out_makes_no_second_session(turn: str, names: str) -> None:
    main, backups = beat(turn)
    normalized = files(main=main, **{name.replace("bak", names): records for name, records in backups.items()})
    (trajectory,) = normalized.trajectories
    assert (trajectory["source_file"], trajectory["divergent"]) == ("m/s.jsonl", False)
    assert actions(normalized)[-2:] == ["Made.", "Nothing now."]
    removed = trajectory["removed_records"]
    assert [(row["part"], row["line"]) for row in removed] == [("message", 7), ("message", 8), ("message", 9)]
    warned = [row["warnings"] for row in normalized.files if row["disposition"] == "copy"]
    assert [[(fault["name"], fault["count"]) for fault in faults] for faults in warned] == [
        [("removed_records", 1)]
    ] * 3
    assert trajectory["run"]["input_tokens"] == 10 + 20 + 90


def test_a_poll_that_went_with_its_answer_makes_no_second_session() -> None:
    start = chain(user("Make a.txt"), reply("Made.", 20))
    poll = [entry("p", "r1", 10, user(POLL)), entry("q", "p", 12, reply("Nothing.", 30))]
    more = [entry("u", "r1", 20, user("And b?")), entry("v", "u", 22, reply("Made b.", 40))]
    (trajectory,) = files(main=[*start, *more], copied=[*start, *poll]).trajectories
    assert [row["part"] for row in trajectory["removed_records"]] == ["turn", "message"]


@pytest.mark.parametrize("names", [("main", "copied"), ("copied1", "copied2")], ids=" ".join)
def test_a_session_that_was_written_on_twice_is_two(names: tuple[str, str]) -> None:
    start = chain(user("Make a.txt"), reply("Made.", 20))
    first = [entry("p", "r1", 10, user("And b?")), entry("q", "p", 12, reply("Made b.", 30))]
    other = [entry("u", "r1", 20, user("And c?")), entry("v", "u", 22, reply("Made c.", 40))]
    normalized = files(**dict(zip(names, ([*start, *first], [*start, *other]), strict=True)))
    assert [trajectory["divergent"] for trajectory in normalized.trajectories] == [True, True]
    assert not any(trajectory["removed_records"] for trajectory in normalized.trajectories)


def test_one_turn_with_two_answers_is_two_sessions() -> None:
    start = chain(user("Make a.txt"))
    first, other = ([*start, entry(name, "r0", second, reply(name))] for name, second in (("yes", 5), ("no", 9)))
    assert len(files(main=first, copied=other).trajectories) == 2


def test_a_backup_that_the_program_made_is_no_fork() -> None:
    start = chain(user("Make a.txt"), reply("Made.", 20))
    first = [entry("p", "r1", 10, user("And b?")), entry("q", "p", 12, reply("Made b.", 30))]
    other = [entry("u", "r1", 20, user("And c?")), entry("v", "u", 22, reply("Made c.", 40))]
    (trajectory,) = files(main=[*start, *other], bak1=[*start, *first]).trajectories
    assert trajectory["source_file"] == "m/s.jsonl"
    assert [row["part"] for row in trajectory["removed_records"]] == ["turn", "message"]


def test_a_file_whose_head_was_cut_off_is_the_session_and_lacks_its_head() -> None:
    complete = chain(user("one"), reply("1", 20), user("two"), reply("2", 30), user("three"), reply("3", 40))
    kept = [HEADER, complete[3] | {"parentId": None}, *complete[4:]]
    more = [entry("u", "r5", 20, user("four")), entry("v", "u", 22, reply("4", 50))]
    normalized = files(main=[*kept, *more], bak1=complete)
    (trajectory,) = normalized.trajectories
    assert actions(normalized) == ["2", "3", "4"]
    assert trajectory["head_drop"]
    assert [row["part"] for row in trajectory["removed_records"]] == ["turn", "message"]


def test_a_suffix_that_another_file_holds_under_new_ids_is_the_same() -> None:
    turn = [
        user("Clean"),
        call("c1", "rm a", 20, responseId="r1"),
        result("c1", "x" * 90),
        reply("Done.", 30, responseId="r2"),
    ]
    first = chain(*turn)
    copied = [HEADER, *(entry(f"n{n}", f"n{n - 1}" if n else None, 20 + n, message) for n, message in enumerate(turn))]
    copied[3]["message"] = result("c1", CUT)
    (trajectory,) = files(main=copied, bak1=first).trajectories
    assert trajectory["source_file"] == "m/s.jsonl"
    assert [row["part"] for row in trajectory["removed_records"]] == ["turn", "result"]


def test_the_order_of_files_changes_nothing() -> None:
    main, backups = beat()
    first, other = files(main=main, **backups), files(**dict(reversed(backups.items())), main=main)
    assert first.trajectories == other.trajectories
