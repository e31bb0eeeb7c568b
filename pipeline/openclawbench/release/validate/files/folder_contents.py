"""The folder as it lies there: plain files that belong to a release, each JSONL file in one form, nothing linked in."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openclawbench.judge.prompts import STAGES as PROMPTED
from openclawbench.records.datapackage import MadeFrom
from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.card.croissant import NAME as CROISSANT
from openclawbench.release.card.described import README
from openclawbench.release.human import HUMAN_FILE
from openclawbench.release.labels.labels import (
    CUTS,
    HOLD_OUT,
    LEFT_OUT_FILE,
    PARTS,
    POOL_FILE,
    SIDES,
    SPLITS_FILE,
    part_file,
    typed_file,
)
from openclawbench.release.privacy.detect import Detector
from openclawbench.release.privacy.policy import RULES_FILE as PRIVACY
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.files import DATA, FOLDER, TEXT
from openclawbench.release.validate.files.checksums import NAME as CHECKSUMS
from openclawbench.release.validate.findings import Findings
from openclawbench.release.writer.files import CODECS, PLAIN
from openclawbench.release.writer.parquet import TABLES
from openclawbench.release.writer.provenance import NAME as PACKAGE
from openclawbench.release.writer.provenance import RULES
from openclawbench.release.writer.render import LINE_FILES, ROOT
from openclawbench.release.writer.second_pass import BOTH_FILE, RAW_FILES, REFERENCE_FILE, both_side_file
from openclawbench.release.writer.summarize import MODEL_SUMMARY, SUMMARY
from openclawbench.rules.taxonomy import Taxonomy

ENDING = re.compile(rf"(.+\.jsonl)({'|'.join(map(re.escape, CODECS))})?")
SHARD = re.compile(r"-[0-9]{5}-of-[0-9]{5}\.parquet")
MOST_READ = 16_000_000  # bytes of a file that belongs to no release, which are searched for keys
PLAIN_NAMES = (
    *(README, CROISSANT, PACKAGE, RULES, INDEX_FILE, PRIVACY, SUMMARY, SPLITS_FILE, DATA, TEXT, CHECKSUMS),
    *(
        Taxonomy.FILE,
        PublishRules.FILE,
        POOL_FILE,
        typed_file(POOL_FILE),
        REFERENCE_FILE,
        BOTH_FILE,
        typed_file(BOTH_FILE),
        HUMAN_FILE,
        typed_file(HUMAN_FILE),
    ),
    *(both_side_file(folder, side) for folder in CUTS.values() for side in SIDES),
)


def check_links(root: Path, findings: Findings) -> None:
    """Nothing that leads nowhere or to another folder, nothing that is neither file nor folder. A link to a file is as
    good as the file: caches of the Hub lay copies out like that."""
    for folder, names, files in os.walk(root):
        for name in sorted((*names, *files)):
            path = Path(folder) / name
            where = path.relative_to(root).as_posix()
            if path.is_symlink() and path.is_dir():
                findings.add(
                    "links", where, "is a link to a folder: a copy may lack what it holds. Copy the folder itself"
                )
            elif path.is_symlink() and not path.exists():
                findings.add(
                    "links", where, f"is a link to {path.readlink()}, which is not there. Copy the file itself"
                )
            elif not path.is_dir() and not path.is_file():
                findings.add("links", where, "is neither a file nor a folder. Take it out")


def check_forms(root: Path, form: Any, findings: Findings) -> None:
    """Each JSONL file is there once, in the form that the settings name; null where they are not known."""
    forms: dict[str, list[str]] = defaultdict(list)
    for name in names_in(root):
        if match := ENDING.fullmatch(name):
            forms[match[1]].append(match[2] or "")
    ending = "" if form == PLAIN else f".{form}"
    for name, found in sorted(forms.items()):
        if len(found) > 1:
            said = ", ".join(f"{name}{one}" for one in sorted(found))
            findings.add("file_twice", name, f"stands here in several forms, of which one is read: {said}. Keep one")
        elif isinstance(form, str) and found != [ending]:
            findings.add("file_form", name, f"is there as {name}{found[0]}, publish.toml says jsonl = {form!r}")


def check_known(root: Path, models: list[str], made: MadeFrom | None, rules: PrivacyRules, findings: Findings) -> None:
    """Every file belongs to a release; one that does not is named, and what of keys is in it. Prompts are all there."""
    prompts = {f"prompts/{one.stage}/{one.version}.md": one.stage for one in made.prompts} if made else {}
    known = {*PLAIN_NAMES, *prompts, *names_of(models)}
    detector = Detector(rules)
    here = set(names_in(root))
    for name in sorted(here):
        if is_known(name, known) or (made is None and name.startswith("prompts/")):
            continue
        findings.add("file_unknown", name, "belongs to no part of a release, and no other check reads it. Take it out")
        for kind, line in keys_in(root / name, detector):
            findings.add("text_key", name, f"holds a find of kind {kind}", line)
    asked = {one.judge for one in made.judges} - BASELINE_JUDGES if made else set()
    for name, stage in prompts.items():
        if name not in here and (stage in PROMPTED or asked):
            findings.add("file_missing", name, "datapackage.json names this prompt as in force: a release owes it")


def names_in(root: Path) -> Iterator[str]:
    """Every file, by its path in the release."""
    for folder, _, files in os.walk(root):
        for name in files:
            if (Path(folder) / name).is_file():
                yield (Path(folder) / name).relative_to(root).as_posix()


def names_of(models: list[str]) -> Iterator[str]:
    """The files of models and of cuts, JSONL files without the ending of a compression."""
    cuts = [*CUTS.values(), *(f"{HOLD_OUT}/{model}/" for model in models)]
    for folder in cuts:
        yield f"{folder}{LEFT_OUT_FILE}"
        for side in SIDES:
            name = f"{folder}silver_{side}_labels.jsonl"
            yield from (name, *(part_file(name, status) for status in PARTS))
            if folder in CUTS.values():
                yield typed_file(name)
    for model in models:
        yield from (f"{ROOT}/{model}/{name}" for name in (*LINE_FILES, *RAW_FILES, MODEL_SUMMARY))


def is_known(name: str, known: set[str]) -> bool:
    """True for a file of a release. Which pictures belong to it, and which Parquet files, other checks say."""
    if name in known or name.startswith(f"{FOLDER}/"):
        return True
    if match := ENDING.fullmatch(name):
        return match[1] in known
    shard = SHARD.search(name)
    table = f"{name[: shard.start()]}.jsonl" if shard and shard.end() == len(name) else ""
    return table in known and table.rpartition("/")[2] in TABLES


def keys_in(path: Path, detector: Detector) -> Iterator[tuple[str, int]]:
    """(kind, line) of each key in the beginning of a file, as text."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_READ).decode("utf-8", "replace")
    except OSError:
        return
    for hit in detector.hits(text):
        if hit.group == "key":
            yield hit.kind, text.count("\n", 0, hit.start) + 1
