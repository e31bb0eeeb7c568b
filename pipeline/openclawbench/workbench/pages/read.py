"""Pages to read: overview, list, trajectory, raw records, why, reports, export of one trajectory."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import polars as pl
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from openclawbench.audit.calibration.form import CALIBRATION
from openclawbench.base.spreadsheet import csv_bytes
from openclawbench.errors import NotFound
from openclawbench.release.privacy.gate import Gate
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.workbench.access import explain_drawn, explain_step, open_drawn, open_trajectory
from openclawbench.workbench.export_page import export_page
from openclawbench.workbench.pages.forms import form_context
from openclawbench.workbench.pages.overview import overview_of
from openclawbench.workbench.readers.index import (
    COLUMNS,
    FACETS,
    PAGE,
    TITLES,
    facets,
    in_order,
    neighbours,
    read_query,
    select_rows,
    suggest_filter_removals,
)
from openclawbench.workbench.readers.reader import LABEL
from openclawbench.workbench.site import Address, Site, answer, attachment_header, href, person_of, render, site_of
from openclawbench.workbench.view.page_model import page_of

Row = dict[str, Any]
INDENTED = 200_000  # characters of a raw record that are shown indented too
FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")  # what a downloaded file is not called
NEIGHBOURS = "from"  # parameter of a trajectory's address: the query of the list that one came from


def overview(request: Request) -> Response:
    """The front page; a reviewer or adjudicator goes to the queue."""
    site, person = site_of(request), person_of(request)
    if person.role != "auditor":
        return RedirectResponse("/q", 303)
    return answer(request, "overview.html", overview_of(site))


def trajectories(request: Request) -> Response:
    """The list, its filters in its address."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    pairs = request.query_params.multi_items()
    query = read_query(pairs)
    index = site.index(query)
    rows = select_rows(index, query)
    if request.query_params.get("format") == "ids":
        person.saw(rows)  # the filters may say their label
        keys = in_order(rows, query).select("source_model", "trajectory_id")
        lines = (f"{model}/{name}\n" for model, name in keys.iter_rows())
        return Response("".join(lines), media_type="text/plain; charset=utf-8")
    if request.query_params.get("format") == "csv":
        person.saw(rows)
        return Response(
            csv_of(in_order(rows, query)),
            media_type="text/csv; charset=utf-8",
            headers=attachment_header("trajectories.csv"),
        )
    pages = max(1, -(-rows.height // PAGE))
    page = min(query.page, pages)
    shown = in_order(rows, query, *(() if request.state.json else ((page - 1) * PAGE, PAGE)))
    person.saw(shown)
    data = {
        "total": index.height,
        "matching": rows.height,
        "page": page,
        "pages": pages,
        "rows": shown.to_dicts(),
        "facets": facets(index, rows, query),
    }
    filters = tuple((name, value) for name, value in pairs if value and name not in ("page", "format"))
    context = {
        "query": query,
        "columns": query.columns if "columns" in request.query_params else columns_with_values(index, query.columns),
        "address": Address("/t", filters),
        "all_columns": list(COLUMNS),
        "titles": TITLES,
        "names": FACETS,
        "ways_out": suggest_filter_removals(index, query) if not rows.height else [],
    }
    return answer(request, "list.html", data, **context)


def csv_of(rows: pl.DataFrame) -> bytes:
    """The list for a spreadsheet, as a release would hold its texts. Raises ReleaseBlocked."""
    gate = Gate(PrivacyRules.load(), "trajectories.csv")
    return csv_bytes(rows.columns, ([*row.values()] for row in gate.let_out(rows.to_dicts())))


def columns_with_values(index: pl.DataFrame, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that have any value."""
    return tuple(name for name in columns if index[name].null_count() < index.height)


def trajectory(request: Request) -> Response:
    """One trajectory with its label."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    key = key_of(request, site)
    row = open_trajectory(site.reader, person, *key)
    against = request.query_params.get("against")
    both = against is not None or request.query_params.get("pass") == "both"
    title = "Second pass"
    if against is not None:
        compared = site.other(Path(against))
        title = f"Label of {compared.path.resolve().name}"
        row = row | {"second_label": compared.trajectory(*key)["label"]}
    page = page_of(row, both)
    differing = label_differences(row["label"], row["second_label"]) if both else []
    reviews = [] if site.desk is None else site.desk.reviews_of(*key)
    data = {"trajectory": row, "reviews": reviews}
    shown = {"other_title": title, "differing": differing, "against": against}
    context = {**shown, "page": page, "both": both, "blind": False, "form": form_context(CALIBRATION.name), "key": key}
    return answer(request, "trajectory.html", data, **context, **list_neighbours(request, site, key))


def label_differences(first: Row | None, second: Row | None) -> list[Row]:
    """The fields in which two labels differ; quotes are marked in the text."""
    if first is None or second is None:
        return []
    return [
        {"field": name, "first": first[name], "second": second[name]}
        for name in (*LABEL, "judge", "judge_model")
        if name not in ("evidence_steps", "repairs") and first[name] != second[name]
    ]


def list_neighbours(request: Request, site: Site, key: tuple[str, str]) -> Row:
    """The trajectories before and after this one in the list that one came from."""
    query_text = request.query_params.get(NEIGHBOURS, "")
    query = read_query(parse_qsl(query_text))
    place, of, keys = neighbours(site.index(query), query, key)
    return {"came_from": query_text, "place": place, "of": of, "before": keys.get("before"), "after": keys.get("after")}


def raw(request: Request) -> Response:
    """The raw records behind a step: exact bytes first, indented JSON second."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    key = key_of(request, site)
    return raw_pane(request, site, key, href("/t", *key))


def why(request: Request) -> Response:
    """Why the values of a step are what they are."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    key = key_of(request, site)
    step = step_of(request)
    return why_pane(request, site, explain_step(site.reader, person, key, step), step, href("/t", *key))


def drawn_raw(request: Request) -> Response:
    """The raw records behind a step of a drawn row."""
    site, drawn = site_of(request), drawn_of(request)
    return raw_pane(request, site, (drawn.source_model, drawn.trajectory_id), href("/q", drawn.sample, drawn.row))


def drawn_why(request: Request) -> Response:
    """Why the values of a step of a drawn row are what they are, without what hints at its label."""
    site, drawn = site_of(request), drawn_of(request)
    step = step_of(request)
    explained = explain_drawn(site.reader, drawn, step)
    return why_pane(request, site, explained, step, href("/q", drawn.sample, drawn.row))


def drawn_of(request: Request) -> Any:
    """The drawn row that an address names, if its trajectory may be opened."""
    site, person = site_of(request), person_of(request)
    person.needs("reviewer", "adjudicator", "auditor")
    drawn = site.reviews.row(request.path_params["sample"], request.path_params["row"])
    open_drawn(site.reader, person, drawn)
    return drawn


def raw_pane(request: Request, site: Site, key: tuple[str, str], back: str) -> Response:
    """The pane of raw records, as a page whose `.pane` the script takes. `back`: the page of the trajectory."""
    step = step_of(request)
    records = site.reader.raw(*key, step)
    for record in records:
        record["text"] = record["content"].decode("utf-8", "backslashreplace")
        record["indented"] = indent_json(record["text"])
    return answer(request, "raw.html", {"records": records}, step=step, back=back)


def why_pane(request: Request, site: Site, explained: Row, step: int, back: str) -> Response:
    """The pane of explanations, its texts with numbered marks."""
    values = list(explained_values(explained))
    changed = sorted(
        name
        for name in site.reader.changed_rules
        if any(name in str((value["rule"] or {}).get("place") or "") for value in values)
    )
    data = {"step": step, "explained": explained, "changed_rules": changed}
    return answer(request, "why.html", data, values=values, back=back)


def explained_values(explained: Row) -> Any:
    """(name, value, rule, marked texts) of each value of a step's explanation."""
    for name in ("event_type", "tool_status", "side_effect"):
        if name in explained:
            yield {"name": name, **explained[name]}
    for target in explained.get("targets", []):
        yield {"name": target["field"], **target}
    for flag in explained.get("flags", []):
        shown = flag["marked"] or flag.get("cause", {}).get("marked", [])
        yield {"name": "flag", **flag, "marked": shown}
    for signal in explained.get("risk", {}).get("signals", []):
        yield {
            "name": "risk signal",
            "value": f"{signal['signal']} {signal['weight']:g}",
            "rule": signal["rule"],
            "marked": [],
        }
    for onset in explained.get("onset", []):
        yield {"name": "onset candidate", "value": onset["candidate"], "rule": onset["rule"], "marked": []}


def indent_json(text: str) -> str | None:
    """JSON with two spaces of indentation; None for what is not JSON, or is long."""
    if len(text) > INDENTED:
        return None
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def key_of(request: Request, site: Site) -> tuple[str, str]:
    """The trajectory that an address names. An id may end in .json."""
    path = request.path_params["path"]
    if path.endswith(".json"):
        try:
            key = site.reader.key_of(path)
        except NotFound:
            request.state.json = True
            return site.reader.key_of(path.removesuffix(".json"))
        request.state.json = False
        return key
    return site.reader.key_of(path)


def step_of(request: Request) -> int:
    """The step that an address names. NotFound for what is not a number."""
    text = request.query_params.get("step", "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise NotFound(f"{text!r} is not the number of a step. Write ?step=1 for the first.")
    return int(text)


def export(request: Request) -> Response:
    """One trajectory as one HTML file."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    model, name = site.reader.key_of(request.path_params["path"].removesuffix(".html"))
    blind = request.query_params.get("blind") == "1"
    if not blind:
        person.opened.add([(model, name)])
    content = export_page(site.reader, model, name, blind=blind, raw=request.query_params.get("raw") == "1")
    return HTMLResponse(content, headers=attachment_header(f"{FILE_NAME.sub('_', name)[:100]}.html"))


def keys(request: Request) -> Response:
    """The page of keys, for those who have no script."""
    return render(request, "keys.html")
