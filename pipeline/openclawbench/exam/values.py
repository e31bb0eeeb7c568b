"""Values of slots: the recorded ones, or others drawn from a seed."""

import ast
import operator
import random
import tomllib
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from openclawbench.errors import InvalidFamily
from openclawbench.exam.family import Family, Slot, fill_template

POOLS = Path(__file__).parent / "pools.toml"
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
ATTEMPTS = 50  # to draw a value that no other slot has
Amount = int | date


@cache
def pools() -> dict[str, list[str]]:
    """Name of a pool -> its values."""
    content: dict[str, list[str]] = tomllib.loads(POOLS.read_text(encoding="utf-8"))
    return content


def recorded_values(name: str, family: Family) -> dict[str, str]:
    """Slot -> recorded value. Raises InvalidFamily if a formula gives another one, or two slots have the same."""
    amounts = {slot: amount_of(entry.recorded, entry) for slot, entry in family.slots.items() if is_amount(entry)}
    values = {}
    for slot, entry in family.slots.items():
        values[slot] = entry.recorded
        if (
            entry.of is not None
            and (computed := write_value(formula(name, entry.of, amounts), entry)) != entry.recorded
        ):
            raise InvalidFamily(f"{name}: slot {slot} has {entry.recorded} recorded, and {entry.of} is {computed}.")
        if entry.of is not None:
            amounts[slot] = formula(name, entry.of, amounts)
    refuse_repeated(name, values)
    return values


def drawn_values(name: str, family: Family, source: random.Random) -> dict[str, str]:
    """Slot -> another value, no two slots with the same. Raises InvalidFamily if a slot has too few values."""
    amounts: dict[str, Amount] = {}
    values: dict[str, str] = {}
    for slot, entry in family.slots.items():
        for _ in range(ATTEMPTS):
            if is_amount(entry):
                amounts[slot] = (
                    formula(name, entry.of, amounts) if entry.of is not None else drawn_amount(entry, source)
                )
                values[slot] = write_value(amounts[slot], entry)
            else:
                values[slot] = fill_template(source.choice(entry.values or pool(name, slot, entry)), values)
            others = [value for other, value in values.items() if other != slot]
            if entry.of is not None or values[slot] not in others:
                break
        else:
            raise InvalidFamily(f"{name}: slot {slot} has too few values: all are those of other slots.")
    return values


def pool(name: str, slot: str, entry: Slot) -> list[str]:
    """The values of a slot's pool."""
    if entry.pool not in pools():
        raise InvalidFamily(
            f"{name}: slot {slot}: there is no pool {entry.pool}. Pools are {', '.join(sorted(pools()))}."
        )
    return pools()[entry.pool]


def is_amount(slot: Slot) -> bool:
    """True for numbers and dates."""
    return slot.low is not None or slot.first is not None or slot.of is not None


def amount_of(text: str, slot: Slot) -> Amount:
    """The number or date that a text writes."""
    if slot.first is not None or (slot.of is not None and text.count("-") == 2):
        return date.fromisoformat(text)
    return int(text.replace(",", "").replace(".", ""))


def drawn_amount(slot: Slot, source: random.Random) -> Amount:
    """A number or date of the slot's range."""
    if slot.first is not None and slot.last is not None:
        first, last = date.fromisoformat(slot.first), date.fromisoformat(slot.last)
        return first + timedelta(days=source.randint(0, (last - first).days))
    assert slot.low is not None and slot.high is not None
    return source.randint(slot.low, slot.high)


def write_value(amount: Amount, slot: Slot) -> str:
    """A number or date as the slot writes it."""
    if isinstance(amount, date):
        return amount.isoformat()
    integer, rest = divmod(amount, 10**slot.decimals)
    text = f"{integer:,}" if slot.thousands else str(integer)
    return f"{text}.{rest:0{slot.decimals}d}" if slot.decimals else text


def formula(name: str, text: str, amounts: Mapping[str, Amount]) -> Amount:
    """The value of a formula over slots. Raises InvalidFamily for anything but + - * //, integers and known slots."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            first, second = value(node.left), value(node.right)
            if isinstance(first, date) and isinstance(second, int):
                second = timedelta(days=second)
            result = OPERATORS[type(node.op)](first, second)
            return result.days if isinstance(result, timedelta) else result
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in amounts:
            return amounts[node.id]
        raise InvalidFamily(f"{name}: {text!r} is not a formula of + - * //, integers and slots above it.")

    try:
        result: Amount = value(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, ZeroDivisionError) as error:
        raise InvalidFamily(f"{name}: the formula {text!r} cannot be computed: {error}.") from error
    return result


def refuse_repeated(name: str, values: Mapping[str, str]) -> None:
    """Raise InvalidFamily for two slots with the same recorded value: they could not be told apart."""
    for slot, value in values.items():
        repeats = (former for former, recorded in values.items() if former != slot and recorded == value)
        if repeated := next(repeats, None):
            raise InvalidFamily(f"{name}: slots {slot} and {repeated} have the same recorded value {value!r}.")
