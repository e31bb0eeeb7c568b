"""Names of tools and arguments in one spelling, by which rules know them; the name that a session wrote is kept too.

write_file, write-file, writeFile, WriteFile, "Write File" and write.file are one name.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import polars as pl

# Where words meet within a name: fileWrite, v2Search; sendSMSMessage, but not the plural in fetchURLs.
WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?:[a-rt-z]|s[a-z]))")
SEPARATORS = re.compile(r"[ \t\n_.:/-]+")


@lru_cache(maxsize=16384)
def spelled(name: str) -> str:
    """A name's words in lower case, joined by `_`: what patterns of rule files look into. Own choice."""
    return SEPARATORS.sub("_", WORD_BOUNDARY.sub("_", name)).strip("_").lower()


def plain_name(name: str) -> str:
    """A name's letters in lower case, without what joins its words: how lists of names are looked up (websearch)."""
    return spelled(name).replace("_", "")


def plain_names(names: Iterable[str]) -> list[str]:
    """plain_name of each."""
    return [plain_name(name) for name in names]


def plain_column(name: str) -> pl.Expr:
    """plain_name of a column of spelled names."""
    return pl.col(name).str.replace_all("_", "", literal=True)
