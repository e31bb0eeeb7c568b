"""The files in the folder: all belong to a release, each JSONL file is there in one form, and no folder is a link."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openclawbench.judge.prompts import STAGES as PROMPTED
from openclawbench.records.datapackage import INPUTS_FILE, MadeFrom
from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.card.croissant import NAME as CROISSANT
from openclawbench.release.card.described import README
from openclawbench.release.files.jsonl_files import CODECS, LISTING, PLAIN, table_of
from openclawbench.release.files.names import (
    BOTH_FILE,
    LINE_FILES,
    MODEL_SUMMARY,
    RAW_FILES,
    REFERENCE_FILE,
    ROOT,
    SUMMARY,
    both_side_file,
)
from openclawbench.release.files.parquet import TABLES
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.input_files import INPUTS_TABLE
from openclawbench.release.labels.labels import LEFT_OUT_FILE, PART_STATUSES, POOL_FILE, SPLITS_FILE, part_file
from openclawbench.release.labels.places import CUTS, HOLD_OUT, SIDES
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.policy import RULES_FILE as PRIVACY
from openclawbench.release.privacy.released_bytes import finds_in_files
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.provenance import RULES
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.release_folder import CHECKSUMS
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.files import DATA, FOLDER, TEXT
from openclawbench.release.unjudged import files_of_model, nobody_judged
from openclawbench.release.validate.findings import Findings
from openclawbench.rules.fulltax.taxonomy import Taxonomy

ENDING = re.compile(rf"(.+\.jsonl)({'|'.join(map(re.escape, CODECS))})?")
SHARD = re.compile(r"-[0-9]{5}-of-[0-9]{5}\.parquet")
DIVIDED = (*LINE_FILES, *RAW_FILES)  # tables that may be divided into several files
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
        INPUTS_FILE,
        INPUTS_TABLE,
        HUMAN_FILE,
        typed_file(HUMAN_FILE),
    ),
    *(both_side_file(folder, side) for folder in CUTS.values() for side in SIDES),
)


def check_links(root: Path, findings: Findings) -> None:
    """No dangling link, no link to a folder, no special file. Links to files are fine: caches of the Hub use them."""
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


def check_known(
    root: Path, models: list[str], provenance: MadeFrom | None, rules: PrivacyRules, findings: Findings
) -> None:
    """Every file belongs to a release, every prompt in force is there, and no file holds a key outside the lines of
    records."""
    prompts = (
        {f"prompts/{prompt.stage}/{prompt.version}.md": prompt.stage for prompt in provenance.prompts}
        if provenance
        else {}
    )
    of_labels = {*names_of_labels(root, models)}
    expected = {*PLAIN_NAMES, *prompts, *names_of(models)} - of_labels
    present = set(names_in(root))
    for name in sorted(present):
        if is_known(name, expected) or (provenance is None and name.startswith("prompts/")):
            continue
        if is_known(name, of_labels):
            findings.add("file_unknown", name, "holds labels, and the records say that nobody judged them. Remove it")
            continue
        findings.add("file_unknown", name, "does not belong to a release, and no other check reads it. Remove it")
    for find in finds_in_files(root, PrivacyFinder(rules)):
        findings.add("text_key", find.file, f'{find.place}: {find.kind} "{find.excerpt}"', find.line)
    asked_judges = {prompt.judge for prompt in provenance.judges} - BASELINE_JUDGES if provenance else set()
    for name, stage in prompts.items():
        if name not in present and (stage in PROMPTED or asked_judges):
            findings.add("file_missing", name, "is missing: datapackage.json names this prompt as in force")


def names_of_labels(root: Path, models: list[str]) -> Iterator[str]:
    """The files that a release does not have if nobody judged; none for any other."""
    if not nobody_judged(root):
        return
    yield from (SPLITS_FILE, POOL_FILE, typed_file(POOL_FILE), REFERENCE_FILE, BOTH_FILE, typed_file(BOTH_FILE))
    yield from (both_side_file(folder, side) for folder in CUTS.values() for side in SIDES)
    yield from names_of_cuts(models)
    has = files_of_model(root)
    yield from (f"{ROOT}/{model}/{name}" for model in models for name in DIVIDED if name not in has)


def names_in(root: Path) -> Iterator[str]:
    """Every file, by its path in the release."""
    for folder, _, files in os.walk(root):
        for name in files:
            if (Path(folder) / name).is_file():
                yield (Path(folder) / name).relative_to(root).as_posix()


def names_of(models: list[str]) -> Iterator[str]:
    """The files of models and of cuts; JSONL files without the ending of a compression."""
    yield from names_of_cuts(models)
    for model in models:
        yield from (f"{ROOT}/{model}/{name}" for name in (*DIVIDED, MODEL_SUMMARY, LISTING))


def names_of_cuts(models: list[str]) -> Iterator[str]:
    """The label files of every cut, and those of what it leaves out."""
    cuts = [*CUTS.values(), *(f"{HOLD_OUT}/{model}/" for model in models)]
    for folder in cuts:
        yield f"{folder}{LEFT_OUT_FILE}"
        for side in SIDES:
            name = f"{folder}silver_{side}_labels.jsonl"
            yield from (name, *(part_file(name, status) for status in PART_STATUSES))
            if folder in CUTS.values():
                yield typed_file(name)


def is_known(name: str, expected: set[str]) -> bool:
    """True for a file of a release. Other checks decide which pictures and Parquet files belong to it."""
    if name in expected or name.startswith(f"{FOLDER}/"):
        return True
    if match := ENDING.fullmatch(name):
        folder, _, file = match[1].rpartition("/")
        return match[1] in expected or (f"{folder}/{table_of(file)}" in expected and table_of(file) in DIVIDED)
    shard = SHARD.search(name)
    table = f"{name[: shard.start()]}.jsonl" if shard and shard.end() == len(name) else ""
    return table in expected and table.rpartition("/")[2] in TABLES
