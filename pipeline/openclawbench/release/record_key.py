"""The joint key of a release: BFCL task ids and trajectory ids repeat across source models, so it is always both."""

from collections.abc import Mapping
from typing import Any

Key = tuple[str, str]


def key_of(row: Mapping[str, Any]) -> Key:
    """(source_model, trajectory_id)."""
    return row["source_model"], row["trajectory_id"]
