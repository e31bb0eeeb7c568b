"""statistics.json, STATISTICS.md and the pictures: recomputed from the released files; their identities hold."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from openclawbench.errors import OpenClawBenchError
from openclawbench.records.calibration import HumanAudited
from openclawbench.records.json_schema import json_schema
from openclawbench.records.release import LabelRow, Master, PoolRow
from openclawbench.records.statistics import StatisticsFile
from openclawbench.release.files.jsonl_files import open_lines, released
from openclawbench.release.files.names import SUMMARY
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.labels.labels import POOL_FILE
from openclawbench.release.labels.places import CUTS, SIDES
from openclawbench.release.statistics.consistency import contradictions
from openclawbench.release.statistics.corpus import (
    BASE_COLUMNS,
    COMPUTED_FROM,
    HUMAN_COLUMNS,
    NO_LABELS,
    Corpus,
    both_sure,
    count_labels,
    count_records,
    record_columns,
)
from openclawbench.release.statistics.files import DATA, TEXT
from openclawbench.release.statistics.files import text as as_text
from openclawbench.release.statistics.statistics import COLUMNS, TABLES, identities, statistics
from openclawbench.release.unjudged import nobody_judged
from openclawbench.release.validate.compare import compare, read_json, too_large
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import Line
from openclawbench.release.validate.recompute.card import BROKEN, settings
from openclawbench.release.validate.same_files import text_differences
from openclawbench.tables.record import Keyed
from openclawbench.tables.schema import empty, from_columns, schema

ROWS_AT_ONCE = 16_384  # of a file of labels


def check_figures(root: Path, findings: Findings) -> dict[str, Any] | None:
    """The identities between the published figures, which are returned; None if they cannot be read."""
    published = read_statistics(root, findings)
    if published is not None:
        check_identities(root, published, findings)
    return published


def check_statistics(root: Path, records: Iterable[pl.DataFrame], findings: Findings) -> None:
    """Every number and line of a new release, compared with what its lines give; the writer reads Parquet. `records`:
    `columns_of` the released lines."""
    published = check_figures(root, findings)
    try:
        rules = settings(root)
        report = statistics(corpus_of_lines(root, records), rules.statistics)
    except (*BROKEN, OpenClawBenchError, pa.ArrowException) as error:
        message = str(error).partition("\n")[0] or type(error).__name__
        findings.add("statistics", DATA, f"cannot be computed from the files of the release: {message}")
        return
    if published is not None:
        compare(published, report.data(), DATA, "statistics", findings, counted="statistics")
    for number, message in text_differences((root / TEXT).read_bytes(), as_text(report, rules)):
        findings.add("statistics", TEXT, message, number)


def columns_of(lines: Sequence[Line]) -> pl.DataFrame:
    """The columns of some records that the statistics are computed from."""
    kinds = schema(Master)
    names = [name for name in kinds if name in ("trajectory_id", *BASE_COLUMNS, *COLUMNS, *COMPUTED_FROM)]
    values = {name: [line.value[name] for line in lines] for name in names}
    return from_columns(values, kinds).select(record_columns(COLUMNS))


def corpus_of_lines(root: Path, records: Iterable[pl.DataFrame]) -> Corpus:
    """The corpus for the statistics, from the JSONL files only; the writer reads Parquet."""
    is_unjudged = nobody_judged(root)
    labels = (
        [NO_LABELS]
        if is_unjudged
        else [
            count_labels(rows.lazy(), cut, side).collect()
            for cut, folder in CUTS.items()
            for side in SIDES
            for rows in jsonl(root / f"{folder}silver_{side}_labels.jsonl", LabelRow)
        ]
    )
    pool = empty(PoolRow) if is_unjudged else pl.concat(jsonl(root / POOL_FILE, PoolRow))
    human = None
    if released(root / HUMAN_FILE):
        human = pl.concat(jsonl(root / HUMAN_FILE, HumanAudited)).select(HUMAN_COLUMNS)
    counted, step_counts = count_records(records, COLUMNS, TABLES, human)
    return Corpus(counted[BASE_COLUMNS], step_counts, pl.concat(labels), pool, both_sure(root), human, counted)


def jsonl(path: Path, record: type[Keyed]) -> Iterator[pl.DataFrame]:
    """The rows of a JSONL file of plain values, some thousand at a time; first a table without rows."""
    yield empty(record)
    with open_lines(path) as file:
        while lines := list(islice(file, ROWS_AT_ONCE)):
            yield pl.read_ndjson(b"".join(lines), schema=schema(record))


def read_statistics(root: Path, findings: Findings) -> dict[str, Any] | None:
    """statistics.json, or None with a finding. The JSON Schema and the record must say the same of it."""
    published: dict[str, Any] | None = read_json(root, DATA, "statistics", findings)
    if published is None:
        return None
    refused = next(Draft202012Validator(json_schema(StatisticsFile)).iter_errors(published), None)
    try:
        StatisticsFile.model_validate_json((root / DATA).read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        findings.add("schema", DATA, schema_problem(first["type"], ".".join(map(str, first["loc"])), first["msg"]))
        return None
    if refused is not None:
        findings.add("schemas_disagree", DATA, f"{refused.message}: only the JSON Schema refuses it")
        return None
    return published


def schema_problem(kind: str, place: str, message: str) -> str:
    """What is wrong with statistics.json; of a table that is missing or unknown, which version fits."""
    table = place.removeprefix("sections.")
    if kind == "missing" and table != place:
        return f"{place}: this version has a table that the release lacks. Validate it with the version that made it"
    if kind == "extra_forbidden" and table != place:
        return f"{place}: this version does not know the table. Validate the release with the version that made it"
    return f"{place}: {message}"


def check_identities(root: Path, published: dict[str, Any], findings: Findings) -> None:
    """Check the identities between its tables and the summary."""
    try:
        summary = json.loads((root / SUMMARY).read_text(encoding="utf-8"))
        if too_large(summary) is not None:
            return  # named by the check of the summaries
        declared = identities(published["sections"], summary)
        disagreements = contradictions(declared)
    except (*BROKEN, AttributeError, StopIteration) as error:
        findings.add("identities", DATA, f"cannot be compared with {SUMMARY}: {type(error).__name__}: {error}")
        return
    findings.checked["identities"] += len(declared)
    for contradiction in disagreements:
        findings.add("identities", DATA, str(contradiction))
