"""SidecarReader: values of the files beside sessions, as adapters receive them; shared files are read once."""

import json
from collections import OrderedDict
from collections.abc import Callable
from mmap import mmap
from typing import Any

from openclawbench.sources.identification import WHOLE_JSON
from openclawbench.sources.io.jsonl import escape_surrogates
from openclawbench.sources.openclaw.session_index import contexts_by_session, is_index

HEAD_BYTES = 16 << 20  # of a larger JSONL file beside a session only its beginning is read
KEPT, KEPT_BYTES = 16, 64 << 20  # files, and bytes of them, whose values are kept


class SidecarReader:
    """Values of files by their names; the latest few are kept. `read` gives a file's bytes: OSError or ValueError if
    they cannot be read."""

    def __init__(self, read: Callable[[str], bytes | mmap]) -> None:
        self.read = read
        self.loaded: OrderedDict[str, tuple[int, Any]] = OrderedDict()  # name -> (bytes, value)

    def value(self, name: str) -> Any:
        """A file's JSON value, its text where it is not valid JSON, None if it cannot be read or is too large for a
        document; of a session index the run contexts by session id."""
        if name not in self.loaded:
            self.loaded[name] = self.load(name)
            while len(self.loaded) > KEPT or (len(self.loaded) > 1 and self.held() > KEPT_BYTES):
                self.loaded.popitem(last=False)
        return self.loaded[name][1]

    def text(self, name: str) -> str | None:
        """A file's text, in which places are those of its bytes; None if it cannot be read, is not UTF-8 or is too
        large for a document."""
        try:
            content = self.read(name)
            return content[:].decode("utf-8") if len(content) <= WHOLE_JSON else None
        except (OSError, ValueError):
            return None

    def held(self) -> int:
        """Bytes of the files whose values are kept."""
        return sum(size for size, _ in self.loaded.values())

    def load(self, name: str) -> tuple[int, Any]:
        """Read one file: its bytes that count for what is kept, and its value."""
        try:
            content = self.read(name)
        except (OSError, ValueError):
            return 0, None
        if is_index(name):
            return 0, contexts_by_session(memoryview(content))
        if ".jsonl" in name.rpartition("/")[2]:
            content = content[:HEAD_BYTES]
        elif len(content) > WHOLE_JSON:
            return 0, None
        return len(content), value_of(content[:])


def value_of(content: bytes) -> Any:
    """The JSON value, or the text where it is not valid JSON; lone surrogates, which no table can hold, are escaped."""
    text = escape_surrogates(content).decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
