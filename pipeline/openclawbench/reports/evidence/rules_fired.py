"""Which rules of the evidence layer fired, how often, and which never did (dead, or no such input)."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.risk import Onset, Risk
from openclawbench.records.session import TraceSummaryRow
from openclawbench.reports import plots
from openclawbench.reports.counting import share
from openclawbench.reports.section import Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules, RuleFile
from openclawbench.rules.loading.rule_file import read_rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def known_ids(spec: RuleFile) -> list[str]:
    """The rule ids of a file, in the file's order, each once."""
    content = read_rules(spec.file)
    ids = [*walk(content), *(str(value) for name in spec.values for value in content[name].values())]
    for path in spec.names:
        table, key = path.split(".")
        ids += [str(entry[key]) for entry in content[table]]
    ids += [str(key) for name in spec.keys for key in content[name]]
    return list(dict.fromkeys([spec.prefix + value for value in ids] + spec.others))


def walk(content: Any) -> Iterator[str]:
    """Strings under a key `id` or `…_rule`, at any depth."""
    if isinstance(content, list):
        for value in content:
            yield from walk(value)
    elif isinstance(content, dict):
        for key, value in content.items():
            if isinstance(value, str) and (key == "id" or key.endswith("_rule")):
                yield value
            else:
                yield from walk(value)


def fired_ids(tables: Tables) -> dict[str, dict[str, int]]:
    """Stage -> rule id -> number of values it gave (for steps; for trajectories in `summary`, `slice` and `onset`)."""
    steps, risks, onsets, runs = (tables(record) for record in (AlignedDescriptor, Risk, Onset, TraceSummaryRow))
    evidence = steps.select(one="flag_evidence").explode("one")
    breakdown = risks.select(one="risk_breakdown").explode("one").filter(pl.col("one").struct.field("count") > 0)
    describe = [steps.select(rule=name) for name in ("event_rule", "status_rule", "side_effect_rule")]
    return {
        "describe": counted(pl.concat([*describe, evidence.select(rule=pl.col("one").struct.field("rule_id"))])),
        "align": counted(steps.select(rule=pl.col("alignment_rule").str.split(" ")).explode("rule")),
        "summary": counted(runs.select(rule=pl.col("trace_summary").struct.field("behaviour_rule"))),
        "slice": counted(breakdown.select(rule=pl.col("one").struct.field("signal"))),
        "onset": counted(
            onsets.select(one="onset_rules").explode("one").select(rule=pl.col("one").struct.field("rule_id"))
        ),
    }


def ids_fired_in_part(tables: Tables) -> dict[str, dict[str, int]]:
    """Stage -> rule id -> number of places where it decided without giving a step's value: as one of several parts of
    a command, or as the cause of a flag."""
    steps = tables(AlignedDescriptor)
    parts = steps.select("event_rule", part="command_parts").explode("part")
    own = parts.select("event_rule", rule=pl.col("part").struct.field("rule_id"))
    named = pl.col("event_rule").is_not_null() & (pl.col("event_rule") == pl.col("rule"))
    evidence = steps.select(one="flag_evidence").explode("one")
    causes = evidence.select(rule=pl.col("one").struct.field("cause"))
    return {"describe": counted(pl.concat([own.filter(~named).select("rule"), causes]))}


def counted(rules: pl.LazyFrame) -> dict[str, int]:
    """How often each id occurs in the column `rule`."""
    return dict(rules.drop_nulls().group_by("rule").agg(pl.len()).sort("rule").collect().iter_rows())


def rules_fired(tables: Tables, rules: EvidenceReportRules) -> list[Section]:
    """Three sections: by rule file, the rules that never fired, the rules that fired."""
    fired = fired_ids(tables)
    ids_by_file = {spec.file: known_ids(spec) for spec in rules.rule_files}
    stage_of = {spec.file: spec.stage for spec in rules.rule_files}
    in_part = ids_fired_in_part(tables)

    def firings(file: str | None, stage: str, rule_id: str) -> Row:
        return {
            "file": file,
            "rule_id": rule_id,
            "fired": fired[stage].get(rule_id, 0),
            "in_part": in_part.get(stage, {}).get(rule_id, 0),
        }

    numbers = [firings(file, stage_of[file], rule_id) for file, ids in ids_by_file.items() for rule_id in ids]
    in_no_file = [
        firings(None, stage, rule_id)
        for stage, ids in fired.items()
        for rule_id in dict.fromkeys([*ids, *in_part.get(stage, {})])
        if not any(rule_id in ids_by_file[file] for file in ids_by_file if stage_of[file] == stage)
    ]
    return [by_file(numbers, in_no_file), never_fired(numbers), ever_fired([*numbers, *in_no_file], rules)]


