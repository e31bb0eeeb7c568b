"""JSONL tables of a model that are divided into several files: none is missing, and the listing describes them."""

import json
from pathlib import Path
from typing import Any

from openclawbench.release.files.jsonl_files import LISTING, plain_name, released
from openclawbench.release.files.names import MASTER_FILE, ROOT
from openclawbench.release.files.parquet import shard_name
from openclawbench.release.validate.compare import compare, read_json
from openclawbench.release.validate.files.folder_contents import DIVIDED
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import tolerant_lines
from openclawbench.release.writer.pieces import JsonlFile


def check_divided(root: Path, model: str, findings: Findings) -> None:
    """The JSONL files of one model."""
    folder = f"{ROOT}/{model}"
    files_of = {table: released(root / folder / table) for table in DIVIDED}
    count = len(files_of[MASTER_FILE])
    divided = any(len(files) > 1 for files in files_of.values())
    for table, files in files_of.items():
        names = [plain_name(path.name) for path in files]
        wanted = [shard_name(table, number, count, ".jsonl") for number in range(count)] if divided else [table]
        if names and names != wanted:
            message = f"its files are not the {count} of the master table: {', '.join(names)}"
            findings.add("file_missing", f"{folder}/{table}", message)
        for path in (root / folder).glob(f"{Path(table).stem}-*-of-*.jsonl*"):
            if path not in files:
                findings.add("file_twice", f"{folder}/{path.name}", f"is not read, because {table} is there whole")
    listing = f"{folder}/{LISTING}"
    if not divided:
        if (root / listing).exists():
            findings.add("file_unknown", listing, "lists files of divided tables, and no table is divided. Remove it")
        return
    content = read_json(root, listing, "listing", findings)
    if content is not None:
        expected = {table: [describe_file(path) for path in files] for table, files in files_of.items() if files}
        compare(content, expected, listing, "listing", findings)


def describe_file(path: Path) -> dict[str, Any]:
    """What the listing says of a file."""
    content, last = JsonlFile(), b""
    for number, line in tolerant_lines(path):
        content.rows, content.bytes, last = number, content.bytes + len(line), line
        if number == 1:
            content.first = trajectory_of(line)
    content.last = trajectory_of(last)
    return {"file": plain_name(path.name), **vars(content)}


def trajectory_of(line: bytes) -> str | None:
    """The trajectory_id of a line; None if it has none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row.get("trajectory_id") if isinstance(row, dict) else None
