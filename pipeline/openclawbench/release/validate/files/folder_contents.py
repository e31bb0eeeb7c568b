"""The files in the folder: all belong to a release, each JSONL file is there in one form, and no folder is a link.

What a clone, the Hub's client or a file manager lays beside them is passed over: `.git`, `.gitattributes`, `.cache`,
`.DS_Store`.
"""

import os
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from openclawbench.judge.prompts import STAGES as PROMPTED
from openclawbench.records.datapackage import MadeFrom
from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.card.croissant import NAME as CROISSANT
from openclawbench.release.card.described import README
from openclawbench.release.files.jsonl_files import CODECS, PLAIN
from openclawbench.release.files.names import ROOT
from openclawbench.release.labels.labels import SPLITS_FILE
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.released_bytes import finds_in_files
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.release_folder import CHECKSUMS
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.findings import Findings
from openclawbench.rules.fulltax.taxonomy import Taxonomy

ENDING = re.compile(rf"(.+\.jsonl)({'|'.join(map(re.escape, CODECS))})?")
# Files that no release has that nobody judged.
OF_LABELS = re.compile(
    rf"silver_|paper_cut/|hold_out/|calibration_pool|splits\.json|reference_|both_|{ROOT}/[^/]*/(accepted_|positives_|stage_)"
)
# Files that are not written again: they are compared with the files beside them.
DESCRIBING = {PACKAGE, README, CROISSANT, CHECKSUMS, PublishRules.FILE, Taxonomy.FILE}
BESIDE = {".git", ".gitattributes", ".cache", ".DS_Store"}  # at the top of the folder, but for the last


def walk(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """(folder, folders in it, files in it) of every folder of a release, without what does not belong to it."""
    for folder, names, files in os.walk(root):
        beside = BESIDE if Path(folder) == root else {".DS_Store"}
        names[:] = sorted(name for name in names if name not in beside)
        yield Path(folder), names, sorted(file for file in files if file not in beside)


def check_links(root: Path, findings: Findings) -> None:
    """No dangling link, no link to a folder, no special file. Links to files are fine: caches of the Hub use them."""
    for folder, names, files in walk(root):
        if not names and not files and folder != root:
            findings.add("links", folder.relative_to(root).as_posix(), "is an empty folder. Remove it")
        for name in sorted((*names, *files)):
            path = folder / name
            where = path.relative_to(root).as_posix()
            if path.is_symlink() and path.is_dir():
                findings.add(
                    "links", where, "is a link to a folder: a copy may lack what it holds. Copy the folder itself"
                )
            elif path.is_symlink() and not path.exists():
                findings.add(
                    "links", where, f"is a link to {path.readlink()}, which does not exist. Copy the file itself"
                )
            elif not path.is_dir() and not path.is_file():
                findings.add("links", where, "is neither a file nor a folder. Remove it")


def check_forms(root: Path, form: Any, findings: Findings) -> None:
    """Each JSONL file is there once, in the form that the settings name (None: not known)."""
    forms: dict[str, list[str]] = defaultdict(list)
    for name in names_in(root):
        if match := ENDING.fullmatch(name):
            forms[match[1]].append(match[2] or "")
    ending = "" if form == PLAIN else f".{form}"
    for name, endings in sorted(forms.items()):
        if len(endings) > 1:
            names = ", ".join(f"{name}{ending}" for ending in sorted(endings))
            findings.add("file_twice", name, f"is here in several forms, of which only one is read: {names}. Keep one")
        elif isinstance(form, str) and endings != [ending]:
            findings.add("file_form", name, f"is there as {name}{endings[0]}, but publish.toml has jsonl = {form!r}")


def check_names(root: Path, again: Path, provenance: MadeFrom | None, findings: Findings) -> set[str]:
    """Every file belongs to the release as it is written again in `again`, and every file of that is there, and the
    prompts in force. Returns the files that both have."""
    named = provenance.prompts if provenance else []
    prompts = {f"prompts/{prompt.stage}/{prompt.version}.md": prompt for prompt in named}
    expected, present = set(names_in(again)), set(names_in(root))
    known = expected | DESCRIBING | prompts.keys()
    for name in sorted(present - known):
        holds = "does not belong to this release, and no other check reads it"
        if SPLITS_FILE not in expected and OF_LABELS.match(name):
            holds = "holds labels, and the records say that nobody judged them"
        findings.add("file_unknown", name, f"{holds}. Remove it")
    judges = {prompt.judge for prompt in provenance.judges} - BASELINE_JUDGES if provenance else set()
    for name in sorted(known - present):
        if name not in prompts:
            findings.add("file_missing", name, "is missing: every release has this file")
        elif prompts[name].stage in PROMPTED or judges:
            findings.add("file_missing", name, "is missing: datapackage.json names this prompt as in force")
    return expected & present


def check_keys(root: Path, rules: PrivacyRules, same: Container[str], findings: Findings) -> None:
    """No file holds a key outside the lines of records, which are searched apart. `same`: the files whose bytes are
    those that the records give."""
    for find in finds_in_files(root, PrivacyFinder(rules), same):
        findings.add("text_key", find.file, f'{find.place}: {find.kind} "{find.excerpt}"', find.line)


def names_in(root: Path) -> Iterator[str]:
    """Every file, by its path in the release."""
    for folder, _, files in walk(root):
        for name in files:
            if (folder / name).is_file():
                yield (folder / name).relative_to(root).as_posix()
