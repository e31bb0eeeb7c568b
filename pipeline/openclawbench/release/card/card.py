"""README.md of a release: the Hub's front matter, and a card whose every number is computed from the released files."""

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from openclawbench.records.certificate import JudgeCertificate
from openclawbench.release.card.columns import column_tables
from openclawbench.release.card.configs import DEFAULT, Config, rows
from openclawbench.release.card.example import example_record, write_loading_code
from openclawbench.release.card.facts import Facts
from openclawbench.release.card.features import feature_lines
from openclawbench.release.card.second_pass import guide
from openclawbench.release.files.jsonl_files import CODECS, LISTING, form
from openclawbench.release.files.names import ROOT
from openclawbench.release.human_audited import HUMAN_ROWS
from openclawbench.release.labels.leakage import NORMAL
from openclawbench.release.provenance import AS_STATED, CODE_LICENSE
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.settings import Dataset, PublishRules
from openclawbench.release.statistics.corrected_gap import gap_sentence
from openclawbench.rules.fulltax.taxonomy import Taxonomy

TEMPLATE = (files("openclawbench.release") / "README.template.md").read_text(encoding="utf-8")
PART = re.compile(r"^\{#(?P<of>judged|unjudged)\}\n(?P<text>.*?)^\{/\}\n", re.MULTILINE | re.DOTALL)
FORMS = {  # ending of the JSONL files -> what the list of files says of it
    "": "",
    **{
        codec: f"JSONL files are compressed: each name below that ends in `.jsonl` has `{codec}` after it.\n\n"
        for codec in CODECS
    },
}
DIVIDED = (
    f"The JSONL files of a large source model are divided: `master_table_all.jsonl` into "
    f"`master_table_all-00000-of-00002.jsonl` and so on, all tables at the same trajectories. `{LISTING}` beside them "
    "has the rows, bytes, and first and last trajectory of each.\n\n"
)
CANNOT_SCORE = "holds no anomalous record: it cannot score a detector, and an F1 on it means nothing."
MODEL_HEADER = [
    *("source model", "trajectories", "steps", "accepted", "repaired", "baseline", "in review"),
    *("anomalous (accepted)", "anomalous (baseline)"),
]
NOBODY = (
    "No human verdict is part of this release, so how well its labels agree with people is not measured here, and the "
    "paper's figures belong to its own data and judge."
)
PEOPLE = (
    "Verdicts of people stand in `human_audited.jsonl`, beside the silver labels, which they never change. Settled: "
    "with a human label, and of the label that this release has. Over-flags: silver anomalous, people normal; misses: "
    "the reverse. All of these trajectories pass their oracle and were drawn by slice: no rate of the corpus follows."
)
LEAKS = (
    *("shared_tasks", "test_records_of_shared_tasks", "near_duplicates"),
    *("pool_tasks_in_train", "near_duplicates_of_pool"),
)


def card(root: Path, facts: Facts, loadable: list[Config], rules: PublishRules, statistics: str) -> str:
    """The text of README.md for the release in `root`, whose data files are complete."""
    notice = facts["corpus"].get("notice")
    second = guide(root, set(facts["made_by"]["judge_model"]))
    return template(facts["is_unjudged"]).format(
        front_matter=front_matter(loadable, facts, rules),
        title=rules.card.pretty_name,
        notice="".join(
            f"> **{sentence}**\n\n" for sentence in (notice, describe_missing_settings(rules.dataset)) if sentence
        ),
        loading=write_loading_code(loadable, repository(rules.dataset)),
        taxonomy=taxonomy(root),
        example=example_record(root),
        columns=column_tables(),
        publisher=publisher(rules.dataset),
        citation=citation(rules.dataset),
        licences=licences(rules.dataset) + licences_of_inputs(root),
        jsonl=FORMS[form(root)] + (DIVIDED if any(root.glob(f"{ROOT}/*/{LISTING}")) else ""),
        second_rows=second.rows + (HUMAN_ROWS if facts["human"] else ""),
        human=human(facts["human"]),
        second_notice=second.notice,
        glance=glance(facts),
        configs=table(
            ["configuration", "splits", "what"],
            [[code(config.name), splits(root, config), config.about] for config in loadable],
        ),
        models=table(
            MODEL_HEADER,
            [[code(row["source_model"]), *(number(row[name]) for name in list(row)[1:])] for row in facts["models"]],
        ),
        statistics=statistics,
        labels=labels(facts["labels"]),
        leakage=leakage(facts["leakage"]),
        left_out=table(
            ["cut", "reason", "records"],
            [[code(cut), code(why), number(n)] for cut, why_n in facts["left_out"].items() for why, n in why_n.items()],
        ),
        pool=format_counts("slice", facts["pool"]),
        widened=widened_notice(facts["widened"]),
        text=text_table(facts["text"]),
        made_by=made_by(facts),
        collected=describe_collection(facts),
    )


def template(is_unjudged: bool) -> str:
    """The template, with the parts on labels or, where nobody judged, those in their place: a part begins with a line
    `{{#judged}}` or `{{#unjudged}}` and ends with `{{/}}`."""
    kept = "unjudged" if is_unjudged else "judged"
    return PART.sub(lambda part: part["text"] if part["of"] == kept else "", TEMPLATE)


