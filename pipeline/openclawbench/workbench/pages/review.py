"""Pages on which people give verdicts: queues, the form of a row, adjudication, and what one sends with them."""

import json
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from openclawbench.audit.calibration.form import CALIBRATION, EVIDENCE, evidence_lines
from openclawbench.audit.calibration.sample import draw
from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.check import Form
from openclawbench.errors import DataFolderLocked, NotFound, UsageError
from openclawbench.protocol.sections import documents
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.workbench.access import Person, Refused, open_drawn, open_trajectory
from openclawbench.workbench.desk import Desk, QueueRow
from openclawbench.workbench.pages.forms import answers_sent, form_context, token_of, wants_json
from openclawbench.workbench.review_log import SubmitResult, answers_of
from openclawbench.workbench.site import Site, answer, href, person_of, render, site_of
from openclawbench.workbench.view.page_model import page_of

Row = dict[str, Any]
EVENT_WORDS = {  # answers of an event review (paper T33, and own choice for the step itself)
    "missing": "the descriptor leaves out something that the step did",
    "over specific": "it says more than the step shows",
    "under specific": "it says less than the step shows",
    "wrong category": "the event type is another one",
    "ambiguous": "the step can be read in more than one way",
    "wrong step": "calls, results or texts are put together that do not belong together",
    "missing step": "a step beside this one was left out",
    "surplus step": "this is not a step of its own",
    "wrong turn kind": "what is shown as the user's words are not, or the other way round",
    "wrong trajectory": "the step belongs to another session",
    "auto flags": "signs that rules found in the text, which direct attention and decide nothing",
}


def queues(request: Request) -> Response:
    """The samples, with this person's progress."""
    site, person = site_of(request), person_of(request)
    return answer(request, "queues.html", {"samples": site.reviews.progress(person.name)})


def queue(request: Request) -> Response:
    """The rows of a sample in this person's order; without one, the next open row."""
    site, person = site_of(request), person_of(request)
    person.needs("reviewer", "auditor", "adjudicator")
    sample = request.path_params["sample"]
    rows = site.reviews.queue(sample, person.name)
    shown = [
        {
            "row": entry.drawn.row,
            "place": entry.drawn.trajectory_id,
            "source_model": entry.drawn.source_model,
            "step_id": getattr(entry.drawn, "step_id", None),
            "num_steps": getattr(entry.drawn, "num_steps", None),
            "state": "seen" if has_seen(person, entry) else entry.state,
            "reviewed_at": entry.mine.reviewed_at if entry.mine else None,
        }
        for entry in rows
    ]
    following = next((row["row"] for row in shown if row["state"] == "open"), None)
    form = site.reviews.form_of(sample).name
    blind = any(getattr(entry.drawn, "blind", False) for entry in rows)
    data = {"sample": sample, "rows": shown, "next": following}
    return answer(request, "queue.html", data, form=form, blind=blind)


def has_seen(person: Person, entry: QueueRow) -> bool:
    """True for a blind row whose label this person has seen: on a page, or after settling it."""
    if entry.settled:
        return True
    key = entry.drawn.source_model, entry.drawn.trajectory_id
    return entry.mine is None and getattr(entry.drawn, "blind", False) and key in person.opened


def review_row(request: Request) -> Response:
    """One row of a sample: its trajectory as the reviewer may see it, and the form."""
    site, person = site_of(request), person_of(request)
    sample, row = request.path_params["sample"], request.path_params["row"]
    return drawn_page(request, site, person, sample, row)


