"""Checksums: every file is listed, every listed file exists, and each has its listed digest."""

import re
from pathlib import Path

from openclawbench.release.release_folder import CHECKSUMS
from openclawbench.release.validate.files.folder_contents import names_in
from openclawbench.release.validate.findings import Findings
from openclawbench.storage.data_folder import sha256_file

LINE = re.compile(r"([0-9a-f]{64})  ([^\r]+)")


def check_checksums(root: Path, findings: Findings) -> dict[str, str]:
    """Compare CHECKSUMS.sha256 with the files; returns path -> sha256 of the files that are listed and exist."""
    digests: dict[str, str] = {}
    listed = read_list(root, findings)
    present = {name: root / name for name in names_in(root) if name != CHECKSUMS}
    for name in sorted(listed.keys() - present.keys()):
        findings.add("file_missing", name, f"is listed in {CHECKSUMS} but does not exist")
    for name in sorted(present.keys() - listed.keys()):
        findings.add("file_not_listed", name, f"is not listed in {CHECKSUMS}")
    for name in sorted(present.keys() & listed.keys()):
        findings.checked["files"] += 1
        digests[name] = sha256_file(present[name])
        if digests[name] != listed[name]:
            findings.add("checksum", name, f"has sha256 {digests[name][:12]}…, {CHECKSUMS} has {listed[name][:12]}…")
    return digests


def read_list(root: Path, findings: Findings) -> dict[str, str]:
    """Path -> sha256 as listed in CHECKSUMS.sha256; empty if that file does not exist."""
    path = root / CHECKSUMS
    if not path.is_file():
        findings.add("file_missing", CHECKSUMS, "is missing: every release has this file")
        return {}
    listed: dict[str, str] = {}
    content = path.read_bytes().decode("utf-8", "replace")  # a carriage return is part of a line
    if not content.endswith("\n"):
        findings.add("checksum_list", CHECKSUMS, "does not end with a line break: it is cut off")
    for number, line in enumerate(content.removesuffix("\n").split("\n"), start=1):
        match = LINE.fullmatch(line)
        if match is None:
            findings.add("checksum_list", CHECKSUMS, f"{line[:80]!r} is not a sha256 and a path", number)
        elif match[2] in listed:
            findings.add("checksum_list", CHECKSUMS, f"{match[2]} is listed twice", number)
        else:
            listed[match[2]] = match[1]
    return listed
