"""What other harnesses than OpenClaw write of how a call ended; what says nothing is unknown, never ok."""

from typing import Any

import pytest
from describe_steps import apart, call

UNSAID = "status.nothing_said"


def run(text: str, command: str = "make all", tool: str = "bash", **more: Any) -> dict[str, Any]:
    """A call of a shell whose record has no field that says how it ended."""
    return call(tool, {"command": command}, text, result_is_error=None, **more)


def use(tool: str, text: str | None, **more: Any) -> dict[str, Any]:
    """A call of another tool whose record has no such field."""
    return call(tool, {"id": "7"}, text, result_is_error=None, **more)


GEMINI = "Command: {}\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: 0\nBackground PIDs: (none)"
GEMINI_2026 = "<untrusted_context>\nOutput: {}\n{}Process Group PGID: 4711\n</untrusted_context>"
CODEX_2025 = '{{"output":"a\\n","metadata":{{"exit_code":{},"duration_seconds":0.1}}}}'
OPENHANDS = (
    "{}\n[The command completed with exit code {}.]\n[Current working directory: /app]\n[Python interpreter: /a]"
)
SDK = "[An error occurred during execution.]\n"
TRACE = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'x'"

CASES: list[tuple[str, dict[str, Any], str]] = [
    ("claude-code", run("Exit code 1\n===== 1 failed ====="), "error"),
    ("claude-code, last line", run("nope\nExit code 127"), "not_found"),
    ("claude-code, said twice", run("Error: Exit code 2\nls: nope"), "error"),
    ("claude-code, a refused input", use("Edit", "<tool_use_error>String to replace not found</tool_use_error>"),
     "not_found"),
    ("claude-code, of a read", use("read", "<tool_use_error>File has not been read yet.</tool_use_error>"), "error"),
    ("claude-code, refused", run("The user doesn't want to proceed with this tool use. The tool use was rejected"),
     "denied"),
    ("claude-code, interrupted", run("[Request interrupted by user for tool use]"), "aborted"),
    ("claude-code, written", use("Write", "File created successfully at: /a/b.py"), "ok"),
    ("harbor of claude-code", run("a\n\n[stdout]\na\n[exit_code] 3\n[metadata] {}"), "error"),
    ("harbor of claude-code, failed", use("Task", "a\n\n[error] tool reported failure"), "error"),
    ("gemini-cli", run(GEMINI.format("false", "(empty)", 1), tool="run_shell_command"), "error"),
    ("gemini-cli ok", run(GEMINI.format("ls", "a", 0), tool="run_shell_command"), "ok"),
    ("gemini-cli, no such program", run(GEMINI.format("x", "x: not found", 127)), "not_found"),
    ("gemini-cli, a signal", run(GEMINI.format("x", "b", "(none)").replace("Signal: 0", "Signal: SIGKILL")),
     "aborted"),
    ("gemini-cli of 2026", run(GEMINI_2026.format("nope", "Exit Code: 2\n")), "error"),
    ("gemini-cli of 2026 ok", run(GEMINI_2026.format("a", "")), "ok"),
    ("gemini-cli, no output for long", run("Command was automatically cancelled because it exceeded the timeout of 5.0 "
                                           "minutes without output."), "timeout"),
    ("qwen-code", run(GEMINI.format("false", "(empty)", 1).split("\n", 1)[1]), "error"),
    ("codex", run("Chunk ID: ab\nWall time: 0.05 seconds\nProcess exited with code 2\nOutput:\nls: nope"), "error"),
    ("codex ok", run("Chunk ID: ab\nWall time: 0.05 seconds\nProcess exited with code 0\nOutput:\nExit code: 1"), "ok"),
    ("codex of 2025", run("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nnope", tool="shell"), "error"),
    ("codex of 2025 ok", run("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nnope", tool="shell"), "ok"),
    ("codex, json", run(CODEX_2025.format(1)), "error"),
    ("codex, json ok", run(CODEX_2025.format(0)), "ok"),
    ("codex, goes on", run("Chunk ID: ab\nWall time: 1.0 seconds\nProcess running with session ID 3\nOutput:\n"),
     "unknown"),
    ("codex, patch", call("apply_patch", {"input": "x"}, "apply_patch verification failed: no such lines",
                          result_is_error=None), "error"),
    ("codex, patched", call("apply_patch", {"input": "x"}, "Success. Updated the following files:\nM a",
                            result_is_error=None), "ok"),
    ("codex, refused", run("exec command rejected by user"), "denied"),
    ("mini-swe-agent", run("<returncode>1</returncode>\n<output>\nnope\n</output>"), "error"),
    ("mini-swe-agent ok", run("<returncode>0</returncode>\n<output>\nError: in a log\n</output>"), "ok"),
    ("mini-swe-agent, exception", run("<exception>timed out</exception>\n<returncode>-1</returncode>"),
     "error"),
    ("mini-swe-agent 2", run('{\n  "returncode": 2,\n  "output": "nope"\n}'), "error"),
    ("mini-swe-agent 2 ok", run('{\n  "returncode": 0,\n  "output": "a"\n}'), "ok"),
    ("mini-swe-agent 2, cut", run('{\n  "returncode": 1,\n  "output_head": "a",\n  "output_tail": "b"\n}'), "error"),
    ("openhands", run(OPENHANDS.format("nope", 1), tool="execute_bash"), "error"),
    ("openhands ok", run(OPENHANDS.format("a", 0), tool="execute_bash"), "ok"),
    ("openhands sdk", run(SDK + "a\n[Command finished with exit code 0]", tool="terminal"), "ok"),
    ("openhands sdk, failed", use("file_editor", SDK + "Invalid `path` parameter"), "error"),
    ("openhands, waits", run("a\n[The command has no new output after 10 seconds. You may wait longer]"), "unknown"),
    ("openhands, too long", run("a\n[The command timed out after 120 seconds. You may send C-c]"), "timeout"),
    ("openhands, editor", use("str_replace_editor", "ERROR:\nNo replacement was performed"), "error"),
    ("swe-agent", use("swe_agent_action", "nope\nEXECUTION TIMED OUT"), "timeout"),
    ("swe-agent, malformed", use("swe_agent_action", "\nEXECUTION FAILED OR COMMAND MALFORMED"), "error"),
    ("swe-agent, silent", use("bash", "Your command ran successfully and did not produce any output"), "ok"),
    ("swe-agent, a file", use("swe_agent_action", "[File: a.py (3 lines total)]\n1:x"), "unknown"),
    ("opencode", run("a\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 1000 ms. If this"
                     "\n</shell_metadata>"), "timeout"),
    ("opencode, aborted", use("task", "Tool execution aborted"), "aborted"),
    ("terminus", run("ERROR!! NONE of the actions you just requested were performed because you exceeded"), "error"),
    ("terminus, a screen", run("New Terminal Output:\nroot@a:/app# ls\nb"), "unknown"),
    ("kimi-cli", run("nope\n<system>Command failed with exit code: 1.</system>"), "error"),
    ("kimi-cli ok", run("a\n<system>Command executed successfully.</system>"), "ok"),
    ("cline", run("Command executed in terminal within '/a'.\nExit code: 1\nOutput:\nnope"), "error"),
    ("copilot-cli", run("nope\n<exited with exit code 1>"), "error"),
    ("copilot-cli ok", run("a\n<exited with exit code 0>"), "ok"),
    ("tau-bench", use("cancel_order", "Error: order not found"), "not_found"),
    ("tau-bench ok", use("get_order", '{"order_id": "7"}'), "unknown"),
    ("langchain", use("lookup", "ToolException: no such row"), "error"),
    ("fastmcp", use("lookup", "Error executing tool lookup: 'x'"), "error"),
    ("mcp", use("lookup", "MCP error -32602: Input validation error"), "error"),
    ("appworld", use("call_api", "Execution failed. Traceback:\n  File"), "error"),
    ("a status of http", use("lookup", "404 Client Error: Not Found for url: x"), "not_found"),
    ("a status of http, in a title", use("search", "404 ways to say no"), "unknown"),
    ("failed", use("lookup", "FAILED: no such row"), "error"),
    ("a dict of Python", use("ls", "{'error': 'No such directory'}"), "error"),
    ("json with an error", use("lookup", '{"error": "order is closed"}'), "error"),
    ("json with a success", use("lookup", '{"success": true, "id": 1}'), "ok"),
    ("json without a success", use("lookup", '{"success": false, "id": 1}'), "unknown"),
    ("execa", run("Command failed with exit code 1: npm test\nnope"), "error"),
    ("go", run("nope\nexit status 1"), "error"),
    ("subprocess", run("Command '['x']' returned non-zero exit status 2."), "error"),
    ("subprocess, 127", run("Command 'x' returned non-zero exit status 127."), "not_found"),
    ("a trace", run("a\n" + TRACE, command="python a.py"), "error"),
    ("a trace, of a program", call("python", {"code": "x"}, TRACE, result_is_error=None), "error"),
    ("pytest", run("..F\n=== 1 failed, 2 passed in 0.12s ===", command="pytest"), "error"),
    ("pytest ok", run("...\n=== 3 passed in 0.12s ===", command="pytest"), "unknown"),
    ("make", run("cc a.c\nmake: *** [Makefile:2: all] Error 2"), "error"),
    ("bash", run("bash: line 1: foo: command not found", command="foo"), "not_found"),
    ("dash", run("sh: 1: foo: not found", command="foo"), "not_found"),
    ("cmd.exe", run("'rg' is not recognized as an internal or external command,\noperable program or batch file."),
     "not_found"),
    ("cat", run("cat: a: No such file or directory", command="cat a"), "not_found"),
    ("grep, 1 is no match", run("<returncode>1</returncode>\n<output></output>", command="grep x a"), "ok"),
    # what says nothing, and what only looks like a failure
    ("nothing", run(""), "unknown"),
    ("no text", use("lookup", None), "unknown"),
    ("an output", run("a\nb"), "unknown"),
    ("a log that is read", run("Error: in a log\nb", command="cat a.log"), "unknown"),
    ("a log with a trace", run("a\n" + TRACE, command="cat a.log"), "unknown"),
    ("a file that is read", use("read_file", "Error: in a file\nExit code: 1"), "unknown"),
    ("a page", use("web_fetch", "404 Not Found is explained here. Exit code: 1"), "unknown"),
    ("a word", use("list_files", "error_log.txt\nfailure.md"), "unknown"),
    ("a title", use("search", "Error handling in Rust\nErrors are values"), "unknown"),
    ("a count", run("Errors: 0\nDone", command="./check"), "unknown"),
    ("a sentence", use("search", "The docs say that exit code 1 means failure"), "unknown"),
]  # fmt: skip


