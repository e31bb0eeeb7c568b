"""How calls ended: any sign of failure wins, the most specific kind names it."""

import json
from typing import Any

from describe_steps import RULES, apart, call, described, reply, shell

TAIL = "\n\n(Command exited with code {})"


def thrown(tool: str, error: str, **more: Any) -> dict[str, Any]:
    """A tool that threw, as 2026.4.15 writes it: isError false, the same JSON in text and details."""
    body = {"status": "error", "tool": tool, "error": error}
    return call(tool, {"path": "a"}, json.dumps(body, indent=2), body, result_is_error=False, **more)


SAYS_ERROR = '{"status": "error", "error": "it broke", "exitCode": 3, "timedOut": true, "disabled": true}'
CONTENT_TOOLS = (
    "read", "read_file", "readFile", "Read", "view", "view_file", "open_file", "read_many_files", "notebook_read",
    "pdf", "image", "view_image", "mcp__filesystem__read_text_file", "mcp.files.read_multiple_files",
    "read_file_content", "get_file_contents", "file_reader", "read_lines", "open_document", "view-file",
    "functions.read_file", "web_fetch", "webFetch", "fetch", "fetch_url", "url_fetch", "open_url",
    "mcp__fetch__fetch",
    "fetch_webpage", "read_url", "web_page_fetch", "fetch_html", "process",
)  # fmt: skip
OWN_JSON = (
    "cat", "http_request", "search", "read_calendar", "create_file_report", "get_order", "open_ticket",
    "view_file_status", "get_page", "check_file", "upload_file",
)  # fmt: skip
CALLED = {"arguments": json.dumps({"command": "ls | grep '['"})}
STATUSES: list[tuple[str, dict[str, Any], str]] = [
    ("no sign", call("read", {"path": "a"}, "error error failed"), "ok"),
    ("empty", call("read", {"path": "a"}, ""), "ok"),
    ("completed", shell("ls", "a", {"status": "completed", "exitCode": 0}), "ok"),
    ("http 200", call("web_fetch", {"url": "x"}, "{}", {"status": 200}), "ok"),
    ("http 403", call("web_fetch", {"url": "x"}, "{}", {"status": 403}), "denied"),
    ("http 404", call("web_fetch", {"url": "x"}, "{}", {"status": 404}), "not_found"),
    ("http 429", call("web_fetch", {"url": "x"}, "{}", {"status": 429}), "unavailable"),
    ("accepted", call("sessions_spawn", {}, "{}", {"status": "accepted"}), "ok"),
    ("yielded", call("sessions_yield", {}, "{}", {"status": "yielded"}), "ok"),
    ("updated", call("update_plan", {}, "", {"status": "updated"}), "ok"),
    ("unlisted", call("x", {}, "", {"status": "sparkling"}), "ok"),
    ("is_error", call("x", {}, "boom", {}, result_is_error=True), "error"),
    ("enoent", thrown("read", "ENOENT: no such file or directory, access '/a'"), "not_found"),
    ("eacces", thrown("read", "EACCES: permission denied, open '/a'"), "denied"),
    ("blocked", thrown("web_fetch", "Blocked hostname or private/internal/special-use IP address"), "denied"),
    ("404 of a page", thrown("web_fetch", "Web fetch failed (404): Not Found"), "not_found"),
    ("403 of a page", thrown("web_fetch", "Web fetch failed (403): Forbidden"), "denied"),
    ("429 of a page", thrown("web_fetch", "Web fetch failed (429)"), "unavailable"),
    ("aborted by a timeout", thrown("web_fetch", "The operation was aborted due to timeout"), "timeout"),
    ("gateway", thrown("cron", "gateway closed (1006 abnormal closure): no close reason\nConfig: x"), "unavailable"),
    ("websocket", thrown("cron", "gateway cron.list requires credentials before opening a websocket"), "unavailable"),
    ("refused", thrown("browser", "connect ECONNREFUSED 127.0.0.1:1"), "unavailable"),
    ("no such text", thrown("edit", "Could not find the exact text in a.\npermission denied\ntimed out"), "error"),
    ("old parameter", thrown("exec", 'exec parameter "timeout" is unsupported; use "timeoutSeconds"'), "error"),
    ("forbidden", call("sessions_spawn", {}, '{"status": "forbidden"}', {"status": "forbidden"}), "denied"),
    ("allowlist miss", shell("rm a", "exec denied: allowlist miss", result_is_error=True), "denied"),
    ("allowlist miss, details", shell("rm a", "exec denied: allowlist miss", {"status": "error"}), "denied"),
    ("allowlist miss, thrown", thrown("exec", "exec denied: allowlist miss"), "denied"),
    ("approval timed out", shell("rm a", "exec denied: approval timed out", result_is_error=True), "denied"),
    ("approval timed out, thrown", thrown("exec", "exec denied: approval timed out"), "denied"),
    ("no approval in a cron run", shell("rm a", "exec denied: Cron runs cannot wait for approval.\nEffective policy: x",
                                        result_is_error=True), "denied"),
    ("other host", shell("ls", "exec host not allowed (requested gateway; set tools.exec.host=auto to allow).",
                         result_is_error=True), "denied"),
    ("not elevated", shell("ls", "elevated is not available right now (runtime=direct).\nFailing gates: enabled",
                           result_is_error=True), "denied"),
    ("a log that says so", shell("cat log; false", "exec denied: allowlist miss" + TAIL.format(1)), "error"),
    ("exit 3", shell("x", "a" + TAIL.format(3), {"status": "completed", "exitCode": 3}), "error"),
    ("exit 3, no details", shell("x", "a" + TAIL.format(3)), "error"),
    ("exit in old form", shell("x", "a\n\nCommand exited with code 2"), "error"),
    ("exit said by json", shell("x", json.dumps({"status": "error", "tool": "exec", "error": "a\n\nCommand exited "
                                                 "with code 3"}, indent=2)), "error"),
    ("exit 127", shell("x", "sh: 1: x: not found\n\nCommand not found",
                       {"status": "failed", "exitCode": 127, "timedOut": False}), "not_found"),
    ("missing file", shell("cat a", "cat: a: No such file or directory" + TAIL.format(1)), "not_found"),
    ("trace about a file", shell("python3 x", "FileNotFoundError: [Errno 2] No such file or directory: 'a'"
                                 + TAIL.format(1)), "error"),
    ("timed out", shell("x", "a\n\nCommand timed out after 2 seconds. If this", {"status": "failed", "timedOut": True}),
     "timeout"),
    ("timed out, no details", shell("x", "a\n\nCommand timed out after 2 seconds."), "timeout"),
    ("exit 124", shell("timeout 2 x", TAIL.format(124), {"status": "completed", "exitCode": 124}), "timeout"),
    ("curl timed out", shell("curl x", "curl: (28) Operation timed out after 5 ms" + TAIL.format(28)), "timeout"),
    ("curl 404", shell("curl -f x", "curl: (22) The requested URL returned error: 404" + TAIL.format(22)), "not_found"),
    ("gh 403", shell("gh pr list", "Forbidden (HTTP 403)" + TAIL.format(1)), "denied"),
    ("wget 503", shell("wget x", "ERROR 503: Service Unavailable." + TAIL.format(8)), "unavailable"),
    ("a 404 in a log", shell("make", "GET /x 404 Not Found\nFAILED" + TAIL.format(2)), "error"),
    ("a 404 that was printed", shell("curl x", "404 Not Found", {"status": "completed", "exitCode": 0}), "ok"),
    ("no right", shell("systemctl stop x", "Failed to stop x.service: Access denied" + TAIL.format(1)), "denied"),
    ("npm has no right", shell("npm i -g x", "npm error code EACCES\nnpm error path x" + TAIL.format(243)), "denied"),
    ("no such container", shell("docker logs x", "Error: No such container: x" + TAIL.format(1)), "not_found"),
    ("no daemon", shell("docker ps", "Cannot connect to the Docker daemon at unix:///x." + TAIL.format(1)),
     "unavailable"),
    ("no script", shell("python3 x.py", "python3: can't open file '/x.py': [Errno 2] No such file or directory"
                        + TAIL.format(2)), "not_found"),
    ("interrupted", shell("x", TAIL.format(130)), "aborted"),
    ("signal", shell("x", "Command aborted by signal SIGTERM", {"status": "failed"}), "aborted"),
    ("log about a timeout", shell("cat log", "Command timed out after 2 seconds", {"status": "completed",
                                                                               "exitCode": 0}), "ok"),
    ("grep finds nothing", shell("grep x f", TAIL.format(1), {"status": "completed", "exitCode": 1},
                                 result_is_error=True), "ok"),
    ("no such program on Windows", shell("rg x", "'rg' is not recognized as an internal or external command,\r\n"
                                         "operable program or batch file." + TAIL.format(1)), "not_found"),
    ("no such program for zsh", shell("rg x", "zsh: command not found: rg" + TAIL.format(1)), "not_found"),
    ("grep's own error", shell("cat f | grep '('", "grep: Unmatched ( or \\(" + TAIL.format(1)), "error"),
    ("of 2026.2", thrown("exec", "grep: Unmatched [, [^\n\nCommand exited with code 1") | CALLED, "error"),
    ("grep warns", shell("grep '\\d' f", "grep: warning: stray \\ before d" + TAIL.format(1)), "ok"),
    ("grep fails", shell("grep x f", "grep: f: No such file or directory" + TAIL.format(2)), "not_found"),
    ("tests fail", shell("npm test", TAIL.format(1)), "error"),
    ("unknown tool", call("frob", None, "Tool frob not found", {}, result_is_error=True), "not_found"),
    ("no session", call("process", {"action": "poll"}, "No session found for x", {"status": "failed"}), "not_found"),
    ("killed session", call("process", {"action": "kill"}, "Killed session x.", {"status": "failed"}), "ok"),
    ("polled failure", call("process", {"action": "poll"}, "x\n\nProcess exited with code 1.", {"status": "failed"}),
     "error"),
    ("validation", call("edit", {}, 'Validation failed for tool "edit":\n  - timed out', {}, result_is_error=True),
     "error"),
    ("disabled", call("memory_search", {}, '{"results": [], "disabled": true, "error": "index metadata is missing"}'),
     "unavailable"),
    ("no key", call("web_search", {}, '{"error": "missing_brave_api_key", "message": "set it"}'), "unavailable"),
    ("error in json", call("post_tweet", {}, '{"error": "User is not authenticated"}'), "error"),
    ("a cancelled order", call("cancel_order", {}, '{"order_id": 1, "status": "Cancelled"}'), "ok"),
    ("a failed order", call("cancel_order", {}, '{"status": "error", "message": "no such order"}'), "error"),
    # a report of how the call ended and no more
    ("rejected", call("submit_review", {}, '{"detail": "x", "error_code": "reliance-invalid", "status": "rejected"}'),
     "denied"),
    ("rejected to a look", call("get_review", {}, '{"error_code": "reliance-invalid", "status": "rejected"}'),
     "denied"),
    ("no success", call("book_room", {}, '{"success": false, "message": "The room is taken"}'), "error"),
    ("no success, not found", call("book_room", {}, '{"success": false, "message": "Room not found"}'), "not_found"),
    ("not ok", call("frob", {}, '{"ok": false, "error_code": "x"}'), "error"),
    ("cancelled", call("book_room", {}, '{"status": "cancelled"}'), "aborted"),
    ("a number", call("book_room", {}, '{"status": 404}'), "not_found"),
    ("a code", call("book_room", {}, '{"code": 500}'), "error"),
    ("a code beside a status", call("book_room", {}, '{"status": "error", "code": 403}'), "denied"),
    ("a number of a tool that looks", call("get_user", {}, '{"code": 404, "message": "no such user"}'), "not_found"),
    ("pending", call("book_room", {}, '{"status": "pending"}'), "unknown"),
    # failures as data, whatever stands beside them
    ("not ok", call("place_order", {}, '{"ok": false, "order": 17}'), "error"),
    ("no success, and why", call("place_order", {}, '{"success": false, "id": 17, "message": "declined"}'), "error"),
    ("no success of what is looked at", call("get_order", {}, '{"success": false, "id": 17, "message": "x"}'), "ok"),
    ("an error of many fields", call("place_order", {}, '{"error": {"code": 500, "message": "x"}, "id": 1}'), "error"),
    ("an error that is true", call("place_order", {}, '{"error": true, "message": "x", "id": 1}'), "error"),
    ("is an error", call("place_order", {}, '{"isError": true, "content": [{"type": "text", "text": "x"}]}'), "error"),
    ("an exit code", call("place_order", {}, '{"exit_code": 1}'), "error"),
    ("a missing program", call("run_job", {}, '{"returncode": 127, "stderr": "x"}'), "not_found"),
    ("an exit code of nothing", call("place_order", {}, '{"exit_code": 0, "stdout": "error"}'), "ok"),
    ("a run in JSON", shell("make", '{"exit_code": 2, "stdout": "", "stderr": "no rule"}'), "error"),
    ("a run in JSON that found nothing", shell("grep a b", '{"exit_code": 1, "stdout": ""}'), "ok"),
    ("a program that prints that it failed", shell("python3 send.py", '{"ok": false}'), "error"),
    ("a program that prints an error", shell("node send.js", '{"error": {"message": "no route"}}'), "error"),
    ("a refusal in what ran", call("run_job", {}, '{"exit_code": 0, "stdout": "{\\"ok\\": false}"}'), "error"),
    ("a program that prints what else is there", shell("python3 jobs.py", '{"status": "failed", "job": 17}'), "ok"),
    ("a program that prints that it runs", shell("python3 jobs.py", '{"status": "running"}'), "ok"),
    # and what is none
    ("cancelled as asked", call("cancel_order", {}, '{"status": "cancelled"}'), "ok"),
    ("disabled as asked", call("disable_user", {}, '{"status": "disabled"}'), "ok"),
    ("rejected as asked", call("set_review", {"value": "reject"}, '{"status": "rejected", "message": "x"}'), "ok"),
    ("status of an order", call("get_order_status", {}, '{"status": "cancelled"}'), "ok"),
    ("status of a page", call("check_page", {}, '{"status": 404}'), "ok"),
    ("an order", call("place_order", {}, '{"order_id": 1, "status": "pending"}'), "ok"),
    ("tests that fail", call("book_room", {}, '{"success": false, "tests": [1]}'), "ok"),
    ("success", call("book_room", {}, '{"success": true, "code": 0, "message": "error free"}'), "ok"),
    ("a document", call("web_fetch", {"url": "x"}, '{"status": "cancelled"}'), "ok"),
    ("a report that was read", call("read", {"path": "a"}, '{"success": false}'), "ok"),
    ("a report that was printed", shell("cat a", '{"success": false, "code": 500}'), "ok"),
    ("json that was read", call("read", {"path": "a"}, '{"status": "error", "error": "x"}'), "ok"),
    ("json that was printed", shell("cat a", '{"status": "error", "disabled": true}'), "ok"),
    ("running", shell("x", "Command still running", {"status": "running"}), "unknown"),
    ("approval", shell("x", "ask", {"status": "approval-pending"}), "unknown"),
    ("at the end", shell("x", None, has_result=False, followed=False), "unknown"),  # type: ignore[arg-type]
    ("lost", shell("x", None, has_result=False), "aborted"),  # type: ignore[arg-type]
    ("synthetic", shell("x", "[openclaw] missing tool result", result_synthetic=True, result_is_error=True), "aborted"),
]  # fmt: skip


