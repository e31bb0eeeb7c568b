"""The notice that a release must show about labels of the rules judge."""

from collections.abc import Iterable

from openclawbench.records.tiers import BASELINE_JUDGES

RULES_NOTICE = (
    "Labels of this release were made by the rules judge (judge: rules). They are a baseline, not annotation: "
    "surface cues in text, in a few languages, no understanding. "
    "Do not train on them as if a person or a language model had judged."
)
RULES_STAMP = "Labels made by the rules judge: a baseline, not annotation"  # on every picture


def notice_of(judges: Iterable[str | None]) -> str | None:
    """The notice if one of the judges (`provenance.judge`) is the rules judge, else None."""
    return None if BASELINE_JUDGES.isdisjoint(judges) else RULES_NOTICE
