"""An example for the card: one record of the release in short, and code that loads and joins its tables."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.records.tiers import BASELINE, UNJUDGED, main_status
from openclawbench.release.card.configs import DEFAULT, Config
from openclawbench.release.files.names import MASTER_FILE, ROOT, models_of
from openclawbench.release.files.parquet import shards_of
from openclawbench.tables.record import TRAJECTORY_KEY

CHARACTERS = 160  # of a text in the example
LABEL = (
    *("is_anomalous", "anomaly_type_l1", "anomaly_type_l2", "evidence_steps", "segment_spans"),
    *("earliest_recoverable_onset", "earliest_harmful_onset", "severity", "recoverability", "annotator_rationale"),
    *("quality_tier", "label_status"),
)
CONTEXT = (*TRAJECTORY_KEY, "task_id", "num_steps", "oracle_outcome", "risk_score", "slice_label")
STEP = (
    "step_id",
    "thinking",
    "narration",
    "action_text",
    "reflection_text",
    "event_type",
    "tool_status",
    "side_effect",
)
Row = dict[str, Any]

LOADING = """\
```python
from datasets import load_dataset

labels = load_dataset("{where}", "{labels}")  # {about}
records = load_dataset("{where}", "{records}", split="full")  # steps, labels and provenance
```

Labels with their records, by the joint key (`{side}` is the side of the default cut):

```python
key = ["source_model", "trajectory_id"]
by_key = {{tuple(row[name] for name in key): number for number, row in enumerate(records.select_columns(key))}}
joined = [records[by_key[tuple(row[name] for name in key)]] for row in labels["{side}"]]
```"""


RECORDS_ALONE = """\
```python
from datasets import load_dataset

records = load_dataset("{where}", "master_table", split="full")  # steps and provenance; there is no label to load
```"""


def example_record(root: Path) -> str:
    """The shortest anomalous record that is not in review, else the shortest record, as JSON with its texts cut; empty
    if the release has no records. Its text cannot close the Markdown block around it."""
    chosen = choose(root)
    if chosen is None:
        return "None."
    model, number = chosen
    row = whole_row(root, model, number)
    onset = row["earliest_recoverable_onset"] or 1
    steps = [{name: step[name] for name in STEP} for step in row["steps"] if step["step_id"] == onset]
    shown = {name: row[name] for name in CONTEXT} | {"steps": steps} | {name: row[name] for name in LABEL}
    text = json.dumps(shorten_texts(shown), indent=1, ensure_ascii=True).replace("`", "\\u0060")
    caption = f"Fields left out; texts cut after {CHARACTERS} characters; of {row['num_steps']} steps, one is shown."
    return f"{caption}\n\n```json\n{text}\n```"


def choose(root: Path) -> tuple[str, str] | None:
    """Key of the example; None if the release has no records."""
    wanted = [*TRAJECTORY_KEY, "num_steps", "is_anomalous", "label_status"]
    files = [path for model in models_of(root) for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}")]
    scans = (pl.scan_parquet(path, glob=False) for path in files)  # one at a time: each holds the footer of its file
    statuses = [scan.select(pl.col("label_status").unique()).collect(engine="streaming") for scan in scans]
    if not any(rows.height for rows in statuses):
        return None
    status = main_status(pl.concat(statuses).to_series())
    good = pl.col("is_anomalous").fill_null(False) & (pl.col("label_status") == status)
    waits = (pl.col("label_status") == UNJUDGED) & (pl.col("num_steps") > 0)
    order = [~good, ~waits, pl.col("num_steps"), *map(pl.col, TRAJECTORY_KEY)]
    scans = (pl.scan_parquet(path, glob=False).select(wanted) for path in files)
    firsts = [scan.bottom_k(1, by=order).collect(engine="streaming") for scan in scans]
    first = pl.concat(firsts).sort(order).row(0, named=True)
    return first["source_model"], first["trajectory_id"]


def whole_row(root: Path, model: str, name: str) -> Row:
    """One record."""
    for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}"):
        rows = pl.scan_parquet(path, glob=False).filter(pl.col("trajectory_id") == name).collect(engine="streaming")
        if rows.height:
            return rows.row(0, named=True)
    raise LookupError(f"{model}/{name} is in no file")


def shorten_texts(value: Any) -> Any:
    """Plain data with its texts cut."""
    if isinstance(value, dict):
        return {name: shorten_texts(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shorten_texts(item) for item in value]
    if isinstance(value, str) and len(value) > CHARACTERS:
        return value[:CHARACTERS] + "…"
    return value


def write_loading_code(loadable: list[Config], where: str) -> str:
    """Code that loads labels and records and joins them, for configurations that the release has."""
    by_name = {config.name: config for config in loadable}
    labels = next(
        (by_name[name] for name in (DEFAULT, f"{DEFAULT}_{BASELINE}", f"{DEFAULT}_all") if name in by_name), None
    )
    if labels is None:
        return RECORDS_ALONE.format(where=where) if "master_table" in by_name else "There is no label to load."
    about = "the default: accepted labels" if labels.name == DEFAULT else f"{labels.about}; there are no accepted ones"
    side = "train" if "train" in labels.splits else next(iter(labels.splits))
    return LOADING.format(where=where, labels=labels.name, about=about, records="master_table", side=side)
