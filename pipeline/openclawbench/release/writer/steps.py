"""The steps that write a release folder, in order, each with the values that it reads and the files that it writes.

A step is a function; its parameters name what it reads: values that `publish` provides, or that an earlier step
returned (`returns`). `files` are the files that it writes in the release folder (`*` stands for any characters).
"""

import hashlib
import heapq
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from openclawbench.base.free_memory import give_back_memory
from openclawbench.judge.prompts import file_of, prompt_files
from openclawbench.records.datapackage import MadeFrom
from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.card.croissant import NAME as CROISSANT
from openclawbench.release.card.described import README, described
from openclawbench.release.human_audited import HUMAN_FILE, write_human
from openclawbench.release.labels.labels import POOL_FILE, SPLITS_FILE, as_json, typed_file, write_labels
from openclawbench.release.privacy.policy import RULES_FILE
from openclawbench.release.privacy.publishing import Redaction, Row, Scanned
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.record_index import INDEX_FILE, write_index
from openclawbench.release.record_key import Key
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.files import DATA, FOLDER, TEXT, statistics_files, statistics_of
from openclawbench.release.writer.jsonl_files import compress_all
from openclawbench.release.writer.parquet import ParquetTables
from openclawbench.release.writer.provenance import NAME as PACKAGE
from openclawbench.release.writer.provenance import RULES, data_package, rule_contents
from openclawbench.release.writer.render import LINE_FILES, MASTER_FILE, ROOT
from openclawbench.release.writer.second_pass import BOTH_FILE, RAW_FILES, REFERENCE_FILE, write_second_pass
from openclawbench.release.writer.staging_folder import StagingFolder
from openclawbench.release.writer.summarize import MODEL_SUMMARY, SUMMARY, summary_files
from openclawbench.rules.loading.rule_file import Overrides, rule_path
from openclawbench.rules.taxonomy import Taxonomy

CHECKSUMS = "CHECKSUMS.sha256"
NOT_ASKED = "not_asked"  # name in the summary's group `judge` of records that no judge saw


class Step(NamedTuple):
    """One step. `returns`: the name under which later steps read its result; empty if it returns nothing."""

    function: Callable[..., Any]
    files: tuple[str, ...] = ()
    returns: str = ""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def reads(self) -> list[str]:
        """Names of the values that it is called with."""
        return list(inspect.signature(self.function).parameters)

    def writes(self, path: str) -> bool:
        """True for a file that this step writes."""
        return any(fnmatchcase(path, pattern) for pattern in self.files)


def carry_out(steps: Sequence[Step], values: dict[str, Any], staging: StagingFolder) -> dict[str, Any]:
    """Call each step with the values that it reads. Returns the values, with those of the steps. Raises KeyError with
    the name of a value that nothing provides."""
    for step in steps:
        result = step.function(**{name: values[name] for name in step.reads})
        staging.close_files()
        give_back_memory()
        if step.returns:
            values = values | {step.returns: result}
    return values


class WrittenRecords(NamedTuple):
    """The written records."""

    models: list[str]  # sorted
    digests: dict[Key, str]  # of each record's line in the master table
    redacted: set[Key]


def write_records(
    staging: StagingFolder, settings: PublishRules, scanned: Scanned, shards: list[Path], second_pass: bool
) -> WrittenRecords:
    """The files of each source model (T37), even empty ones, and Parquet beside them. `shards`: sorted rendered lines,
    which are merged."""
    owed = [*LINE_FILES, *(RAW_FILES if second_pass else ())]
    models: set[str] = set()
    digests: dict[Key, str] = {}
    parquet = ParquetTables(staging, settings.parquet)
    redaction = Redaction(scanned.rules, pl.concat(scanned.redacted) if scanned.redacted else pl.DataFrame())
    for model, trajectory, files, line in redaction.lines(heapq.merge(*map(sorted_rows, shards))):
        if model not in models:
            models.add(model)
            parquet.start(f"{ROOT}/{model}")
            for file in owed:
                staging.write(f"{ROOT}/{model}/{file}", b"")
        for file in files:
            staging.append(f"{ROOT}/{model}/{file}", line)
        if MASTER_FILE in files:
            digests[model, trajectory] = hashlib.sha256(line).hexdigest()
        parquet.append(files, line)
    parquet.close()
    scanned.kinds.update(redaction.change)
    return WrittenRecords(sorted(models), digests, {*redaction.former})


def sorted_rows(path: Path) -> Iterator[Row]:
    """Rows of one shard in their order, a row group in memory at a time."""
    import pyarrow as pa  # only a release that is built needs it
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):  # iter_batches would hold every group's bytes
        rows = file.read_row_group(group, use_threads=False)
        lines = rows["line"].cast(pa.large_binary())  # bytes as they are written
        columns = (rows[name].to_pylist() for name in ("source_model", "trajectory_id", "files"))
        yield from map(Row, *columns, lines.to_pylist())


