"""The table of the event-evidence audit (paper T34), from review records alone."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from openclawbench.audit.reviewer_agreement import PAIR_COLUMNS, alike, pair, pairs
from openclawbench.records.review import EventReview, EventSample
from openclawbench.reports.counting import share
from openclawbench.reports.section import Report, Row, Section
from openclawbench.reports.settings import AgreementRules

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
    """A T34 table for each sample and reviewer, and the rows that were not found supported; agreement between the
    reviewers of a sample.

    Of several records of one reviewer on one row the last counts. Nothing without a record is counted as reviewed.
    """
    last = {(one.sample, one.reviewer, one.row): one for one in reviews}
    groups = list(dict.fromkeys((one.sample, one.reviewer) for one in last.values()))
    sections = []
    for number, (sample, reviewer) in enumerate(groups, start=1):
        own = [one for key, one in last.items() if key[:2] == (sample, reviewer)]
        sections += [table(own, samples[sample], number), findings(own, number)]
    rules = AgreementRules.load()
    for number, sample in enumerate(dict.fromkeys(sample for sample, _ in groups), start=1):
        own = [one for one in last.values() if one.sample == sample]
        if len({one.reviewer for one in own}) > 1:
            sections.append(people(own, sample, number, rules))
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


def people(reviews: Sequence[EventReview], sample: str, number: int, rules: AgreementRules) -> Section:
    """Agreement of each two reviewers of a sample; `reviews`: the last of each reviewer on each row."""
    own: dict[str, dict[str, EventReview]] = {}
    for one in reviews:
        own.setdefault(one.reviewer, {})[one.row] = one
    rows = []
    for first, second in pairs(own):
        for name, verdict in VERDICTS.items():
            left, right = ({row: verdict(said) for row, said in own[who].items()} for who in (first, second))
            rows.append({"verdict": name} | pair(first, second, left, right, rules))
    return Section(
        name=f"people_{number}",
        title=f"Do reviewers of sample {sample} agree?",
        about="Each two reviewers on the rows that both reviewed. One reviewer alone says nothing of how far another "
        "would agree; with nearly everything supported, kappa is low or unknown however often they agree.",
        columns={
            "first": PAIR_COLUMNS["first"],
            "second": PAIR_COLUMNS["second"],
            "verdict": "is_supported: supported or not; T34: supported, ambiguous or incorrect",
            **PAIR_COLUMNS,
        },
        rows=rows,
        facts={"reviewers": len(own), "names_alike": len(alike(own))},
        definitions={
            "reviewers": "People with a review record of this sample.",
            "names_alike": "Names that differ only in case, blanks or the form of a letter: perhaps "
            "one person twice, so no agreement is told of them.",
        },
    )


def t34(one: EventReview) -> str:
    """The column of T34 that a verdict counts in."""
    if one.is_supported:
        return "supported"
    return AMBIGUOUS if one.error_type == AMBIGUOUS else "incorrect"


VERDICTS: dict[str, Callable[[EventReview], Hashable]] = {"is_supported": lambda one: one.is_supported, "T34": t34}


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