def test_status() -> None:
    for row, (name, _, status) in zip(apart(*(step for _, step, _ in STATUSES)), STATUSES, strict=True):
        assert row["tool_status"] == status, name
        assert row["status_rule"], name


KILLED, WRITTEN = {"status": "failed", "name": "npm run dev"}, {"status": "running", "sessionId": "calm-otter"}
EXISTING = {"action": "status", "existingTask": True, "status": "failed"}
OF_ANOTHER = [
    # what the details say is the status of the process, not of the call
    ("kill", "process", "Termination requested for session calm-otter.", KILLED, "ok", True),
    ("kill", "process", "Killed session calm-otter.", KILLED, "ok", True),
    ("remove", "process", "Removed session calm-otter (termination requested).", KILLED, "ok", True),
    ("write", "process", "Wrote 12 bytes to session calm-otter (stdin closed).", WRITTEN, "ok", True),
    ("send-keys", "process", "Sent 1 bytes to session calm-otter.\nWarnings:\n- unknown key", WRITTEN, "ok", True),
    ("submit", "process", "Submitted session calm-otter (sent CR).", WRITTEN, "ok", True),
    ("paste", "process", "Pasted 40 chars to session calm-otter.", WRITTEN, "ok", True),
    ("poll", "process", "x\n\nProcess stopped by request (signal SIGTERM).", {"status": "completed", "exitCode": 143},
     "ok", False),
    # a proposal that was rejected as it was asked, a task that is looked at
    ("reject", "skill_workshop", "rejected p1 (rejected) for notes.", {"id": "p1", "status": "rejected"}, "ok", True),
    ("create", "skill_workshop", "created p1 (pending) for notes.", {"id": "p1", "status": "pending"}, "ok", True),
    ("status", "image_generate", "Image task t1 recently failed.", EXISTING, "ok", False),
    # and what is the call's own
    ("kill", "process", "Session calm-otter is not backgrounded.", {"status": "failed"}, "error", True),
    ("kill", "process", "No active session found for calm-otter", {"status": "failed"}, "not_found", False),
    ("poll", "process", "compiling\n\nProcess still running.", WRITTEN, "unknown", False),
    ("poll", "process", "bye\n\nProcess exited with code 1.", {"status": "failed", "exitCode": 1}, "error", False),
    ("poll", "process", "Killed session a.\n\nProcess exited with code 2.", {"status": "failed", "exitCode": 2},
     "error", False),
    ("generate", "image_generate", "no model", {"status": "failed"}, "error", True),
    ("list", "skill_workshop", "no", {"status": "forbidden"}, "denied", False),
]  # fmt: skip