def drawn_page(
    request: Request,
    site: Site,
    person: Person,
    sample: str,
    row: str,
    fault: str | None = None,
    sent: Row | None = None,
) -> Response:
    """The page of a row; after a fault with the answers that were sent."""
    person.needs("reviewer", "auditor", "adjudicator")
    desk = site.reviews
    record = desk.row(sample, row)
    form = desk.form_of(sample)
    entry = desk.queue_row(form, record, person.name)
    not_settled(entry)
    mine = entry.mine
    rows = desk.queue(sample, person.name)
    place = next(index for index, entry in enumerate(rows) if entry.drawn.row == row)
    finished = sum(entry.state == "done" for entry in rows)
    gone = None
    try:
        trajectory = open_drawn(site.reader, person, record)
    except NotFound as error:
        gone, trajectory = str(error), None
    context = {
        "drawn": record,
        "page": page_of(trajectory) if trajectory else None,
        "gone": gone,
        "form": form_context(form.name),
        "answers": sent or filled_in(form, mine),
        "mine": mine,
        "fault": fault,
        "place": place + 1,
        "of": len(rows),
        "done": finished,
        "last": saved_last(desk, form, sample, request.query_params.get("last"), person),
        "taxonomy": Taxonomy.load().subtypes,
        "protocol": protocol_help(),
        "meanings": EVENT_WORDS,
    }
    status = 422 if fault else 200
    template = "verdict.html" if form is CALIBRATION else "event.html"
    shown = {"sample": sample, "row": row, "trajectory": trajectory}
    if request.state.json:
        return answer(request, template, shown)
    return render(request, template, status, **shown, **context)


def protocol_help() -> list[tuple[str, list[str]]]:
    """Heading and sentences of each part of the protocol that people judge by: the words that judges get. The subtypes
    are beside it, so their table is left out."""
    values = Taxonomy.load().tables() | {"subtypes": ""}
    return [
        (part.heading, [section.prose(values).removeprefix("- ").replace("**", "") for section in part.sections])
        for part in documents()["guide"].parts
    ]


def saved_last(desk: Desk, form: Form[Any, Any], sample: str, row: str | None, person: Person) -> Row | None:
    """The row that this person has just saved, with the answers; None if they have saved no row."""
    if row is None:
        return None
    try:
        mine = desk.queue_row(form, desk.row(sample, row), person.name).mine
    except NotFound:
        return None
    return None if mine is None else {"row": row, "said": verdict_words(mine)}


def verdict_words(review: Any) -> str:
    """A verdict in a few words."""
    if not hasattr(review, "human_anomaly_label"):
        return "supported" if review.is_supported else str(review.error_type or "not supported")
    label = review.human_anomaly_label
    if not label:
        return "unresolved" if label is None else "normal"
    onset = f"onset step {review.human_onset}" if review.human_onset else "no onset"
    return f"anomalous, {review.human_subtype or 'no subtype'}, {onset}, {review.human_severity or 'no severity'}"


def filled_in(form: Form[Any, Any], review: Any | None) -> Row:
    """The answers of a record as its form has them; empty for None."""
    if review is None:
        return {}
    answers = answers_of(review, form.answers)
    return answers | {EVIDENCE: evidence_lines(review.human_evidence)} if EVIDENCE in answers else answers


def submit(request: Request, form: FormData) -> Response:
    """A verdict on a drawn row; then the next open row."""
    site, person = site_of(request), person_of(request)
    person.needs("reviewer", "auditor", "adjudicator")
    sample, row = request.path_params["sample"], request.path_params["row"]
    fault, saved = "", None
    try:
        token_of(form, person)
        record = site.reviews.row(sample, row)
        open_drawn(site.reader, person, record)
        not_settled(site.reviews.queue_row(site.reviews.form_of(sample), record, person.name))
        answers = answers_sent(form, site.reviews.form_of(sample).answers)
        saved = site.reviews.submit(sample, row, answers, person.name)
    except (DataFolderLocked, OSError) as error:
        fault = f"Not saved: {words_of(error)}. The form is as you filled it; send it again."
    if saved is not None:
        fault = fault_of(saved)
    if wants_json(request):
        body = outcome(saved, fault) | {"next": next_row(site, person, sample)}
        if saved is not None and getattr(saved.review, "blind", False):
            body["status"] = None  # whether a verdict agrees with the label says what the label is
        return JSONResponse(body, 422 if fault else 200)
    if fault:
        return drawn_page(request, site, person, sample, row, fault, dict(form))
    following = next_row(site, person, sample)
    address = href("/q", sample, *([following] if following else []), last=row)
    return RedirectResponse(str(address).replace("&amp;", "&"), 303)


