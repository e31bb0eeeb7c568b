"""Agreement on the decision and on the subtype: shares, kappa, alpha."""

from functools import partial

from openclawbench.reports.agreement import plots as agreement_plots
from openclawbench.reports.agreement.pairs import NO_SUBTYPE, POPULATIONS, SCOPE, of, scopes
from openclawbench.reports.measures import kappa, nominal_alpha, proportion
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules

MEASURED = {
    **SCOPE,
    "population": "; ".join(f"{name}: {text}" for name, text in POPULATIONS.items()),
    "pairs": "trajectories",
    "agree": "those for which both passes say the same",
    "agree_share": "`agree` of `pairs`",
    "agree_low_share": "lower end of its Wilson interval",
    "agree_high_share": "upper end",
    "kappa": "Cohen's kappa; a dash where both passes say one and the same throughout",
    "kappa_low": "lower end of its bootstrap interval",
    "kappa_high": "upper end",
    "alpha": "Krippendorff's alpha, nominal; a dash as with kappa",
}


def measured(rows: list[Row], field: str, rules: AgreementRules) -> list[Row]:
    """A row of MEASURED for each scope and population."""
    return [
        {"scope": scope, "name": name, "population": population} | measures(of(population, some), field, rules)
        for population in POPULATIONS
        for scope, name, some in scopes(rows)
    ]


def measures(rows: list[Row], field: str, rules: AgreementRules) -> Row:
    """Agreement on `binary` or `subtype`."""
    known = [row for row in rows if NO_SUBTYPE not in (row["first"][field], row["second"][field])]
    first, second = ([row[name][field] for row in known] for name in ("first", "second"))
    agree = sum(one == other for one, other in zip(first, second, strict=True))
    shared, chance = proportion(agree, len(known), rules.confidence), kappa(first, second, rules)
    return {
        "pairs": len(known),
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
    """Normal or anomalous."""
    found = measured(rows, "binary", rules)
    return section_of("binary", "Normal or anomalous", "Agreement on is_anomalous.", found)


def subtype(rows: list[Row], rules: AgreementRules) -> Section:
    """Normal or which of the five."""
    about = (
        "Agreement on the label of six values: normal, or the subtype. Records that a pass calls anomalous without a "
        "subtype are left out."
    )
    return section_of("subtype", "Normal or which subtype", about, measured(rows, "subtype", rules))


def section_of(name: str, title: str, about: str, rows: list[Row]) -> Section:
    """A section of MEASURED."""
    whole = rows[0]
    return Section(
        name=name,
        title=title,
        about=about,
        columns=MEASURED,
        rows=rows,
        facts={one: whole[one] for one in ("pairs", "agree_share", "kappa", "kappa_low", "kappa_high", "alpha")},
        definitions={"pairs": f"All source models; {POPULATIONS['decided']}."}
        | {
            one: f"{MEASURED[one][0].upper()}{MEASURED[one][1:]}."
            for one in ("agree_share", "kappa", "kappa_low", "kappa_high", "alpha")
        },
        plot=partial(agreement_plots.kappas, rows, title),
    )
