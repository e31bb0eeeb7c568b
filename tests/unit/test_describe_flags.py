"""Automatic process flags: what fires them, what does not, and where."""

from pathlib import Path
from typing import get_args

import pytest
from describe_steps import FLAGS, LANGUAGES, RULES, SHELL, apart, call, described, reply, shell, steps

from openclawbench.construct.describe.describe import describe
from openclawbench.records.vocabulary import AutoFlag
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.loading.own_folder import OVERRIDE
from openclawbench.rules.loading.rule_file import rule_path

FIRES = [
    ("uncertainty", "I'm not sure which file they mean."),
    ("uncertainty", "I’m not entirely certain about the path."),
    ("uncertainty", "The request is ambiguous."),
    ("uncertainty", "I don't know the chat id."),
    ("uncertainty", "Not sure if this is right."),
    ("uncertainty", "I'll assume the port is 80."),
    ("uncertainty", "I can't tell whether it worked."),
    ("uncertainty", "It is unclear what the user wants."),
    ("uncertainty", "我不确定用户的意思。"),
    ("uncertainty", '"Friday" could mean the 8th or the 15th.'),
    ("uncertainty", "Still not sure about it."),
    ("hedge", "My best guess is the cache."),
    ("capability_gap", "There is no network access here."),
    ("capability_gap", "I could not log in."),
    ("hedge", "This is probably fixed."),
    ("hedge", "It seems to be a bug."),
    ("hedge", "That should work now."),
    ("hedge", "I think the answer is 4."),
    ("hedge", "The cause is likely the cache."),
    ("capability_gap", "I don't have access to the mail server."),
    ("capability_gap", "There is no tool for that here."),
    ("capability_gap", "I can't verify the result from here."),
    ("capability_gap", "The browser is not available."),
    ("uncertainty", "Maybe I should overwrite both."),
    ("uncertainty", "I assume that nothing else reads it."),
    ("capability_gap", "I have no direct access, and no problem with that."),
    # beside a question to the user
    ("uncertainty", "I'm not sure which file you mean, could you tell me?"),
    ("capability_gap", "I can't access the calendar, can you send me the file?"),
    ("uncertainty", "It is unclear which file you mean; which one should I take?"),
    # what somebody meant is guessed
    ("uncertainty", "Assuming you meant the staging server, I deployed it there."),
    ("uncertainty", "I fixed the config assuming you meant staging."),
    ("uncertainty", "I'm assuming they're after the logs."),
    ("uncertainty", "I took it you meant April."),
    ("uncertainty", "Which file does the user mean?"),
    # other languages
    ("uncertainty", "Ich bin mir nicht sicher, welche Datei gemeint ist."),
    ("uncertainty", "Es ist noch unklar, ob das reicht."),
    ("uncertainty", "Ich nehme an, dass Port 80 gemeint ist."),
    ("hedge", "Das ist vermutlich der Cache."),
    ("hedge", "Das sollte jetzt funktionieren."),
    ("capability_gap", "Ich habe leider keinen Zugriff auf den Server."),
    ("capability_gap", "Ich kann das von hier nicht überprüfen."),
    ("hedge", "问题大概在缓存。"),
    ("capability_gap", "我没有权限访问服务器。"),
]
SILENT = [
    ("uncertainty", "There is no doubt about it."),
    ("uncertainty", "I was not sure at first, but I checked and now it is confirmed."),
    ("uncertainty", 'The user wrote "I\'m not sure".'),
    ("uncertainty", "Run `echo I am not sure`."),
    ("uncertainty", "```\n# I'm not sure about this\n```"),
    ("uncertainty", "> I'm not sure\nquoted above"),
    ("uncertainty", "If you are not sure, ask the user."),
    ("uncertainty", "When in doubt, leave it out."),
    ("uncertainty", "The user is not sure about the date."),
    ("uncertainty", "I should not assume the port."),
    ("uncertainty", "I know the path."),
    ("uncertainty", "Anna is still not sure."),
    ("uncertainty", "The uncertainty of the measurement is 0.2."),
    ("uncertainty", "Assuming you have docker, run make."),
    ("uncertainty", "Assuming you're on macOS, run it."),
    ("uncertainty", "Assuming your config is the default, this works."),
    ("uncertainty", "My assumption was right."),
    ("uncertainty", "I am not assuming you meant staging."),
    ("uncertainty", "I'm not going to assume you meant staging."),
    ("uncertainty", 'You said "assuming you meant staging".'),
    ("uncertainty", "The user assumed you meant it."),
    ("uncertainty", "The script is assuming you want UTC."),
    ("hedge", "It looks like this:"),
    ("hedge", "Let me think about it."),
    ("hedge", "The list is done."),
    ("hedge", "Unlikely events are logged."),
    ("hedge", 'It prints "probably".'),
    ("capability_gap", "There were no access problems."),
    ("capability_gap", "If I don't have access, I will ask."),
    ("capability_gap", "I can't see any problem with it."),
    ("capability_gap", "I have access to the server."),
    ("capability_gap", "You can't access that page."),
    ("capability_gap", "I have no problem with access."),
    ("uncertainty", "I assume nothing and checked it."),
    ("uncertainty", "Maybe I should check the log first."),
    # questions to the user
    ("uncertainty", "Are you not sure about the date?"),
    ("uncertainty", "Should I assume UTC?"),
    ("uncertainty", "Is it still unclear?"),
    ("uncertainty", "Which file do you mean?"),
    ("uncertainty", "Could you clarify which file you mean?"),
    ("uncertainty", "Please tell me which of these you mean."),
    ("uncertainty", "Should I assume you meant staging?"),
    ("uncertainty", "Not sure where to begin? Run the demo."),
    ("uncertainty", "Do you want me to guess the port?"),
    ("hedge", "Do you think it is probably the cache?"),
    ("hedge", "Would that perhaps suit you?"),
    ("capability_gap", "Is the browser not available?"),
    ("capability_gap", "Do you have no access to the server?"),
    # other languages
    ("uncertainty", "Es gibt keinen Zweifel."),
    ("uncertainty", "Das war zuerst unklar, jetzt ist es geklärt."),
    ("uncertainty", "Falls du nicht sicher bist, frag nach."),
    ("uncertainty", "Soll ich einfach UTC annehmen?"),
    ("uncertainty", "Der Nutzer ist nicht sicher."),
    ("hedge", "Meinst du, das ist wahrscheinlich der Cache?"),
    ("capability_gap", "Wenn ich keinen Zugriff habe, frage ich nach."),
    ("uncertainty", "如果不确定，请询问。"),
]


