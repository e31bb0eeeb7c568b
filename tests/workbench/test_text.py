"""Untrusted text as HTML: what is marked, folded and written out."""

import re

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from openclawbench.base.terminal import safe
from openclawbench.workbench.site import HERE, TEMPLATES
from openclawbench.workbench.view.evidence_marks import ABSENT, RESPELLED, VERBATIM, in_text
from openclawbench.workbench.view.html_text import TextMark, mark_text, middle, visible
from openclawbench.workbench.view.page_model import Block, minimap

TAG = re.compile(r"<[^>]*>")


def plain(html: Markup) -> str:
    """What a person reads."""
    return Markup(TAG.sub("", html)).unescape()


def test_control_characters_are_written_out() -> None:
    html = visible("a\u202egpj.exe\x1b]8;;x\x07 \x00")
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert plain(html) == safe("a\u202egpj.exe\x1b]8;;x\x07 \x00")


def test_markup_is_text() -> None:
    html = mark_text("<script>x()</script> {{7*7}} </div><img src=x onerror=y()>")
    assert "<script" not in html
    assert "<img" not in html
    assert plain(html) == "<script>x()</script> {{7*7}} </div><img src=x onerror=y()>"


def test_a_template_writes_no_text_as_markup() -> None:
    template = TEMPLATES.from_string("{{ text }}<a title='{{ text | attr }}'>")
    html = template.render(text="<b>\u202e'\"")
    assert html.startswith('&lt;b&gt;<span class="ctl"')
    assert "title='&lt;b&gt;\\u202e&#39;&#34;'" in html


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=4))
def test_marks_leave_the_text_as_it_is(text: str, places: list[tuple[int, int]]) -> None:
    marks = [TextMark(start, end, number) for number, (start, end) in enumerate(places, 1)]
    html = mark_text(text, marks, fold=None)
    numbers = re.sub(r"<sup>\d+</sup>", "", html)
    assert plain(Markup(numbers)) == safe(text)
    inside = [mark for mark in marks if mark.start < mark.end <= len(text)]
    assert html.count("<sup>") == len(inside)
    assert [f'id="e{mark.number}"' in html for mark in inside] == [True] * len(inside)


def test_a_long_text_is_folded_behind_its_last_mark() -> None:
    text = "word " * 2000
    html = mark_text(text, [TextMark(4000, 4004, 1)], fold=1600)
    before, folded = html.split('<details class="more">')
    assert 'id="e1"' in before
    assert "more characters" in folded


def test_a_long_run_is_folded_with_its_length() -> None:
    html = mark_text("see " + "A" * 5000 + " end", fold=None)
    assert "5,000 characters without a space" in html
    assert plain(middle("x" * 100)) == "x" * 21 + "…" + "x" * 21


def test_where_a_quote_stands() -> None:
    assert in_text("one two  three", "two") == (VERBATIM, (4, 7))
    assert in_text("one two\n three", "two three") == (RESPELLED, (4, 14))
    assert in_text("one", "two") == (ABSENT, None)
    assert in_text(None, "two") == (ABSENT, None)
    assert in_text("one", " ") == (ABSENT, None)


def test_the_minimap_keeps_what_is_strong() -> None:
    steps = [Block("step", number, {"tool_status": "ok"}) for number in range(1, 2489)]
    steps[1999] = Block("step", 2000, {"tool_status": "error"})
    bars, height = minimap(steps)
    assert len(bars) < 20
    assert height <= 641
    assert [(bar.first, bar.kind) for bar in bars if bar.kind != "plain"] == [(2000, "error")]
    assert next(bar.height for bar in bars if bar.kind == "error") >= 3
    few, small = minimap(steps[:3])
    assert small <= 3 * 12 + 1
    assert len(few) == 3


def test_the_scripts_are_small() -> None:
    """They are read by whoever audits the workbench."""
    scripts = list((HERE / "static").glob("*.js"))
    assert len(scripts) == 2
    assert sum(path.stat().st_size for path in scripts) <= 10_000
