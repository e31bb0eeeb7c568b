"""Event type, side effect and targets of tool calls and replies."""

from typing import Any, get_args

import pytest
from describe_steps import FLAGS, LANGUAGES, RULES, SHELL, apart, call, described, reply, shell, steps

from openclawbench.construct.describe.describe import describe
from openclawbench.records.evidence import Descriptor
from openclawbench.records.vocabulary import EventType
from openclawbench.tables.schema import schema

TYPES: list[tuple[str, Any, str, bool]] = [
    ("read", {"path": "a"}, "read", False),
    ("memory_get", {"path": "MEMORY.md"}, "read", False),
    ("pdf", {"pdf": "a"}, "read", False),
    ("write", {"path": "a", "content": "x"}, "external_write", True),
    ("edit", {"file_path": "a"}, "external_write", True),
    ("write", {"path": "memory/2026-01-01.md"}, "state_write", True),
    ("write", {"path": "/home/u/.openclaw/workspace/MEMORY.md"}, "state_write", True),
    ("edit", {"path": "USER.md"}, "state_write", True),
    ("write", {"path": "src/memory.c"}, "external_write", True),
    ("exec", {"command": "echo x >> memory/a.md"}, "state_write", True),
    ("exec", {"command": "cat MEMORY.md"}, "read", False),
    ("exec", {"command": ["bash", "-lc", "rm 'a b'"]}, "external_write", True),
    (
        "exec",
        {"command": "apply_patch <<E\n*** Add File: a\n+x\n*** Update File: MEMORY.md\n+x\nE"},
        "state_write",
        True,
    ),
    ("exec", {"command": "git apply <<E\n--- a/memory/a.md\n+++ b/memory/a.md\nE"}, "state_write", True),
    # staging a memory file leaves it as it is; bringing back an old one does not
    ("exec", {"command": "git add MEMORY.md && git commit -m x && git push"}, "external_write", True),
    ("exec", {"command": "cd memory && git commit -am x"}, "external_write", True),
    ("exec", {"command": "git rm --cached MEMORY.md"}, "external_write", True),
    ("exec", {"command": "git checkout -- MEMORY.md"}, "state_write", True),
    ("exec", {"command": "git rm MEMORY.md"}, "state_write", True),
    ("exec", {"command": "git add MEMORY.md && echo x >> USER.md"}, "state_write", True),
    ("exec", {"command": "patch --dry-run -p1 < a"}, "inspect", False),
    ("bash", {"command": "ls"}, "inspect", False),
    ("exec", {"command": 5}, "code_execution", False),
    ("exec", {}, "code_execution", False),
    ("exec", None, "code_execution", False),
    ("python", {"code": "print(1)"}, "code_execution", False),
    ("python", {"code": "open('a.txt','w').write('x')"}, "external_write", True),
    ("process", {"action": "poll", "sessionId": "a"}, "inspect", False),
    ("process", {"action": "kill", "sessionId": "a"}, "system_control", True),
    ("cron", {"action": "list"}, "inspect", False),
    ("cron", {"action": "add", "job": {}}, "system_control", True),
    ("gateway", {"action": "config.get"}, "inspect", False),
    ("gateway", {"action": "restart"}, "system_control", True),
    ("message", {"action": "send", "target": "1"}, "communication", True),
    ("message", {"action": "read", "target": "1"}, "query", False),
    ("web_search", {"query": "x"}, "query", False),
    ("memory_search", {"query": "x"}, "query", False),
    ("web_fetch", {"url": "https://a.io"}, "web_interaction", False),
    ("http_request", {"url": "https://a.io", "method": "POST"}, "web_interaction", True),
    ("browser", {"action": "open", "url": "https://a.io"}, "web_interaction", False),
    ("browser", {"action": "act", "request": {"kind": "type", "submit": True}}, "web_interaction", True),
    ("sessions_list", {}, "agent_coordination", False),
    ("sessions_spawn", {"task": "x", "label": "l"}, "agent_coordination", True),
    ("subagents", {"action": "kill", "target": "1"}, "agent_coordination", True),
    ("subagents", {"action": "list"}, "agent_coordination", False),
    ("update_plan", {"plan": []}, "state_write", True),
    ("create_goal", {"objective": "x"}, "state_write", True),
    ("image_generate", {"prompt": "x"}, "external_write", True),
    ("tool_call", {"id": "cron", "args": {"action": "list"}}, "inspect", False),
    ("tool_call", {"id": "exec", "args": {"command": "rm a"}}, "external_write", True),
    (" functions.read", {"path": "a"}, "read", False),
    ("Bash", {"command": "ls"}, "inspect", False),
    # argument names in any style
    ("run_command", {"CommandLine": "ls -la"}, "inspect", False),
    ("write_file", {"TargetFile": "MEMORY.md"}, "state_write", True),
    # tools that are a sub-command of git
    ("git_commit", {"repo_path": "/r", "message": "x"}, "external_write", True),
    ("git_add", {"repo_path": "/r", "files": ["MEMORY.md"]}, "external_write", True),
    ("mcp__git__git_diff_unstaged", {"repo_path": "/r"}, "inspect", False),
    ("git_list_commits", {}, "inspect", False),
    # arguments that were written as JSON twice
    ("exec", '{"command": "rm a"}', "external_write", True),
    ("write", '{"path": "MEMORY.md", "content": "x"}', "state_write", True),
    ("http_request", '{"url": "https://a.io", "method": "POST"}', "web_interaction", True),
    ("exec", "rm a", "code_execution", False),
    # a memory file that is moved away, or copied
    ("move_file", {"from": "MEMORY.md", "to": "old.md"}, "state_write", True),
    ("copy_file", {"from": "MEMORY.md", "to": "old.md"}, "external_write", True),
    ("fs_move", {"source": "a", "destination": "memory/x.md"}, "state_write", True),
    # statements
    ("execute_sql", {"query": "UPDATE t SET a = 1"}, "external_write", True),
    ("execute_sql", {"sql": "select 1 from t"}, "query", False),
    ("execute_sql", {"sql": "-- old ones\n/* all */ delete from t"}, "external_write", True),
    ("execute_sql", {"sql": "select 'a; delete from t'"}, "query", False),
    # of any tool, if they are SQL
    ("mcp__postgres__query", {"sql": "DELETE FROM users"}, "external_write", True),
    ("mcp__postgres__query", {"sql": "SELECT * FROM users"}, "query", False),
    ("query", {"query": "update t set a = 1 where b = 2"}, "external_write", True),
    ("sql_db_query", {"query": "insert into t values (1)"}, "external_write", True),
    ("bigquery", {"query": "SELECT 1; DROP TABLE t"}, "external_write", True),
    ("warehouse_query", {"statement": "BEGIN; MERGE INTO t USING s ON 1 = 1"}, "external_write", True),
    ("warehouse_query", {"statement": "WITH a AS (SELECT 1) SELECT * FROM a"}, "query", False),
    ("search_docs", {"query": "delete from my account"}, "query", False),
    ("search_docs", {"query": "update the set of rules"}, "query", False),
    # replacing is no search, a thing of an agent is no agent
    ("search_replace", {"file_path": "a"}, "external_write", True),
    ("replace_string_in_file", {"filePath": "a"}, "external_write", True),
    ("find_and_replace_text", {}, "external_write", True),
    ("create_agent_report", {}, "external_write", True),
    ("create_agent_file", {}, "external_write", True),
    ("create_agent", {}, "agent_coordination", True),
    ("spawn_agents_on_csv", {}, "agent_coordination", True),
    ("get_agent_logs", {}, "agent_coordination", False),
    ("git_commit", {}, "external_write", True),
    ("git", {"action": "push"}, "external_write", True),
    ("git_diff", {}, "inspect", False),
    # unknown tools, by their verb
    ("spawn_subagent", {"prompt": "x"}, "agent_coordination", True),
    ("list_agents", {}, "agent_coordination", False),
    ("feishu_bitable_create_record", {}, "external_write", True),
    ("feishu_bitable_list_records", {}, "inspect", False),
    ("feishu_doc", {"action": "write"}, "external_write", True),
    ("composio__COMPOSIO_SEARCH_TOOLS", {}, "query", False),
    ("core_memory_add", {"key": "a"}, "state_write", True),
    ("get_message_stats", {}, "query", False),
    ("frobnicate", {"x": 1}, "other", False),
    # a shell by its name and a command; the name alone is none
    ("exec_shell", {"command": "rm -rf build"}, "external_write", True),
    ("container.exec", {"cmd": ["bash", "-lc", "ls"]}, "inspect", False),
    ("mcp__shell__run", {"command": "kill 7"}, "system_control", True),
    ("exec_shell", {"x": 1}, "code_execution", False),
    ("sql_exec", {"command": "rm -rf build"}, "code_execution", False),
    ("seashell_count", {"command": "rm -rf build"}, "inspect", False),
    # post and reply as verbs, and as something else
    ("post_message", {"to": "a"}, "communication", True),
    ("slack_post", {"channel": "a"}, "communication", True),
    ("reply_to_ticket", {"id": "a"}, "communication", True),
    ("ticket", {"action": "reply"}, "communication", True),
    ("post_tweet", {"content": "a"}, "communication", True),
    ("request_post_maintenance_verification", {}, "external_write", True),
    ("request_post_check", {}, "inspect", False),
    ("post_processing_report", {}, "other", False),
    ("reply_count", {}, "query", False),
]