def test_the_end_of_a_call_is_read_from_the_envelope_of_its_harness() -> None:
    rows = apart(*(step for _, step, _ in CASES))
    statuses = [(name, status, row["tool_status"]) for (name, _, status), row in zip(CASES, rows, strict=True)]
    assert [case for case in statuses if case[1] != case[2]] == []


def test_a_status_has_the_rule_that_gave_it() -> None:
    rows = apart(
        run("<returncode>1</returncode>"),
        run("<returncode>0</returncode>"),
        run("Chunk ID: a\nProcess running with session ID 3"),
        run("a"),
    )
    assert [(row["tool_status"], row["status_rule"]) for row in rows] == [
        ("error", "envelope.mini_swe_agent"),
        ("ok", "envelope.mini_swe_agent"),
        ("unknown", "envelope.codex_running"),
        ("unknown", UNSAID),
    ]


@pytest.mark.parametrize(
    "fields, status",
    [
        ({"result_is_error": False}, "ok"),
        ({"result_is_error": True}, "error"),
        ({"result_details": '{"exitCode": 0}'}, "ok"),
        ({"result_details": '{"exitCode": 3}'}, "error"),
        ({"result_details": '{"status": "success"}'}, "ok"),
        ({"result_details": '{"status": "timeout"}'}, "timeout"),
        ({"result_details": '{"status": "sparkling"}'}, "unknown"),
        ({"result_details": '{"success": true}'}, "ok"),
    ],
)
def test_a_field_comes_before_an_envelope_and_absence_says_nothing(fields: dict[str, Any], status: str) -> None:
    (row,) = apart(run("some output") | fields)
    assert row["tool_status"] == status


def test_what_a_session_of_openclaw_prints_is_never_taken_for_an_envelope() -> None:
    forms = [step | {"result_is_error": False} for _, step, _ in CASES if step["reflection_text"]]
    rules = {str(row["status_rule"]) for row in apart(*forms)}
    assert not [rule for rule in rules if rule.startswith("envelope.") or rule == UNSAID]
