"""Pages that put two things side by side: judges, releases, rules; and the reports as tables."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from openclawbench.api import Data
from openclawbench.base.terminal import one_line
from openclawbench.errors import NotFound, OpenClawBenchError, UnreadableInput, UsageError
from openclawbench.inspect.find import rows_of
from openclawbench.inspect.reports import audit_report, table_report
from openclawbench.reports.section import Report
from openclawbench.rules.loading.rule_file import rule_path
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import read_json
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workbench.access import open_trajectory
from openclawbench.workbench.pages.forms import token_of
from openclawbench.workbench.readers.data_folder import DataReader
from openclawbench.workbench.site import Site, answer, attachment_header, href, person_of, render, site_of
from openclawbench.workbench.view.evidence_marks import quotes_of

Row = dict[str, Any]
EXAMPLES = 25  # of each row of a diff
DISAGREEMENTS = 50  # of two judges, on a page
RECORD_COUNTS = {  # count of a diff -> what it counts
    "a": "trajectories before",
    "b": "trajectories after",
    "same": "the same",
    "restamped": "the same but for provenance",
    "changed": "changed",
    "added": "added",
    "removed": "removed",
    "other_key": "under another key",
}
REPORTS = {
    "audit-calibration": "Human verdicts on labels (T36)",
    "audit-events": "Human verdicts on event descriptors (T34)",
    "agreement": "Agreement of two annotation passes",
    "triage": "What Stage A lets escape",
    "conflicts": "Outcomes that contradict the process",
    "coverage": "Coverage of the outcomes",
    "evidence": "The evidence layer in numbers",
    "models": "What each source model did",
    "statistics": "Statistics of the release",
}


def judges(request: Request) -> Response:
    """The two annotation passes: confusion of their labels, and every disagreement with both labels."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    index = site.index()
    both = index.filter(pl.col("second_label").is_not_null() & pl.col("label").is_not_null())
    names = ["normal", "anomalous", "undecided"]
    confusion = [
        {"first pass": first} | {second: both.filter(label=first, second_label=second).height for second in names}
        for first in names
    ]
    differing = both.filter(pl.col("second_pass") == "differs")
    page = page_of_query(request)
    part = differing.slice((page - 1) * DISAGREEMENTS, DISAGREEMENTS)
    rows = []
    for model, name in part.select("source_model", "trajectory_id").iter_rows():
        trajectory = open_trajectory(site.reader, person, model, name)
        labels = {which: trajectory[which] for which in ("label", "second_label")}
        quotes = {which: quotes_of(trajectory, label) for which, label in labels.items()}
        rows.append({"source_model": model, "trajectory_id": name, **labels, "quotes": quotes})
    data = {"both": both.height, "differing": differing.height, "confusion": confusion, "rows": rows, "page": page}
    kappa = report_of(site, "agreement").data()["sections"]["binary"]["facts"] if both.height else None
    return answer(
        request,
        "judges.html",
        data | {"kappa": kappa},
        names=names,
        pages=max(1, -(-differing.height // DISAGREEMENTS)),
    )


def page_of_query(request: Request) -> int:
    """The page that an address asks for."""
    text = request.query_params.get("page", "1")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def difference(request: Request) -> Response:
    """Two releases: what differs, by cause."""
    from openclawbench.release.diff.diff import diff
    from openclawbench.release.diff.markdown import FIELDS, TABLES

    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    before, after = (request.query_params.get(name, "").strip() for name in ("before", "after"))
    default = str(site.reader.path / "release" if isinstance(site.reader, DataReader) else site.reader.path)
    changes, fault = None, ""
    if before:
        try:
            site.other(Path(before))
            changes = diff(Path(before), Path(after or default), EXAMPLES)
        except (UsageError, UnreadableInput) as error:
            if request.state.json:
                raise
            fault = one_line(str(error))
    person.saw_in([pair_of(site, example) for example in examples_of(changes)])
    data = {"before": before, "after": after or default, "difference": changes}
    tables = TABLES | {"fields": ("Fields that differ", FIELDS)}
    return answer(request, "diff.html", data, tables=tables, counts=RECORD_COUNTS, fault=fault)


def examples_of(value: Any) -> Iterator[str]:
    """The examples of a difference: MODEL/ID."""
    if isinstance(value, dict):
        yield from value.get("examples", [])
        value = list(value.values())
    for inner in value if isinstance(value, list) else []:
        yield from examples_of(inner)


def pair_of(site: Site, example: str) -> Row:
    """The key of an example as fields; empty for a trajectory that is not in the folder that is read."""
    try:
        return dict(zip(TRAJECTORY_KEY, site.reader.key_of(example), strict=True))
    except NotFound:
        return {}


def what_if_form(request: Request) -> Response:
    """The rule files, one of them to edit."""
    from openclawbench.inspect.whatif.whatif import KINDS

    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    site.folder  # noqa: B018 -- refused where a release is open
    tried = site.jobs.get(request.query_params.get("edit", ""))
    file = tried.asked["file"] if tried else request.query_params.get("file", "flags.toml")
    if file not in KINDS:
        raise NotFound(f"{file}: is not a rule file that can be replaced. Use one of: {', '.join(KINDS)}.")
    text = tried.asked["text"] if tried else rule_path(file).read_text(encoding="utf-8")
    return answer(request, "whatif.html", {"file": file, "files": list(KINDS), "text": text})


def what_if_start(request: Request, form: FormData) -> Response:
    """Begin a what-if with an edited rule file; its page shows how far it is."""
    from openclawbench.inspect.whatif.whatif import KINDS

    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    token_of(form, person)
    file, text = str(form.get("file")), str(form.get("text", "")).replace("\r\n", "\n")
    if file not in KINDS:
        raise NotFound(f"{file}: is not a rule file that can be replaced.")
    asked = {"file": file, "text": text}
    job = site.jobs.start(f"what if: {file}", person.name, asked, lambda: what_if_steps(site, file, text))
    return RedirectResponse(str(href("/whatif", job.name)), 303)


def what_if_steps(site: Site, file: str, text: str) -> Iterator[tuple[int, int, Any]]:
    """The changes by an edited rule file, after each shard."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_text(text, encoding="utf-8")
        try:
            yield from Data(site.folder.root, run_of(site)).what_if_by_shard([path], examples=8)
        except OpenClawBenchError as error:
            raise UsageError(str(error).replace(f"{folder}/", "")) from error


def what_if_job(request: Request) -> Response:
    """How far a what-if is, and what it found so far."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    job = site.jobs.get(request.path_params["job"])
    if job is None:
        raise NotFound("This what-if is gone: the workbench was started again, or many others have run since.")
    data = {"title": job.title, "done": job.done, "total": job.total, "ended": job.ended, "error": job.error}
    person.saw_in(job.result)
    return answer(request, "whatif_job.html", data | {"result": job.result, "job": job.name})


def what_if_file(request: Request) -> Response:
    """The edited rule file of a what-if, to keep."""
    person_of(request).needs("auditor")
    job = site_of(request).jobs.get(request.path_params["job"])
    if job is None:
        raise NotFound(
            "This what-if is gone, and its file with it: the workbench was started again, or others have run."
        )
    return Response(
        job.asked["text"], media_type="text/plain; charset=utf-8", headers=attachment_header(job.asked["file"])
    )


def what_if_stop(request: Request, form: FormData) -> Response:
    """Stop a what-if; what it found stays."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    token_of(form, person)
    job = site.jobs.get(request.path_params["job"])
    if job is not None:
        job.stopping.set()
    return RedirectResponse(str(href("/whatif", request.path_params["job"])), 303)


def report(request: Request) -> Response:
    """One report as tables."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    name = request.path_params["name"].removesuffix(".json")
    if name not in REPORTS:
        raise NotFound(f"{name}: there is no such report. There are: {', '.join(REPORTS)}.")
    try:
        content = released_statistics(site) if name == "statistics" else report_of(site, name).data()
    except NotFound as error:
        if request.state.json:
            raise
        content = {"about": one_line(str(error)), "sections": {}}
    person.saw_in(content)
    if request.state.json:
        return JSONResponse(content)
    names = REPORTS if site.desk else {"statistics": REPORTS["statistics"]}
    return render(request, "report.html", title=REPORTS[name], name=name, report=content, names=names)


def released_statistics(site: Site) -> Row:
    """statistics.json of the release."""
    root = site.reader.path / "release" if isinstance(site.reader, DataReader) else site.reader.path
    document = read_json(root / "statistics.json")
    if not isinstance(document, dict):
        raise NotFound(f"{root}: has no statistics.json. Make a release: `openclawbench release`.")
    return document


def report_of(site: Site, name: str) -> Report:
    """A report made now. NotFound with the command that makes what it needs."""
    folder = site.folder
    if name in ("audit-calibration", "audit-events"):
        audit = audit_report(name.removeprefix("audit-"), folder)
        if audit is None:
            raise NotFound(
                f"{folder.root}: nothing has been reviewed. Draw a sample on the page Reviews, and review it."
            )
        return audit
    run = last_run_of(site)
    return table_report(name, run, lambda record: rows_of(run, record))


def run_of(site: Site) -> Run:
    """What is up to date now: what-if compares with the rules in force."""
    assert isinstance(site.reader, DataReader)
    return site.reader.looked_at()


def last_run_of(site: Site) -> Run:
    """What the last run made, as the other pages show it, with its inputs."""
    assert isinstance(site.reader, DataReader)
    return site.reader.with_inputs()
