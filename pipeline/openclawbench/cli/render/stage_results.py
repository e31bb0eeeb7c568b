"""What each stage made, as a table for people."""

from collections.abc import Callable

import polars as pl
from rich.console import Console

from openclawbench.base.terminal import table
from openclawbench.cli.render.run import SLICES, print_coverage, print_inputs, print_packets
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.fulltax import Annotation
from openclawbench.records.risk import Onset, OnsetCandidates, Risk
from openclawbench.records.tiers import TIERS
from openclawbench.workspace.update import RunReport, Tables

CANDIDATES = [name for name in OnsetCandidates.model_fields if name.startswith("earliest_")]


def print_counts(console: Console, title: str, header: str, names: list[str], rows: pl.LazyFrame) -> None:
    """How often each name occurs, by source model. `rows`: source_model, name. Names that `names` lacks follow, by
    name."""
    counted = rows.group_by("source_model", "name").agg(pl.len()).collect()
    counts = {(model, name): count for model, name, count in counted.iter_rows()}
    models = sorted({model for model, _ in counts})
    numbers = {
        name: [counts.get((model, name), 0) for model in models]
        for name in [*names, *sorted({name for _, name in counts} - {*names})]
    }
    console.print(table(title, [header, *models, "all"], [[name, *row, sum(row)] for name, row in numbers.items()]))


def print_event_types(console: Console, tables: Tables) -> None:
    """Steps by event type."""
    rows = tables[AlignedDescriptor].select("source_model", name="event_type")
    print_counts(console, "Event types (steps)", "event_type", [], rows)


def print_slices(console: Console, tables: Tables) -> None:
    """Trajectories by risk slice."""
    rows = tables[Risk].select("source_model", name=pl.col("slice_label").fill_null("no_outcome"))
    print_counts(console, "Risk slices (trajectories)", "slice_label", [*SLICES, "no_outcome"], rows)


def print_candidates(console: Console, tables: Tables) -> None:
    """Trajectories that have each onset candidate."""
    candidates = tables[Onset].select("source_model", "onset_candidates").unnest("onset_candidates")
    rows = candidates.unpivot(CANDIDATES, index="source_model", variable_name="name").drop_nulls("value")
    title = "Onset candidates (trajectories that have one)"
    print_counts(console, title, "candidate", CANDIDATES, rows.select("source_model", "name"))


def print_annotations(console: Console, tables: Tables) -> None:
    """Trajectories by quality tier, and anomalous ones by subtype."""
    decided = [record for record in tables.run.keys if issubclass(record, Annotation)]
    if not decided:
        return
    annotations = tables[decided[-1]]  # of the pass that was carried out
    if not annotations.select(pl.len()).collect().item():
        return
    rows = annotations.select("source_model", name="quality_tier")
    print_counts(console, "Quality tiers (trajectories)", "quality_tier", list(TIERS), rows)
    console.print()
    anomalous = annotations.filter("is_anomalous").select("source_model", name="anomaly_type_l2")
    print_counts(console, "Anomalies (trajectories, in review ones included)", "anomaly_type_l2", [], anomalous)


PRINTED: dict[str, Callable[[Console, Tables], None]] = {
    "enrich": print_event_types,
    "slice": print_slices,
    "onset": print_candidates,
    "annotate": print_annotations,
    "merge": print_annotations,
}


def print_stage_result(console: Console, verb: str, report: RunReport) -> None:
    """What the last stage of a run made; the sessions, for `normalize`."""
    if verb == "normalize":
        print_inputs(console, report.inputs)
    elif verb == "fuse":
        print_coverage(console, report)
    elif verb == "packet":
        print_packets(console, report)
    elif report.tables is not None and (print_it := PRINTED.get(verb)):
        print_it(console, report.tables)
