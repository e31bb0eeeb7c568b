"""A report as files: what comes from a session stays text in Markdown, JSON and pictures; the bytes are the same."""

import json
import re
import unicodedata
from functools import partial

import pytest

from openclawbench.reports import plots
from openclawbench.reports.files import as_files, as_json
from openclawbench.reports.markdown import code, render
from openclawbench.reports.section import BY_MODEL, Report, Section

HOSTILE = [
    "a|b",
    "`code` **bold** <script>alert(1)</script>",
    "[link](http://evil.example) ![image](x)",
    "line\nbreak\ttab\r",
    "\x1b[31mred\x1b[0m \x07 \x9b2J",
    "\u202egpj.exe \u2028 \u200b",
    "ends with a backslash\\",
    "\\|",
    "$\\frac{1}{0$",
    "查询工具",
    "",
    "   ",
    "x" * 500,
]


def hostile_report() -> Report:
    """A report whose tool and model names try everything."""
    models = {name: place for place, name in enumerate(HOSTILE)}
    rows = [{"tool": name, "steps": 3, BY_MODEL: models} for name in HOSTILE]
    draw = partial(picture, [(name, 3) for name in HOSTILE])
    section = Section("tools", "Tools", "about", {"tool": "t", "steps": "s", BY_MODEL: "m"}, rows, plot=draw)
    return Report("hostile", "Title", "about", [section])


def picture(rows: list[tuple[str, int]]) -> object:
    figure, (axes,) = plots.new_figure(6, 4)
    plots.bars(axes, [name for name, _ in rows], [n for _, n in rows], ["3"] * len(rows), "Tools")
    return figure


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return as_files(hostile_report())


def cells(line: str) -> list[str]:
    """Cells of a line of a table, as the Markdown that hosts read splits them."""
    return re.split(r"(?<!\\)\|", line.strip().strip("|"))


def test_every_line_of_a_table_has_its_cells_whatever_stands_in_them() -> None:
    text = render(hostile_report(), {})
    table = [line for line in text.split("\n") if line.startswith("|")]
    assert len(table) == len(HOSTILE) + 2
    assert {len(cells(line)) for line in table} == {len(HOSTILE) + 2}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_of_a_session_is_one_code_span(text: str) -> None:
    shown = code(text)
    assert re.fullmatch(r"`[^`|\n]+`|\(blank\)", shown)
    assert not {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    assert len(shown) < 400


def test_the_names_are_whole_in_the_json_and_harmless_on_a_terminal(files: dict[str, bytes]) -> None:
    document = json.loads(files["hostile.json"])
    assert [row["tool"] for row in document["sections"]["tools"]["rows"]] == HOSTILE
    assert as_json({"x": "\x7f\u202e"}).isascii()
    assert "\x7f" not in as_json({"x": "\x7f"})


def test_the_same_numbers_give_the_same_bytes(files: dict[str, bytes]) -> None:
    assert set(files) == {"hostile.md", "hostile.json", "tools.png", "tools.svg"}
    assert as_files(hostile_report()) == files


def test_a_picture_carries_no_date_and_draws_names_as_text_not_as_mathematics(files: dict[str, bytes]) -> None:
    drawn = files["tools.svg"].decode()
    assert "<dc:date>" not in drawn
    assert "<script" not in drawn
    assert files["tools.png"].startswith(b"\x89PNG")
    assert plots.label("$x$") == "$x$"
    assert plots.label("查") == "\\u67e5"


def test_definitions_and_left_out_rows_stand_in_the_markdown() -> None:
    section = Section(
        "n", "Name", "about", {"tool": "what it is", "failed_share": "of what"},
        [{"tool": "a", "failed_share": 0.5}, {"tool": "b", "failed_share": None}, {"tool": "c", "failed_share": 1.0}],
        {"some_share": 0.25}, {"some_share": "Of everything."}, shown=2,
    )  # fmt: skip
    text = render(Report("r", "Title", "about", [section]), {"n": "n.svg"})
    assert "- **some share: 25.00 %**. Of everything." in text
    assert "| `a` | 50.00 % |" in text
    assert "| `b` | – |" in text
    assert "and 1 more rows" in text
    assert "- `failed_share`: of what" in text
    assert "![Name](n.svg)" in text
