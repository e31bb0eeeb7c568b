"""Released text: searched again for keys and personal data, by the release's own rules."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from openclawbench.base.resources import how_to_install
from openclawbench.errors import InvalidRules
from openclawbench.release.files.jsonl_files import in_batches, open_lines, released
from openclawbench.release.files.names import ROOT
from openclawbench.release.input_files import INPUTS_TABLE
from openclawbench.release.privacy.checks import LIBRARIES, missing_libraries
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.policy import RULES_FILE
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import (
    BYTES_AT_ONCE,
    SCANNED,
    TextFind,
    TextScan,
    finds_of,
    rows_of,
    scan_inputs,
)
from openclawbench.release.validate.findings import Findings
from openclawbench.tables.sorted_merge import row_groups


def check_released_text(root: Path, scans: Iterable[TextScan], rules: PrivacyRules, findings: Findings) -> TextScan:
    """A finding for each find of a group that the release must not hold; other finds are reported. `scans`: of each
    model."""
    privacy_finder, scan, paths = PrivacyFinder(rules), TextScan(), TextScan()
    for of_model in scans:
        scan.absorb(of_model)
    scan_inputs(inputs_of(root), privacy_finder, paths)
    for find in (*scan.kept, *paths.kept):
        if is_wrong(find, rules):
            masked = find.masked(privacy_finder)
            message = f'{masked.trajectory_id}, {masked.place}: {masked.kind} "{masked.excerpt}"'
            findings.add(f"text_{find.group}", find.file, message, find.line)
    findings.reported = [*report_kinds("text", scan, rules), *report_kinds("paths", paths, rules)]
    return scan


def scan_release(root: Path, models: list[str], privacy_finder: PrivacyFinder) -> tuple[TextScan, TextScan]:
    """Finds in the released texts, and in the paths of inputs that the data package names."""
    scan, paths = TextScan(), TextScan()
    for model in models:
        scan.absorb(scan_model(root, model, privacy_finder))
    scan_inputs(inputs_of(root), privacy_finder, paths)
    return scan, paths


def scan_model(root: Path, model: str, privacy_finder: PrivacyFinder) -> TextScan:
    """Finds in the released texts of one model."""
    scan = TextScan()
    for name in (f"{ROOT}/{model}/{file}" for file in SCANNED):
        if released(root / name):
            with contextlib.suppress(OSError):  # the check of its lines reports it
                scan_file(root, name, privacy_finder, scan)
    return scan


def scan_file(root: Path, name: str, privacy_finder: PrivacyFinder, scan: TextScan) -> None:
    """Scan a JSONL file of a release. Raises OSError if it cannot be read to its end."""
    start = 1
    with open_lines(root / name) as file:
        for lines in in_batches(file, len, BYTES_AT_ONCE):
            texts = [line.decode("utf-8", "replace") for line in lines]
            frame = pl.DataFrame({"line": texts, "file": name, "number": range(start, start + len(lines))})
            start += len(lines)
            for find in finds_of(frame, privacy_finder):
                scan.add(find)


def is_wrong(find: TextFind, rules: PrivacyRules) -> bool:
    """True if the release must not hold this find. Addresses and numbers in names are never redacted."""
    if find.in_name:
        return find.group in rules.blocked_in_names()
    return find.group in rules.groups("block") | rules.groups("redact")


def report_kinds(where: str, scan: TextScan, rules: PrivacyRules) -> list[dict[str, Any]]:
    """One row per kind of find that the release may hold; `where`: text | paths."""
    groups = rules.groups("report") | {"redacted"}
    rows = [row for row in scan.table() if row["group"] in groups]
    reported_groups = groups | rules.blocked_in_names()
    return [
        {"where": where, **row}
        for row in (*rows, *(row for row in rows_of(scan.names) if row["group"] not in reported_groups))
    ]


def inputs_of(root: Path) -> Iterator[pl.DataFrame]:
    """Names of inputs; none if the file cannot be read, which its own check reports."""
    with contextlib.suppress(OSError, pl.exceptions.PolarsError, pa.ArrowException):
        for table in row_groups(root / INPUTS_TABLE):
            yield table.select("source_model", "path", "member")


def rules_of(root: Path, findings: Findings) -> PrivacyRules:
    """The privacy rules in the release; those of this program if the release has none, with a finding."""
    path = root / RULES_FILE
    try:
        rules = PrivacyRules.checked(json.loads(path.read_text(encoding="utf-8")), path)
        needed = {LIBRARIES[rule.check] for rule in rules.rule if rule.check in LIBRARIES}
        if missing := sorted(needed & {*missing_libraries()}):
            names = ", ".join(missing)
            findings.add("text_rules", RULES_FILE, f"asks for {names}, not installed. {how_to_install('privacy')}")
        return rules
    except (OSError, ValueError, TypeError, RecursionError, InvalidRules) as error:
        findings.add(
            "text_rules", RULES_FILE, f"cannot be read, so that the privacy rules of the release are unknown: {error}"
        )
        return PrivacyRules.load()
