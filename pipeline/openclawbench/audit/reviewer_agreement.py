"""Agreement of two reviewers, and reviewers' names that may belong to one person."""

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
    "kappa": "Cohen's kappa; a dash where both give a single verdict throughout",
    "kappa_low": "lower end of its bootstrap interval",
    "kappa_high": "upper end",
}


def pair(
    first: str,
    second: str,
    first_verdicts: Mapping[str, Hashable],
    second_verdicts: Mapping[str, Hashable],
    rules: AgreementRules,
) -> Row:
    """Agreement of two reviewers, as PAIR_COLUMNS. `first_verdicts`, `second_verdicts`: row id -> verdict."""
    common = [row for row in first_verdicts if row in second_verdicts]
    first_values, second_values = [first_verdicts[row] for row in common], [second_verdicts[row] for row in common]
    agree = sum(first_verdicts[row] == second_verdicts[row] for row in common)
    shared, chance = proportion(agree, len(common), rules.confidence), kappa(first_values, second_values, rules)
    return {"first": first, "second": second, "both": len(common), "agree": agree, **shares_and_kappa(shared, chance)}


def pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Every two reviewers, except names that may belong to one person."""
    reviewers = list(names)
    same_person = [set(spellings) for spellings in similar_names(reviewers)]
    return [two for two in combinations(reviewers, 2) if not any(set(two) <= group for group in same_person)]


def similar_names(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ only in case, blanks or the form of a letter, and may belong to one person."""
    spellings_by_name: dict[str, dict[str, None]] = {}
    for name in names:
        folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        spellings_by_name.setdefault(folded, {})[name] = None
    return [[*spellings] for spellings in spellings_by_name.values() if len(spellings) > 1]