def test_event_type_and_side_effect() -> None:
    actual_steps = apart(*(call(tool, arguments, "done") for tool, arguments, _, _ in TYPES))
    for actual_step, (tool, arguments, event_type, effect) in zip(actual_steps, TYPES, strict=True):
        assert (actual_step["event_type"], actual_step["side_effect"]) == (event_type, effect), (tool, arguments)


TARGETS = [
    (call("write", {"path": "a/b.txt"}), "a/b.txt", None),
    (call("edit", {"path": "SOUL.md"}), "SOUL.md", "SOUL.md"),
    (shell("cp x memory/2026-01-01.md"), "memory/2026-01-01.md", "memory/2026-01-01.md"),
    (call("update_plan", {"plan": []}), None, "plan"),
    (call("message", {"action": "send", "target": "@bob"}), "@bob", None),
    (call("cron", {"action": "remove", "jobId": "j1"}), "j1", None),
    (call("apply_patch", {"input": "*** Begin Patch\n*** Update File: a b.py\n@@\n*** End Patch"}), "a b.py", None),
    (call("tool_call", {"id": "write", "args": {"path": "ü.txt"}}), "ü.txt", None),
    (call("read", {"path": "MEMORY.md"}), None, None),
    (call("move_file", {"from": "a", "to": "b"}), "b", None),
    (call("rename_file", {"path": "MEMORY.md", "new_name": "old.md"}), "old.md", "MEMORY.md"),
    (call("copy_file", {"source": "MEMORY.md", "destination": "old.md"}), "old.md", None),
    (call("git_push", {"repo_path": "/r"}), "/r", None),
    (shell("git add MEMORY.md"), "MEMORY.md", None),
]