def by_file(numbers: list[Row], in_no_file: list[Row]) -> Section:
    """One row per rule file."""
    rows = []
    for file in dict.fromkeys(row["file"] for row in numbers):
        of_file = [row for row in numbers if row["file"] == file]
        gave_value = sum(row["fired"] > 0 for row in of_file)
        active = sum(has_fired(row) for row in of_file)
        rows.append(
            {
                "file": file,
                "rules": len(of_file),
                "fired": gave_value,
                "in_part_only": active - gave_value,
                "never_fired": len(of_file) - active,
                "fired_share": share(active, len(of_file)),
            }
        )
    silent = sum(row["never_fired"] for row in rows)
    return Section(
        name="rules",
        title="Rules by rule file",
        about="A rule fired where it gave a value of this corpus: a category, a status, a side effect, a flag, an "
        "alignment, a class of run, a part of the risk score, an onset candidate. It fired in part where it classified "
        "a part of a command that did not name the step, or where it was the cause of a flag.",
        columns={
            "file": "rule file",
            "rules": "rule ids in it",
            "fired": "ids that gave a value at least once",
            "in_part_only": "ids that gave no value, but fired in part",
            "never_fired": "ids that never fired in either way",
            "fired_share": "`fired` and `in_part_only` of `rules`",
        },
        rows=rows,
        facts={"rules": len(numbers), "never_fired": silent, "ids_in_no_file": len(in_no_file)},
        definitions={
            "rules": "Rule ids in all these files.",
            "never_fired": "Those that decided nothing on this corpus; a small corpus leaves many silent.",
            "ids_in_no_file": "Ids that fired and are in no rule file: a defect.",
        },
        plot=partial(picture, rows),
    )


def has_fired(row: Row) -> bool:
    """True if a rule gave a value or fired in part."""
    return bool(row["fired"] or row["in_part"])


def never_fired(numbers: list[Row]) -> Section:
    """Every rule that never fired."""
    rows = [{"file": row["file"], "rule_id": row["rule_id"]} for row in numbers if not has_fired(row)]
    return Section(
        name="rules_never_fired",
        title="Rules that never fired",
        about="Rules of the files above that neither gave a value on this corpus nor fired in part, in the order of "
        "the files. Where several texts of one failure decide together, only the one that named the status counts.",
        columns={"file": "rule file", "rule_id": "id of the rule"},
        rows=rows,
    )


def ever_fired(numbers: list[Row], rules: EvidenceReportRules) -> Section:
    """Every rule that fired, the most frequent first."""
    rows = sorted((row for row in numbers if has_fired(row)), key=lambda row: (-row["fired"], -row["in_part"]))
    return Section(
        name="rules_fired",
        title="Rules that fired",
        about="How often each rule gave a value, and how often it decided a part of one.",
        columns={
            "file": "rule file; a dash is a defect",
            "rule_id": "id of the rule",
            "fired": "values that it gave: one per step; for trace.toml, risk.toml and onset.toml one per trajectory; "
            "for text flags one per place",
            "in_part": "parts of commands that it classified without naming the step; flags that it caused",
        },
        rows=rows,
        shown=rules.unknown_rows,
    )


def picture(rows: list[Row]) -> "Figure":
    """Rules of each file that fired and that never fired."""
    figure, (axes,) = plots.new_figure(8, 1.4 + 0.3 * len(rows))
    shown = {"fired": "fired", "in part only": "in_part_only", "never fired": "never_fired"}
    parts = {name: [row[column] for row in rows] for name, column in shown.items()}
    colours = {"fired": plots.BAR, "in part only": "#9ecae1", "never fired": "#c8c8c8"}
    names = [row["file"] for row in rows]
    plots.stacked(figure, axes, names, parts, "Rules that fired on this corpus, by rule file", colours)
    for place, row in enumerate(rows):
        plots.behind(axes, f"{row['fired'] + row['in_part_only']} of {row['rules']}", row["rules"], place)
    axes.margins(x=0.12)
    axes.set_xlabel("rules")
    return figure
