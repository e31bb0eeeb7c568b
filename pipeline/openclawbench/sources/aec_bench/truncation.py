"""Whether an aec-bench trajectory that ends with a whole line lacks its end: nothing in the file says so, but what lies
beside it may. Source: own choice; in the real runs seen `turns_used` is the number of the agent's steps."""

import hashlib
from typing import Any

from openclawbench.sources.aec_bench.records import Entry
from openclawbench.sources.base import ParsedSession
from openclawbench.sources.io.content_text import text_or_json
from openclawbench.sources.io.json_values import count_of
from openclawbench.sources.io.jsonl import Fault, RawLine
from openclawbench.sources.sidecars.jsonl_sidecar import records_in
from openclawbench.sources.step_builder import not_blank

CONVERSATION = "conversation.jsonl"
REASON = "steps_missing"
HINT = "Put the whole file back if there is one"


def last_reply(conversation: Any) -> dict[str, str]:
    """{last_reply: digest} of the last thing that the agent says in a conversation; empty if it says nothing.
    `conversation`: its text, or its only line."""
    for entry in records_in(conversation, backwards=True):
        if isinstance(entry, dict) and entry.get("role") == "assistant":
            reply = not_blank(text_or_json(entry.get("content")))
            return {} if reply is None else {"last_reply": digest(reply)}
    return {}


def digest(text: str) -> str:
    """Of a text, the blanks around it aside."""
    return hashlib.sha256(text.strip().encode("utf-8", "backslashreplace")).hexdigest()[:16]


def note_lost_end(session: ParsedSession, turns: int, lines: list[RawLine], beside: dict[str, Any]) -> None:
    """Warn where the agent's result counts more turns than the file has: then it is `truncated`. Where only the
    conversation ends with words that are not in it, or a number of calls to a model says so, which may count repeated
    ones, it is a warning alone."""
    result, cost = beside.get("agent_result", {}), beside.get("trial", {}).get("cost", {})
    used = count_of(result.get("turns_used"))
    called = None if used is not None else count_of(result.get("provider_calls", cost.get("model_calls")))
    if used is not None and used > turns:
        why = f"agent-result.json counts {used} turns"
    elif "last_reply" in beside and beside["last_reply"] not in replies(lines):
        why = f"{CONVERSATION} ends with words of the agent that are not in it"
    elif called is not None and called > turns:
        why = f"the record beside it counts {called} calls to a model"
    else:
        return
    last = lines[-1].line if lines else 1
    session.truncated = session.truncated or (used is not None and used > turns)
    sentence = f"line {last}: the file ends here with {turns} of the agent's steps, but {why}. {HINT}"
    session.warnings.append(Fault(REASON, last, sentence))


def replies(lines: list[RawLine]) -> set[str]:
    """Digests of what the agent says."""
    entries: list[Entry] = [row.value for row in lines]
    return {digest(text_or_json(entry.content) or "") for entry in entries if entry.role == "assistant"}
