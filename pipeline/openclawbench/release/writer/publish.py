"""Publish: merge the sorted shards of rendered lines into the release folder, labels, card and checksums."""

import hashlib
import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.base.canonical_json import canonical_json
from openclawbench.base.code_digest import code_digest
from openclawbench.base.gc_control import gc_disabled
from openclawbench.judge.prompts import file_of, prompt_files
from openclawbench.records.datapackage import MadeFrom
from openclawbench.records.human import HumanVerdict
from openclawbench.records.release import (
    Fingerprint,
    LabelAssignment,
    LabelBasis,
    ReleaseLine,
    SplitCertificate,
    SummaryCount,
)
from openclawbench.records.second_pass import ReferenceLabel, ReleaseLinePass2
from openclawbench.records.session import FileOutcome
from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.card.described import TEXTS, described
from openclawbench.release.human import HUMAN_ROWS, write_human
from openclawbench.release.keys import Key
from openclawbench.release.labels.labels import as_json, write_labels
from openclawbench.release.notice import RULES_NOTICE
from openclawbench.release.privacy.policy import REPORT, RULES_FILE, left_in, refuse_blocked, report
from openclawbench.release.privacy.publishing import Row, Scanned
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.record_index import write_index
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.context import paper_words
from openclawbench.release.statistics.files import refuse_contradictions, statistics_files, statistics_of
from openclawbench.release.writer.files import compress_all
from openclawbench.release.writer.parquet import ParquetTables
from openclawbench.release.writer.provenance import NAME as PACKAGE
from openclawbench.release.writer.provenance import RULES, data_package, made_from, rule_contents, with_outcomes
from openclawbench.release.writer.render import LINE_FILES, MASTER_FILE, ROOT
from openclawbench.release.writer.second_pass import RAW_FILES, SECOND_NOTICE, SECOND_ROWS, write_second_pass
from openclawbench.release.writer.staging_folder import Building
from openclawbench.release.writer.summarize import SUMMARY, summary_files
from openclawbench.rules.loading.rule_file import rule_path
from openclawbench.runtime.run import Run, digest
from openclawbench.runtime.shard_task import Keys
from openclawbench.storage.data_folder import DataFolder, read_json, write_json

SECOND_TABLES = (ReferenceLabel, ReleaseLinePass2)
INDEXED = (LabelBasis, Fingerprint, FileOutcome)  # that the record index and the list of inputs are made of


@gc_disabled()
def publish(run: Run, commands: list[str], verdicts: Sequence[HumanVerdict] = ()) -> bool:
    """Build the release folder; false where it already stands for these keys. `commands`: what makes it again;
    `verdicts`: what people made of trajectories, which stands beside the labels and changes none."""
    data, keys = run.data, run.keys
    rules, privacy = PublishRules.load(), PrivacyRules.load()
    made = made_from(run.intake, run.judges, commands, verdicts)
    key = release_key(run, made)
    if stands(data, key):
        return False
    manifest = data.manifest_file("publish")
    scanned = look(data, keys, privacy, made)
    manifest.unlink(missing_ok=True)  # from here to the end no release is known to stand
    building = Building(data)
    models, digests_of_records = write_lines(data, keys, building, rules, scanned)
    assignments = data.scan(LabelAssignment, keys[LabelAssignment]).collect()
    certificates = data.scan(SplitCertificate, keys[SplitCertificate]).collect()
    write_labels(assignments, certificates, building)
    write_human(verdicts, assignments, building)
    basis, fingerprints = (data.scan(table, keys[table]) for table in (LabelBasis, Fingerprint))
    write_index(digests_of_records, scanned.redacted, basis, fingerprints, building)
    counts = data.scan(SummaryCount, keys[SummaryCount]).collect()
    judges = write_summaries(counts, models, building)
    if has_second(run):
        judges |= write_second_pass(data.scan(ReferenceLabel, keys[ReferenceLabel]).collect(), assignments, building)
    write_guides(building, judges)
    building.write(RULES_FILE, as_json(privacy.model_dump(mode="json")))
    building.write(RULES, as_json(rule_contents()))
    building.close()
    counted = statistics_of(building.root, rules)
    refuse_contradictions(building.root, counted)
    for name, content in statistics_files(counted, rules).items():
        building.write(name, content)
    compress_all(building.root, rules.jsonl)
    building.close()
    digests = {path: found for found, path in building.checksums()}
    outcomes = data.scan(FileOutcome, keys[FileOutcome]).collect().iter_rows(named=True)
    package = as_json(data_package(building.root, digests, with_outcomes(made, outcomes), rules).model_dump())
    building.write(PACKAGE, package)
    digests[PACKAGE] = hashlib.sha256(package).hexdigest()
    for name, content in described(building.root, digests, scanned.scan.table(), rules).items():
        building.write(name, content)
        digests[name] = hashlib.sha256(content).hexdigest()
    sums = "".join(f"{digests[path]}  {path}\n" for path in sorted(digests))
    building.write("CHECKSUMS.sha256", sums.encode())
    building.publish()
    done = {"stage": "publish", "key": key, "models": models, "files": sums.count("\n") + 1}
    write_json(manifest, done | {"left_in": left_in(scanned)})
    return True