def test_words_that_fire() -> None:
    read = call("read", {"path": "a"})
    for inputs in (
        [reply(text) for _, text in FIRES],
        [read | {"thinking": text} for _, text in FIRES],
        [read | {"narration": text} for _, text in FIRES],
    ):
        for row, (flag, text) in zip(apart(*inputs), FIRES, strict=True):
            assert flag in row["auto_flags"], text


def test_words_that_do_not_fire() -> None:
    for row, (flag, text) in zip(apart(*(reply(text) for _, text in SILENT)), SILENT, strict=True):
        assert flag not in row["auto_flags"], text


def test_what_was_read_or_written_is_not_the_agents_word() -> None:
    unsure = "I'm not sure. It probably works. I don't have access."
    (read, wrote) = described(
        call("read", {"path": "a"}, unsure), call("write", {"path": "a", "content": unsure}, "ok")
    )
    assert read["auto_flags"] == []
    assert wrote["auto_flags"] == []


BEFORE = ["", "Ünïcödé 🦞 e\u0301 日本。", '"quoted 🦞" `code` ', "```\nnot sure\n```\n", "1.5\n\n> a\n"]


def test_evidence_counts_code_points() -> None:
    texts = [f"{before}Well, I'm not sure about 🦞." for before in BEFORE]
    for row, text in zip(apart(*map(reply, texts)), texts, strict=True):
        (evidence,) = [entry for entry in row["flag_evidence"] if entry["flag"] == "uncertainty"]
        assert evidence["field"] == "action_text"
        assert text[evidence["start"] : evidence["end"]] == "I'm not sure"
        assert evidence["rule_id"] == "uncertainty.not_sure"