def front_matter(loadable: list[Config], facts: Facts, rules: PublishRules) -> str:
    """YAML of the Hub: licence, what can be loaded, and the columns of each (declared once a record)."""
    lines = [f"{name}: {json.dumps(value)}" for name, value in (*license_lines(rules.dataset), *rules.card) if value]
    lines.append(f"size_categories: {json.dumps([size(facts['corpus']['totals']['trajectories'])])}")
    if loadable:
        lines += ["configs:", *(line for config in loadable for line in config_lines(config))]
        lines.append("dataset_info:")
    declared: set[str] = set()
    for config in loadable:
        anchor = config.record.__name__
        lines.append(f"- config_name: {json.dumps(config.name)}")
        if anchor in declared:
            lines.append(f"  features: *{anchor}")
        else:
            lines += [f"  features: &{anchor}", *feature_lines(config.record)]
            declared.add(anchor)
    return "\n".join(["---", *lines, "---"])


def license_lines(dataset: Dataset) -> list[tuple[str, str]]:
    """The licence as the Hub writes it; empty if no licence is given."""
    if dataset.terms is None:
        return []
    own = (
        [("license_name", dataset.license_name), ("license_link", dataset.license_url)] if dataset.license_name else []
    )
    return [("license", "other" if own else dataset.license), *own]


def config_lines(config: Config) -> list[str]:
    """One configuration with the files of its splits."""
    lines = [f"- config_name: {json.dumps(config.name)}"]
    lines += ["  default: true"] if config.name == DEFAULT else []
    lines.append("  data_files:")
    for split, pattern in config.splits.items():
        lines += [f"  - split: {split}", f"    path: {json.dumps(pattern)}"]
    return lines


def size(records: int) -> str:
    """The Hub's size category for a number of records."""
    limits = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
    return next((word for limit, word in limits.items() if records < limit), "n>1M")


def repository(dataset: Dataset) -> str:
    """The name under which code loads the dataset: the repository of a Hub address, else a placeholder."""
    address = dataset.url.partition("/datasets/")[2].strip("/")
    return address if address.count("/") == 1 else "PATH_OR_REPO"


def describe_missing_settings(dataset: Dataset) -> str:
    """A sentence on the settings that are missing before others can use the dataset."""
    if not dataset.lacking:
        return ""
    names = " and no ".join("licence" if name == "license" else name for name in dataset.lacking)
    return (
        f"This release names no {names}. Without a licence nobody but its owner may use the data; fill in "
        f"publish.toml ([dataset] {', '.join(dataset.lacking)}) and build it again before you publish it."
    )


def human(rows: list[Facts]) -> str:
    """Human verdicts on records, by label_status: labels of the rules judge are measured apart."""
    if not rows:
        return NOBODY
    header = ["label_status", "audited", "label changed since", "settled", "agree", "over-flags", "misses", "blind"]
    lines = [[code(row["label_status"]), *(number(row[name]) for name in list(row)[1:])] for row in rows]
    return f"{PEOPLE}\n\n{table(header, lines)}"


def publisher(dataset: Dataset) -> str:
    """Publisher, address and version of the dataset."""
    shown = {
        "creator": dataset.creator,
        "contact": dataset.contact,
        "address": dataset.url,
        "version": dataset.version,
        "published": dataset.date_published,
        "based on": "; ".join(dataset.based_on),
    }
    return table(
        ["what", "value"], [[name, format_cell(value) if value else "not given"] for name, value in shown.items()]
    )


def citation(dataset: Dataset) -> str:
    """How to cite the dataset and the method."""
    own = f"This dataset:\n\n```bibtex\n{dataset.citation}\n```\n\n" if dataset.citation else ""
    return f"{own}The taxonomy and the construction follow:\n\n```bibtex\n{dataset.method_citation}\n```"


def licences(dataset: Dataset) -> str:
    """The licences of the data, and of the code that made them."""
    data = f"Data: {dataset.terms.name} ({dataset.terms.url})." if dataset.terms else "Data: no licence is given."
    based = "".join(f" Based on: {format_cell(source)}." for source in dataset.based_on)
    return f"{data}{based} Code, rules, schemas and prompts: {CODE_LICENSE.name}."


def licences_of_inputs(root: Path) -> str:
    """A sentence on the licences that sessions of the release came with; empty if none is stated."""
    stated = json.loads((root / PACKAGE).read_text(encoding="utf-8"))["licenses"]
    came = [
        f"{format_cell(row['name'])} ({row['title'].removesuffix(AS_STATED)})"
        for row in stated
        if row["title"].endswith(AS_STATED)
    ]
    if not came:
        return ""
    return f" Sessions came with licences of their own, which bind what is made of them: {', '.join(came)}."


def taxonomy(root: Path) -> str:
    """The released subtypes with their definitions, from the taxonomy that the release holds."""
    subtype = tomllib.loads((root / Taxonomy.FILE).read_text(encoding="utf-8"))["subtype"]
    lines = [
        [code(row["name"]), code(row["family"]), row["definition"], f"Not where {row['not_where']}."] for row in subtype
    ]
    return table(["subtype (`anomaly_type_l2`)", "family (`anomaly_type_l1`)", "definition", "limit"], lines)


