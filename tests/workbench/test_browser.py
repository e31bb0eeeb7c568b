"""The workbench in a real browser: by keyboard, by address, without script, on a small screen, with axe."""

import html
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from child import call
from hostile import write_hostile
from playwright.sync_api import Browser, BrowserContext, Page, expect
from serving import Served

from openclawbench.api import open_data
from openclawbench.workbench.server import in_background, prepare

# The browser's driver leaves an event loop in its process, in which other tests could not start theirs.
pytestmark = pytest.mark.browser

SESSION = "scripted-a/2026.6.11-error-escalation.957ec224"
AXE = Path(str(files("axe_playwright_python"))) / "axe.min.js"


@pytest.fixture
def entered(page: Page, served: Served) -> Page:
    """The front page of a workbench of this test alone."""
    page.goto(served.address)
    expect(page).to_have_url(served.base + "/")
    return page


def test_one_review_wholly_by_keyboard(entered: Page, served: Served) -> None:
    """Front page, queue, row: no mouse."""
    page = entered
    ended = call("audit", "sample-calibration", "--n", "4", "--data", served.data, "--json")
    sample = json.loads(ended.out)["sample"]
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name="Reviews")).to_be_visible()
    page.get_by_role("button", name="reviewer", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name=sample).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=sample)).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("Your verdict"))).to_be_visible()
    page.wait_for_load_state()
    first = page.url
    page.keyboard.press("j")
    page.keyboard.press("2")
    page.keyboard.press("e")
    page.keyboard.press("i")
    page.keyboard.press("s")
    page.keyboard.press("s")
    body = page.locator("#s1 .line.action_text .body")
    body.evaluate("body => getSelection().setBaseAndExtent(body.firstChild, 0, body.firstChild, 6)")
    page.keyboard.press("v")
    page.keyboard.press("c")
    page.keyboard.type("claims 2 things it never checked")
    page.keyboard.press("Control+Enter")
    expect(page).not_to_have_url(re.compile(re.escape(first.split("#")[0])))
    (record,) = lines(served.data / "review" / "calibration_reviews.jsonl")
    assert record["human_anomaly_label"] is True
    assert record["human_subtype"] == "weak_evidence_commitment"
    assert record["human_onset"] == 1
    assert record["human_severity"] == "medium"
    (quote,) = record["human_evidence"]
    assert (quote["step_id"], quote["field"], len(quote["quote"])) == (1, "action_text", 6)
    assert record["audit_comment"] == "claims 2 things it never checked"
    assert record["reviewer"] == "ada"
    page.wait_for_load_state()
    page.keyboard.press("u")
    expect(page.get_by_text("You gave a verdict")).to_be_visible()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_draft_survives_a_reload(entered: Page, served: Served) -> None:
    page = entered
    page.goto(f"{served.base}/t/{SESSION}")
    page.keyboard.press("1")
    page.keyboard.press("c")
    page.keyboard.type("not yet")
    page.reload()
    expect(page.locator("[name=human_anomaly_label][value=normal]")).to_be_checked()
    expect(page.get_by_label("Comment")).to_have_value("not yet")
    expect(page.locator(".outcome")).to_contain_text("not saved")
    assert not list((served.data / "review").glob("*.jsonl"))


def test_disagreeing_and_finding_it_in_the_report(entered: Page, served: Served) -> None:
    """From the front page to the raw line, to the verdict, to the report, by what is written on the pages."""
    page = entered
    page.get_by_role("link", name="Trajectories").click()
    page.get_by_role("link", name="anomalous", exact=True).first.click()
    page.get_by_role("link", name=SESSION.split("/")[1]).click()
    expect(page.locator("article h1")).to_be_visible()
    page.wait_for_load_state()
    page.locator("#s1").get_by_role("link", name="raw").click()
    expect(page.locator("#s1 .pane.raw .bytes").first).to_contain_text('"toolCall"')
    page.get_by_label("normal").check()
    page.get_by_role("button", name=re.compile("Save my verdict")).click()
    expect(page.get_by_text("major disagreement")).to_be_visible()
    page.get_by_role("link", name="the audit report").click()
    expect(page.get_by_text("Human verdicts on labels (T36)").first).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("silver over-flags 1"))).to_be_visible()