def release_key(run: Run, made: MadeFrom) -> str:
    """What the release that belongs to a run's keys is known by: everything that decides its bytes."""
    second = SECOND_TABLES if has_second(run) else ()
    tables = (ReleaseLine, LabelAssignment, SplitCertificate, SummaryCount, *INDEXED, *second)
    rules, privacy = PublishRules.load(), PrivacyRules.load()
    versions = (code_digest(__name__), rules.digest, privacy.digest, canonical_json(made), *notice_texts())
    return digest(*versions, *(str(sorted(run.keys[table].items(), key=str)) for table in tables))


def has_second(run: Run) -> bool:
    """True where there is a second pass to release."""
    return SECOND_TABLES[0] in run.keys


def stands(data: DataFolder, key: str) -> bool:
    """True where the release of this key is there."""
    former = read_json(data.manifest_file("publish")) or {}
    return former.get("key") == key and data.release.is_dir()


def look(data: DataFolder, keys: dict[type[Any], Keys], rules: PrivacyRules, made: MadeFrom) -> Scanned:
    """Scan every line that is to be released. Raises ReleaseBlocked; a report of the finds stands in either case."""
    scanned = Scanned(rules)
    scanned.look(shards_of_lines(data, keys), made.inputs)
    where = data.write_report(REPORT, report(scanned))
    refuse_blocked(scanned, str(where))
    return scanned


def shards_of_lines(data: DataFolder, keys: dict[type[Any], Keys]) -> list[Path]:
    """Shards of the lines of every pass."""
    tables = [table for table in (ReleaseLine, ReleaseLinePass2) if table in keys]
    return [data.part(table, shard, key) for table in tables for shard, key in keys[table].items()]


def write_lines(
    data: DataFolder, keys: dict[type[Any], Keys], building: Building, rules: PublishRules, scanned: Scanned
) -> tuple[list[str], dict[Key, str]]:
    """The per-model files, every one of T37 even where it is empty, and Parquet beside them; returns the models, and
    the digest of each record's line."""
    owed = [*LINE_FILES, *(RAW_FILES if ReleaseLinePass2 in keys else ())]
    models: set[str] = set()
    records: dict[Key, str] = {}
    typed = ParquetTables(building, rules.parquet)
    for model, trajectory, names, line in scanned.lines(heapq.merge(*map(sorted_rows, shards_of_lines(data, keys)))):
        if model not in models:
            models.add(model)
            typed.start(f"{ROOT}/{model}")
            for name in owed:
                building.write(f"{ROOT}/{model}/{name}", b"")
        for name in names:
            building.append(f"{ROOT}/{model}/{name}", line)
        if MASTER_FILE in names:
            records[model, trajectory] = hashlib.sha256(line).hexdigest()
        typed.append(names, line)
    typed.close()
    return sorted(models), records


def sorted_rows(path: Path) -> Iterator[Row]:
    """Rows of one shard in their order, a few in memory at a time."""
    import pyarrow as pa  # only a release that is made anew needs it
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):  # iter_batches would hold every group's bytes
        rows = file.read_row_group(group, use_threads=False)
        lines = rows["line"].cast(pa.large_binary())  # bytes as they are written
        columns = (rows[name].to_pylist() for name in ("source_model", "trajectory_id", "files"))
        yield from map(Row, *columns, lines.to_pylist())


def write_summaries(counts: pl.DataFrame, models: list[str], building: Building) -> set[str]:
    """dataset_summary_all.json of each model and dataset_summary.json of the corpus; returns the judges' names."""
    files = summary_files(counts, models)
    for name, content in files.items():
        building.write(name, as_json(content))
    return {name for name in files[SUMMARY]["judge"] if name != "not_asked"}


def notice_texts() -> list[str]:
    """Texts beside the data, which make a release stale when they change."""
    prompts = [prompt.sha256 for prompt in prompt_files()]
    return [
        rule_path("taxonomy.toml").read_text(encoding="utf-8"),
        *prompts,
        RULES_NOTICE,
        paper_words().digest,
        SECOND_ROWS,
        SECOND_NOTICE,
        HUMAN_ROWS,
        *TEXTS,
    ]


def write_guides(building: Building, judges: set[str]) -> None:
    """Taxonomy guide, the prompts in force, and how the release is written."""
    building.write("publish.toml", rule_path(PublishRules.FILE, PublishRules.FOLDER).read_bytes())
    building.write("taxonomy.toml", rule_path("taxonomy.toml").read_bytes())
    for prompt in prompt_files(own=not judges <= BASELINE_JUDGES):
        building.write(f"prompts/{prompt.stage}/{prompt.version}.md", file_of(prompt).read_bytes())