def test_the_status_of_another_thing_is_not_that_of_the_call() -> None:
    steps = apart(
        *(
            call(tool, {"action": action, "sessionId": "calm-otter"}, text, details)
            for action, tool, text, details, *_ in OF_ANOTHER
        )
    )
    for step, (action, tool, text, _, status, effect) in zip(steps, OF_ANOTHER, strict=True):
        assert (step["tool_status"], step["side_effect"]) == (status, effect), (tool, action, text)
        assert ("error_signal" in step["auto_flags"]) == (status in RULES.failure_statuses), (tool, action, text)


def test_not_under_an_allowed_directory_is_denied() -> None:
    text = "Local media path is not under an allowed directory: /etc/hosts"
    (result,) = described(call("message", {"action": "send", "media": "/etc/hosts"}, text, {}, result_is_error=True))
    assert (result["tool_status"], result["side_effect"]) == ("denied", False)


def test_unlisted_values_are_countable() -> None:
    (result,) = described(call("x", {}, "", {"status": "sparkling"}))
    assert result["status_rule"] == "status.unlisted_value"


def test_odd_details_do_not_raise() -> None:
    odd = ['{"status": ["x"]}', "[]", "{", '{"exitCode": "3"}', '{"status": true}']
    steps = apart(*(call("x", {}, "") | {"result_details": details} for details in odd))
    assert {step["tool_status"] for step in steps} == {"ok"}