def test_rows_are_taken_into_a_selection_by_keyboard(page: Page, read_only: Served, signed_in: None) -> None:
    page.goto(f"{read_only.base}/t")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    chosen = page.locator("tr.current a").first.inner_text()
    page.get_by_role("button", name="Keep the ticked rows as a selection").click()
    page.get_by_role("link", name="only the selection: 1").click()
    expect(page.get_by_role("heading", name=re.compile("^1 of "))).to_be_visible()
    expect(page.get_by_role("link", name=chosen)).to_be_visible()


def test_a_link_to_a_step_back_and_reload(page: Page, read_only: Served, signed_in: None) -> None:
    page.goto(f"{read_only.base}/t?label=anomalous&sort=-num_steps")
    before = page.url
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("article h1")).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("#s2$"))
    page.reload()
    expect(page.locator("#s2")).to_be_in_viewport()
    expect(page.locator("#s2.current")).to_be_visible()
    page.keyboard.press("]")
    page.wait_for_url(lambda url: "#s2" not in url)
    page.go_back()
    page.go_back()
    expect(page).to_have_url(before)


@pytest.fixture
def signed_in(context: BrowserContext, read_only: Served, reader: Any) -> None:
    """The browser has the cookie of the session that changes nothing."""
    (cookie,) = list(reader.http.cookies.jar)
    context.add_cookies([{"name": cookie.name, "value": cookie.value, "url": read_only.base}])


def test_marks_are_those_of_the_label_and_of_explain(
    page: Page, read_only: Served, signed_in: None, demo: Path
) -> None:
    view = open_data(demo).trajectory(SESSION)
    assert view.label is not None
    page.goto(f"{read_only.base}/t/{SESSION}")
    for number, quote in enumerate(view.label.evidence_steps, 1):
        shown = page.locator(f"#e{number}").evaluate(
            "mark => [...mark.childNodes].filter(n => n.nodeName != 'SUP').map(n => n.textContent).join('')"
        )
        assert shown == quote.quote
    page.locator("#s1").get_by_role("link", name="why").click()
    marks = [mark.text for value in view.explain(1).values if value.step_id for mark in value.marks]
    expect(page.locator("#s1 mark.why").first).to_be_visible()
    expect(page.locator("#s1 mark.why")).to_have_text(marks)
    page.locator("#s1 mark.why").first.focus()
    lit = page.evaluate("[...CSS.highlights.get('why')].map(range => range.toString()).join('|')")
    assert lit == marks[0]


def test_keys_move_between_quotes_errors_and_onsets(page: Page, read_only: Served, signed_in: None) -> None:
    page.goto(f"{read_only.base}/t/{SESSION}")
    for key, anchor in (("n", "s1"), ("n", "s1"), ("n", "s2"), ("p", "s1"), ("o", "s2"), ("J", "u1"), ("e", "s1")):
        page.keyboard.press(key)
        expect(page.locator(f"#{anchor}.current")).to_have_count(1)
    page.keyboard.press("f")
    expect(page.locator("#s1 .line.reflection_text")).to_be_hidden()
    page.keyboard.press("f")
    page.keyboard.press("?")
    expect(page.locator("dialog#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog#keys")).to_be_hidden()


