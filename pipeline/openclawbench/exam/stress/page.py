"""The page of the stress kit, in Markdown and JSON, with a picture."""

from collections.abc import Mapping
from typing import Any

from openclawbench.exam.result_page import SHARE_COLUMNS, draw_picture, share_row
from openclawbench.exam.stress.variants import REPEAT
from openclawbench.records.certificate import JudgeCertificate
from openclawbench.reports.section import Report, Section


def stress_page(card: Mapping[str, Any], certificate: JudgeCertificate) -> Report:
    """The report. `card`: of stress_card (flips.py)."""
    from openclawbench.reports.markdown import code

    return Report(
        name="stress",
        title="Stress kit",
        about=(
            f"Judge {code(certificate.judge)}, model {code(certificate.judge_model)}, on the paper of size "
            f"{certificate.size} and seed {certificate.seed}: {card['sessions']} sessions. Each variant changes one "
            "thing that should not move a label. A flip is a session whose label (anomalous, normal or review) differs "
            f"from the first answer. The same was asked {card['asked_the_same']} times: the excess is the share "
            "of flips less that of asking the same again, with an interval over families. Of `truncation-removed` "
            "flips to review are right, and of `blind` a flip says that outcome or risk had moved the label before. "
            "A judge that gives every session the same label has no flips: read them beside the exam's result."
        ),
        sections=[flip_section(card["variants"]), pair_section(card["variants"])],
        notice=None,
    )


def flip_section(variants: Mapping[str, Any]) -> Section:
    """Flips and what they lead to."""
    rows = [
        {
            "variant": name,
            **share_row(row["flips"]),
            **{f"excess_{end}": (row["excess"] or {}).get(end) for end in ("share", "low", "high")},
            **{target: row[target] for target in ("to_anomalous", "to_normal", "to_review")},
            "hint_share": row["follows_hint"]["share"],
            "subtype_share": row["subtype_changed"]["share"],
            "about": row["about"],
        }
        for name, row in variants.items()
    ]
    return Section(
        name="flips",
        title="Flips",
        about=f"Variants of the kind `{REPEAT}` are the same questions once more.",
        columns={
            "variant": "what was changed",
            **SHARE_COLUMNS,
            "excess_share": "share of flips less that of asking the same again",
            "excess_low": "lower end of the interval of 95 % over families",
            "excess_high": "upper end",
            "to_anomalous": "flips to anomalous",
            "to_normal": "flips to normal",
            "to_review": "flips to review",
            "hint_share": "of the flips, those to the label that the change suggests",
            "subtype_share": "of the sessions called anomalous both times, those with another subtype",
            "about": "the change",
        },
        rows=rows,
        prose=frozenset({"about"}),
        plot=draw_picture(rows, "variant", "Sessions whose label flips, with intervals of 95 %"),
    )


def pair_section(variants: Mapping[str, Any]) -> Section:
    """Pairs with both labels right under each variant."""
    return Section(
        name="pairs",
        title="Both right, by variant",
        about="Pairs with both labels right. `before` is the share of the same pairs in the exam.",
        columns={"variant": "what was changed", **SHARE_COLUMNS, "before_share": "the share before the change"},
        rows=[
            {"variant": name, **share_row(row["both_right"]), "before_share": row["both_right_before"]["share"]}
            for name, row in variants.items()
        ],
    )
