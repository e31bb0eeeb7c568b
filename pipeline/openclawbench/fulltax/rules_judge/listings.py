"""Listings: calls that show names of files, and the files that they show."""

import re

from openclawbench.fulltax.rules_judge.flow.calls import arguments, shell_command
from openclawbench.fulltax.rules_judge.flow.failures import LISTING_COMMAND
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import EvidenceStep

FILE = re.compile(r"[\w./@+-]+\.[A-Za-z][A-Za-z0-9]{0,5}")
FOLDER_ARGUMENTS = ("path", "dir", "directory", "folder")


def is_listing(step: EvidenceStep) -> bool:
    """True for a call that shows names of files and not what is in them."""
    return step.event_type == "inspect" or bool(LISTING_COMMAND.match(shell_command(step)))


def listed_files(trace: Trace) -> dict[str, dict[str, EvidenceStep]]:
    """Folder -> name of a file -> the listing that shows it first. A folder is written as in the listing's call."""
    known: dict[str, dict[str, EvidenceStep]] = {}
    for step in trace.looks:
        if not is_listing(step):
            continue
        folder = folder_of(step)
        for line in map(str.strip, (step.reflection_text or "").splitlines()):
            if line.endswith(":") and " " not in line:
                folder = plain(line[:-1])
                continue
            word = line.rpartition(" ")[2]
            if FILE.fullmatch(word):
                path = plain(word) if "/" in word or not folder else f"{folder}/{word}"
                parent, _, name = path.rpartition("/")
                known.setdefault(parent, {}).setdefault(name, step)
    return known


def folder_of(step: EvidenceStep) -> str:
    """The folder that a listing is about; empty if it names none."""
    command = shell_command(step)
    if command:
        words = command.partition("|")[0].split()[1:]
        return plain(next((word.strip("'\"") for word in words if not word.startswith("-")), ""))
    known = arguments(step)
    return plain(next((str(known[name]) for name in FOLDER_ARGUMENTS if known.get(name)), ""))


def plain(path: str) -> str:
    """A path without what may be left out of it."""
    return path.removeprefix("./").rstrip("/")