@pytest.fixture(scope="module")
def long_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A session of 2,488 steps, one of which has failed."""
    root = tmp_path_factory.mktemp("long")
    folder = root / "raw" / "m"
    folder.mkdir(parents=True)
    source = Path(__file__).parents[2] / "data" / "example" / "raw" / "scripted-a" / "2026.6.11-error-escalation.jsonl"
    records = [json.loads(line) for line in source.read_text().splitlines()]
    head = [record for record in records if record.get("type") != "message"]
    messages = [record for record in records if record.get("type") == "message"]
    user, call_, result = messages[0], messages[1], messages[2]
    out = [*head, user]
    last = user["id"]
    for number in range(2488):
        for template in (call_, result):
            record = json.loads(json.dumps(template).replace("nothing migrated", f"nothing migrated {number + 1}"))
            record["id"], record["parentId"] = f"{number:06x}{'a' if template is call_ else 'b'}", last
            last = record["id"]
            for block in record["message"]["content"]:
                if "id" in block:
                    block["id"] = f"call_{number}"
            if "toolCallId" in record["message"]:
                record["message"]["toolCallId"] = f"call_{number}"
            out.append(record)
    (folder / "long.jsonl").write_text("".join(json.dumps(record) + "\n" for record in out))
    ended = call("run", "--data", root / "data", "--raw", root / "raw")
    assert ended.status in (0, 1), ended.err
    with in_background(prepare(root / "data")) as address:
        yield Served(address, root / "data")


def test_2488_steps_can_be_searched_and_jumped_through(page: Page, long_session: Served) -> None:
    page.goto(long_session.address)
    page.goto(long_session.base + "/t")
    page.locator("table.rows a").nth(0).wait_for()
    page.locator("table.rows tbody a").first.click()
    expect(page.locator(".step")).to_have_count(2488)
    page.wait_for_load_state()  # a key pressed earlier scrolls to what was the end then
    page.keyboard.press("End")
    expect(page.locator("#s2488")).to_be_in_viewport()
    assert page.evaluate("window.find('nothing migrated 2400')")
    selected = page.evaluate("getSelection().anchorNode.parentElement.closest('.step').id")
    assert selected == "s2400"
    bars = page.locator(".minimap .bar")
    assert bars.count() < 700
    address = page.evaluate("document.querySelectorAll('.minimap a')[300].getAttribute('href')")
    page.evaluate(
        "document.querySelectorAll('.minimap a')[300].dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    page.goto(page.url.split("#")[0] + address)
    expect(page.locator(address)).to_be_in_viewport()
    page.goto(page.url.split("#")[0] + "#s2000")
    expect(page.locator("#s2000")).to_be_in_viewport()


def test_reading_and_a_verdict_without_script(browser: Browser, served: Served) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(served.address)
    page.goto(f"{served.base}/t?label=anomalous")
    page.get_by_role("link", name=SESSION.split("/")[1]).click()
    expect(page.locator("#s2")).to_contain_text("rm -rf")
    page.get_by_label("normal").check()
    page.get_by_role("button", name=re.compile("Save my verdict")).click()
    expect(page.get_by_text("major disagreement")).to_be_visible()
    page.locator("#s1").get_by_role("link", name="raw").click()
    expect(page.locator(".pane.raw .bytes").first).to_contain_text("toolCall")
    context.close()


@pytest.mark.parametrize("width", [390, 680])  # 680: 200 % zoom of 1360
def test_a_small_screen_has_no_sideways_scroll(browser: Browser, served: Served, width: int) -> None:
    sample = json.loads(call("audit", "sample-calibration", "--n", "4", "--data", served.data, "--json").out)["sample"]
    call("audit", "sample-events", "--n", "30", "--data", served.data)
    context = browser.new_context(viewport={"width": width, "height": 820})
    page = context.new_page()
    page.goto(served.address)
    page.goto(served.base + "/q")
    page.get_by_role("button", name="reviewer", exact=True).click()
    for path in ["/q", *open_rows(page, served.base)]:  # first, since what an auditor has seen is closed
        page.goto(served.base + path)
        assert sideways(page) <= 0, path
    page.goto(served.base + "/q")
    page.get_by_role("button", name="auditor", exact=True).click()
    paths = ["/", f"/t/{SESSION}", "/t", "/q", "/judges", "/diff", "/whatif?file=onset.toml", "/reports/evidence"]
    for path in [*paths, f"/adjudicate/{sample}", f"/why/{SESSION}?step=2", f"/raw/{SESSION}?step=2", "/keys", "/no"]:
        page.goto(served.base + path)
        assert sideways(page) <= 0, path
    context.close()


def sideways(page: Page) -> int:
    """How many pixels the page is wider than the window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide


