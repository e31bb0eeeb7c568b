"""Trajectories of mini-swe-agent 1 and 2: one JSON document -> one session.

`{"info": {"exit_status", "submission", …}, "messages": […]}`. Release 2 has calls of its own. Before it,
and in its text-based mode, a call is the one block of shell in the agent's text, and what comes back is the user's next
message. What the program says of an answer without exactly one call is nobody's turn.
"""

import json
import re
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.base import MalformedSession, ParsedSession, RecordDigests, Source, read_document_rows
from openclawbench.sources.chat_dialects import Call, Message, Result, decode_message, result_of
from openclawbench.sources.chat_steps import take_messages
from openclawbench.sources.io.json_values import load_json, text_of, why_not_json
from openclawbench.sources.io.jsonl import BOM, Fault, RawLine, readable
from openclawbench.sources.io.timestamps import read_times
from openclawbench.sources.io.usd import stated_usage
from openclawbench.sources.sidecars import harbor
from openclawbench.sources.step_builder import StepList, not_blank

ACTION = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
TOOL = "bash"
SUBMITTED, EXIT = "Submitted", "exit"
ENDS = {SUBMITTED: "completed", "TimeExceeded": "timeout"}  # any other status of the end is an error


class MiniSweAgent(Source):
    """The adapter."""

    name = "mini_swe_agent"
    records_are_lines = False

    def detect(self, first: Any) -> bool:
        if not isinstance(first, dict) or not isinstance(first.get("messages"), list):
            return False
        info, version = first.get("info"), first.get("trajectory_format")
        is_named = isinstance(version, str) and version.startswith("mini-swe-agent")
        return is_named or (isinstance(info, dict) and {"exit_status", "submission"} <= info.keys())

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """No id: an instance is run many times. The digest of what is said."""
        return None, canonical_digest([first.get("instance_id"), first["messages"]])

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """The ATIF trajectory that Harbor made of it, which says the same and more."""
        converted = harbor.trajectory_beside(path, paths)
        return {} if converted is None else {harbor.CONVERTED: converted}

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        """Whether there is such a trajectory."""
        return {harbor.CONVERTED: True} if harbor.CONVERTED in sidecars else {}

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        if context.get(harbor.CONVERTED):
            raise MalformedSession(Fault("beside_trajectory", 1, "repeats what the trajectory beside it says"))
        document = self.document(content)
        rows = read_document_rows(content, "messages", decode)
        if not any(row.value.role == "assistant" for row in rows):
            raise MalformedSession(Fault("not_a_session", 1, "a trajectory of mini-swe-agent without an answer"))
        info = part(document, "info")
        give_back(rows, text_of(info.get("exit_status")) == SUBMITTED)
        steps = StepList(rules)
        take_messages(steps, rows)
        session = ParsedSession(self.name, None, session_version=text_of(info.get("mini_version")))
        session.steps, session.user_turns = steps.steps, steps.user_turns
        times, session.warnings = read_times((row.value.timestamp, row.line) for row in rows)
        session.run = steps.run_summary(times, **ends_of(info))
        model = text_of(part(info, "config", "model").get("model_name"))
        session.models = [] if model is None else [model]
        instance = text_of(document.get("instance_id"))
        session.task = {} if instance is None else {"subset": None, "task_id": instance, "attempt": None}
        session.records_in, session.record_counts = len(rows) + 1, steps.counts
        session.record_counts["metadata:document"] = 1
        session.order_ambiguous = any(step["order_ambiguous"] for step in steps.steps)
        session.record_digests = RecordDigests(content, rows)
        session.escaped_fields = steps.escaped_fields
        return session

    def document(self, content: bytes) -> dict[str, Any]:
        """The whole document. Raises MalformedSession if it is not one."""
        try:
            document = load_json(readable(content.removeprefix(BOM)))
        except (ValueError, RecursionError) as error:
            why = why_not_json(content.decode("utf-8", "replace"), error)
            raise MalformedSession(Fault("broken_json", 1, f"line 1: not one JSON document: {why}")) from error
        return part(document)


def decode(data: bytes) -> Message:
    """A message, with the call in an agent's text, and with what a message of the program says of a result."""
    fields = load_json(data)
    extra = part(fields, "extra")
    if isinstance(fields, dict) and fields.get("role") == EXIT:
        text = fields.get("content")
        return Message(EXIT, text=not_blank(text if isinstance(text, str) else None), timestamp=extra.get("timestamp"))
    message = decode_message(data)
    message.timestamp = message.timestamp or extra.get("timestamp")
    if message.role == "assistant" and not message.calls and message.text is not None:
        actions = extra.get("actions")
        commands = [part(action).get("command") for action in actions] if isinstance(actions, list) else None
        commands = ACTION.findall(message.text) if commands is None else commands
        if len(commands) == 1 and isinstance(commands[0], str):
            message.calls = [Call(TOOL, json.dumps({"command": commands[0].strip()}, ensure_ascii=False), None)]
            message.text = not_blank(ACTION.sub("", message.text).strip())
    if message.role == "user" and extra:
        message.results = [result_of({"extra": extra}, message.text)]
    return message


def give_back(rows: list[RawLine], submitted: bool) -> None:
    """Make the user's message behind a call its result, and one behind an answer without a call the program's; what the
    run handed in is the result of its last call."""
    before: Message | None = None  # the agent's message that nothing has answered yet
    for row in rows:
        message: Message = row.value
        extra, message.results = message.results, [] if message.role == "user" else message.results
        if message.role == EXIT and before is not None and before.calls and submitted and message.text:
            message.role, message.results, message.text = "tool", [Result(message.text, None, None)], None
        elif message.role == EXIT:
            message.role = "system"
        elif message.role == "user" and before is not None and before.calls:
            message.role, message.text, message.results = "tool", None, extra or [Result(message.text, None, None)]
        elif message.role == "user" and before is not None:
            message.role = "system"
        if message.role == "assistant":
            before = message
        elif message.results:
            before = None


def ends_of(info: dict[str, Any]) -> dict[str, Any]:
    """Fields of the RunSummary: why the run ended, and what it cost."""
    status = text_of(info.get("exit_status"))
    known = {} if status is None else {"end": ENDS.get(status, "error")}
    return {"stop_reason": status, **stated_usage({"usd": part(info, "model_stats").get("instance_cost")}), **known}


def part(value: Any, *path: str) -> dict[str, Any]:
    """An object inside an object; empty if it is not one."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
