"""Flips: sessions whose label changes when something changes that should not matter, beside those whose label changes
when the judge is asked the same once more. Own choice of the measures (docs/why/decisions/exam.md)."""

from collections.abc import Mapping, Sequence
from typing import Any

from openclawbench.exam.answers import Answer
from openclawbench.exam.score import BOOTSTRAP_DRAWS, BOOTSTRAP_SEED, pairs_of, share
from openclawbench.exam.stress.variants import ANOMALOUS, NORMAL, REPEAT, Variant
from openclawbench.records.certificate import CONFIDENCE

REVIEW = "review"
LABELS = (ANOMALOUS, NORMAL, REVIEW)
Answers = Mapping[str, Answer]  # by item


def label(answer: Answer) -> str:
    """anomalous, normal or review."""
    if answer.is_anomalous is None:
        return REVIEW
    return ANOMALOUS if answer.is_anomalous else NORMAL


def by_item(answers: Sequence[Answer]) -> dict[str, Answer]:
    """Answers by the id of their item."""
    return {answer.item.id: answer for answer in answers}


def stress_card(first: Sequence[Answer], stressed: Sequence[tuple[Variant, Sequence[Answer]]]) -> dict[str, Any]:
    """Flips of each variant against the first answers. Shares are {share, low, high, part, whole}."""
    base = by_item(first)
    repeats = [by_item(answers) for variant, answers in stressed if variant.kind == REPEAT]
    return {
        "sessions": len(base),
        "asked_the_same": 1 + len(repeats),
        "variants": {variant.name: flips(variant, base, by_item(answers), repeats) for variant, answers in stressed},
    }


def flips(variant: Variant, base: Answers, changed: Answers, repeats: Sequence[Answers]) -> dict[str, Any]:
    """The flips of a variant. `excess`: share of flips less that of asking the same again, None for a repeat itself."""
    common = sorted(base.keys() & changed.keys())
    flipped = [name for name in common if label(base[name]) != label(changed[name])]
    both_anomalous = [name for name in common if label(base[name]) == label(changed[name]) == ANOMALOUS]
    hinted = [name for name in flipped if variant.hint(changed[name].item) is not None]
    pairs = pairs_of([base[name] for name in common])
    changed_pairs = pairs_of([changed[name] for name in common])
    return {
        "kind": variant.kind,
        "about": variant.about,
        "sessions": len(common),
        "flips": share(name in set(flipped) for name in common),
        **{f"to_{target}": sum(label(changed[name]) == target for name in flipped) for target in LABELS},
        "excess": None if variant.kind == REPEAT else excess(common, base, changed, repeats),
        "follows_hint": share(label(changed[name]) == variant.hint(changed[name].item) for name in hinted),
        "subtype_changed": share(base[name].subtype != changed[name].subtype for name in both_anomalous),
        "both_right_before": share(pair.is_right for pair in pairs),
        "both_right": share(pair.is_right for pair in changed_pairs),
        "cost_usd": sum(changed[name].cost_usd for name in common),
        "tokens": sum(changed[name].tokens for name in common),
    }


def excess(
    names: Sequence[str], base: Answers, changed: Answers, repeats: Sequence[Answers]
) -> dict[str, float | None]:
    """Share of flips less the mean share of flips when the same is asked again, with the percentile interval of 95 % by
    bootstrap over families. None where nothing was asked again, and no interval for fewer than two families."""
    import numpy as np

    if not repeats or not names:
        return {"share": None, "low": None, "high": None}
    by_family: dict[str, list[float]] = {}
    for name in names:
        before = label(base[name])
        own = float(label(changed[name]) != before)
        again = sum(label(answers[name]) != before for answers in repeats) / len(repeats)
        by_family.setdefault(base[name].item.family, []).append(own - again)
    sums = np.array([sum(values) for values in by_family.values()])
    sizes = np.array([len(values) for values in by_family.values()])
    mean_excess = round(float(sums.sum() / sizes.sum()), 6)
    if len(by_family) < 2:
        return {"share": mean_excess, "low": None, "high": None}
    drawn = np.random.default_rng(BOOTSTRAP_SEED).integers(len(sums), size=(BOOTSTRAP_DRAWS, len(sums)))
    shares = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(shares, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return {"share": mean_excess, "low": round(float(low), 6), "high": round(float(high), 6)}