def test_replies_have_no_status() -> None:
    (result,) = described(reply("it failed: exit code 3"))
    assert result["tool_status"] is None


def test_every_status_value_has_a_known_kind() -> None:
    known = {*RULES.failure_statuses, RULES.status.ok, RULES.status.unknown}
    assert set(RULES.status.values.values()) <= known
    assert {rule.kind for rule in RULES.failures} <= set(RULES.status.specific_first)


def ended(tools: tuple[str, ...], *more: Any) -> dict[str, str]:
    """How a call of each tool ended, whose result is so."""
    rows = apart(*(call(tool, {"path": "status.json"}, *more) for tool in tools))
    return dict(zip(tools, (row["tool_status"] for row in rows), strict=True))


def test_what_a_file_or_a_page_says_is_no_status_of_the_call() -> None:
    """Whatever the tool is called; details speak of the call."""
    assert {tool: how for tool, how in ended(CONTENT_TOOLS, SAYS_ERROR).items() if how != "ok"} == {}
    assert set(ended(CONTENT_TOOLS, '{"status": "cancelled", "reason": "x"}').values()) == {"ok"}
    assert set(ended(CONTENT_TOOLS, '{"status": "ok"}', {"status": "error"}).values()) == {"error"}


def test_json_that_a_tool_makes_itself_says_how_its_call_ended() -> None:
    assert set(ended(OWN_JSON, '{"status": "error", "error": "it broke"}').values()) == {"error"}


