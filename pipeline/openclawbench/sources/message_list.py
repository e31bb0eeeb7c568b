"""Lists of chat messages, in any dialect of them, as rows of a benchmark's results hold them: a list is a session.

`[{"role": "user", "content": …}, {"role": "assistant", "tool_calls": […]}, {"role": "tool", …}]`. The list alone says
neither task nor outcome: the row around it does.
"""

import hashlib
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.base import MalformedSession, ParsedSession, RecordDigests, Source, read_document_rows
from openclawbench.sources.chat_dialects import Message, decode_message, is_message
from openclawbench.sources.chat_steps import take_messages
from openclawbench.sources.io.json_values import without_blanks
from openclawbench.sources.io.jsonl import Fault
from openclawbench.sources.io.timestamps import read_times
from openclawbench.sources.step_builder import StepList


class MessageList(Source):
    """The adapter. Calls and results are paired by id, as in files of messages, one a line."""

    name = "message_list"
    records_are_lines = False
    only_in_rows = True

    def detect(self, first: Any) -> bool:
        return isinstance(first, list) and len(first) > 0 and is_message(first[0])

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """No id; the digest of what the list says, however it is spelled."""
        try:
            return None, canonical_digest(without_blanks(first))
        except (ValueError, RecursionError):
            return None, hashlib.sha256(head.strip()).hexdigest()

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        rows = read_document_rows(content, None, decode_message)
        messages: list[Message] = [row.value for row in rows]
        if not any(message.role == "assistant" for message in messages):
            raise MalformedSession(Fault("not_a_session", 1, "a list of chat messages, none of them an assistant's"))
        steps = StepList(rules)
        take_messages(steps, rows)
        session = ParsedSession(self.name, None, session_version=None)
        session.steps, session.user_turns = steps.steps, steps.user_turns
        times, session.warnings = read_times((row.value.timestamp, row.line) for row in rows)
        session.run = steps.run_summary(times)
        session.order_ambiguous = any(step["order_ambiguous"] for step in steps.steps)
        session.records_in, session.record_counts = len(rows), steps.counts
        session.record_digests = RecordDigests(content, rows)
        session.escaped_fields, session.unknown_blocks = steps.escaped_fields, steps.unknown_blocks
        return session
