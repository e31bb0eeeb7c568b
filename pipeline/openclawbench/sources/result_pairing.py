"""Which tool result belongs to which call, within one stretch up to the next model-written message (own choice)."""

from collections import Counter, deque
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Called:
    """A call or a result as pairing sees it."""

    id: str | None
    name: str | None


@dataclass
class Pairing:
    """`result_of[call]` = index of its result; `orphans` = results without a call; `ambiguous` = calls that could
    have taken another's result."""

    result_of: dict[int, int] = field(default_factory=dict)
    orphans: list[int] = field(default_factory=list)
    ambiguous: set[int] = field(default_factory=set)


def clean_name(name: str | None) -> str | None:
    """A tool name without the blanks some models pad it with; None if nothing is left."""
    return (name or "").strip() or None


def pair(calls: list[Called], results: list[Called], by_place: bool = False) -> Pairing:
    """Two passes: all ids first, k-th call of an id with its k-th result; then leftovers by position, and only where
    tool name and counts are equal. What is left on either side stays alone: nothing is guessed.

    `by_place`: a format in which a result need name neither call nor tool. If as many such results are left as calls,
    they are paired in their order.
    """
    pairing = Pairing()
    of_id = group_places([result.id for result in results])
    for index, call in enumerate(calls):
        if call.id and (results_of_id := of_id.get(call.id)):
            pairing.result_of[index] = results_of_id.popleft()
    repeated = {value for value, n in Counter(call.id for call in calls if call.id).items() if n > 1}
    pairing.ambiguous |= {i for i, call in enumerate(calls) if call.id in repeated}
    used = set(pairing.result_of.values())
    free = [r for r in range(len(results)) if r not in used]
    open_calls = [i for i in range(len(calls)) if i not in pairing.result_of]
    of_name = group_places([clean_name(results[r].name) for r in free])
    for name, places in group_places([clean_name(calls[i].name) for i in open_calls]).items():
        result_places = of_name.get(name, ())
        if len(places) == len(result_places):
            call_indexes = [open_calls[place] for place in places]
            pairing.result_of.update(zip(call_indexes, [free[place] for place in result_places], strict=True))
            if len(call_indexes) > 1:
                pairing.ambiguous.update(call_indexes)
    if by_place:
        pair_by_place(pairing, calls, results)
    used = set(pairing.result_of.values())
    pairing.orphans = [r for r in free if r not in used]
    return pairing


def pair_by_place(pairing: Pairing, calls: list[Called], results: list[Called]) -> None:
    """Pair the calls and the results that are left, if none of the results says whose it is, or no call has an id and
    the names do not contradict; more than one pair is ambiguous."""
    used = set(pairing.result_of.values())
    free = [place for place in range(len(results)) if place not in used]
    open_calls = [place for place in range(len(calls)) if place not in pairing.result_of]
    if not free or len(free) != len(open_calls):
        return
    pairs = list(zip(open_calls, free, strict=True))
    if all(may_belong(calls[call], results[result]) for call, result in pairs):
        pairing.result_of.update(pairs)
        if len(pairs) > 1:
            pairing.ambiguous.update(open_calls)


def may_belong(call: Called, result: Called) -> bool:
    """True if neither id nor name says that a result is of another call."""
    names = (clean_name(call.name), clean_name(result.name))
    return (call.id is None or result.id is None) and (names[0] == names[1] or None in names)


def group_places(keys: list[str | None]) -> dict[str | None, deque[int]]:
    """Where each key stands, in order; keys in the order of their first."""
    groups: dict[str | None, deque[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, deque()).append(place)
    return groups
