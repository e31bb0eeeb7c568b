"""`openclawbench report gap`: the outcome-process gap of a release, corrected by human verdicts."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from openclawbench.base.terminal import output, table
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.errors import NotFound, UnreadableInput, UsageError

if TYPE_CHECKING:
    import polars as pl

    from openclawbench.reports.section import Section

INTERVALS = {
    "silver": "silver labels alone",
    "corrected": "corrected",
    "prediction_powered": "the same by prediction-powered inference",
    "sensitivity": "sensitivity of silver",
    "specificity": "specificity of silver",
}


def gap(
    release: Annotated[
        Path | None,
        typer.Argument(metavar="RELEASE_DIR", help="A release folder, or a copy; that of the data folder without it."),
    ] = None,
    calibrated: Annotated[
        bool,
        typer.Option("--calibrated", help="Correct the silver share by human verdicts; fails where there are none."),
    ] = False,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            "--verdicts",
            help="A data folder with imported reviews, or a human_audited file; the release's own without it.",
        ),
    ] = None,
    data: Data = DATA,
    json_out: Json = False,
) -> None:
    """The outcome-process gap of a release: silver, and corrected by human verdicts, with intervals that hold."""
    from openclawbench.cli.commands.report.statistics import settings_of
    from openclawbench.release.release_folder import refuse_other_folder
    from openclawbench.release.statistics.corpus import read_corpus
    from openclawbench.release.statistics.corrected_gap import corrected_gap, gap_sentence, passing
    from openclawbench.release.statistics.gap import by_mode
    from openclawbench.reports.counting import percent
    from openclawbench.reports.files import as_json
    from openclawbench.storage.data_folder import DataFolder

    root = release or DataFolder(data).release
    refuse_other_folder(root)
    if verdicts is not None and not calibrated:
        raise UsageError("--verdicts: is used with --calibrated only. Add --calibrated.")
    corpus = read_corpus(root, ["mode"])
    if calibrated:
        corpus = corpus.with_human(read_verdicts(verdicts, corpus.records) if verdicts else corpus.human)
    else:
        corpus = corpus.with_human(None)
    rules = settings_of(root).statistics
    section = corrected_gap.compute(corpus, rules)
    parts = by_mode(passing(corpus))  # beside the whole, where the run manifest named a mode
    modes = {name: corrected_gap.compute(replace(corpus, records=records), rules) for name, records in parts}
    facts = section.facts
    if calibrated and not facts["verdicts"]:
        raise NotFound(
            f"{verdicts or root}: has no settled human verdict on an oracle-passing record with the label of this "
            "release. Draw a sample (`openclawbench audit sample-calibration`), import the filled sheet and name the "
            "data folder with --verdicts."
        )
    if json_out:
        modes_data = {"modes": {name: of_mode.data() for name, of_mode in modes.items()}} if modes else {}
        print(as_json(section.data() | modes_data), end="")
        return
    console = output()
    counts = ("stratum", "trajectories", "human_anomalous", "human_normal", "unresolved")
    shown = counts if calibrated else counts[:2]
    rows = [[*(row[name] for name in shown), percent(row["human_anomalous_share"])] for row in section.rows]
    columns = [*(name.replace("_", " ") for name in shown), "people say anomalous"]
    width = len(columns) if calibrated else len(shown)  # without verdicts there is no share of theirs
    console.print(table(section.title, columns[:width], [row[:width] for row in rows]))
    if calibrated:
        lines = [
            [
                words,
                percent(facts[f"{name}_share"]),
                percent(facts.get(f"{name}_low_share")),
                percent(facts.get(f"{name}_high_share")),
            ]
            for name, words in INTERVALS.items()
        ]
        console.print()
        console.print(table("Shares", ["what", "share", "from", "to"], lines))
        if any(row["unresolved"] for row in section.rows):
            bounds = (percent(facts[f"unresolved_{label}_share"]) for label in ("normal", "anomalous"))
            console.print(
                "\nUnresolved verdicts: the gap is {} if all were normal, {} if all were anomalous.".format(*bounds)
            )
        if facts["few_verdicts"]:
            console.print(f"\nFew verdicts: {facts['few_verdicts']}")
    if modes:
        console.print()
        console.print(modes_table(modes, calibrated))
    console.print(f"\n{gap_sentence(facts)}")


def modes_table(modes: "Mapping[str, Section]", calibrated: bool) -> Table:
    """One row per mode: its trajectories and what their labels say; with `calibrated` what verdicts make of that."""
    from openclawbench.reports.counting import percent

    columns = ("silver_share", "corrected_share", "corrected_low_share", "corrected_high_share")
    rows = [
        [
            *(name, section.rows[-1]["trajectories"], section.facts["state"]),
            *(percent(section.facts.get(column)) for column in columns),
            section.facts["verdicts"],
        ]
        for name, section in modes.items()
    ]
    names = ["mode", "trajectories", "state", "labels say anomalous", "corrected", "from", "to", "verdicts"]
    width = len(names) if calibrated else 4
    return table("By mode of collecting", names[:width], [row[:width] for row in rows])


def read_verdicts(path: Path, records: "pl.DataFrame") -> "pl.DataFrame":
    """HUMAN_COLUMNS of a data folder's reviews or of a human_audited file, compared with the labels of `records`.

    Raises UnreadableInput.
    """
    import polars as pl

    from openclawbench.audit.calibration.released_verdicts import human_verdicts
    from openclawbench.records.calibration import HumanVerdict
    from openclawbench.release.statistics.corpus import HUMAN_COLUMNS
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.tables.record import TRAJECTORY_KEY
    from openclawbench.tables.schema import from_records

    silver = ["silver_anomaly_label"]
    if path.is_dir():
        verdicts = from_records([verdict.model_dump() for verdict in human_verdicts(DataFolder(path))], HumanVerdict)
    else:
        try:
            verdicts = (
                pl.read_parquet(path, glob=False)
                if path.suffix == ".parquet"
                else pl.read_ndjson(path, infer_schema_length=None)
            )
            verdicts = verdicts.select(
                pl.col(*TRAJECTORY_KEY).cast(pl.String), pl.col("human_anomaly_label", *silver).cast(pl.Boolean)
            )
        except (OSError, pl.exceptions.PolarsError) as error:
            message = str(error).partition("\n")[0]
            raise UnreadableInput(
                f"{path}: cannot be read as human verdicts: {message}. Name a data folder, or the human_audited.jsonl "
                "or human_audited.parquet of a release."
            ) from error
    keys = list(TRAJECTORY_KEY)
    if repeated := verdicts.filter(pl.struct(keys).is_duplicated()).height:
        raise UnreadableInput(
            f"{path}: {repeated} rows share a key with another. Keep one verdict for each trajectory."
        )
    labels = records.select(*keys, "is_anomalous")
    return (
        verdicts.join(labels, on=keys, how="inner")
        .with_columns(same_label=pl.col("silver_anomaly_label").eq_missing(pl.col("is_anomalous")))
        .select(HUMAN_COLUMNS)
    )
