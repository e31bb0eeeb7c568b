"""Sections about predictions files: comparable rows, faulty lines, and provenance."""

from collections.abc import Mapping, Sequence
from typing import Any

from openclawbench.detect.score.comparison import MISSING, OTHER_KEY, OTHER_TRAJECTORY
from openclawbench.reports.section import Row, Section

Card = Mapping[str, Any]
DETECTOR = {"detector": "name of the detector"}


def comparable_section(cards: Sequence[Card]) -> Section:
    """The scored trajectories, and the others by reason."""
    return Section(
        name="comparable",
        title="What is scored",
        about=(
            "A score is over the trajectories that have a label and a prediction; all others are counted here."
            + left_out(cards)
        ),
        columns={
            **DETECTOR,
            "labels": "labelled trajectories",
            "predictions": "predictions that can be read",
            "scored": "compared",
            "coverage_share": "of the labelled trajectories, the part that is scored",
            MISSING: "labelled, and not predicted",
            OTHER_KEY: "predicted, and not among the labels",
            OTHER_TRAJECTORY: "the detector read another trajectory than the one of this release",
            "reviewed": "predicted, not among the labels, and reviewed by people: scored against them alone",
            "unchecked": "scored; the file does not say which trajectory was read",
            "shortened": "scored; the detector did not see the whole trajectory",
            "repaired": "answers that were put right",
            "failed": "answers that cannot be read",
            "argmax_differs": "the label is not the most probable one",
            "notes": "what else to know",
        },
        rows=[comparable_row(card) for card in cards],
        prose=frozenset({"notes"}),
    )


def left_out(cards: Sequence[Card]) -> str:
    """A sentence on the trajectories of the pool that have no label to score against; empty if all have one."""
    reasons = {reason: count for card in cards for reason, count in card["labels"]["left_out"].items()}
    counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
    return f" Not among the labels: {counts}." if counts else ""


def comparable_row(card: Card) -> Row:
    """Counts of a file."""
    compared = card["compared"]
    return {
        "detector": card["detector"],
        "labels": card["labels"]["trajectories"],
        "predictions": compared["predictions"],
        "scored": compared["compared"],
        "coverage_share": compared["coverage"],
        **{reason: compared["not_compared"].get(reason, 0) for reason in (MISSING, OTHER_KEY, OTHER_TRAJECTORY)},
        "reviewed": compared["reviewed"],
        "unchecked": compared["unchecked"],
        "shortened": compared["shortened"],
        "repaired": compared["parse"]["repaired"],
        "failed": compared["parse"]["failed"],
        "argmax_differs": compared["argmax_differs"],
        "notes": "; ".join(card["notes"]) or "–",
    }


def fault_section(cards: Sequence[Card]) -> Section:
    """Lines that cannot be used as they are, and keys that are not comparable."""
    rows = []
    for card in cards:
        compared = card["compared"]
        rows += [
            {
                "detector": card["detector"],
                "reason": reason,
                "count": count,
                "named": list(compared["fault_lines"].get(reason, [])),
            }
            for reason, count in compared["faults"].items()
        ]
        rows += [
            {"detector": card["detector"], "reason": reason, "count": compared["not_compared"][reason], "named": keys}
            for reason, keys in compared["named"].items()
        ]
    return Section(
        name="faults",
        title="Lines and keys that are not used",
        about="Lines of the files with a fault, and keys without a counterpart, by reason.",
        columns={**DETECTOR, "reason": "why", "count": "how many", "named": "the first of them"},
        rows=rows,
    )


def provenance_section(cards: Sequence[Card]) -> Section:
    """The provenance of each file."""
    return Section(
        name="provenance",
        title="Provenance",
        about="Where each predictions file is from. Nothing is known of one that is unverified.",
        columns={
            **DETECTOR,
            "file": "the file",
            "predictions_sha256": "its digest",
            "unverified": "why nothing is known of it",
            "model": "model that was asked or trained",
            "endpoint": "where it was asked",
            "prompt": "instructions, and the beginning of their digest",
            "weights_sha256": "digest of the weights that were trained",
            "parameters": "what else decides an answer",
            "trained_on": "pool, cut and side that it was fitted to; trajectories, anomalous ones",
            "release_sha256": "the release that it read",
            "program_version": "the program that wrote the file",
            "date": "as its maker says",
        },
        rows=[provenance_row(card) for card in cards],
    )


def provenance_row(card: Card) -> Row:
    """A file's provenance as columns."""
    provenance = card["provenance"] or {}
    prompt, trained = provenance.get("prompt"), provenance.get("trained_on")
    plain = ("model", "endpoint", "weights_sha256", "release_sha256", "program_version", "date")
    return {
        "detector": card["detector"],
        "file": card["file"],
        "predictions_sha256": card["file_sha256"],
        "unverified": card["unverified"],
        **{name: provenance.get(name) for name in plain},
        "prompt": f"{prompt['stage']} {prompt['version']} {prompt['sha256'][:12]}" if prompt else None,
        "parameters": [
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in provenance.get("parameters", {}).items()
        ],
        "trained_on": "{pool}, {cut}, {side}: {rows}, {anomalous}".format(**trained) if trained else None,
    }