def format_cell(text: str) -> str:
    """Text of the settings in a table's cell."""
    return " ".join(text.split()).replace("|", "¦")


def glance(facts: Facts) -> str:
    """The corpus in one table, and the gap in a sentence."""
    totals = facts["corpus"]["totals"]
    shown = {
        "source models": len(facts["models"]),
        "trajectories": totals["trajectories"],
        "steps": facts["steps"],
        "accepted labels": totals["accepted"],
        "of them anomalous": totals["anomalous_accepted"],
    }
    if totals["baseline"]:
        shown |= {"baseline labels": totals["baseline"], "of these anomalous": totals["anomalous_baseline"]}
    if facts["is_unjudged"]:
        shown = {name: value for name, value in shown.items() if "label" not in name and "anomalous" not in name}
    counts = table(["what", "count"], [[name, number(value)] for name, value in shown.items()])
    judges = "\n\n".join(judge_sentence(judge) for judge in facts["judges"])
    return f"{counts}\n\n**{gap_sentence(facts['gap'])}**\n\n{judges}"


def judge_sentence(judge: dict[str, Any]) -> str:
    """The exam result of a judge, or a sentence that it has not sat the exam."""
    blind = " It saw neither outcomes nor risk (`--blind`)." if judge["blind"] else ""
    if judge["certificate"] is None:
        who = f"{judge['judge']} ({judge['judge_model']})"
        return (
            f"**Uncertified judge**: {code(who)} has not sat the exam, so how good its labels are is not known.{blind}"
        )
    certificate = JudgeCertificate.model_validate(judge["certificate"])
    return f"{format_cell(certificate.sentence)} `datapackage.json` holds the certificate.{blind}"


def splits(root: Path, config: Config) -> str:
    """Splits of a configuration with their rows."""
    return ", ".join(f"{split} {number(rows(root, pattern))}" for split, pattern in config.splits.items())


def labels(rows: list[Facts]) -> str:
    """Rows of the label files."""
    header = ["cut", "side", "accepted", "of them anomalous", "of them scoreable", "baseline", "of these anomalous"]
    header.append("needs_review")
    lines = [[code(row["cut"]), row["side"], *(number(row[name]) for name in list(row)[2:])] for row in rows]
    return table(header, lines)


def leakage(by_cut: dict[str, Any]) -> str:
    """Leakage from the train side to the test side, for each cut."""
    lines = []
    for cut, leaks in by_cut.items():
        f1 = leaks["memoriser"]["f1"]
        lines.append([code(cut), *(number(leaks[name]) for name in LEAKS), "-" if f1 is None else f"{f1:.3f}"])
    shown = table(["cut", *(name.replace("_", " ") for name in LEAKS), "F1 of a memoriser of tasks"], lines)
    empty = [code(cut) for cut, value in by_cut.items() if not value["subtype_share"]["test"].keys() - {NORMAL}]
    return "\n\n".join([shown, *(f"The test side of {cut} {CANNOT_SCORE}" for cut in empty)])


def made_by(facts: Facts) -> str:
    """Judge, prompts and versions, with the number of records that name them."""
    lines = [[name, code(value), number(n)] for name, values in facts["made_by"].items() for value, n in values.items()]
    return table(["what", "value", "records"], lines)


def describe_collection(facts: Facts) -> str:
    """Source formats of the sessions, and when they ran."""
    sessions = facts["collected"]
    lines = [["source format", code(name), number(n)] for name, n in sessions["formats"].items()]
    times = [name for name in ("first", "last") if sessions[name]]
    lines += [[f"{name} time of a session (UTC)", code(sessions[name]), ""] for name in times]
    return table(["what", "value", "records"], lines)


def widened_notice(phrases: list[str]) -> str:
    """A paragraph on rules that let more pass than those of the program; blank if there are none."""
    if not phrases:
        return ""
    return (
        "**These rules let more pass than those that come with OpenClawBench**: "
        f"{format_cell('; '.join(phrases))}. Search the text yourself before you pass it on.\n\n"
    )


def text_table(rows: list[Facts]) -> str:
    """Finds of a scan of the released text, by kind."""
    lines = [[code(row["kind"]), number(row["finds"]), number(row["records"])] for row in rows]
    return table(["kind", "finds", "records"], lines)


def format_counts(header: str, values: dict[str, int]) -> str:
    """Values with the number of records that have them."""
    return table([header, "records"], [[code(name), number(n)] for name, n in values.items()])


def table(header: list[str], lines: list[list[str]]) -> str:
    """A Markdown table; a word if it has no rows."""
    if not lines:
        return "None."
    rule = ["---"] * len(header)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *lines])


def number(value: int) -> str:
    """A number with thousands separators."""
    return f"{value:,}"


def code(text: str) -> str:
    """Text of the data, as code in a table: nothing in it can end the cell or become markup."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    return "`" + plain.replace("`", "'").replace("|", "¦") + "`"
