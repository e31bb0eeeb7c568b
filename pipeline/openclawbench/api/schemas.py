"""The JSON Schemas of records, as the installation holds them."""

import json
from typing import Any

from openclawbench.base.resources import resource
from openclawbench.errors import UsageError

SUFFIX = ".schema.json"


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a record, with a description of every field: schemas/<name>.schema.json of the checkout, which
    an installed wheel holds too. Names are those of the files: trajectory, step, master, label_row, ….

    Raises UsageError for another name.
    """
    files = {path.name.removesuffix(SUFFIX): path for path in sorted(resource("schemas").glob(f"*{SUFFIX}"))}
    if name not in files:
        raise UsageError(f"{name}: no record has this name. Choose one of {', '.join(files)}.")
    content: dict[str, Any] = json.loads(files[name].read_text(encoding="utf-8"))
    return content
