"""Sections with the figures that the paper prints, and those of them that cannot all be right."""

from openclawbench.detect.paper import paper, paper_contradictions
from openclawbench.reports.section import Report, Section

NOTE = (
    "Figures of the paper (arXiv 2605.29253), of its own data, labels and split. They cannot be compared with scores "
    "on other data."
)


def paper_section() -> Section:
    """Table 2 as printed."""
    return Section(
        name="paper",
        title="Table 2 of the paper, as printed",
        about=NOTE,
        columns={
            "name": "the detector",
            "f1": "F1",
            "macro_f1": "macro F1",
            "precision": "precision",
            "recall": "recall",
            "predicted": "share that it calls anomalous",
        },
        rows=[dict(row) for row in paper()["detector"]],
    )


def contradiction_section() -> Section:
    """What the paper's tables 2, 3, 43 and 44 and section F.10 print that cannot all be right."""
    rows = [
        {
            "where": contradiction.where,
            "identity": contradiction.identity,
            "printed": contradiction.printed,
            "implied": contradiction.implied,
        }
        for contradiction in paper_contradictions()
    ]
    return Section(
        name="paper_contradictions",
        title="Figures of the paper that contradict each other",
        about=(
            "A printed figure stands for every number that rounds to it, so rounding is never reported. A leaderboard "
            "of this program takes all numbers of a detector from one file."
        ),
        columns={
            "where": "tables of the paper",
            "identity": "what must hold",
            "printed": "what is printed",
            "implied": "what the other figures imply",
        },
        rows=rows,
        facts={"contradictions": len(rows)},
    )


def paper_report() -> Report:
    """The figures of the paper and the contradictions between them, as a report."""
    sections = [paper_section(), contradiction_section()]
    return Report(name="paper_detectors", title="Detectors of the paper", about=NOTE, sections=sections)
