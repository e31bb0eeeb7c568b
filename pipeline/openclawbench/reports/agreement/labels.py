"""Agreement on the decision and on the subtype: shares, kappa, alpha."""

from functools import partial

from openclawbench.reports.agreement import plots as agreement_plots
from openclawbench.reports.agreement.pairs import NO_SUBTYPE, POPULATIONS, SCOPE, in_population, scopes
from openclawbench.reports.measures import kappa, nominal_alpha, proportion
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules

MEASURED = {
    **SCOPE,
    "population": "; ".join(f"{name}: {text}" for name, text in POPULATIONS.items()),
    "pairs": "trajectories",
    "agree": "those on which both passes agree",
    "agree_share": "`agree` of `pairs`",
    "agree_low_share": "lower end of its Wilson interval",
    "agree_high_share": "upper end",
    "kappa": "Cohen's kappa; a dash where both passes give a single label throughout",
    "kappa_low": "lower end of its bootstrap interval",
    "kappa_high": "upper end",
    "alpha": "Krippendorff's alpha, nominal; a dash as with kappa",
}


def agreement_rows(rows: list[Row], field: str, rules: AgreementRules) -> list[Row]:
    """One row of MEASURED per scope and population."""
    return [
        {"scope": scope, "name": name, "population": population}
        | agreement_of(in_population(population, scope_pairs), field, rules)
        for population in POPULATIONS
        for scope, name, scope_pairs in scopes(rows)
    ]


def agreement_of(rows: list[Row], field: str, rules: AgreementRules) -> Row:
    """Agreement of the passes on `field`: `binary` or `subtype`."""
    comparable = [row for row in rows if NO_SUBTYPE not in (row["first"][field], row["second"][field])]
    first, second = ([row[name][field] for row in comparable] for name in ("first", "second"))
    agree = sum(label == other for label, other in zip(first, second, strict=True))
    shared, chance = proportion(agree, len(comparable), rules.confidence), kappa(first, second, rules)
    return {
        "pairs": len(comparable),
        "agree": agree,
        "agree_share": shared.value,
        "agree_low_share": shared.low,
        "agree_high_share": shared.high,
        "kappa": chance.value,
        "kappa_low": chance.low,
        "kappa_high": chance.high,
        "alpha": nominal_alpha(first, second),
    }


def binary(rows: list[Row], rules: AgreementRules) -> Section:
    """Agreement on normal or anomalous."""
    measured = agreement_rows(rows, "binary", rules)
    return section_of("binary", "Normal or anomalous", "Agreement on is_anomalous.", measured)


def subtype(rows: list[Row], rules: AgreementRules) -> Section:
    """Agreement on normal or the subtype."""
    about = (
        "Agreement on the label of six values: normal, or the subtype. Records that a pass calls anomalous without a "
        "subtype are left out."
    )
    return section_of("subtype", "Normal or which subtype", about, agreement_rows(rows, "subtype", rules))


def section_of(name: str, title: str, about: str, rows: list[Row]) -> Section:
    """A section whose rows have the columns of MEASURED."""
    total = rows[0]
    return Section(
        name=name,
        title=title,
        about=about,
        columns=MEASURED,
        rows=rows,
        facts={
            column: total[column] for column in ("pairs", "agree_share", "kappa", "kappa_low", "kappa_high", "alpha")
        },
        definitions={"pairs": f"All source models; {POPULATIONS['decided']}."}
        | {
            column: f"{MEASURED[column][0].upper()}{MEASURED[column][1:]}."
            for column in ("agree_share", "kappa", "kappa_low", "kappa_high", "alpha")
        },
        plot=partial(agreement_plots.kappas, rows, title),
    )
