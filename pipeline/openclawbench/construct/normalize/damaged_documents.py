"""Files that no source claims and that are no session files by name, but seem to be a damaged document or store: they
do not go as what merely lies beside sessions."""

from typing import Any

from openclawbench.base.session_names import unpacked
from openclawbench.sources.io.jsonl import BOM
from openclawbench.sources.openclaw.sqlite_store import FILE_NAME
from openclawbench.sources.registry import FORMATS, WHOLE_JSON
from openclawbench.sources.sidecars.run_artifact_paths import RUN_FILE

Why = tuple[str, int | None, str]


def what_it_seems(path: str, content: bytes, first: Any, size: int) -> Why | None:
    """Reason, line and sentence; null where the file may well be anything. `first`: its first record, null where that
    is no JSON. `size`: its bytes, of which `content` may be the beginning only."""
    name = unpacked(path.rpartition("/")[2])
    if name == FILE_NAME:
        sentence = (
            f"{path}: is named as OpenClaw's store and is no SQLite database. Put the store back, or remove the file."
        )
        return "unreadable_file", None, sentence
    if not name.endswith(".json"):
        return None
    if RUN_FILE.match(name) and (not content or content.isspace()):
        return "empty_file", None, f"{path}: the file is empty. Remove it, or put the run back."
    seems_document = first is None and content.removeprefix(BOM).lstrip().startswith(b"{")
    if seems_document and size > WHOLE_JSON:
        sentence = (
            f"{path}: a JSON document of more than {WHOLE_JSON >> 20} MB, which is not looked into. Is it a run? Split "
            "it, or take it out of the raw folder."
        )
        return "too_large", None, sentence
    if seems_document:
        sentence = (
            f"{path}: begins as a JSON document and is none: cut off or damaged. Put it back whole, or remove it."
        )
        return "not_json", None, sentence
    if isinstance(first, list) and first and any(source.detect(first[0]) for source in FORMATS):
        sentence = f"{path}: a list of documents, where each has to be a file of its own. Write one file for each."
        return "not_a_session", None, sentence
    return None
