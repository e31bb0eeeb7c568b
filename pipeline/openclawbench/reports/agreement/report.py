"""The agreement report: do two independent annotation passes agree (paper section 4)?"""

from openclawbench.records.fulltax import Annotation
from openclawbench.records.risk import Risk
from openclawbench.records.second_pass import AnnotationPass2, both_high_confidence
from openclawbench.records.tiers import HIGH
from openclawbench.reports.agreement.disagreements import binary_confusion, disagreements, subtype_confusion, tiers
from openclawbench.reports.agreement.labels import binary, subtype
from openclawbench.reports.agreement.onsets import onsets
from openclawbench.reports.agreement.pairs import POPULATIONS, SCOPE, in_population, is_baseline, judges, pairs, scopes
from openclawbench.reports.counting import share
from openclawbench.reports.section import Report, Row, Section, Tables
from openclawbench.reports.settings import AgreementRules
from openclawbench.tables.record import Record

NAME = "agreement"
COUNTED = ("trajectories", "decided", "accepted", "baseline", "both_high_confidence")
BASELINE_WORDS = (
    "The rules judge, a baseline, labelled trajectories in one of the passes: agreement with it does not measure "
    "reliability, and no such trajectory counts as accepted or as confident in both passes. "
)
READS: list[type[Record]] = [Annotation, AnnotationPass2, Risk]


def agreement_report(tables: Tables, same_judge: bool) -> Report:
    """The report, from the tables of READS. Raises NotFound (from `tables`) if one is stale."""
    rules = AgreementRules.load()
    rows = pairs(tables)
    baseline = BASELINE_WORDS if any(map(is_baseline, rows)) else ""
    independent = "Both passes have THE SAME JUDGE: that they agree says nothing. " if same_judge else ""
    return Report(
        name=NAME,
        title="Agreement of the two annotation passes",
        about=f"{independent}{baseline}Two judges on the same packets, neither of which saw the other's answers. "
        "Agreement says how far a label depends on the judge; it does not say that a label is true. Intervals are at "
        f"{100 * rules.confidence:g} %: Wilson for shares, a bootstrap of {rules.bootstrap_samples} samples with a "
        "fixed seed for kappa.",
        sections=[
            covered(rows, judges(tables), same_judge),
            binary(rows, rules),
            subtype(rows, rules),
            *onsets(rows, rules),
            binary_confusion(rows),
            subtype_confusion(rows),
            tiers(rows),
            disagreements(rows, rules),
        ],
        rules={rules.FILE: rules.digest},
    )


def covered(rows: list[Row], judge_names: dict[str, str], same_judge: bool) -> Section:
    """How many trajectories both passes have, and on how many both are confident."""
    scope_rows = [coverage_row(scope, name, scope_pairs) for scope, name, scope_pairs in scopes(rows)]
    total = scope_rows[0]
    return Section(
        name="both_passes",
        title="What both passes have",
        about="Trajectories by their state in both passes. `both_high_confidence` is the paper's supervised "
        "pool: high_confidence_accepted in both, with the same is_anomalous and the same subtype.",
        columns={
            **SCOPE,
            "trajectories": "trajectories with an annotation in each pass, including those that no judge was asked "
            "about",
            "decided": POPULATIONS["decided"],
            "accepted": POPULATIONS["accepted"],
            "baseline": "one of the passes, or both, has a label of the rules judge",
            "both_high_tier": "high_confidence_accepted in both passes, whatever the label",
            "both_high_confidence": "of these, those with the same label in both",
            "both_high_share": "`both_high_confidence` of `trajectories`",
            "anomalous_share": "of `both_high_confidence`, those that are anomalous",
        },
        rows=scope_rows,
        facts={
            "first_judge": judge_names["first"],
            "second_judge": judge_names["second"],
            "same_judge": same_judge,
            **{name: total[name] for name in COUNTED},
            "both_high_share": total["both_high_share"],
        },
        definitions={
            "first_judge": "Judge of the first pass, whose labels are released.",
            "second_judge": "Judge of the second pass.",
            "same_judge": "If so, agreement says nothing.",
            "both_high_share": "Of all trajectories (the paper retains 78 %).",
        },
    )


def coverage_row(scope: str, name: str, rows: list[Row]) -> Row:
    """Counts of one scope."""
    high = [row for row in rows if row["first"]["quality_tier"] == row["second"]["quality_tier"] == HIGH]
    confident_pairs = [row for row in rows if both_high_confidence(row["first"], row["second"])]
    return {
        "scope": scope,
        "name": name,
        "trajectories": len(rows),
        **{population: len(in_population(population, rows)) for population in POPULATIONS},
        "baseline": sum(map(is_baseline, rows)),
        "both_high_tier": len(high),
        "both_high_confidence": len(confident_pairs),
        "both_high_share": share(len(confident_pairs), len(rows)),
        "anomalous_share": share(
            sum(bool(row["first"]["is_anomalous"]) for row in confident_pairs), len(confident_pairs)
        ),
    }
