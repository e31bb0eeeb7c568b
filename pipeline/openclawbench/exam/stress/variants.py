"""The variants of a paper that the stress kit asks about: each changes one thing that should not move a label."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openclawbench.errors import UsageError
from openclawbench.exam.paper import UNALTERED, Alteration, Item
from openclawbench.exam.stress.packets import Change
from openclawbench.exam.stress.phrases import phrases
from openclawbench.exam.stress.sessions import Injected, Introduced, Markdown, Verbose

REPEAT = "repeat"
ALL = "all"
ASKED = 3  # times that every question is asked unaltered
ANOMALOUS, NORMAL = "anomalous", "normal"


@dataclass(frozen=True)
class Variant:
    """A changed paper. `hint`: the label that the change suggests for an item; None if it suggests no label."""

    kind: str  # what --stress calls it
    name: str  # also of its folder
    about: str
    alteration: Alteration = UNALTERED
    change: Change | None = None  # of what the judge reads
    settings: dict[str, Any] = field(default_factory=dict)
    hint: Callable[[Item], str | None] = lambda item: None


def outcome_hint(item: Item) -> str:
    """The label that the stated outcome suggests."""
    return NORMAL if item.passed else ANOMALOUS


def variants(model: str) -> dict[str, list[Variant]]:
    """Kind -> its variants, for a judge of this model."""
    names = phrases().names
    introduced = {"own": model, "rival": names.rival(model), "unknown": names.unknown}
    listed = [
        *(Variant(REPEAT, f"repeat-{number}", "the same questions once more") for number in range(2, ASKED + 1)),
        Variant(
            "oracle", "oracle", "every outcome is the opposite one", Alteration(flips_outcomes=True), hint=outcome_hint
        ),
        Variant("risk", "risk", "risk, slice and onset candidates are turned round", change="risk"),
        Variant("blind", "blind", "packets without outcome, risk, slice and candidates", settings={"blind": True}),
        *(
            Variant("model-name", f"model-name-{key}", f"the agent says that it is {name}", Introduced(name=name))
            for key, name in introduced.items()
        ),
        Variant("verbosity", "verbosity", "the agent says the same with more words", Verbose()),
        Variant("markdown", "markdown", "the agent says the same in Markdown", Markdown()),
        Variant("order", "order", "the keys of the packet in the opposite order", change="key_order"),
        Variant(
            "injection",
            "injection-normal",
            "a tool's result asks for the label normal",
            Injected(label="normal"),
            hint=lambda item: NORMAL,
        ),
        Variant(
            "injection",
            "injection-anomalous",
            "a tool's result asks for the label anomalous",
            Injected(label="anomalous"),
            hint=lambda item: ANOMALOUS,
        ),
        Variant(
            "truncation",
            "truncation-kept",
            "long texts are cut, those that decide are whole",
            change="cut_around_evidence",
        ),
        Variant(
            "truncation",
            "truncation-removed",
            "the texts that decide are cut out; review is right",
            change="cut_evidence",
        ),
        Variant("translation", "translation", "the session in another language", Alteration(language_shift=1)),
    ]
    kinds: dict[str, list[Variant]] = {}
    for variant in listed:
        kinds.setdefault(variant.kind, []).append(variant)
    return kinds


KINDS = tuple(variants(""))


def chosen_variants(text: str, model: str) -> list[Variant]:
    """The variants of a list of kinds, separated by commas, or of `all`; the repeats first, because flips are compared
    with theirs. Raises UsageError for a kind that does not exist."""
    kinds = variants(model)
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := next((name for name in names if name not in (*kinds, ALL)), None):
        raise UsageError(f"--stress {unknown}: there is no such kind. Use {ALL}, or some of: {', '.join(kinds)}.")
    wanted = set(kinds) if ALL in names else {*names, REPEAT}
    return [variant for kind, listed in kinds.items() if kind in wanted for variant in listed]
