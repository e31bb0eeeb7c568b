"""Recompute with the stage `split` how the corpus is divided: sides, pool, near duplicates, reasons, certificates."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

import polars as pl

from openclawbench.records.release import Fingerprint, LabelBasis
from openclawbench.records.second_pass import AnnotationPass2, ReferenceLabel
from openclawbench.release.files.jsonl_files import open_lines, released
from openclawbench.release.files.names import BOTH_FILE, REFERENCE_FILE
from openclawbench.release.labels.labels import (
    LEFT_OUT_FILE,
    POOL_FILE,
    SPLITS_FILE,
    as_lines,
    labels,
    left_out,
    pool,
    reason_of,
    splits,
)
from openclawbench.release.labels.places import CUTS, HOLD_OUT, IN_A_CUT, SIDES, hold_out, hold_out_reason
from openclawbench.release.labels.split import split_corpus
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.validate.compare import compare_file, shorten_value
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import tolerant_rows
from openclawbench.release.validate.recompute.fields import POLARS_ERRORS, RECOMPUTE_ERRORS, Recomputed
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce
from openclawbench.release.validate.records.record_index import Index
from openclawbench.release.validate.records.spool import Spool
from openclawbench.release.writer.second_pass import reference
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import empty, from_records

ROWS_AT_ONCE = 4096  # of the index
FILES_AT_ONCE = 4  # files of a spool that are a slice of the corpus
Select = Callable[[pl.DataFrame], pl.DataFrame]


def check_cuts(
    root: Path,
    basis: Spool,
    index: Index,
    derived: Recomputed,
    in_force: RulesInForce,
    findings: Findings,
) -> None:
    """Compare every file of every cut with what the released records and texts give. `basis`: LabelBasis, by key."""
    try:
        rules = in_force.rules(ReleaseRules)
        assigned, certificates = split_corpus(slices_of(basis, index, derived), rules, basis.folder)
        expected = splits(pl.concat(assigned), certificates, rules)
    except (*RECOMPUTE_ERRORS, *POLARS_ERRORS) as error:
        cause = str(error).partition("\n")[0] or type(error).__name__
        findings.add("splits", SPLITS_FILE, f"cannot be recomputed: {cause}")
        return
    compare_file(root, SPLITS_FILE, "splits", expected, findings, unreadable="splits", counted="certificates")
    models = pl.concat(assigned).select(pl.col("source_model").unique().sort()).collect()["source_model"]
    for name, select in files_of(models):
        rows = partial(rows_of, assigned, select)
        compare_label_rows(root, name, rows, partial(sides_of, name, assigned), findings)
    if derived.second.files or derived.second.waiting:
        check_reference(root, assigned, derived, findings)


def slices_of(basis: Spool, index: Index, derived: Recomputed) -> list[tuple[pl.LazyFrame, pl.LazyFrame]]:
    """(LabelBasis, Fingerprint) of the records, some thousand at a time. Fingerprints are recomputed from the released
    texts; for a redacted record the index holds it."""
    indexed, rows = Spool(basis.folder, "indexed"), (row for _, row in index.rows() if row.minhash is not None)
    while some := [row.model_dump() for row in islice((row for row in rows if row.redacted), ROWS_AT_ONCE)]:
        indexed.add(from_records(some, Fingerprint))
    spools = indexed, derived.fingerprints
    basis.flush()
    slices = []
    for start in range(0, len(basis.files), FILES_AT_ONCE):
        records = pl.scan_parquet(basis.files[start : start + FILES_AT_ONCE], glob=False)
        from_index, recomputed = (spool.of_records(records, empty(Fingerprint)) for spool in spools)
        others = recomputed.join(from_index, on=TRAJECTORY_KEY, how="anti")
        slices.append((records, pl.concat([others, from_index]).sort(TRAJECTORY_KEY)))
    return slices or [(empty(LabelBasis).lazy(), empty(Fingerprint).lazy())]


def files_of(models: Iterable[str]) -> Iterator[tuple[str, Select]]:
    """(name, which rows of LabelAssignment it has, and how) of every JSONL file of the cuts."""
    cuts = {folder: (pl.col(cut), reason_of(cut)) for cut, folder in CUTS.items()}
    cuts |= {f"{HOLD_OUT}/{model}/": (hold_out(model), hold_out_reason()) for model in models}
    for folder, (place, reason) in cuts.items():
        for side in SIDES:
            yield f"{folder}silver_{side}_labels.jsonl", partial(select_side, place == side)
        yield f"{folder}{LEFT_OUT_FILE}", partial(left_out, side=place, reason=reason)
    yield POOL_FILE, pool


def select_side(condition: pl.Expr, assignments: pl.DataFrame) -> pl.DataFrame:
    """The label rows for which this holds."""
    return labels(assignments.filter(condition))


def rows_of(assigned: Iterable[pl.LazyFrame], select: Select) -> Iterator[pl.DataFrame]:
    """The rows of a file, slice by slice."""
    return (select(some.collect()) for some in assigned)


def sides_of(name: str, assigned: list[pl.LazyFrame]) -> dict[Key, str]:
    """Key -> where the record belongs in the cut of a file, in words."""
    cut = "default_cut" if "/" not in name else "paper_cut"
    held = name.startswith(f"{HOLD_OUT}/")
    side, reason = (hold_out(name.split("/")[1]), hold_out_reason()) if held else (pl.col(cut), reason_of(cut))
    places = pl.concat(assigned).select(*TRAJECTORY_KEY, side=side, reason=reason).collect()
    return {
        key_of(row): f"on side {row['side']}" if row["side"] else f"left out, reason {row['reason']}"
        for row in places.iter_rows(named=True)
    }


def compare_label_rows(
    root: Path,
    name: str,
    rows: Callable[[], Iterable[pl.DataFrame]],
    sides_in_words: Callable[[], Mapping[Key, str]],
    findings: Findings,
) -> None:
    """A finding for each row that is missing, unexpected or different. `rows`: in parts; `sides_in_words`: where each
    record belongs; it is asked for only where a file differs."""
    if (same := equal_rows(root / name, rows())) is not None:
        findings.checked["label_rows_made_again"] += same
        return
    sides = sides_in_words()
    expected = {key_of(row): row for part in rows() for row in map(json.loads, as_lines(part).splitlines())}
    published = {key: row for _, key, _, row in tolerant_rows(root / name)}
    findings.checked["label_rows_made_again"] += len(expected)
    for key in sorted(expected.keys() | published.keys()):
        name_of_record, where = "/".join(key), sides.get(key, "in no cut: the record does not exist")
        if key not in published:
            findings.add("splits", name, f"{name_of_record} is missing here; by stage split it is {where}")
        elif key not in expected:
            findings.add("splits", name, f"{name_of_record} is here; by stage split it is {where}")
        for field in sorted(expected.get(key, {}).keys() & published.get(key, {}).keys()):
            published_value, expected_value = published[key][field], expected[key][field]
            if published_value != expected_value:
                findings.add(
                    "splits",
                    name,
                    f"{name_of_record}: {field} is {shorten_value(published_value)}; stage split gives "
                    f"{shorten_value(expected_value)}",
                )


def equal_rows(path: Path, parts: Iterable[pl.DataFrame]) -> int | None:
    """The number of rows if a JSONL file holds exactly these, as a release writes them; else None."""
    rows = 0
    if not released(path):
        return None
    try:
        with open_lines(path) as file:
            for part in parts:
                expected, rows = as_lines(part), rows + part.height
                if file.read(len(expected)) != expected:
                    return None
            return None if file.read(1) else rows
    except OSError:  # damaged; the check of its lines reports it
        return None


def check_reference(root: Path, assigned: list[pl.LazyFrame], derived: Recomputed, findings: Findings) -> None:
    """Compare the label rows of the second pass, and those on which both passes have high confidence."""
    references = Spool(derived.second.folder, "references")
    for some in assigned:
        annotations = derived.second.of_records(some, empty(AnnotationPass2))
        labels_of_slice = reference(annotations, some).collect()
        if labels_of_slice.height:
            references.add(labels_of_slice.select(list(ReferenceLabel.model_fields)))
    references.flush()
    rows = partial(map, partial(pl.read_parquet, glob=False), references.files)
    compare_label_rows(root, REFERENCE_FILE, rows, partial(in_second_pass, rows, "in the second pass"), findings)
    sure = partial(labels_of_both, assigned, references)
    not_sure = partial(in_second_pass, rows, "not of high confidence in both passes")
    compare_label_rows(root, BOTH_FILE, sure, not_sure, findings)


def labels_of_both(assigned: Iterable[pl.LazyFrame], references: Spool) -> Iterator[pl.DataFrame]:
    """The label rows with high confidence in both passes, slice by slice. `references`: rows of ReferenceLabel."""
    for some in assigned:
        sure = references.of_records(some, empty(ReferenceLabel)).filter("both_high_confidence")
        in_a_cut = some.filter(IN_A_CUT)
        yield labels(in_a_cut.join(sure, on=TRAJECTORY_KEY, how="semi", maintain_order="left").collect())


def in_second_pass(rows: Callable[[], Iterable[pl.DataFrame]], words: str) -> dict[Key, str]:
    """Key -> the same words, for every record of the second pass."""
    return {key_of(row): words for part in rows() for row in part.select(TRAJECTORY_KEY).iter_rows(named=True)}
