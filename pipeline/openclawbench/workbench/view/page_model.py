"""A trajectory as blocks in reading order (user turns, steps, abandoned steps, provider errors), and its minimap."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from openclawbench.workbench.view.evidence_marks import Place, Quote, marks_by_place, quotes_of
from openclawbench.workbench.view.html_text import TextMark

Row = dict[str, Any]
ONSETS = {
    "earliest_recoverable_onset": "recoverable onset",
    "earliest_harmful_onset": "harmful onset",
    "earliest_state_contamination_onset": "contamination onset",
}
WORDS = {"thinking": "thinks", "narration": "says", "action_text": "calls", "reflection_text": "gets"}
HEIGHT, LEAST, MOST = 640, 3, 12  # of the minimap and of a step in it, in pixels
STRONG = ("onset", "span", "evidence", "error", "effect")  # what a step of the minimap shows, the first that holds


@dataclass
class Block:
    """One block of the page."""

    kind: str  # user | step | abandoned | provider_error
    number: int | None
    row: Row
    marks: dict[str, list[TextMark]] = field(default_factory=dict)  # field -> marks
    descriptor_quotes: list[Quote] = field(default_factory=list)
    onsets: list[str] = field(default_factory=list)
    inside: bool = False  # an anomalous span of the label
    candidates: list[str] = field(default_factory=list)  # onset candidates at this step

    @property
    def anchor(self) -> str | None:
        """The fragment of its address."""
        if self.kind == "step":
            return f"s{self.number}"
        return f"u{self.number}" if self.kind == "user" else None

    def texts(self) -> Iterator[tuple[str, str, str, list[TextMark]]]:
        """(field, word, text, marks) of a step, in reading order."""
        names = ["thinking", "action_text", "reflection_text"]
        after = self.row.get("narration_position") == "after"
        names.insert(2 if after else 1, "narration")
        for name in names:
            if (text := self.row.get(name)) is not None:
                is_reply = name == "action_text" and self.row.get("action_kind") == "reply"
                yield name, "replies" if is_reply else WORDS[name], text, self.marks.get(name, [])


@dataclass(frozen=True)
class Bar:
    """A piece of the minimap: steps `first` to `last` in one colour."""

    first: int
    kind: str
    top: float
    height: float
    title: str


@dataclass(frozen=True)
class Page:
    """What the template renders."""

    trajectory: Row
    blocks: list[Block]
    quotes: list[Quote]
    second_quotes: list[Quote]
    bars: list[Bar]
    map_height: int


def page_of(trajectory: Row, both: bool = False) -> Page:
    """The page of a trajectory as a role may see it; `both`: with the quotes of the second pass."""
    label, second = trajectory.get("label"), trajectory.get("second_label")
    quotes = quotes_of(trajectory, label)
    second_quotes = quotes_of(trajectory, second) if both else []
    marks = marks_by_place(quotes)
    for place, others in marks_by_place(second_quotes, "second").items():
        marks[place] = marks.get(place, []) + others
    blocks = list(in_order(trajectory, label, marks, quotes))
    bars, height = minimap([block for block in blocks if block.kind == "step"])
    return Page(trajectory, blocks, quotes, second_quotes, bars, height)


def in_order(
    trajectory: Row, label: Row | None, marks: dict[Place, list[TextMark]], quotes: list[Quote]
) -> Iterator[Block]:
    """The blocks in reading order."""
    turns = {turn["user_turn"]: turn for turn in trajectory["user_turns"]}
    abandoned = sorted(trajectory.get("abandoned_steps") or [], key=lambda row: row["line"])
    shown: set[int] = set()
    failed_after = (trajectory.get("run") or {}).get("first_provider_error_after")
    candidates = candidate_steps(trajectory.get("onset_candidates") or {})

    def users(until: int) -> Iterator[Block]:
        for number in sorted(turns.keys() - shown):
            if number <= until:
                shown.add(number)
                own = marks.get(("user_turn", number, "user_turn"), [])
                yield Block("user", number, turns[number], {"text": own})

    if failed_after == 0:
        yield provider_error(trajectory)
    for step in trajectory["steps"]:
        number, line = step["step_id"], step.get("first_line")
        while abandoned and line is not None and abandoned[0]["line"] < line:
            yield Block("abandoned", None, abandoned.pop(0))
        yield from users(step["user_turn"] or 0)
        fields = (*WORDS, "action_text")
        yield Block(
            "step",
            number,
            step,
            {name: own for name in fields if (own := marks.get(("step", number, name)))},
            [quote for quote in quotes if quote.field == "descriptor" and quote.step_id == number],
            [words for name, words in ONSETS.items() if label and label[name] == number],
            in_span(label, number),
            candidates.get(number, []),
        )
        if failed_after == number:
            yield provider_error(trajectory)
    for row in abandoned:
        yield Block("abandoned", None, row)
    yield from users(max(turns, default=0))


def provider_error(trajectory: Row) -> Block:
    """The first failed call of the model's provider, in its place."""
    run = trajectory["run"]
    return Block("provider_error", None, {"text": run["first_provider_error"], "count": run["provider_errors"]})


def in_span(label: Row | None, step: int) -> bool:
    """True for a step in an anomalous span."""
    spans = (label or {}).get("segment_spans") or []
    return any(s["start_step"] <= step <= s["end_step"] and s["label"] == "anomalous" for s in spans)


def candidate_steps(candidates: Row) -> dict[int, list[str]]:
    """Step -> the onset candidates at it."""
    steps: dict[int, list[str]] = {}
    for name, step in candidates.items():
        if name.startswith("earliest_") and step is not None:
            steps.setdefault(step, []).append(name.removeprefix("earliest_").removesuffix("_step").replace("_", " "))
    return steps


def minimap(steps: list[Block]) -> tuple[list[Bar], int]:
    """The bars of the minimap and its height. Steps have one height, at most MOST pixels; where they are thinner than a
    pixel, the strongest of a pixel is shown, at least LEAST pixels high."""
    if not steps:
        return [], 0
    each = min(MOST, HEIGHT / len(steps))
    bars: list[Bar] = []
    rows: dict[int, list[tuple[int, str]]] = {}
    for place, block in enumerate(steps):
        rows.setdefault(int(place * each), []).append((block.number or 0, kind_of(block)))
    for top, members in rows.items():
        first, kind = min(members, key=lambda member: rank(member[1]))
        if bars and each < 1 and kind == "plain" and bars[-1].kind == "plain":
            bars[-1] = Bar(bars[-1].first, kind, bars[-1].top, top + max(each, 1) - bars[-1].top, bars[-1].title)
        else:
            high = max(each, LEAST if kind != "plain" else 1)
            bars.append(Bar(first, kind, top, high, f"step {first}: {kind}"))
    return bars, int(each * len(steps)) + 1


def kind_of(block: Block) -> str:
    """What a step shows in the minimap."""
    holds = {
        "onset": bool(block.onsets),
        "span": block.inside,
        "evidence": bool(block.marks or block.descriptor_quotes),
        "error": block.row.get("tool_status") not in (None, "ok", "unknown"),
        "effect": bool(block.row.get("side_effect")),
    }
    return next((name for name in STRONG if holds[name]), "plain")


def rank(kind: str) -> int:
    """The order of kinds, the strongest first."""
    return STRONG.index(kind) if kind in STRONG else len(STRONG)
