"""The table of the event-evidence audit (paper T34), from review records alone."""

from collections.abc import Sequence
from typing import Any

from pipeline.records.review import EventReview, EventSample
from pipeline.reports.counting import share
from pipeline.reports.section import Report, Row, Section

NAME = "event_audit"
AMBIGUOUS = "ambiguous"
TOTAL = "Total"
COLUMNS = {
    "event_type": "category of the descriptor under review",
    "sampled": "steps of the sample",
    "reviewed": "those with a review record",
    "supported": "the reviewer found the descriptor supported by the step",
    "ambiguous": "not supported, error_type `ambiguous`",
    "incorrect": "not supported, any other error_type",
    "corpus_steps": "steps of this category in the corpus when the sample was drawn",
}


def event_audit(reviews: Sequence[EventReview], samples: dict[str, EventSample]) -> Report:
    """A T34 table for each sample and reviewer, and the rows that were not found supported.

    Of several records of one reviewer on one row the last counts. Nothing without a record is counted as reviewed.
    """
    last = {(one.sample, one.reviewer, one.row): one for one in reviews}
    groups = list(dict.fromkeys((one.sample, one.reviewer) for one in last.values()))
    sections = []
    for number, (sample, reviewer) in enumerate(groups, start=1):
        own = [one for key, one in last.items() if key[:2] == (sample, reviewer)]
        sections += [table(own, samples[sample], number), findings(own, number)]
    return Report(
        name=NAME,
        title="Event-evidence audit (T34)",
        about="What people found when they compared event descriptors with their steps. It is about descriptors, "
        "never about whether a "
        "trajectory is anomalous. A sample is stratified: rare categories are over-represented in it.",
        sections=sections,
    )


def table(reviews: Sequence[EventReview], sample: EventSample, number: int) -> Section:
    """T34 of one sample and reviewer."""
    rows = [counted(name, reviews, sample) for name in sample.drawn]
    whole = {name: sum(row[name] for row in rows) for name in COLUMNS if name != "event_type"}
    seen = [row for row in rows if row["reviewed"]]
    base = sum(row["corpus_steps"] for row in seen)
    weighted = sum(row["corpus_steps"] * row["supported"] / row["reviewed"] for row in seen)
    return Section(
        name=f"reviewed_{number}",
        title=f"Sample {sample.sample}, review {number}",
        about="One review of one sample.",
        columns=COLUMNS,
        rows=[*rows, {"event_type": TOTAL, **whole}],
        facts={
            "reviewer": reviews[0].reviewer,
            "reviewed": whole["reviewed"],
            "not_reviewed": whole["sampled"] - whole["reviewed"],
            "supported_share": share(whole["supported"], whole["reviewed"]),
            "supported_in_the_corpus_share": round(weighted / base, 6) if base else None,
        },
        definitions={
            "reviewer": "As the sheet, or whoever imported it, says.",
            "reviewed": "Rows with a review record of this reviewer; the last one counts.",
            "not_reviewed": "Rows of the sample without one: nothing is said of them.",
            "supported_share": "Supported of reviewed.",
            "supported_in_the_corpus_share": "The same with each category weighted by its steps in the corpus; "
            "categories without a "
            "review left out.",
        },
    )


def counted(name: str, reviews: Sequence[EventReview], sample: EventSample) -> Row:
    """The row of one category."""
    own = [one for one in reviews if one.event_type == name]
    ambiguous = sum(not one.is_supported and one.error_type == AMBIGUOUS for one in own)
    supported = sum(one.is_supported for one in own)
    return {
        "event_type": name,
        "sampled": sample.drawn[name],
        "reviewed": len(own),
        "supported": supported,
        "ambiguous": ambiguous,
        "incorrect": len(own) - supported - ambiguous,
        "corpus_steps": sample.population[name],
    }


def findings(reviews: Sequence[EventReview], number: int) -> Section:
    """What was not found supported, with the reviewer's words."""
    columns: dict[str, Any] = {
        "row": "row of the sample",
        "source_model": "source model",
        "trajectory_id": "trajectory",
        "step_id": "step",
        "event_type": "descriptor under review",
        "error_type": "T33",
        "review_comment": "the reviewer's words",
        "reviewed_at": "when",
    }
    wrong = [one for one in reviews if not one.is_supported]
    rows = [one.model_dump(include=set(columns)) for one in sorted(wrong, key=lambda one: (one.event_type, one.row))]
    return Section(
        name=f"findings_{number}",
        title=f"Not supported, review {number}",
        about="Every reviewed descriptor that was not found supported.",
        columns=columns,
        rows=rows,
    )
