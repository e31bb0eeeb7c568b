"""Counts under names that a file chooses are bounded in number and length, and none is lost."""

import json
from typing import Any

import pytest
from normalizing import RULES, Row, read

from openclawbench.sources.io.bounded_counter import NamedCounts

LIMITS = RULES.counted_names
CONVERSATION: Row = {"role": "user", "event": "message", "content": "x"}
MANY = LIMITS.names + 25
HEADER: Row = {"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00.000Z"}
AEC: Row = {"version": 1, "format": "aec-bench-trajectory", "timestamp": "2026-01-01T00:00:00Z"}


def test_what_is_beyond_counts_under_one_name() -> None:
    counts = NamedCounts(LIMITS)
    counts["known"] += 2
    for number in range(MANY):
        counts.note("kind:", f"{number}-" + "x" * 10 * LIMITS.characters)
        counts.note("other:", None)
    counts.note("kind:", "0-" + "x" * 10 * LIMITS.characters)
    assert len(counts) == LIMITS.names + 3
    assert counts[f"kind:{LIMITS.others}"] == MANY - LIMITS.names
    assert counts["kind:0-" + "x" * (LIMITS.characters - 2)] == 2
    assert sum(counts.values()) == 2 + 2 * MANY + 1
    assert max(map(len, counts)) <= LIMITS.characters + len("kind:")


def message(**fields: Any) -> Row:
    return {"type": "message", "message": fields}


LINES = [{"type": f"t{number}" + "y" * 500} for number in range(MANY)]


@pytest.mark.parametrize(
    "records",
    [
        [HEADER, *LINES],
        [HEADER, *(line | {"id": f"{number}", "parentId": None} for number, line in enumerate(LINES))],
        [HEADER, *(message(role=line["type"], content="x") for line in LINES)],
        [HEADER, *({"type": "custom", "customType": line["type"]} for line in LINES)],
        [HEADER, *(message(role="user", content=[{"type": line["type"]}]) for line in LINES)],
        [AEC, *({"step": 1, "role": line["type"], "content": "x"} for line in LINES)],
        [CONVERSATION, *({"role": line["type"], "content": "x"} for line in LINES)],
    ],
    ids=["types", "off the branch", "roles", "custom types", "blocks", "aec", "conversation"],
)  # fmt: skip
def test_a_file_chooses_no_more_names(records: list[Row]) -> None:
    session_file = read("".join(json.dumps(record) + "\n" for record in records).encode())
    assert session_file.session is not None, session_file.message
    for counts in (session_file.session.record_counts, session_file.session.unknown_blocks):
        assert len(counts) <= LIMITS.names + 4
        assert all(len(name) < 2 * LIMITS.characters for name in counts)
    assert any(
        LIMITS.others in name for name in [*session_file.session.record_counts, *session_file.session.unknown_blocks]
    )
