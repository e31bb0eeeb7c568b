"""A session inside a file that holds several."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """Where one session's bytes are in its file."""

    name: str
    line: int  # 1-based
    offset: int
    length: int
