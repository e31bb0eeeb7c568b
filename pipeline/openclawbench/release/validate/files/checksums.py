"""Checksums: every file of the release is listed, every listed file is there, and each has the bytes it says."""

import re
from pathlib import Path

from openclawbench.release.validate.findings import Findings
from openclawbench.storage.data_folder import sha256_file

NAME = "CHECKSUMS.sha256"
LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def check_checksums(root: Path, findings: Findings) -> dict[str, str]:
    """Compare CHECKSUMS.sha256 with the files; path -> sha256 of the files that are listed and there."""
    found: dict[str, str] = {}
    listed = read_list(root, findings)
    here = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
    here.pop(NAME, None)
    for name in sorted(listed.keys() - here.keys()):
        findings.add("file_missing", name, "is listed in CHECKSUMS.sha256 and is not there")
    for name in sorted(here.keys() - listed.keys()):
        findings.add("file_not_listed", name, "is there and not listed in CHECKSUMS.sha256")
    for name in sorted(here.keys() & listed.keys()):
        findings.checked["files"] += 1
        found[name] = sha256_file(here[name])
        if found[name] != listed[name]:
            findings.add("checksum", name, f"has sha256 {found[name][:12]}…, the list says {listed[name][:12]}…")
    return found


def read_list(root: Path, findings: Findings) -> dict[str, str]:
    """Path -> sha256 as CHECKSUMS.sha256 has them; empty where it is not there."""
    path = root / NAME
    if not path.is_file():
        findings.add("file_missing", NAME, "there are no checksums")
        return {}
    listed: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), start=1):
        match = LINE.fullmatch(line)
        if match is None:
            if line:
                findings.add("checksum_list", NAME, f"{line[:80]!r} is no line of sha256 and path", number)
        elif match[2] in listed:
            findings.add("checksum_list", NAME, f"{match[2]} is listed twice", number)
        else:
            listed[match[2]] = match[1]
    return listed
