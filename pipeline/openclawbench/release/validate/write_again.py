"""Write a release again: the writer's own steps, over the tables that its records, answers and texts give."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.records.calibration import HumanAudited, HumanVerdict
from openclawbench.records.datapackage import INPUTS_FILE, InputFile
from openclawbench.records.release import Fingerprint, LabelAssignment, LabelBasis, LineSize, RecordIndexRow
from openclawbench.records.second_pass import AnnotationPass2, ReferenceLabel
from openclawbench.release.files.jsonl_files import released
from openclawbench.release.files.names import LINE_FILES, MASTER_FILE, RAW_FILES
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.labels.labels import as_json
from openclawbench.release.labels.places import HOLD_OUT, hold_out, hold_out_reason
from openclawbench.release.labels.split import split_corpus
from openclawbench.release.privacy.policy import RULES_FILE
from openclawbench.release.privacy.publishing import KIND, Scanned
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import TextScan
from openclawbench.release.provenance import RULES
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.settings import PublishRules
from openclawbench.release.unjudged import is_unjudged, line_files
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import read_lines
from openclawbench.release.validate.recompute.fields import Recomputed
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce
from openclawbench.release.validate.records.record_index import Index
from openclawbench.release.validate.records.spool import Spool
from openclawbench.release.writer.pieces import REDACTED, limit_files, plan_pieces
from openclawbench.release.writer.second_pass import reference
from openclawbench.release.writer.side_by_side import MakeEngine
from openclawbench.release.writer.steps import STEPS, Step, carry_out
from openclawbench.release.writer.summarize import count, summarize, summary
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import empty, from_records, schema

ROWS_AT_ONCE = 4096  # of the index
FILES_AT_ONCE = 4  # files of a spool that are a slice of the corpus
LABELS = ("write_label_files", "write_human_rows", "write_second_labels", "write_input_files", "write_piece")
RECORDS = ("finish_records", "write_summaries")
FIGURES = ("write_statistics", "write_record_index")


@dataclass(frozen=True)
class Known:
    """What the read release gives. `lines`: sorted files of ReleaseLine; `basis`: LabelBasis by key;
    `text`: finds in the released texts; `second`: it has a second pass."""

    root: Path
    scratch: Path
    lines: list[Path]
    basis: Spool
    index: Index
    derived: Recomputed
    in_force: RulesInForce
    text: TextScan
    second: bool


@dataclass(frozen=True)
class WrittenAgain:
    """The release as it is written again. `assigned`: LabelAssignment, slice by slice."""

    root: Path
    assigned: list[pl.LazyFrame]
    licenses: Mapping[str, int]

    def words(self, name: str) -> dict[Key, str]:
        """Key -> where the record belongs in the cut of a label file, in words; nothing for another file."""
        folder = name.rpartition("/")[0]
        if not name.rpartition("/")[2].startswith(("silver_", "label_exclusions")):
            return {}
        cut = "paper_cut" if folder else "default_cut"
        held = folder.startswith(f"{HOLD_OUT}/")
        side = hold_out(name.split("/")[1]) if held else pl.col(cut)
        reason = hold_out_reason() if held else pl.col(cut.replace("cut", "reason"))
        places = pl.concat(self.assigned).select(*TRAJECTORY_KEY, side=side, reason=reason).collect()
        return {
            key_of(row): f"on side {row['side']}" if row["side"] else f"left out, reason {row['reason']}"
            for row in places.iter_rows(named=True)
        }


def write_again(known: Known, make: MakeEngine) -> WrittenAgain:
    """Write the files of a release again but those that describe its files: data package, card, Croissant, checksums.
    Raises what the stages and the writer raise where a release is broken."""
    in_force, folder = known.in_force, known.scratch / "again"
    folder.mkdir()
    settings, privacy = in_force.rules(PublishRules), in_force.rules(PrivacyRules)
    slices = slices_of(known)
    assigned, certificates = split_corpus(
        [(pl.scan_parquet(basis, glob=False), pl.scan_parquet(texts, glob=False)) for basis, texts in slices],
        in_force.rules(ReleaseRules),
        known.scratch,
    )
    staging = StagingFolder(DataFolder(folder))
    kinds = dict.fromkeys((*TRAJECTORY_KEY, *KIND), pl.String) | {"finds": pl.UInt32}
    pl.DataFrame(schema=kinds).write_parquet(staging.scratch / REDACTED)  # what is released is redacted
    scanned = Scanned(privacy)
    for kinds_of_record in known.text.records.values():
        scanned.kinds.add(kinds_of_record)
    counts = summarize(count(known.basis.scan(empty(LabelBasis)))).collect()
    summary_of_all = summary(counts)
    assignments = [known.scratch / f"{LabelAssignment.__name__}-{number}.parquet" for number in range(len(slices))]
    values: dict[str, Any] = {
        "staging": staging,
        "settings": settings,
        "privacy": privacy,
        "scanned": scanned,
        "release_rules": in_force.rules(ReleaseRules),
        "verdicts": verdicts_of(known.root),
        "outcomes": [inputs_of(known)],
        "pieces": plan_pieces(sizes_of(known.lines), settings.jsonl_shard_bytes),
        "required_files": [*line_files(summary_of_all, LINE_FILES), *(RAW_FILES if known.second else ())],
        "is_unjudged": is_unjudged(summary_of_all),
        "assignments": assignments,
        "certificates": certificates.lazy(),
        "counts": counts,
        "inputs_of_split": slices,
        "references": references_of(known, assigned) if known.second else [],
        "lines": limit_files(known.lines, staging.scratch, make),
    }
    values = carry_out([steps_of(LABELS)], values, staging, make)
    for written in values["written"]:
        mark_redacted(written.digests, known.index)
    values = carry_out([steps_of(RECORDS), steps_of(FIGURES)], values, staging, make)
    staging.write(RULES, as_json(dict(in_force.contents)))
    staging.write(RULES_FILE, as_json(privacy.model_dump(mode="json")))
    carry_out([steps_of(("compress_lines",))], values, staging, make)
    return WrittenAgain(staging.root, assigned, values["licenses"])


def steps_of(names: Sequence[str]) -> list[Step]:
    """The writer's steps of these names."""
    return [step for step in STEPS if step.name in names]