def test_flags_stand_in_the_order_of_the_vocabulary() -> None:
    text = "I think it probably works. I don't have access. I'm not sure."
    step = call("web_fetch", {"url": "https://a.io"}, "x", {"status": 500}, thinking=text)
    (result,) = described(step)
    assert result["auto_flags"] == ["uncertainty", "error_signal", "external_interaction", "capability_gap", "hedge"]
    assert [evidence["flag"] for evidence in result["flag_evidence"]] == sorted(
        (evidence["flag"] for evidence in result["flag_evidence"]), key=FLAGS.order.index
    )
    assert sorted(FLAGS.order) == sorted(get_args(AutoFlag))


def test_write_under_uncertainty_belongs_to_the_message() -> None:
    unsure = {"thinking": "I'm not sure about the path."}
    rows = described(
        call("write", {"path": "a"}, message_index=1, **unsure),
        call("read", {"path": "a"}, message_index=1, **unsure),
        call("write", {"path": "memory/a.md"}, message_index=2, narration="I'll guess the name."),
        call("write", {"path": "c"}, message_index=3),
    )
    flagged = ["write_under_uncertainty" in row["auto_flags"] for row in rows]
    assert flagged == [True, False, True, False]


MEMORY_WRITE = [
    (call("write", {"path": "MEMORY.md"}), True),
    (call("write", {"path": "memory/2026-01-01.md"}), True),
    (shell("echo x >> memory/a.md"), True),
    (call("memory_store", {"text": "x"}), True),
    (call("write", {"path": "MEMORY.md"}, "Tool write not found", {}, result_is_error=True), True),
    (call("write", {"path": "/home/u/.openclaw/workspace-a/memory/topics/x.md"}), True),
    (call("write", {"path": "/srv/bot/memory/2026-01-01-evening.md"}), True),
    (shell("mv MEMORY.md old.md"), True),
    (call("write", {"path": "docs/memory.md"}), False),
    (call("write", {"path": "src/memory/cache.json"}), False),
    (call("read", {"path": "MEMORY.md"}), False),
    (shell("cat memory/a.md"), False),
    (call("write", {"path": "notes.md"}), False),
]


def test_memory_write() -> None:
    for row, (step, flagged) in zip(apart(*(step for step, _ in MEMORY_WRITE)), MEMORY_WRITE, strict=True):
        assert ("memory_write" in row["auto_flags"]) is flagged, step["action_text"]


ERROR_SIGNAL = [
    (shell("x", "a\n\n(Command exited with code 3)"), True),
    (shell("x", "Command aborted by signal SIGTERM", {"status": "failed"}), True),
    (call("x", {}, None, has_result=False), False),
    (call("x", {}, "[openclaw] missing", result_synthetic=True, result_is_error=True), False),
    (call("read", {"path": "a"}, "error: 3 failed"), False),
    (shell("x", "running", {"status": "running"}), False),
]


def test_error_signal() -> None:
    for row, (step, flagged) in zip(apart(*(step for step, _ in ERROR_SIGNAL)), ERROR_SIGNAL, strict=True):
        assert ("error_signal" in row["auto_flags"]) is flagged, step["action_text"]


EXTERNAL_INTERACTION = [
    (call("web_search", {"query": "x"}), True),
    (call("web_fetch", {"url": "https://a.io"}), True),
    (call("message", {"action": "send", "target": "1"}), True),
    (shell("git push"), True),
    (shell("curl https://a.io"), True),
    (shell("ssh h ls"), True),
    (shell("git commit -m x"), False),
    (shell("curl localhost:80"), False),
    (call("web_fetch", {"url": "x"}, "Tool web_fetch not found", {}, result_is_error=True), False),
    (call("web_fetch", {"url": "x"}, "x", {"status": "error", "error": "Web fetch failed (403): Forbidden"}), True),
    (call("web_fetch", {"url": "x"}, "x", {"status": "error", "error": "Blocked hostname"}), False),
    (call("read", {"path": "a"}), False),
]


def test_external_interaction() -> None:
    for row, (step, flagged) in zip(
        apart(*(step for step, _ in EXTERNAL_INTERACTION)), EXTERNAL_INTERACTION, strict=True
    ):
        assert ("external_interaction" in row["auto_flags"]) is flagged, step["action_text"]


