"""Patch texts (`*** Update File: …`, unified diffs) -> the files that they change."""

import re


def patched_files(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Files that a patch adds, changes, deletes or moves, in its order, each once; none where the text is no patch.

    `pattern` has a group for each way to name one (shell.toml: patched_file).
    """
    named = (next(group for group in hit.groups() if group) for hit in pattern.finditer(text))
    return list(dict.fromkeys(named))
