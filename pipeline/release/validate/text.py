"""Released text: searched again for keys, e-mail addresses and telephone numbers, by the release's own rules."""

import contextlib
import json
from pathlib import Path

from pipeline.errors import BrokenRules
from pipeline.release.files import released
from pipeline.release.privacy.detect import Detector
from pipeline.release.privacy.policy import RULES_FILE
from pipeline.release.privacy.rules import PrivacyRules
from pipeline.release.privacy.scan import SCANNED, TextScan, scan_file
from pipeline.release.render import ROOT
from pipeline.release.validate.findings import Findings


def check_released_text(root: Path, models: list[str], findings: Findings) -> TextScan:
    """A finding for each find of a group that the release says it does not hold; the others are reported."""
    rules = rules_of(root, findings)
    scan = TextScan()
    names = [f"{ROOT}/{model}/{file}" for model in models for file in SCANNED]
    names = [name for name in names if released(root / name) is not None]
    detector = Detector(rules)
    for name in names:
        with contextlib.suppress(OSError):  # what is broken is named by the check of its lines
            scan_file(root, name, detector, scan)
    reported = rules.groups("report") | {"redacted"}
    for find in scan.kept:
        if find.group not in reported:
            message = f'{find.trajectory_id}, {find.place}: {find.kind} "{find.excerpt}"'
            findings.add(f"text_{find.group}", find.file, message, find.line)
    findings.reported = [row for row in scan.table() if row["group"] in reported]
    return scan


def rules_of(root: Path, findings: Findings) -> PrivacyRules:
    """What the release says that its text was searched for; the rules of this program where it does not say."""
    path = root / RULES_FILE
    try:
        return PrivacyRules.checked(json.loads(path.read_text(encoding="utf-8")), path)
    except (OSError, ValueError, BrokenRules) as error:
        findings.add("text_rules", RULES_FILE, f"does not say what text was searched for: {error}")
        return PrivacyRules.load()
