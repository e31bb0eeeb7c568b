"""Recompute with the stage `split` how the corpus is divided: sides, pool, near duplicates, reasons, certificates."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars as pl

from openclawbench.records.release import Fingerprint
from openclawbench.records.second_pass import AnnotationPass2, ReferenceLabel
from openclawbench.release.labels.labels import (
    CUTS,
    HOLD_OUT,
    LEFT_OUT_FILE,
    POOL_FILE,
    SIDES,
    SPLITS_FILE,
    as_lines,
    labels,
    left_out,
    pool,
    splits,
)
from openclawbench.release.labels.places import hold_out
from openclawbench.release.labels.split import split_corpus
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.validate.compare import compare_file, shown
from openclawbench.release.validate.files.lines import tolerant_rows
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.fields import CANNOT, CANNOT_POLARS, Recomputed
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce
from openclawbench.release.validate.records.record_index import Index
from openclawbench.release.writer.jsonl_files import open_lines, released
from openclawbench.release.writer.second_pass import BOTH_FILE, REFERENCE_FILE, reference
from openclawbench.rules.release import ReleaseRules
from openclawbench.tables.schema import from_records

ROWS_AT_ONCE = 8192  # rows that are compared together


def check_cuts(
    root: Path,
    all_basis: pl.LazyFrame,
    index: Index,
    derived: Recomputed,
    in_force: RulesInForce,
    findings: Findings,
) -> None:
    """Compare every file of every cut with what the released records and texts give. `all_basis`: LabelBasis."""
    try:
        rules = in_force.rules(ReleaseRules)
        assignments, certificates = split_corpus(all_basis, fingerprints_of(derived, index).lazy(), rules)
        expected = splits(assignments.lazy(), certificates, rules)
    except (*CANNOT, *CANNOT_POLARS) as error:
        cause = str(error).partition("\n")[0] or type(error).__name__
        findings.add("splits", SPLITS_FILE, f"cannot be recomputed: {cause}")
        return
    compare_file(root, SPLITS_FILE, "splits", expected, findings, unreadable="splits", counted="certificates")
    for name, rows in files_of(assignments):
        compare_label_rows(root, name, rows, lambda name=name: sides_of(name, assignments), findings)  # type: ignore[misc]
    if derived.second.files or derived.second.waiting:
        check_reference(root, assignments, derived, findings)


def fingerprints_of(derived: Recomputed, index: Index) -> pl.DataFrame:
    """Fingerprints of all records: recomputed from released texts, or from the index for redacted ones."""
    recomputed = derived.fingerprints.scan(from_records([], Fingerprint)).collect()
    redacted = [row.model_dump() for _, row in index.rows() if row.redacted and row.minhash is not None]
    indexed = from_records(redacted, Fingerprint)
    keys = list(Fingerprint.model_fields)[:2]
    return pl.concat([recomputed.join(indexed, on=keys, how="anti", maintain_order="left"), indexed]).sort(keys)


def files_of(assignments: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """(name, expected rows) of every JSONL file of the cuts."""
    for cut, folder in CUTS.items():
        for side in SIDES:
            yield f"{folder}silver_{side}_labels.jsonl", labels(assignments.filter(pl.col(cut) == side))
        yield f"{folder}{LEFT_OUT_FILE}", left_out(assignments, cut)
    for model in sorted(assignments["source_model"].unique()):
        for side in SIDES:
            side_labels = labels(assignments.filter(hold_out(model) == side))
            yield f"{HOLD_OUT}/{model}/silver_{side}_labels.jsonl", side_labels
        yield f"{HOLD_OUT}/{model}/{LEFT_OUT_FILE}", left_out(assignments, "paper_cut")
    yield POOL_FILE, pool(assignments)


def sides_of(name: str, assignments: pl.DataFrame) -> dict[Key, str]:
    """Key -> where the record belongs in the cut of a file, in words."""
    cut = "default_cut" if "/" not in name else "paper_cut"
    side = hold_out(name.split("/")[1]) if name.startswith(f"{HOLD_OUT}/") else pl.col(cut)
    assigned = assignments.select("source_model", "trajectory_id", side=side, reason=cut.replace("cut", "reason"))
    return {
        key_of(row): f"on side {row['side']}" if row["side"] else f"left out, reason {row['reason']}"
        for row in assigned.iter_rows(named=True)
    }


def compare_label_rows(
    root: Path, name: str, rows: pl.DataFrame, sides_in_words: Callable[[], Mapping[Key, str]], findings: Findings
) -> None:
    """A finding for each row that is missing, unexpected or different. `sides_in_words`: where each record belongs; it
    is asked for only where a file differs."""
    if is_same(root / name, rows):
        findings.checked["label_rows_made_again"] += rows.height
        return
    sides = sides_in_words()
    expected = {key_of(row): row for row in map(json.loads, as_lines(rows).splitlines())}
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
                    f"{name_of_record}: {field} is {shown(published_value)}; stage split gives {shown(expected_value)}",
                )


def is_same(path: Path, rows: pl.DataFrame) -> bool:
    """True if a JSONL file holds exactly these rows, as a release writes them; compared some thousands at a time."""
    if not released(path):
        return False
    try:
        with open_lines(path) as file:
            for part in rows.iter_slices(ROWS_AT_ONCE):
                expected = as_lines(part)
                if file.read(len(expected)) != expected:
                    return False
            return not file.read(1)
    except OSError:  # damaged; the check of its lines reports it
        return False


def check_reference(root: Path, assignments: pl.DataFrame, derived: Recomputed, findings: Findings) -> None:
    """Compare the labels of the second pass, and the label rows with high confidence in both passes."""
    annotations = derived.second.scan(from_records([], AnnotationPass2)).collect()
    released = annotations.join(assignments, on=["source_model", "trajectory_id"], how="semi", maintain_order="left")
    references = reference(released.lazy(), assignments.lazy()).collect()
    sides = {key_of(row): "in the second pass" for row in references.iter_rows(named=True)}
    released_columns = references.select(list(ReferenceLabel.model_fields))
    compare_label_rows(root, REFERENCE_FILE, released_columns, lambda: sides, findings)
    both_confident = references.filter("both_high_confidence").select("source_model", "trajectory_id")
    in_paper_cut = assignments.filter(pl.col("paper_cut").is_not_null())
    both_confident_labels = labels(
        in_paper_cut.join(both_confident, on=["source_model", "trajectory_id"], how="semi", maintain_order="left")
    )
    not_confident = dict.fromkeys(sides, "not of high confidence in both passes")
    compare_label_rows(root, BOTH_FILE, both_confident_labels, lambda: not_confident, findings)
