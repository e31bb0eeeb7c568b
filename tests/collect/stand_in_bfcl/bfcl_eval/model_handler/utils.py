"""Functions as tools."""

from typing import Any


def convert_to_tool(functions: list[dict[str, Any]], _types: object, _style: object) -> list[dict[str, Any]]:
    return [{"type": "function", "function": function} for function in functions]