def test_an_answer_within_an_answer_may_say_that_it_is_not_ok() -> None:
    update = {"ok": True, "result": {"ok": False, "result": {"status": "error", "before": {"version": "3.1"}}}}
    deeper = {"ok": True, "result": {"ok": True, "result": {"ok": False, "message": "the disk is full"}}}
    fine = {"ok": True, "result": {"ok": True, "version": "3.2"}}
    data = {"result": {"ok": False, "name": "a sensor"}}  # nothing says that this is an answer
    results = [update, deeper, fine, data]
    steps = apart(*(call("gateway", {"action": "update.run"}, json.dumps(result), result) for result in results))
    assert [step["tool_status"] for step in steps] == ["error", "error", "ok", "ok"]


def test_a_receipt_says_what_an_authority_decided() -> None:
    """As the simulated plants of aec-bench answer a request that needs a permission."""

    def receipt(outcome: str, tool: str = "request_clearance") -> dict[str, Any]:
        """A call whose receipt has this outcome."""
        authority = {"outcome": outcome, "detail": "the inspection does not support it"}
        body = {"receipt": {"authority": authority, "execution": "cancelled"}}
        return call(tool, {"pump": "a"}, json.dumps(body), {"exitCode": 0})

    denied = described(receipt("denied"))[0]
    assert (denied["tool_status"], denied["side_effect"]) == ("denied", False)
    assert described(receipt("permitted"))[0]["tool_status"] == "ok"
    in_details = call("request_clearance", {}, "", {"receipt": {"authority": {"outcome": "permitted"}}})
    assert described(in_details)[0]["status_rule"] == "status.details_status"
    assert described(receipt("denied", "deny_clearance"))[0]["tool_status"] == "ok", "asked for"
    for odd in ({"authority": "denied"}, {"authority": {"outcome": 3}}, "denied", ["denied"], {"outcome": "denied"}):
        assert described(call("frob", {}, json.dumps({"receipt": odd}), {"exitCode": 0}))[0]["tool_status"] == "ok", odd


def test_json_that_names_the_tool_is_its_own() -> None:
    for tool in ("read", "read_file", "view_file"):
        body = json.dumps({"status": "error", "tool": tool, "error": "ENOENT: no such file or directory"})
        assert ended((tool,), body) == {tool: "not_found"}


def test_an_editor_that_looks_hands_on_content_and_one_that_writes_does_not() -> None:
    looked = call("str_replace_editor", {"command": "view", "path": "a.json"}, SAYS_ERROR)
    failed = '{"status": "error", "error": "disk full"}'
    written = call("str_replace_editor", {"command": "create", "path": "a.json"}, failed)
    assert [row["tool_status"] for row in apart(looked, written)] == ["ok", "error"]


def test_what_a_search_found_is_no_status_of_the_search() -> None:
    result = {"query": "x", "results": [{"status": "error", "error": "404", "title": "Error 404"}], "count": 1}
    searches = ("web_search", "search", "memory_search", "grep")
    assert set(ended(searches, json.dumps(result)).values()) == {"ok"}
    assert ended(("web_search",), '{"error": "missing_brave_api_key", "message": "no api key"}') == {
        "web_search": "unavailable"
    }