def test_targets() -> None:
    actual_steps = apart(*(step for step, _, _ in TARGETS))
    for actual_step, (step, artifact, state) in zip(actual_steps, TARGETS, strict=True):
        assert (actual_step["artifact_target"], actual_step["state_write_target"]) == (artifact, state), step[
            "action_text"
        ]


NOT_DONE = [
        (shell("rm a", "x\n\n(Command exited with code 3)"), True, "shell.remove_create"),
        (shell("rm a", "rm: cannot remove 'a': No such file or directory\n\n(Command exited with code 1)"), False,
         "effect.not_done"),
        (shell("mkdir d; cp x d", "cp: x: No such file or directory\n\n(Command exited with code 1)"), True,
         "shell.copy_move"),
        (shell("rm a", "approval", {"status": "approval-pending"}), False, "effect.not_executed"),
        (shell("rm a", "Command still running", {"status": "running"}), True, "shell.remove_create"),
        (call("write", {"path": "a"}, 'Validation failed for tool "write":\n  - x', {}, result_is_error=True), False,
         "effect.not_executed"),
        (call("write", {"path": "a"}, "Tool write not found", {}, result_is_error=True), False, "effect.not_executed"),
        (shell("rm a", "exec denied: allowlist miss", result_is_error=True), False, "effect.not_executed"),
        (call("write", {"path": "a"}, None, has_result=False), True, "effect.category"),
        (call("read", {"path": "a"}), False, "effect.none"),
        # a change in front of what was missing has been made
        (shell("mkdir d && nothere", "sh: nothere: command not found\n\n(Command exited with code 127)"), True,
         "shell.make_folder"),
        (shell("rm a && nothere", "sh: nothere: command not found\n\n(Command exited with code 127)"), True,
         "shell.remove_create"),
        (shell("nothere && rm a", "sh: nothere: command not found\n\n(Command exited with code 127)"), False,
         "effect.not_done"),
        (shell("nothere > a", "sh: nothere: command not found\n\n(Command exited with code 127)"), False,
         "effect.not_done"),
        # refused for its arguments, by the tool
        (call("sessions_spawn", {"task": "x", "mode": "session"},
              '{"status": "error", "error": "mode=\\"session\\" requires thread=true so the subagent can stay bound."}',
              {"status": "error", "error": 'mode="session" requires thread=true so the subagent can stay bound.'}),
         False, "effect.not_executed"),
        (call("cron", {"action": "add"}, "schedule must be an object", {}, result_is_error=True), False,
         "effect.not_executed"),
        # a job that was not run, a picture that is being made already
        (call("cron", {"action": "run", "jobId": "j"}, '{"ok": true, "ran": false}', {"ok": True, "ran": False}), False,
         "effect.not_executed"),
        (call("cron", {"action": "run", "jobId": "j"}, '{"ok": true, "ran": true}', {"ok": True, "ran": True}), True,
         "effect.category"),
        (call("image_generate", {"prompt": "a"}, "Image task t1 is already running.",
              {"action": "status", "duplicateGuard": True, "existingTask": True, "status": "running"}), False,
         "effect.not_executed"),
]  # fmt: skip

