"""JSON objects inside other text: where each of them begins and ends."""

import json
from typing import Any

DECODER = json.JSONDecoder()
MOST = 64  # opening braces that are tried: a text of nothing else would take the square of its length


def objects_in(text: str) -> list[tuple[int, int, dict[str, Any]]]:
    """The outermost objects of a text: begin, end, value. An opening brace that begins no object is skipped."""
    objects, place = [], 0
    for _ in range(MOST):
        place = text.find("{", place)
        if place < 0:
            break
        try:
            value, end = DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        objects.append((place, end, value))
        place = end
    return objects