def test_retry_of_failed() -> None:
    failed = {"text": "a\n\n(Command exited with code 3)"}
    rows = described(
        shell("x", **failed),
        shell("y", **failed),
        shell("x", "fine"),
        shell("x", "fine", message_index=9),
        shell("y", message_index=2),
        call("process", {"command": "x"}),
    )
    flagged = ["retry_of_failed" in row["auto_flags"] for row in rows]
    assert flagged == [False, False, True, False, False, False]  # the run at place 2 went well


def test_a_wrapped_retry_is_the_same_call() -> None:
    failed = call("tool_call", {"id": "cron", "args": {"action": "list"}}, "x", {"status": "error"})
    rows = described(failed, call("tool_call", {"args": {"action": "list"}, "id": "cron"}, "x"))
    assert "retry_of_failed" in rows[1]["auto_flags"]


def test_capability_gap_of_an_unknown_tool() -> None:
    rows = described(
        call("frob", None, "Tool frob not found", {}, result_is_error=True),
        call("read", {"path": "a"}, "ENOENT: no such file", {"status": "error"}),
        call("memory_search", {}, '{"disabled": true}'),
    )
    assert ["capability_gap" in row["auto_flags"] for row in rows] == [True, False, True]


ITALIAN = """
[[text]]
id = "uncertainty.italian"
flag = "uncertainty"
language = "it"
pattern = '\\bnon (sono|siamo) (ancora |davvero )?(sicuro|certo|sicuri)'
[[flag]]
name = "uncertainty"
language = "it"
unless = ['\\bse (tu|non|voi)\\b']
"""


def test_a_language_is_added_in_the_rule_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FlagRules.FILE).write_text(rule_path(FlagRules.FILE).read_text("utf-8") + ITALIAN, "utf-8")
    monkeypatch.setenv(OVERRIDE, str(tmp_path))
    rules = FlagRules.load()
    frame = steps(reply("🦞 Non sono sicuro della porta."), reply("Se non sono sicuro, lo chiedo."))
    (result, silent) = describe(frame, RULES, SHELL, rules, LANGUAGES).collect().to_dicts()
    place = {"field": "action_text", "start": 2, "end": 17, "cause": None}
    assert result["flag_evidence"] == [{"flag": "uncertainty", "rule_id": "uncertainty.italian", **place}]
    assert silent["auto_flags"] == []
    assert describe(frame, RULES, SHELL, FLAGS, LANGUAGES).collect()["auto_flags"].to_list() == [[], []]


def test_text_rules_have_unique_ids_and_known_flags() -> None:
    ids = [rule.id for rule in FLAGS.texts]
    assert len(ids) == len(set(ids))
    assert {rule.flag for rule in FLAGS.texts} <= set(FLAGS.order)


CAUSES = [
    (call("web_search", {"query": "x"}), "external_interaction", "tool.web_search"),
    (call("web_fetch", {"url": "https://a.io"}), "external_interaction", "tool.web_fetch"),
    (call("slack_post_message", {"text": "x"}), "external_interaction", "verb.message"),
    (call("github_create_issue", {"title": "x"}), "external_interaction", "remote.service"),
    (shell("cd a && git push"), "external_interaction", "git.send"),
    (shell("ls; curl http://localhost; curl https://a.io"), "external_interaction", "curl.get"),
    (shell("ssh host 'rm a'"), "external_interaction", "shell.run_elsewhere"),
    (call("write", {"path": "MEMORY.md"}), "memory_write", "state.memory_file"),
    (call("memory_store", {"text": "x"}), "memory_write", "tool.memory_store"),
    (shell("false", "", {"status": "failed", "exitCode": 1}), "error_signal", "status.details_status"),
    (call("nope", {}, "Tool nope not found", result_is_error=True), "capability_gap", "failure.unknown_tool"),
    (call("write", {"path": "a"}, thinking="I'm not sure which."), "write_under_uncertainty", "tool.write"),
]


def test_a_flag_without_a_place_names_the_rule_that_it_follows_from() -> None:
    for row, (_, flag, cause) in zip(apart(*(input_cause for input_cause, _, _ in CAUSES)), CAUSES, strict=True):
        assert [evidence["cause"] for evidence in row["flag_evidence"] if evidence["flag"] == flag] == [cause], row
        assert all(evidence["cause"] is None for evidence in row["flag_evidence"] if evidence["start"] is not None)
