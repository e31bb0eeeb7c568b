"""docs/assets/flow.svg: the commands from raw sessions to a release, and what passes from one to another.

The boxes are placed by hand. Stages and arrows are checked against flow.py: each stage belongs to a box, and an arrow
stands only where a command reads a table that the other one writes.
"""

from dataclasses import dataclass
from html import escape

from openclawbench.flow import VERBS, stages_up_to

WIDTH, HEIGHT = 980, 400
BOX_WIDTH, BOX_HEIGHT = 148, 64
FONT = "ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
COLOURS = {"input": "#e8eaed", "process": "#dceafb", "context": "#fdebd0", "label": "#d9f2e3", "output": "#e8eaed"}


@dataclass(frozen=True)
class Box:
    """A command, an input or the output: its place and what it says."""

    x: int
    y: int
    kind: str
    title: str
    text: str


BOXES = {
    "raw": Box(16, 168, "input", "raw sessions", "any mix of formats"),
    "normalize": Box(208, 168, "process", "normalize", "steps, user turns"),
    "enrich": Box(400, 168, "process", "enrich", "event descriptors"),
    "packet": Box(592, 168, "process", "packet", "what the judge reads"),
    "annotate": Box(784, 168, "label", "annotate", "FullTax A, B1, B2, C"),
    "oracle": Box(16, 40, "input", "task outcomes", "optional"),
    "fuse": Box(208, 40, "context", "fuse", "join the outcomes"),
    "slice": Box(400, 40, "context", "slice", "process-risk score"),
    "onset": Box(592, 40, "context", "onset", "where it may begin"),
    "merge": Box(784, 296, "label", "merge", "one record each"),
    "release": Box(592, 296, "output", "release", "files, splits, card"),
    "validate": Box(400, 296, "output", "validate", "derive it all again"),
}
ARROWS = (
    *(("raw", "normalize"), ("normalize", "enrich"), ("enrich", "packet"), ("packet", "annotate")),
    *(("oracle", "fuse"), ("normalize", "fuse"), ("fuse", "slice"), ("enrich", "slice"), ("slice", "onset")),
    *(("onset", "packet"), ("annotate", "merge"), ("merge", "release"), ("release", "validate")),
)
OUTSIDE = {("raw", "normalize"), ("oracle", "fuse"), ("release", "validate")}  # what no stage of flow.py does


def stages_of_commands() -> dict[str, list[str]]:
    """Command -> the stages that it adds to those of the commands before it."""
    stages: dict[str, list[str]] = {}
    for verb in VERBS:
        if not verb.startswith("stage-"):
            earlier = {name for names in stages.values() for name in names}
            stages[verb] = [stage.name for stage in stages_up_to(verb) if stage.name not in earlier]
    return stages


def links_between_commands() -> set[tuple[str, str]]:
    """(command, command): the second reads a table that the first writes."""
    command = {stage: verb for verb, stages in stages_of_commands().items() for stage in stages}
    flow = stages_up_to("release")
    writer = {record: command[stage.name] for stage in flow for record in stage.writes}
    reads = {(writer.get(record), command[stage.name]) for stage in flow for record in stage.reads.values()}
    return {(first, second) for first, second in reads if first and first != second}


def arrow(first: Box, second: Box) -> str:
    """A straight arrow from the edge of one box to the edge of another."""
    if first.y == second.y:
        forward = second.x > first.x
        x1 = first.x + (BOX_WIDTH if forward else 0)
        x2 = second.x + (-4 if forward else BOX_WIDTH + 4)
        y1 = y2 = first.y + BOX_HEIGHT // 2
    else:
        down = second.y > first.y
        x1 = first.x + BOX_WIDTH // 2
        x2 = second.x + BOX_WIDTH // 2
        y1 = first.y + (BOX_HEIGHT if down else 0)
        y2 = second.y + (-4 if down else BOX_HEIGHT + 4)
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#5f6368" stroke-width="1.5" marker-end="url(#tip)"/>'


def box(shape: Box) -> str:
    """A box with its two lines of text."""
    middle = shape.x + BOX_WIDTH // 2
    return (
        f'<rect x="{shape.x}" y="{shape.y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8" '
        f'fill="{COLOURS[shape.kind]}" stroke="#9aa0a6"/>\n'
        f'<text x="{middle}" y="{shape.y + 27}" font-size="16" font-weight="600">{escape(shape.title)}</text>\n'
        f'<text x="{middle}" y="{shape.y + 48}" font-size="13">{escape(shape.text)}</text>'
    )


def picture() -> str:
    """The SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="{FONT}" text-anchor="middle" fill="#202124">',
        "<title>From raw sessions to a release</title>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L10 5L0 10z" fill="#5f6368"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>',
        '<text x="400" y="24" font-size="13" fill="#8a5a00" text-anchor="start">'
        "context: says where to look first, never what is anomalous</text>",
        *(arrow(BOXES[first], BOXES[second]) for first, second in ARROWS),
        *map(box, BOXES.values()),
        '<text x="16" y="320" font-size="13" fill="#1e6b3c" text-anchor="start">'
        "labels come from the process evidence alone:</text>",
        '<text x="16" y="340" font-size="13" fill="#1e6b3c" text-anchor="start">'
        "checks, repairs and tiers never see an outcome</text>",
        '<text x="16" y="360" font-size="13" fill="#1e6b3c" text-anchor="start">or a risk score</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