USAGE = [
    "error: required option '--name <name>' not specified",
    "error: unknown option '--evry'\n(Did you mean --every?)",
    "usage: prog [-h] --name NAME\nprog: error: the following arguments are required: --name",
    "prog: error: unrecognized arguments: --evry",
    "Usage: prog [OPTIONS]\nTry 'prog --help' for help.\n\nError: No such option: --evry",
    "unknown flag: --evry\n\nUsage:  prog add [flags]\n\nFlags:\n  -h, --help\n  -n, --name string",
    "Error: accepts 1 arg(s), received 3",
    "error: unexpected argument '--evry' found\n\nUsage: prog add [OPTIONS]\n\nFor more information, try '--help'.",
    "prog: invalid option -- 'q'\nTry 'prog --help' for more information.",
    "git: 'psuh' is not a git command. See 'git --help'.\n\nThe most similar command is\n\tpush",
]


@pytest.mark.parametrize("words", USAGE)
def test_a_command_that_was_refused_for_its_arguments_did_nothing(words: str) -> None:
    text = f"{words}\n\n(Command exited with code 1)"
    details = {"status": "completed", "exitCode": 1}
    alone, piped, behind, front = apart(
        *(
            shell(command, text, details)
            for command in (
                "openclaw cron add --evry 5m",
                "cd /srv && sudo openclaw cron add --evry 5m 2>&1 | tail -5",
                "rm a && openclaw cron add --evry 5m",
                "openclaw cron add --evry 5m; rm a",
            )
        )
    )
    assert (alone["tool_status"], alone["event_type"]) == ("error", "system_control")
    assert [entry["side_effect_rule"] for entry in (alone, piped)] == ["effect.not_executed"] * 2
    assert behind["side_effect"] and front["side_effect"]  # another part may have done something


@pytest.mark.parametrize(
    "words",
    [
        "error: required option was set, deploying anyway\nfailed at step 3",
        "Error: deploy failed: unknown option price",
    ],
)
def test_words_of_usage_in_another_failure_are_no_refusal(words: str) -> None:
    step = apart(shell("kubectl apply -f x", f"{words}\n\n(Command exited with code 1)", {"exitCode": 1}))[0]
    assert step["side_effect"]


@pytest.mark.parametrize(
    ("tool", "arguments", "event_type", "effect"),
    [
        ("message", {"action": "send", "target": "a", "dryRun": True}, "inspect", False),
        ("message", {"action": "send", "target": "a", "dry_run": "true"}, "inspect", False),
        ("message", {"action": "send", "target": "a", "dryRun": False}, "communication", True),
        ("write", {"path": "MEMORY.md", "content": "a", "dry-run": True}, "inspect", False),
        ("deploy_service", {"name": "a", "whatIf": True}, "inspect", False),
        ("read", {"path": "a", "dryRun": True}, "read", False),
    ],
)
def test_a_dry_run_looks(tool: str, arguments: dict[str, object], event_type: str, effect: bool) -> None:
    step = apart(call(tool, arguments, "done"))[0]
    assert (step["event_type"], step["side_effect"]) == (event_type, effect)
    assert effect or (step["artifact_target"], step["state_write_target"]) == (None, None)


SERVERS = [
    ("rm", {"path": "a.txt"}),
    ("read_file", {"path": "a.txt"}),
    ("exec", {"command": "git push origin main"}),
    ("get_order_details", {"id": "7"}),
    ("fillFuelTank", {"fuelAmount": 5}),
    ("send_message", {"to": "kim", "text": "x"}),
    ("memory_store", {"key": "a", "value": "b"}),
    ("cancel_booking", {"booking_id": "7"}),
    ("web_search", {"query": "x"}),
    ("frobnicate", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), SERVERS)
