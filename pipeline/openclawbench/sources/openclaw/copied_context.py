"""The records of another session with which a file begins: what was kept where the program rotated the file behind a
compaction, or forked it. They are steps of that session."""

from typing import Any

from openclawbench.sources.base import KNOWN, MalformedSession, ParsedSession
from openclawbench.sources.io.bounded_counter import NamedCounts
from openclawbench.sources.io.jsonl import Fault, RawLine
from openclawbench.sources.openclaw.branches import Branch

NOTHING_NEW = Fault("copied_context", 1, "it holds nothing but records of the session that it continues")


def own_branch(
    session: ParsedSession, counts: NamedCounts, branch: Branch, body: list[RawLine], context: dict[str, Any]
) -> Branch:
    """A session's branch without the records of the session that it continues, with which its file begins. Raises
    MalformedSession where it holds nothing else."""
    known = context.get(KNOWN, ())
    copied = next((at for at, row in enumerate(body) if str(row.value.id) not in known), len(body))
    if not known or not copied:
        return branch
    if copied == len(body):
        raise MalformedSession(NOTHING_NEW)
    session.copied_records = counts["copied_record"] = copied
    return Branch(
        active=[at for at in branch.active if at >= copied],
        abandoned=[at for at in branch.abandoned if at >= copied],
        duplicates=[at for at in branch.duplicates if at >= copied],
        missing_parents=[at for at in branch.missing_parents if at >= copied],
        later_parents={at: parent for at, parent in branch.later_parents.items() if at >= copied},
        circular=[at for at in branch.circular if at >= copied],
    )


def off_branch(branch: Branch) -> list[int]:
    """The records that are not on the active branch, in the file's order; none where no branch was left."""
    return sorted(branch.abandoned + branch.duplicates) if branch.abandoned else []
