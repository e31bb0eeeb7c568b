"""aec-bench conversation.jsonl: messages without calls. It is read where the trajectory is missing."""

import json
from typing import Any

from openclawbench.base.session_names import packed_variants
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.aec_bench import context as aec_context
from openclawbench.sources.aec_bench.records import decode_entry, opens_conversation
from openclawbench.sources.aec_bench.trajectory import (
    AecTrajectory,
    begin,
    complete,
    has_time,
    only_header,
    opening_digest,
    trial_identity,
)
from openclawbench.sources.aec_bench.truncation import note_lost_end
from openclawbench.sources.base import IDENTITY, MalformedSession, ParsedSession, Source, read_session_lines
from openclawbench.sources.io.content_text import text_or_json
from openclawbench.sources.io.jsonl import Fault, RawLine
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.step_builder import StepList, not_blank

TRAJECTORY_NAMES = tuple(packed_variants("trajectory.jsonl"))


class AecConversation(Source):
    """The adapter. It gives user turns and replies; where a trajectory lies beside it, it gives nothing, unless that
    has nothing but its header: then this is all there is of the run, and that header tells the run from others.

    Its sessions are of the format aec_trajectory, with session_version `conversation`.
    """

    name = "aec_conversation"
    source_format = "aec_trajectory"
    version = "conversation"
    identity_lines = 3  # trials of one task open with the same prompts; the first answer tells them apart

    def detect(self, first: Any) -> bool:
        return opens_conversation(first)

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """The first three lines, as far as `head` has them."""
        return None, opening_digest(head, self.identity_lines)

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """What a trajectory has beside it, and the trajectory itself."""
        folder = path.rpartition("/")[0]
        trajectory = next(
            (f"{folder}/{name}" for name in TRAJECTORY_NAMES if f"{folder}/{name}" in paths),
            path,
        )
        return aec_context.find_sidecars(path, paths) | ({} if trajectory == path else {"trajectory": trajectory})

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        """As for a trajectory, and {trajectory_beside: true} where one is there (unread counts as there), or the
        {identity} that the header of one without steps gives the run."""
        context = aec_context.read_context(path, sidecars)
        if "trajectory" in sidecars and opens_trajectory(sidecars["trajectory"]):
            header = only_header(sidecars["trajectory"])
            if header is None:
                context["trajectory_beside"] = True
            else:
                context["header_only"] = True
                if has_time(header):
                    return context | {IDENTITY: canonical_digest(header)}
        return context | trial_identity(context)

    def describe_use(self, first: Any, path: str, sidecars: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
        return aec_context.describe_use(path, sidecars, context)

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        if context.get("trajectory_beside"):
            raise MalformedSession(Fault("beside_trajectory", 1, "repeats what the trajectory beside it says"))
        raw = read_session_lines(content, decode_entry)
        session = begin(self.format_name, content, raw, context)
        session.session_version = self.version
        steps = StepList(rules)
        spoken = [place for place, row in enumerate(raw.lines) if row.value.role in ("user", "assistant")]
        for place, row in enumerate(raw.lines):
            take(steps, row, followed=bool(spoken) and place < spoken[-1])
        steps.finish()
        if context.get("header_only") and not raw.torn:
            note_lost_end(session, len(steps.steps), raw.lines, context)
        return complete(session, steps, raw.lines, context, rules)


def opens_trajectory(value: Any) -> bool:
    """True unless a file named like a trajectory is something else. `value`: its only record, its text, or null."""
    if isinstance(value, str):
        try:
            value = json.loads(value.lstrip("\ufeff \t\r\n").split("\n", 1)[0])
        except (ValueError, RecursionError):
            return False
    return value is None or AecTrajectory().detect(value)


def take(steps: StepList, row: RawLine, followed: bool) -> None:
    """One line, by role."""
    role, text = row.value.role, not_blank(text_or_json(row.value.content))
    if role == "user":
        steps.counts["user_turn"] += 1
        steps.user(text_or_json(row.value.content), row)
    elif role == "assistant":
        moment = steps.moment(iso_time(row.value.timestamp))
        moment.followed = followed
        steps.counts["runner:no_step" if text is None else "step_reply"] += 1
        if text is None:
            steps.noise["empty_replies"] += 1
        else:
            steps.reply(text, moment, [row])
    elif role in ("system", "tool"):
        steps.counts["system" if role == "system" else "tool_message"] += 1
    else:
        steps.note_role(role)
