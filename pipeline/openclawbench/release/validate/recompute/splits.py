"""How the corpus was cut: sides, pool, near duplicates, reasons and certificates, made again by the stage `split`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.records.release import Fingerprint, LabelBasis, RecordIndexRow
from openclawbench.records.second_pass import AnnotationPass2, ReferenceLabel
from openclawbench.release.keys import Key, key_of
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
from openclawbench.release.labels.split import hold_out, split
from openclawbench.release.validate.compare import compare_file, shown, too_large
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.fields import CANNOT, CANNOT_POLARS, Derived
from openclawbench.release.validate.recompute.rules_in_force import InForce
from openclawbench.release.validate.records.record_digest import Slim
from openclawbench.release.writer.files import open_lines, released
from openclawbench.release.writer.second_pass import BOTH_FILE, REFERENCE_FILE, reference
from openclawbench.rules.release import ReleaseRules
from openclawbench.tables.schema import from_records


def check_cuts(
    root: Path,
    records: Mapping[Key, Slim],
    index: Mapping[Key, RecordIndexRow],
    derived: Derived,
    in_force: InForce,
    findings: Findings,
) -> None:
    """Every file of every cut, beside what the released records and texts give."""
    try:
        rules = in_force.rules(ReleaseRules)
        basis = from_records([one.basis for one in records.values()], LabelBasis)
        assigned, certificates = split(basis.lazy(), fingerprints_of(derived, index).lazy(), rules)
        assignments, certified = assigned.collect(), certificates.collect()
        want = splits(assignments, certified, rules)
    except (*CANNOT, *CANNOT_POLARS) as error:
        said = str(error).partition("\n")[0] or type(error).__name__
        findings.add("splits", SPLITS_FILE, f"cannot be made again: {said}")
        return
    compare_file(root, SPLITS_FILE, "splits", want, findings, unreadable="splits", counted="certificates")
    for name, rows in files_of(assignments):
        compare_rows(root, name, rows, sides_of(name, assignments), findings)
    if derived.second:
        check_reference(root, assignments, derived, findings)


def fingerprints_of(derived: Derived, index: Mapping[Key, RecordIndexRow]) -> pl.DataFrame:
    """What is compared to find duplicates: made of the released texts, or as the index has it of redacted ones."""
    made = pl.concat([from_records([], Fingerprint), *derived.fingerprints])
    taken = [one.model_dump() for one in index.values() if one.redacted and one.minhash is not None]
    said = from_records(taken, Fingerprint)
    keys = list(Fingerprint.model_fields)[:2]
    return pl.concat([made.join(said, on=keys, how="anti", maintain_order="left"), said]).sort(keys)


def files_of(assignments: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Every JSONL file of the cuts with the rows that it owes."""
    for cut, folder in CUTS.items():
        for side in SIDES:
            yield f"{folder}silver_{side}_labels.jsonl", labels(assignments.filter(pl.col(cut) == side))
        yield f"{folder}{LEFT_OUT_FILE}", left_out(assignments, cut)
    for model in sorted(assignments["source_model"].unique()):
        for side in SIDES:
            held = labels(assignments.filter(hold_out(model) == side))
            yield f"{HOLD_OUT}/{model}/silver_{side}_labels.jsonl", held
        yield f"{HOLD_OUT}/{model}/{LEFT_OUT_FILE}", left_out(assignments, "paper_cut")
    yield POOL_FILE, pool(assignments)


def sides_of(name: str, assignments: pl.DataFrame) -> dict[Key, str]:
    """Where each record belongs in the cut that a file is of, in words."""
    cut = "default_cut" if "/" not in name else "paper_cut"
    side = hold_out(name.split("/")[1]) if name.startswith(f"{HOLD_OUT}/") else pl.col(cut)
    said = assignments.select("source_model", "trajectory_id", side=side, reason=cut.replace("cut", "reason"))
    return {
        key_of(row): f"on side {row['side']}" if row["side"] else f"left out, reason {row['reason']}"
        for row in said.iter_rows(named=True)
    }


def compare_rows(root: Path, name: str, rows: pl.DataFrame, sides: Mapping[Key, str], findings: Findings) -> None:
    """A finding for each row that is missing, too many or says something else. `sides`: where each record belongs."""
    want = {key_of(row): row for row in map(json.loads, as_lines(rows).splitlines())}
    said = dict(said_rows(root / name))
    findings.checked["label_rows_made_again"] += len(want)
    for key in sorted(want.keys() | said.keys()):
        who, where = "/".join(key), sides.get(key, "in no cut: there is no such record")
        if key not in said:
            findings.add("splits", name, f"{who} is missing here; stage split has it {where}")
        elif key not in want:
            findings.add("splits", name, f"{who} stands here; stage split has it {where}")
        for field in sorted(want.get(key, {}).keys() & said.get(key, {}).keys()):
            one, other = said[key][field], want[key][field]
            if one != other:
                findings.add("splits", name, f"{who}: {field} is {shown(one)}; stage split gives {shown(other)}")


def said_rows(path: Path) -> Iterator[tuple[Key, dict[str, Any]]]:
    """The rows of a file that are objects with a key; what is wrong with others is named by the check of its lines."""
    if released(path) is None:
        return
    with open_lines(path) as file:
        try:
            for raw in file:
                try:
                    row = json.loads(raw)
                except (ValueError, RecursionError):
                    continue
                if isinstance(row, dict) and too_large(row) is None:
                    key = row.get("source_model"), row.get("trajectory_id")
                    if isinstance(key[0], str) and isinstance(key[1], str):
                        yield (key[0], key[1]), row
        except OSError:
            return


def check_reference(root: Path, assignments: pl.DataFrame, derived: Derived, findings: Findings) -> None:
    """The second pass's labels, and the label rows of the records of which both passes are sure."""
    annotations = pl.concat([from_records([], AnnotationPass2), *derived.second])
    known = annotations.join(assignments, on=["source_model", "trajectory_id"], how="semi", maintain_order="left")
    references = reference(known.lazy(), assignments.lazy()).collect()
    everywhere = {key_of(row): "in the second pass" for row in references.iter_rows(named=True)}
    compare_rows(root, REFERENCE_FILE, references.select(list(ReferenceLabel.model_fields)), everywhere, findings)
    sure = references.filter("both_high_confidence").select("source_model", "trajectory_id")
    kept = assignments.filter(pl.col("paper_cut").is_not_null())
    both = labels(kept.join(sure, on=["source_model", "trajectory_id"], how="semi", maintain_order="left"))
    compare_rows(root, BOTH_FILE, both, dict.fromkeys(everywhere, "not for sure in both passes"), findings)
