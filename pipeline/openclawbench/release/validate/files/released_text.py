"""Released text: searched again for keys and personal data, by the release's own rules."""

import contextlib
import json
from pathlib import Path
from typing import Any

from openclawbench.errors import InvalidRules
from openclawbench.records.datapackage import DataPackage, InputFile
from openclawbench.release.privacy.detect import Detector
from openclawbench.release.privacy.policy import RULES_FILE
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import SCANNED, TextFind, TextScan, rows_of, scan_file, scan_inputs
from openclawbench.release.validate.findings import Findings
from openclawbench.release.writer.files import released
from openclawbench.release.writer.provenance import NAME as PACKAGE
from openclawbench.release.writer.render import ROOT


def check_released_text(root: Path, models: list[str], rules: PrivacyRules, findings: Findings) -> TextScan:
    """A finding for each find of a group that the release says it does not hold; the others are reported."""
    detector = Detector(rules)
    scan, paths = scan_release(root, models, detector)
    for find in (*scan.kept, *paths.kept):
        if is_wrong(find, rules):
            said = find.masked(detector)
            message = f'{said.trajectory_id}, {said.place}: {said.kind} "{said.excerpt}"'
            findings.add(f"text_{find.group}", find.file, message, find.line)
    findings.reported = [*reported("text", scan, rules), *reported("paths", paths, rules)]
    return scan


def scan_release(root: Path, models: list[str], detector: Detector) -> tuple[TextScan, TextScan]:
    """Finds in the released texts, and in the paths of inputs that the data package names."""
    scan, paths = TextScan(), TextScan()
    for model in models:
        for name in (f"{ROOT}/{model}/{file}" for file in SCANNED):
            if released(root / name) is not None:
                with contextlib.suppress(OSError):  # what is broken is named by the check of its lines
                    scan_file(root, name, detector, scan)
    scan_inputs(inputs_of(root), detector, paths)
    return scan, paths


def is_wrong(find: TextFind, rules: PrivacyRules) -> bool:
    """True where the release says that it holds no such find. Addresses and numbers in names are never redacted."""
    if find.in_name:
        return find.group in rules.blocked_in_names()
    return find.group in rules.groups("block") | rules.groups("redact")


def reported(where: str, scan: TextScan, rules: PrivacyRules) -> list[dict[str, Any]]:
    """A row a kind of the finds that the release may hold; `where`: text | paths."""
    groups = rules.groups("report") | {"redacted"}
    rows = [row for row in scan.table() if row["group"] in groups]
    known = groups | rules.blocked_in_names()
    return [
        {"where": where, **row} for row in (*rows, *(one for one in rows_of(scan.names) if one["group"] not in known))
    ]


def inputs_of(root: Path) -> list[InputFile]:
    """Inputs that the data package names; none where it cannot be read, which its own check says."""
    try:
        return DataPackage.model_validate_json((root / PACKAGE).read_bytes(), strict=True).provenance.inputs
    except (OSError, ValueError):
        return []


def rules_of(root: Path, findings: Findings) -> PrivacyRules:
    """What the release says that its text was searched for; the rules of this program where it does not say."""
    path = root / RULES_FILE
    try:
        return PrivacyRules.checked(json.loads(path.read_text(encoding="utf-8")), path)
    except (OSError, ValueError, TypeError, RecursionError, InvalidRules) as error:
        findings.add("text_rules", RULES_FILE, f"does not say what text was searched for: {error}")
        return PrivacyRules.load()