def write_record_index(
    staging: StagingFolder,
    records: WrittenRecords,
    basis: pl.LazyFrame,
    fingerprints: pl.LazyFrame,
) -> None:
    """The digest of each record's line, and the inputs of its split."""
    write_index(records.digests, records.redacted, basis, fingerprints, staging)


def write_summaries(staging: StagingFolder, records: WrittenRecords, counts: pl.DataFrame) -> None:
    """The summary of each source model and of the corpus."""
    for name, content in summary_files(counts, records.models).items():
        staging.write(name, as_json(content))


def write_guides(
    staging: StagingFolder,
    privacy: PrivacyRules,
    counts: pl.DataFrame,
    references: pl.DataFrame | None,
    overrides: Overrides,
) -> None:
    """Taxonomy, settings, rules and the prompts in force: those of the rules judge only where it alone judged."""
    judges = set(counts.filter(pl.col("group") == "judge")["name"]) - {NOT_ASKED}
    if references is not None:
        judges |= set(references["judge"].drop_nulls())
    staging.write(PublishRules.FILE, rule_path(PublishRules.FILE, PublishRules.FOLDER).read_bytes())
    staging.write(Taxonomy.FILE, rule_path(Taxonomy.FILE).read_bytes())
    for prompt in prompt_files(own=not judges <= BASELINE_JUDGES):
        staging.write(f"prompts/{prompt.stage}/{prompt.version}.md", file_of(prompt).read_bytes())
    staging.write(RULES_FILE, as_json(privacy.model_dump(mode="json")))
    staging.write(RULES, as_json(rule_contents(overrides)))


def write_statistics(staging: StagingFolder, settings: PublishRules) -> None:
    """Tables and pictures, computed from the files that are written by now."""
    for name, content in statistics_files(statistics_of(staging.root, settings), settings).items():
        staging.write(name, content)


def check_files(staging: StagingFolder, check: Callable[[Path], None]) -> None:
    """Refuse a release that `validate` would refuse. `check` raises InvalidRelease."""
    check(staging.root)


def compress_lines(staging: StagingFolder, settings: PublishRules) -> None:
    """Compress each JSONL file if the settings say so."""
    compress_all(staging.root, settings.jsonl)


def write_data_package(staging: StagingFolder, settings: PublishRules, made_from: MadeFrom) -> dict[str, str]:
    """Everything that decides the bytes of the release; returns path -> sha256 of every file up to this one."""
    digests = {path: sha256 for sha256, path in staging.checksums()}
    content = as_json(data_package(staging.root, digests, made_from, settings).model_dump())
    staging.write(PACKAGE, content)
    return digests | {PACKAGE: hashlib.sha256(content).hexdigest()}


def write_card(
    staging: StagingFolder, settings: PublishRules, scanned: Scanned, digests: Mapping[str, str]
) -> dict[str, str]:
    """Dataset card and Croissant description; returns the digests with theirs."""
    files = described(staging.root, digests, scanned.kinds.table(), settings)
    for name, content in files.items():
        staging.write(name, content)
    return {**digests, **{name: hashlib.sha256(content).hexdigest() for name, content in files.items()}}


def write_checksums(staging: StagingFolder, digests: Mapping[str, str]) -> None:
    """The list of all files with their digests."""
    staging.write(CHECKSUMS, "".join(f"{digests[path]}  {path}\n" for path in sorted(digests)).encode())


STEPS = (
    Step(write_records, (f"{ROOT}/*.jsonl", f"{ROOT}/*.parquet"), returns="records"),
    Step(
        write_labels,
        (
            *("silver_*_labels*", "label_exclusions.jsonl", "paper_cut/silver_*", "paper_cut/label_exclusions.jsonl"),
            *("hold_out/*", POOL_FILE, typed_file(POOL_FILE), SPLITS_FILE),
        ),
    ),
    Step(write_human, (HUMAN_FILE, typed_file(HUMAN_FILE))),
    Step(write_record_index, (INDEX_FILE,)),
    Step(write_summaries, (SUMMARY, f"{ROOT}/*/{MODEL_SUMMARY}")),
    Step(write_second_pass, (REFERENCE_FILE, BOTH_FILE, "both_high_confidence*.parquet", "paper_cut/both_*.parquet")),
    Step(write_guides, (PublishRules.FILE, Taxonomy.FILE, "prompts/*", RULES_FILE, RULES)),
    Step(write_statistics, (DATA, TEXT, f"{FOLDER}/*")),
    Step(check_files),
    Step(compress_lines, ("*.jsonl.gz", "*.jsonl.zst")),
    Step(write_data_package, (PACKAGE,), returns="digests"),
    Step(write_card, (README, CROISSANT), returns="digests"),
    Step(write_checksums, (CHECKSUMS,)),
)
