"""What a run cost: amounts of USD as whole numbers of trillionths (own choice). A message may cost less than a
millionth of a dollar, and a sum of integers is the same on every machine and in any order."""

from collections.abc import Mapping
from math import isfinite

PICO = 10**12


def pico_usd(usd: float) -> int:
    """An amount of USD in trillionths; 0 for one beyond all bounds."""
    amount = usd * PICO
    return round(amount) if isfinite(amount) else 0


def usd_of(usage: Mapping[str, int]) -> float | None:
    """The USD that a run's messages add up to (`pico_usd`); null where none says what it cost."""
    return usage["pico_usd"] / PICO if "pico_usd" in usage else None