def slices_of(known: Known) -> list[tuple[Path, Path]]:
    """Files of LabelBasis and Fingerprint of the records, some thousand at a time. Fingerprints are recomputed from the
    released texts; for a redacted record the index holds it."""
    indexed, rows = Spool(known.scratch, "indexed"), (row for _, row in known.index.rows() if row.minhash is not None)
    while some := [row.model_dump() for row in islice((row for row in rows if row.redacted), ROWS_AT_ONCE)]:
        indexed.add(from_records(some, Fingerprint))
    spools, basis = (indexed, known.derived.fingerprints), known.basis
    basis.flush()
    slices = []
    for number, start in enumerate(range(0, len(basis.files), FILES_AT_ONCE)):
        records = pl.scan_parquet(basis.files[start : start + FILES_AT_ONCE], glob=False)
        from_index, recomputed = (spool.of_records(records, empty(Fingerprint)) for spool in spools)
        others = recomputed.join(from_index, on=TRAJECTORY_KEY, how="anti")
        texts = pl.concat([others, from_index]).sort(TRAJECTORY_KEY).collect()
        slices.append(written(known.scratch, number, records.collect(), texts))
    return slices or [written(known.scratch, 0, empty(LabelBasis), empty(Fingerprint))]


def written(folder: Path, number: int, basis: pl.DataFrame, texts: pl.DataFrame) -> tuple[Path, Path]:
    """The files of a slice."""
    files = folder / f"slice-{number}-basis.parquet", folder / f"slice-{number}-texts.parquet"
    for table, path in zip((basis, texts), files, strict=True):
        table.write_parquet(path, compression="lz4")
    return files


def references_of(known: Known, assigned: Sequence[pl.LazyFrame]) -> list[Path]:
    """Files of ReferenceLabel, slice by slice: the labels of the second pass."""
    files = []
    for number, some in enumerate(assigned):
        annotations = known.derived.second.of_records(some, empty(AnnotationPass2))
        files.append(known.scratch / f"references-{number}.parquet")
        reference(annotations, some).collect().select(list(ReferenceLabel.model_fields)).write_parquet(files[-1])
    return files


def verdicts_of(root: Path) -> list[HumanVerdict]:
    """The human verdicts that the release holds; those that cannot be read are findings of another check."""
    if not released(root / HUMAN_FILE):
        return []
    names = HumanVerdict.model_fields
    lines = read_lines(root, HUMAN_FILE, HumanAudited, Findings(), unique=False)
    return [HumanVerdict(**{name: getattr(line.record, name) for name in names}) for line in lines]


def inputs_of(known: Known) -> Path:
    """A file with the inputs, as the writer reads them. Inputs of one path keep their order: their place in the raw
    file is not released."""
    lines = read_lines(known.root, INPUTS_FILE, InputFile, Findings(), unique=False)
    path, rows = known.scratch / "inputs.parquet", Spool(known.scratch, "inputs")
    number = 0
    while some := [line.record.model_dump() for line in islice(lines, ROWS_AT_ONCE)]:
        table = pl.DataFrame(some, schema(InputFile), orient="row")
        rows.add(table.with_row_index("base_line", number))
        number += len(some)
    columns = pl.DataFrame(schema={"base_line": pl.UInt32, **schema(InputFile)})
    rows.scan(columns).sink_parquet(path)
    return path


def mark_redacted(digests: Path, index: Index) -> None:
    """Say in a file of a piece's digests which records the index calls redacted."""
    table = pl.read_parquet(digests, glob=False)
    redacted = [row is not None and row.redacted for row in rows_of_index(table, index)]
    table.with_columns(redacted=pl.Series(redacted, dtype=pl.Boolean)).write_parquet(digests)


def rows_of_index(table: pl.DataFrame, index: Index) -> Iterator[RecordIndexRow | None]:
    """The index's row of each record of a table, None where it has none."""
    for key in table.select(TRAJECTORY_KEY).iter_rows():
        yield index.get(key)


def sizes_of(lines: Sequence[Path]) -> pl.LazyFrame:
    """LineSize of the lines of the master tables."""
    if not lines:
        return empty(LineSize).lazy()
    rows = pl.scan_parquet(list(lines), glob=False).filter(pl.col("files").list.first() == MASTER_FILE)
    return rows.select(*TRAJECTORY_KEY, bytes=pl.col("line").str.len_bytes().cast(pl.Int64) + 1)
