"""People who reviewed: whether two of them agree, and names that may be one person's."""

import unicodedata
from collections.abc import Hashable, Iterable, Mapping
from itertools import combinations

from openclawbench.audit.calibration.tables import shares_and_kappa
from openclawbench.reports.measures import kappa, proportion
from openclawbench.reports.section import Row
from openclawbench.reports.settings import AgreementRules

PAIR_COLUMNS = {
    "first": "reviewer",
    "second": "reviewer",
    "both": "rows that both reviewed",
    "agree": "of these, with the same verdict",
    "agree_share": "`agree` of `both`",
    "low_share": "lower end of its Wilson interval",
    "high_share": "upper end",
    "kappa": "Cohen's kappa; a dash where both say one and the same throughout",
    "kappa_low": "lower end of its bootstrap interval",
    "kappa_high": "upper end",
}


def pair(
    first: str, second: str, one: Mapping[str, Hashable], other: Mapping[str, Hashable], rules: AgreementRules
) -> Row:
    """Agreement of two reviewers, in PAIR_COLUMNS; `one` and `other`: row id -> verdict of either."""
    both = [row for row in one if row in other]
    left, right = [one[row] for row in both], [other[row] for row in both]
    agree = sum(a == b for a, b in zip(left, right, strict=True))
    shared, chance = proportion(agree, len(both), rules.confidence), kappa(left, right, rules)
    return {"first": first, "second": second, "both": len(both), "agree": agree, **shares_and_kappa(shared, chance)}


def pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Each two reviewers, but for names that may be one person's: nobody agrees with himself."""
    named = list(names)
    same = [set(spellings) for spellings in alike(named)]
    return [two for two in combinations(named, 2) if not any(set(two) <= one for one in same)]


def alike(names: Iterable[str]) -> list[list[str]]:
    """Names that differ only in case, blanks or the form of a letter, by who they may be; single ones left out."""
    found: dict[str, dict[str, None]] = {}
    for name in names:
        folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        found.setdefault(folded, {})[name] = None
    return [[*spellings] for spellings in found.values() if len(spellings) > 1]
