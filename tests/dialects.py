"""The same behaviour as six source models write it: tool names, argument names, JSON styles, ways to report a failure.

A behaviour is a list of acts: ("run", command), ("read", path), ("write", path), ("edit", path), ("find", words),
("fetch", url), ("send", recipient), ("say", text); each with its outcome: ok | error | not_found | lost.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Act = tuple[str, str, str, str | None]  # what, on what, outcome, thinking
WORDS = {"error": "boom", "not_found": "ENOENT: no such file or directory"}


@dataclass(frozen=True)
class Dialect:
    """How one source model's sessions look."""

    name: str
    tools: dict[str, str]
    fields: dict[str, str]
    dump: Callable[[Any], str]
    fail: Callable[[str, str], dict[str, Any]]  # tool, words -> columns of the result
    more: dict[str, Any] = field(default_factory=dict)  # arguments that change nothing
    wrap: bool = False  # every call goes through one tool
    shell_list: bool = False  # a command is an argument list


def plain_error(tool: str, words: str) -> dict[str, Any]:
    return {"reflection_text": words, "result_is_error": True}


def json_error(tool: str, words: str) -> dict[str, Any]:
    body = {"status": "error", "tool": tool, "error": words}
    return {
        "reflection_text": json.dumps(body, indent=2),
        "result_details": json.dumps(body),
        "result_is_error": False,
    }


def text_error(tool: str, words: str) -> dict[str, Any]:
    """No details at all: only the JSON in the text says it."""
    return {"reflection_text": json.dumps({"status": "error", "tool": tool, "error": words}), "result_is_error": False}


def reverse(value: Any) -> str:
    return json.dumps(dict(reversed(value.items())), ensure_ascii=True, indent=1)


OWN = {"run": "exec", "read": "read", "write": "write", "edit": "edit", "find": "web_search", "fetch": "web_fetch"}
OWN["send"] = "message"
ARGUMENTS = {"run": "command", "read": "path", "write": "path", "edit": "path", "find": "query", "fetch": "url"}
ARGUMENTS["send"] = "target"

# More names of a shell, none of them in a list of known spellings.
SHELLS = [
    "exec_shell",
    "shell_exec",
    "container.exec",
    "developer__shell",
    "mcp__shell__run",
    "execute_bash",
    "ShellExec",
]

# One name in every spelling.
SPELLINGS: dict[str, Callable[[list[str]], str]] = {
    "snake": "_".join,
    "kebab": "-".join,
    "dots": ".".join,
    "blanks": " ".join,
    "camel": lambda words: words[0] + "".join(word.capitalize() for word in words[1:]),
    "Pascal": lambda words: "".join(word.capitalize() for word in words),
    "Train": lambda words: "-".join(word.capitalize() for word in words),
    "CONSTANT": lambda words: "_".join(words).upper(),
}

# Names that no list of tools has; what their verb says is all that is known.
UNLISTED = [
    "update_issue",
    "github_create_issue",
    "git_commit",
    "git_push",
    "create_agent",
    "create_agent_report",
    "get_agent_logs",
    "spawn_agents_on_csv",
    "browser_navigate",
    "archival_memory_insert",
    "slack_post_message",
    "list_pending_orders",
    "swap_text_and_replace",
    "restart_service",
    "calculate_total",
    "mcp__files__get_file",
    "frobnicate_all",
]

DIALECTS = [
    Dialect("native", OWN, ARGUMENTS, json.dumps, json_error),
    Dialect(
        "shell_lists",
        OWN | {"run": "shell", "read": "read_file", "write": "write_file", "edit": "edit_file", "fetch": "fetch_url"},
        ARGUMENTS | {"read": "file_path", "write": "file_path", "edit": "file_path"},
        lambda value: json.dumps(value, indent=4),
        plain_error,
        shell_list=True,
    ),
    Dialect(
        "prefixed",
        {what: f" functions.{name} " for what, name in OWN.items()},
        ARGUMENTS,
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        json_error,
        more={"timeout": 30},
    ),
    Dialect(
        "capitals",
        {"run": "Bash", "read": "Read", "write": "Write", "edit": "MultiEdit", "find": "WebSearch", "fetch": "WebFetch"}
        | {"send": "SendMessage"},
        ARGUMENTS | {"run": "cmd", "read": "filePath", "write": "filePath", "edit": "filePath", "fetch": "uri"}
        | {"send": "recipient"},
        reverse,
        plain_error,
        more={"description": "what I am going to do"},
    ),
    Dialect(
        "verbose",
        {"run": "run_shell_command", "read": "view_file", "write": "create_file", "edit": "str_replace"}
        | {"find": "google_search", "fetch": "http_get", "send": "send_message"},
        ARGUMENTS | {"read": "filename", "write": "file", "edit": "target_file", "send": "to"},
        reverse,
        text_error,
    ),
    Dialect("behind_one_tool", OWN, ARGUMENTS, json.dumps, json_error, wrap=True),
]  # fmt: skip


def written(act: Act, dialect: Dialect) -> dict[str, Any]:
    """A step (columns of Step) of an act as a dialect writes it."""
    what, on, outcome, thinking = act
    if what == "say":
        return {"action_kind": "reply", "action_text": on, "thinking": thinking, "has_result": False}
    tool, named = dialect.tools[what], dialect.fields[what]
    value: Any = ["bash", "-lc", on] if what == "run" and dialect.shell_list else on
    arguments = {named: value, **dialect.more, **({"action": "send"} if what == "send" else {})}
    if dialect.wrap:
        arguments = {"id": tool, "args": arguments}
        written_tool = "tool_call"
    else:
        written_tool = tool
    text = dialect.dump(arguments)
    return {
        "action_kind": "tool_call",
        "thinking": thinking,
        "tool_name_raw": written_tool,
        "arguments": text,
        "action_text": f"{written_tool} {text}",
        **result(outcome, tool.strip().removeprefix("functions."), dialect),
    }


def result(outcome: str, tool: str, dialect: Dialect) -> dict[str, Any]:
    if outcome == "lost":
        return {"has_result": False, "reflection_text": None}
    if outcome == "ok":
        return {"reflection_text": "done", "result_is_error": False}
    return dialect.fail(tool, WORDS[outcome])
