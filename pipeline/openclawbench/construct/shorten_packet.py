"""Compact: shorten the texts of a packet that is too long, in a stated order (packet.toml; own choice)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from openclawbench.rules.construct.packet import CutRule, PacketRules

Place = tuple[str, int, str]  # step | user_turn, its place in the list, field


@dataclass
class Compacted:
    """Steps and user turns that fit, the cuts, and the estimate."""

    steps: list[dict[str, Any]]
    user_turns: list[dict[str, Any]]
    tokens: int
    fits: bool
    cuts: list[dict[str, Any]] = field(default_factory=list)  # PacketCut rows without their key


def json_size(value: Any) -> int:
    """Bytes of canonical JSON."""
    return len(msgspec.json.encode(value))


def compact(
    steps: list[dict[str, Any]], user_turns: list[dict[str, Any]], bearing: set[int], rules: PacketRules
) -> Compacted:
    """The rounds of the rules, one after another, until the estimate is within the budget.

    `bearing`: ids of the steps that bear evidence. A cut always starts from the whole text, so that its marker says how
    much is missing. Numbers, flags and the steps themselves stay; ValueError if a step were lost.
    """
    full_texts = dict(texts(steps, user_turns))
    size = json_size(steps) + json_size(user_turns)
    shown: dict[Place, tuple[str, CutRule]] = {}
    for rule in rules.rounds:
        if rules.tokens(size) <= rules.max_tokens:
            break
        for place, text in full_texts.items():
            if place[2] in rule.fields and kind_of(place, steps, bearing) == rule.steps:
                former = shown[place][0] if place in shown else text
                short = shorten_text(text, rule.keep, rules)
                if len(short) < len(former):
                    size += json_size(short) - json_size(former)
                    shown[place] = (short, rule)
    compacted = Compacted(
        steps=put("step", steps, shown),
        user_turns=put("user_turn", user_turns, shown),
        tokens=rules.tokens(size),
        fits=rules.tokens(size) <= rules.max_tokens,
        cuts=[cut_row(place, full_texts[place], rule, steps, user_turns) for place, (_, rule) in sorted(shown.items())],
    )
    if [step["step_id"] for step in compacted.steps] != [step["step_id"] for step in steps]:
        raise ValueError("a step was lost in compaction")
    return compacted


def texts(steps: list[dict[str, Any]], user_turns: list[dict[str, Any]]) -> Iterator[tuple[Place, str]]:
    """Every text with its place."""
    for kind, rows in (("step", steps), ("user_turn", user_turns)):
        for number, row in enumerate(rows):
            for name, value in row.items():
                if isinstance(value, str):
                    yield (kind, number, name), value


def kind_of(place: Place, steps: list[dict[str, Any]], bearing: set[int]) -> str:
    """user, bearing or other."""
    if place[0] == "user_turn":
        return "user"
    return "bearing" if steps[place[1]]["step_id"] in bearing else "other"


def shorten_text(text: str, keep: int, rules: PacketRules) -> str:
    """Beginning and end of a text around the marker; the text itself where that is not shorter."""
    if len(text) <= keep:
        return text
    head = int(keep * rules.head_share)
    short = text[:head] + rules.marker.format(left=len(text) - keep) + text[len(text) - (keep - head) :]
    return short if len(short) < len(text) else text


def put(kind: str, rows: list[dict[str, Any]], shown: dict[Place, tuple[str, CutRule]]) -> list[dict[str, Any]]:
    """The rows with their shortened texts."""
    shortened_rows = [dict(row) for row in rows]
    for (where, number, name), (short, _) in shown.items():
        if where == kind:
            shortened_rows[number][name] = short
    return shortened_rows


def cut_row(
    place: Place, text: str, rule: CutRule, steps: list[dict[str, Any]], user_turns: list[dict[str, Any]]
) -> dict[str, Any]:
    """What was left out of one text."""
    kind, number, name = place
    return {
        "place": kind,
        "number": steps[number]["step_id"] if kind == "step" else user_turns[number]["user_turn"],
        "field": name,
        "characters": len(text),
        "left_out": len(text) - rule.keep,
        "rule_id": f"packet.{rule.id}",
    }
