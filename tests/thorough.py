"""Which cases of a test are tried on every change, and which are left to `make test-all`."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

TOGETHER = 10


def first(number: int, cases: Iterable[Any]) -> list[Any]:
    """The first cases as they are, the others marked thorough."""
    return [
        case if place < number else pytest.param(case, marks=pytest.mark.thorough) for place, case in enumerate(cases)
    ]


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Every so many cases as they are, the others marked thorough."""
    return [
        pytest.param(case, marks=pytest.mark.thorough) if place % step else case for place, case in enumerate(cases)
    ]


def batches(signs: Mapping[str, str]) -> list[list[str]]:
    """Defects in groups of ten, to be planted in one release each. `signs`: defect -> by what it is noticed; no two of
    a group have the same, so that none is taken for another."""
    groups: list[list[str]] = []
    for defect, sign in signs.items():
        fitting = (group for group in groups if len(group) < TOGETHER and sign not in {signs[other] for other in group})
        group = next(fitting, None)
        if group is None:
            groups.append(group := [])
        group.append(defect)
    return groups