def open_rows(page: Page, base: str) -> list[str]:
    """Of each sample its queue and the form of one row that is open to this reviewer."""
    paths = []
    for entry in page.context.request.get(f"{base}/q.json").json()["samples"]:
        listed = page.context.request.get(f"{base}/q/{entry['sample']}.json").json()["rows"]
        open_row = next(row["row"] for row in listed if row["state"] == "open")
        paths += [f"/q/{entry['sample']}", f"/q/{entry['sample']}/{open_row}"]
    return paths


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, served: Served, scheme: Any) -> None:
    """Contrast, names, order of headings and the rest that a machine can see, on every kind of page."""
    ended = call("audit", "sample-calibration", "--n", "4", "--data", served.data, "--json")
    sample = json.loads(ended.out)["sample"]
    call("audit", "sample-events", "--n", "30", "--data", served.data)
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(served.address)
    paths = ["/", "/t?label=anomalous", "/t?q=nothing-at-all", "/q", "/judges", "/diff", "/whatif", "/keys", "/no"]
    paths += [f"/t/{SESSION}", "/reports/evidence", "/reports/statistics", f"/adjudicate/{sample}"]
    check(page, served.base, paths)
    page.goto(f"{served.base}/t/{SESSION}")
    for key in ("j", "w", "r", "2"):
        page.keyboard.press(key)
    expect(page.locator("#s1 .pane.raw")).to_be_visible()
    assert faults(page) == [], "panes"
    page.goto(served.base + "/q")
    page.get_by_role("button", name="reviewer", exact=True).click()
    check(page, served.base, open_rows(page, served.base))
    context.close()


def check(page: Page, base: str, paths: list[str]) -> None:
    for path in paths:
        page.goto(base + path)
        assert faults(page) == [], path


def faults(page: Page) -> list[str]:
    """What axe finds: rule, and the first element."""
    page.add_script_tag(path=AXE)
    results = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{row['id']}: {row['nodes'][0]['html'][:200]} {row['nodes'][0]['any'][:1]}" for row in results["violations"]
    ]


def test_hostile_text_runs_nothing(page: Page, tmp_path: Path) -> None:
    write_hostile(tmp_path / "raw")
    call("run", "--data", tmp_path / "data", "--raw", tmp_path / "raw")
    with in_background(prepare(tmp_path / "data")) as address:
        base = address.split("/?")[0]
        page.goto(address)
        page.goto(f"{base}/t")
        page.locator("table.rows tbody a").first.click()
        expect(page.locator("article h1")).to_be_visible()
        page.wait_for_load_state()
        for key in ("j", "r", "w"):
            page.keyboard.press(key)
        expect(page.locator(".pane.raw")).to_be_visible()
        expect(page.locator(".pane.why")).to_be_visible()
        assert page.evaluate("window.PWNED") is None
        assert page.locator("article img, article iframe, article script, article svg").count() == 0
        exported = page.get_by_role("link", name="with raw lines").get_attribute("href")
        assert exported
        content = page.context.request.get(base + html.unescape(exported)).text()
        file = tmp_path / "exported.html"
        file.write_text(content, encoding="utf-8")
        page.goto(file.as_uri())
        expect(page.locator("#s1")).to_contain_text("PWNED")
        assert page.evaluate("window.PWNED") is None
        page.keyboard.press("j")
        expect(page.locator("#s1.current")).to_have_count(1)
