"""The table of the event-evidence audit (paper T34), from review records alone."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, get_args

from openclawbench.audit.reviewer_agreement import PAIR_COLUMNS, pair, pairs, similar_names
from openclawbench.records.review import EventReview, EventSample, ReviewedField, Structure
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
    "supported": "reviewed as supported by the step",
    "ambiguous": "not supported, error_type `ambiguous`",
    "incorrect": "not supported, any other error_type",
    "corpus_steps": "steps of this category in the corpus when the sample was drawn",
}


def event_audit(reviews: Sequence[EventReview], samples: dict[str, EventSample]) -> Report:
    """A T34 table and the unsupported rows for each sample and reviewer, then the agreement of a sample's reviewers.

    Of several records of one reviewer on one row the last counts. A row without a record is not counted as reviewed.
    """
    latest = {(review.sample, review.reviewer, review.row): review for review in reviews}
    groups = list(dict.fromkeys((review.sample, review.reviewer) for review in latest.values()))
    sections = []
    for number, (sample, reviewer) in enumerate(groups, start=1):
        own_reviews = [review for key, review in latest.items() if key[:2] == (sample, reviewer)]
        sections += [table(own_reviews, samples[sample], number), findings(own_reviews, number)]
    rules = AgreementRules.load()
    for number, sample in enumerate(dict.fromkeys(sample for sample, _ in groups), start=1):
        own_reviews = [review for review in latest.values() if review.sample == sample]
        if any(review.wrong_fields or review.structure for review in own_reviews):
            sections.append(field_section(own_reviews, number))
        if len({review.reviewer for review in own_reviews}) > 1:
            sections.append(reviewer_section(own_reviews, sample, number, rules))
    return Report(
        name=NAME,
        title="Event-evidence audit (T34)",
        about="Human verdicts on whether event descriptors fit their steps. They are about descriptors, not about "
        "whether a trajectory is anomalous. A sample is stratified: rare categories are over-represented.",
        sections=sections,
    )


def table(reviews: Sequence[EventReview], sample: EventSample, number: int) -> Section:
    """T34 of one sample and reviewer."""
    rows = [count_category(name, reviews, sample) for name in sample.drawn]
    total = {name: sum(row[name] for row in rows) for name in COLUMNS if name != "event_type"}
    reviewed_rows = [row for row in rows if row["reviewed"]]
    weight = sum(row["corpus_steps"] for row in reviewed_rows)
    supported_weight = sum(row["corpus_steps"] * row["supported"] / row["reviewed"] for row in reviewed_rows)
    return Section(
        name=f"reviewed_{number}",
        title=f"Sample {sample.sample}, review {number}",
        about="The sample as one reviewer sees it.",
        columns=COLUMNS,
        rows=[*rows, {"event_type": TOTAL, **total}],
        facts={
            "reviewer": reviews[0].reviewer,
            "reviewed": total["reviewed"],
            "not_reviewed": total["sampled"] - total["reviewed"],
            "supported_share": share(total["supported"], total["reviewed"]),
            "supported_in_the_corpus_share": round(supported_weight / weight, 6) if weight else None,
        },
        definitions={
            "reviewer": "As given in the sheet or at the import.",
            "reviewed": "Rows with a review record of this reviewer; the last one counts.",
            "not_reviewed": "Rows of the sample without one.",
            "supported_share": "Supported of reviewed.",
            "supported_in_the_corpus_share": "The same with each category weighted by its steps in the corpus, without "
            "the categories that have no review.",
        },
    )


def field_section(reviews: Sequence[EventReview], number: int) -> Section:
    """The descriptor fields and steps that reviewers call wrong."""
    fields = {name: sum(name in review.wrong_fields for review in reviews) for name in get_args(ReviewedField)}
    structures = {name: sum(review.structure == name for review in reviews) for name in get_args(Structure)}
    return Section(
        name=f"fields_{number}",
        title="Which fields are wrong",
        about="Fields of the descriptor, and faults of the step itself, that reviewers named; all reviewers together.",
        columns={
            "field": "field of the descriptor, or fault of the step, its neighbours, its user turn or the trajectory",
            "wrong": "review records that name it",
            "reviewed": "review records",
        },
        rows=[
            {"field": name, "wrong": count, "reviewed": len(reviews)} for name, count in (fields | structures).items()
        ],
    )


def count_category(name: str, reviews: Sequence[EventReview], sample: EventSample) -> Row:
    """The row of one category."""
    own_reviews = [review for review in reviews if review.event_type == name]
    ambiguous = sum(not review.is_supported and review.error_type == AMBIGUOUS for review in own_reviews)
    supported = sum(review.is_supported for review in own_reviews)
    return {
        "event_type": name,
        "sampled": sample.drawn[name],
        "reviewed": len(own_reviews),
        "supported": supported,
        "ambiguous": ambiguous,
        "incorrect": len(own_reviews) - supported - ambiguous,
        "corpus_steps": sample.population[name],
    }


def reviewer_section(reviews: Sequence[EventReview], sample: str, number: int, rules: AgreementRules) -> Section:
    """Agreement of every two reviewers of a sample. `reviews`: the latest of each reviewer on each row."""
    by_reviewer: dict[str, dict[str, EventReview]] = {}
    for review in reviews:
        by_reviewer.setdefault(review.reviewer, {})[review.row] = review
    rows = []
    for first, second in pairs(by_reviewer):
        for name, verdict in VERDICTS.items():
            first_verdicts, second_verdicts = (
                {row: verdict(review) for row, review in by_reviewer[who].items()} for who in (first, second)
            )
            rows.append({"verdict": name} | pair(first, second, first_verdicts, second_verdicts, rules))
    return Section(
        name=f"people_{number}",
        title=f"Do reviewers of sample {sample} agree?",
        about="Every two reviewers on the rows that both reviewed. If nearly everything is supported, kappa is low or "
        "undefined however often they agree.",
        columns={
            "first": PAIR_COLUMNS["first"],
            "second": PAIR_COLUMNS["second"],
            "verdict": "is_supported: supported or not; T34: supported, ambiguous or incorrect",
            **PAIR_COLUMNS,
        },
        rows=rows,
        facts={"reviewers": len(by_reviewer), "names_alike": len(similar_names(by_reviewer))},
        definitions={
            "reviewers": "People with a review record of this sample.",
            "names_alike": "Names that differ only in case, blanks or the form of a letter: they may "
            "belong to one person, so their agreement is not shown.",
        },
    )


def t34(review: EventReview) -> str:
    """The column of T34 in which a review counts."""
    if review.is_supported:
        return "supported"
    return AMBIGUOUS if review.error_type == AMBIGUOUS else "incorrect"


VERDICTS: dict[str, Callable[[EventReview], Hashable]] = {
    "is_supported": lambda review: review.is_supported,
    "T34": t34,
}


def findings(reviews: Sequence[EventReview], number: int) -> Section:
    """The unsupported descriptors, with the reviewer's comments."""
    columns: dict[str, Any] = {
        "row": "row of the sample",
        "source_model": "source model",
        "trajectory_id": "trajectory",
        "step_id": "step",
        "event_type": "descriptor under review",
        "error_type": "T33",
        "review_comment": "the reviewer's comment",
        "reviewed_at": "when",
    }
    unsupported = [review for review in reviews if not review.is_supported]
    unsupported.sort(key=lambda review: (review.event_type, review.row))
    rows = [review.model_dump(include=set(columns)) for review in unsupported]
    return Section(
        name=f"findings_{number}",
        title=f"Not supported, review {number}",
        about="Every reviewed descriptor that the step does not support.",
        columns=columns,
        rows=rows,
    )
