"""Names that one rule file takes from another: the other file must have each of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from openclawbench.rules.loading.validation import Unfit, none_of

Other = Callable[[str], dict[str, Any]]  # name of a rule file -> its content
ID = "{}"  # after a key: the names are its keys, not its values


def as_written(name: str) -> str:
    """A name whose spelling matters."""
    return name


@dataclass(frozen=True)
class Reference:
    """Which texts of a rule file name something of another.

    Keys are dotted (`tool.names` of every [[tool]], `fixes{}` for the keys of [fixes]). Names are compared as `spelled`
    gives them.
    """

    key: str
    file: str
    known: tuple[str, ...]  # keys there, any of which may have the name
    spelled: Callable[[str], str] = as_written

    def check(self, content: dict[str, Any], other: Other) -> None:
        """Unfit for the first name that the other file does not have."""
        names = [name for key in self.known for name in texts_at(other(self.file), key)]
        spellings = {self.spelled(name) for name in names}
        if unknown := next((text for text in texts_at(content, self.key) if self.spelled(text) not in spellings), None):
            where = " or ".join(key.removesuffix(ID) for key in self.known)
            problem = f"{self.key}: {none_of(unknown, dict.fromkeys(names))}, which {self.file} has as {where}"
            raise Unfit(problem, unknown, keys=[self.key.rsplit(".", 1)[-1]])


def texts_at(content: Any, key: str) -> Iterator[str]:
    """Every text at a dotted key, entries of lists taken apart; of a key that ends in `{}` the keys of its table."""
    if isinstance(content, list):
        for item in content:
            yield from texts_at(item, key)
    elif not key:
        yield from [content] if isinstance(content, str) else []
    elif isinstance(content, dict):
        first, _, rest = key.partition(".")
        inside = content.get(first.removesuffix(ID), {})
        if first.endswith(ID):
            yield from inside if isinstance(inside, dict) else ()
        else:
            yield from texts_at(inside, rest)