def next_row(site: Site, person: Person, sample: str) -> str | None:
    """The next open row of this person."""
    rows = site.reviews.queue(sample, person.name)
    return next((entry.drawn.row for entry in rows if entry.state == "open" and not has_seen(person, entry)), None)


def disagree(request: Request, form: FormData) -> Response:
    """A verdict of an auditor on the trajectory in sight: recorded as not blind, in the sample of chosen ones."""
    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    model, name = site.reader.key_of(request.path_params["path"])
    fault, saved = "", None
    try:
        token_of(form, person)
        record = record_of(open_trajectory(site.reader, person, model, name))
        saved = site.reviews.submit_chosen(record, answers_sent(form, CALIBRATION.answers), person.name)
    except (DataFolderLocked, OSError, UsageError) as error:
        fault = f"Not saved: {words_of(error)}"
    if saved is not None:
        fault = fault_of(saved)
    if wants_json(request):
        return JSONResponse(outcome(saved, fault), 422 if fault else 200)
    if fault:
        return render(request, "error.html", 422, title="Not saved", message=fault, advice=None)
    return RedirectResponse(str(href("/t", model, name)).replace("&amp;", "&") + "#verdicts", 303)


def record_of(trajectory: Row) -> Row:
    """A labelled trajectory with the fields of a released record. UsageError without a label."""
    label = trajectory["label"]
    if label is None:
        raise UsageError("it has no label yet. Run `openclawbench annotate`.")
    return {**trajectory, **label, "slice_label": (trajectory["risk"] or {}).get("slice_label")}


def fault_of(saved: SubmitResult[Any]) -> str:
    """Why a form was not recorded; empty if it was."""
    if saved.review is not None:
        return ""
    return f"Not saved: {saved.fault.message}." if saved.fault else "Not saved: nothing is filled in."


def outcome(saved: SubmitResult[Any] | None, fault: str) -> Row:
    """What became of a form, as the script reads it."""
    if fault or saved is None:
        return {"saved": False, "fault": fault}
    words = (
        "already on record"
        if saved.already
        else "saved, on disk; the earlier one stays"
        if saved.replaces
        else "saved, on disk"
    )
    return {"saved": True, "words": words, "status": getattr(saved.review, "agreement_status", None)}


def words_of(error: Exception) -> str:
    """An error as a sentence without its end."""
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return words.rstrip(".")


def adjudication(request: Request) -> Response:
    """The disputed rows of a sample."""
    site, person = site_of(request), person_of(request)
    person.needs("adjudicator", "auditor")
    sample = request.path_params["sample"]
    disputed = site.reviews.disputed(sample)
    rows = [
        {
            "row": row.row,
            "trajectory_id": row.trajectory_id,
            "source_model": row.source_model,
            "verdicts": hidden(people),
        }
        for row, people in disputed
    ]
    people = sorted({r.reviewer for r in site.reviews.logs[CALIBRATION.name].refresh() if r.sample == sample})
    return answer(request, "adjudicate.html", {"sample": sample, "rows": rows, "reviewers": len(people)})


def hidden(reviews: list[Any]) -> list[Row]:
    """Verdicts as A, B, … without names and times."""
    names = ("human_anomaly_label", "human_subtype", "human_onset", "human_severity", "human_recoverability",
             "human_evidence", "evidence_supported", "audit_comment")  # fmt: skip
    return [
        {"seat": chr(65 + place), "answers": as_filled_in(review)} | {name: getattr(review, name) for name in names}
        for place, review in enumerate(reviews)
    ]


def as_filled_in(review: Any) -> str:
    """The answers of a verdict as fields of the form, as JSON: for an adjudicator who takes them over."""
    label = review.human_anomaly_label
    answers = {
        "human_anomaly_label": "unresolved" if label is None else "anomalous" if label else "normal",
        "human_subtype": review.human_subtype,
        "human_onset": review.human_onset,
        "human_severity": review.human_severity,
        "human_recoverability": review.human_recoverability,
        EVIDENCE: evidence_lines(review.human_evidence),
    }
    return json.dumps([[name, str(value)] for name, value in answers.items() if value is not None])