def test_a_tool_does_the_same_on_a_server(tool: str, arguments: dict[str, object]) -> None:
    names = [tool, f"fs__{tool}", f"mcp__my-files__{tool}", f"functions.fs__{tool}"]
    alone, *served = apart(*(call(name, arguments, "done") for name in names))
    assert alone["tool_server"] is None
    assert [item["tool_server"] for item in served] == ["fs", "my-files", "fs"]
    changed = {"trajectory_id", "step_id", "tool_server"}
    for entry in served:
        assert {name: entry[name] for name in entry if name not in changed} == {
            name: alone[name] for name in alone if name not in changed
        }


@pytest.mark.parametrize(
    ("name", "server", "tool"),
    [
        ("fs__rm-2", "fs", "rm"),  # a second tool of that name
        ("fs__take-2", "fs", "take-2"),  # which may be its own
        ("a__b__rm", "a", "b__rm"),
        ("__book_room", None, "__book_room"),
        ("mcp__rm", "mcp", "rm"),
        ("rm", None, "rm"),
    ],
)
def test_the_server_in_a_name(name: str, server: str | None, tool: str) -> None:
    step = apart(call(name, {"path": "a"}, "done"))[0]
    assert (step["tool_server"], step["tool_name"]) == (server, tool)


def test_a_server_tells_a_shell_and_a_service() -> None:
    ran, left = apart(
        call("mcp__shell__run", {"command": "rm a"}, "done"), call("github__create_issue", {"title": "a"}, "done")
    )
    assert (ran["event_type"], ran["artifact_target"]) == ("external_write", "a")
    assert "external_interaction" in left["auto_flags"]


def test_a_call_that_was_not_done_changed_nothing() -> None:
    actual_steps = apart(*(step for step, _, _ in NOT_DONE))
    for actual_step, (step, effect, rule) in zip(actual_steps, NOT_DONE, strict=True):
        assert (actual_step["side_effect"], actual_step["side_effect_rule"]) == (effect, rule), step["action_text"]


def test_every_part_of_a_command_is_kept_with_its_rule() -> None:
    (mixed, plain, program, reading) = apart(
        shell("cd a && git commit -m x; cat b | head -1 > ü.txt"),
        call("write", {"path": "a"}),
        call("python", {"code": "open('a', 'w')"}),
        call("powershell", {"command": "del a"}),
    )
    assert [
        (command_part["event_type"], command_part["rule_id"], command_part["side_effect"], command_part["target"])
        for command_part in mixed["command_parts"]
    ] == [
        (None, "shell.nothing", False, None),
        ("external_write", "git.index", True, "a"),
        ("read", "shell.read", False, None),
        (None, "shell.read", False, None),
        ("external_write", "shell.redirect", True, "ü.txt"),
    ]
    assert [command_part["command"] for command_part in mixed["command_parts"]][1:3] == ["git commit -m x", "cat b"]
    assert mixed["event_rule"] in {command_part["rule_id"] for command_part in mixed["command_parts"]}
    assert plain["command_parts"] == []
    assert [command_part["event_type"] for command_part in program["command_parts"]] == ["external_write"]
    assert [command_part["rule_id"] for command_part in reading["command_parts"]] == [
        "shell.powershell_by_words",
        "shell.remove_create",
    ]


def test_replies_have_no_tool_and_no_effect() -> None:
    (result,) = described(reply("done"))
    assert result["event_type"] == "reply"
    assert (result["tool_name"], result["tool_status"], result["status_rule"]) == (None, None, None)
    assert not result["side_effect"]
    assert result["auto_flags"] == []


def test_order_and_columns_are_kept() -> None:
    frame = describe(steps(reply("a"), call("read"), reply("b")), RULES, SHELL, FLAGS, LANGUAGES).collect()
    assert frame["step_id"].to_list() == [1, 2, 3]
    assert frame.columns == list(schema(Descriptor))
    assert describe(steps(), RULES, SHELL, FLAGS, LANGUAGES).collect().is_empty()


def test_bad_arguments_do_not_raise() -> None:
    texts = ["", "{", "[1]", '"x"', '{"command": "a\\ud800"}', "null"]
    for row in apart(*(call("exec") | {"arguments": text} for text in texts)):
        assert row["event_type"] in get_args(EventType)


def test_tool_rules_agree_with_the_vocabulary() -> None:
    known = set(get_args(EventType))
    assert {rule.category for rule in RULES.doings} <= known
    ids = [rule.id for rule in (*RULES.doings, *RULES.state_files, *RULES.failures)]
    assert len(ids) == len(set(ids))
