"""Tool results of a RunArtifact: the result event, and the tool message that says the same again to the model."""

import json
from dataclasses import dataclass
from typing import Any

from openclawbench.sources.io.json_ranges import object_ranges
from openclawbench.sources.io.json_values import text_of
from openclawbench.sources.io.jsonl import readable
from openclawbench.sources.run_artifact.document import Event

FAILED, TIMED_OUT = "error", "TimeoutExpired"  # a result's status; the error type of a tool that took too long


@dataclass
class ToolResult:
    """One result of the open stretch: the event that has it and, where there is one, its repetition."""

    event: Event
    echo: Event | None = None

    @property
    def events(self) -> list[Event]:
        return [self.event] if self.echo is None else [self.event, self.echo]

    @property
    def call_id(self) -> str | None:
        """Id of the call that it answers; None in the spelling without ids."""
        return text_of(self.event.value.get("call_id")) or text_of(self.event.metadata.get("tool_call_id"))

    @property
    def name(self) -> str | None:
        """The tool's name, where the event or its repetition has it."""
        echo = self.echo.value.get("name") if self.echo else None
        return text_of(self.event.value.get("tool_name") or self.event.value.get("name") or echo)

    @property
    def text(self) -> str | None:
        """What came back, as it is written: a string as it is; an object as the model was sent it, else as stored."""
        key = output_key(self.event)
        sent = self.echo.value.get("content") if self.echo is not None else None
        if isinstance(sent, str) and isinstance(self.event.value.get(key), dict | list):
            return written_in(sent, key) or self.event.text(key)
        return self.event.text(key)

    @property
    def is_error(self) -> bool | None:
        """True if the runner says that the tool raised; None if it says nothing."""
        status = self.event.value.get("status")
        return None if status is None else status == FAILED

    @property
    def details(self) -> str | None:
        """The output's exit code and time-out under the names that results of sessions have; None if the output has
        neither."""
        output = self.event.value.get(output_key(self.event))
        fields: dict[str, Any] = {}
        if isinstance(output, dict):
            code = output.get("returncode")
            if isinstance(code, int) and not isinstance(code, bool):
                fields["exitCode"] = code
            if output.get("error_type") == TIMED_OUT:
                fields["timedOut"] = True
        return json.dumps(fields) if fields else None


def output_key(event: Event) -> str:
    """Where a result event has its output: `output` as stored, `content` as documented."""
    return "output" if "output" in event.value else "content"


def belongs(result: ToolResult, echo: Event) -> bool:
    """True if a tool message is about the same call as a result: by id, else by tool name and equal content."""
    if result.echo is not None or result.event.kind != "tool_result":
        return False
    result_id, echo_id = result.call_id, text_of(echo.metadata.get("tool_call_id"))
    if result_id is not None and echo_id is not None:
        return result_id == echo_id
    names = (result.name, text_of(echo.value.get("name")))
    return (names[0] == names[1] or None in names) and repeats(result.event, echo)


def repeats(event: Event, echo: Event) -> bool:
    """True if a tool message has the content of the result event, alone or beside its status."""
    key = output_key(event)
    output, content = event.value.get(key), echo.value.get("content")
    if content == output or not isinstance(content, str):
        return content == output
    try:
        decoded = json.loads(readable(content.encode("utf-8")))
        return bool(decoded in (output, {"status": event.value.get("status"), key: output}))
    except (ValueError, RecursionError):
        return False


def written_in(content: str, key: str) -> str | None:
    """JSON text of a member of the object that a text is; None if it is not such an object."""
    data = content.encode("utf-8")
    try:
        start, end = object_ranges(data)[key]
    except (ValueError, KeyError):
        return None
    return data[start:end].decode("utf-8")