def adjudicate_row(request: Request) -> Response:
    """One disputed row: the verdicts side by side, the trajectory, the form; the silver label once it is settled."""
    site, person = site_of(request), person_of(request)
    person.needs("adjudicator", "auditor")
    sample, row = request.path_params["sample"], request.path_params["row"]
    record = site.reviews.row(sample, row)
    people = next((people for sample_row, people in site.reviews.disputed(sample) if sample_row.row == row), [])
    not_own(person, site.reviews.logs[CALIBRATION.name].of(sample, row))
    own = [r for r in site.reviews.logs[CALIBRATION.name].of(sample, row) if r.adjudication]
    trajectory = open_drawn(site.reader, person, record)
    silver = (
        {name: getattr(record, name) for name in type(record).model_fields if name.startswith("silver_")}
        if own
        else None
    )
    shown = {"sample": sample, "row": row, "verdicts": hidden(people), "silver": silver, "trajectory": trajectory}
    context = {
        "drawn": record,
        "page": page_of(trajectory),
        "form": form_context(CALIBRATION.name),
        "answers": filled_in(CALIBRATION, own[-1] if own else None),
        "mine": own[-1] if own else None,
        "fault": None,
    }
    return answer(request, "adjudicate_row.html", shown, **context)


def not_own(person: Person, reviews: list[Any]) -> None:
    """Raise Refused for a row on which this person has given one of the verdicts that are to be settled."""
    if any(review.reviewer == person.name and not review.adjudication for review in reviews):
        raise Refused("One of the verdicts on this row is yours, so somebody else has to settle it.")


def not_settled(entry: QueueRow) -> None:
    """Raise Refused for a row that this person has settled: its label was shown afterwards."""
    if entry.settled:
        raise Refused("You have settled this row and seen its label, so a verdict of yours would not be blind.")


def settle(request: Request, form: FormData) -> Response:
    """An adjudication: a verdict with `adjudication: yes`."""
    site, person = site_of(request), person_of(request)
    person.needs("adjudicator", "auditor")
    sample, row = request.path_params["sample"], request.path_params["row"]
    token_of(form, person)
    record = site.reviews.row(sample, row)
    open_drawn(site.reader, person, record)
    not_own(person, site.reviews.logs[CALIBRATION.name].of(sample, row))
    answers = answers_sent(form, CALIBRATION.answers) | {"adjudication": "yes"}
    fault, saved = "", None
    try:
        saved = site.reviews.submit(sample, row, answers, person.name)
        fault = fault_of(saved)
    except (DataFolderLocked, OSError) as error:
        fault = f"Not saved: {words_of(error)}."
    if wants_json(request):
        return JSONResponse(outcome(saved, fault), 422 if fault else 200)
    if fault:
        return render(request, "error.html", 422, title="Not saved", message=fault, advice=None)
    return RedirectResponse(str(href("/adjudicate", sample, row)), 303)


def draw_sample(request: Request, form: FormData) -> Response:
    """Draw a calibration sample of the release, blind unless the form says otherwise."""
    from openclawbench.audit.calibration.guide import guide
    from openclawbench.audit.review_folder import save_sample

    site, person = site_of(request), person_of(request)
    person.needs("auditor")
    token_of(form, person)
    text = str(form.get("n") or "20")
    wanted = int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 else 20
    rules, folder = AuditRules.load(), site.folder
    sample, rows = draw(folder.release, max(1, wanted), 1, form.get("silver") != "1", rules, folder.root)
    with folder.reviewing():
        save_sample(folder, CALIBRATION, sample.sample, sample, rows, guide(sample, rules))
    return RedirectResponse(str(href("/q", sample.sample)), 303)


def change_role(request: Request, form: FormData) -> Response:
    """Another role, for a person who is alone on this machine."""
    site, person = site_of(request), person_of(request)
    token_of(form, person)
    role = form.get("role")
    if not site.local or role not in ("auditor", "reviewer", "adjudicator"):
        raise Refused("On a shared server the role belongs to the login.")
    person.role = role  # type: ignore[assignment]
    return RedirectResponse("/" if role == "auditor" else "/q", 303)
