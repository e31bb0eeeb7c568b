"""Licences of raw sessions: what a row, a dataset's card or a licence text next to them states; data that allows no
commercial use is kept out, unless the user says that all use is non-commercial."""

import json
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from openclawbench.intake.raw_entry import RawEntry
from openclawbench.intake.raw_object_store import Raw
from openclawbench.rules.intake.tables import TableRules
from openclawbench.sources.sidecars.table_row import CARD, FACTS, PLACE
from openclawbench.sources.tables.rows import place_of
from openclawbench.storage.object_store import ObjectStore
from openclawbench.storage.spilled_values import SpilledList

LICENSE = "license"  # key of a context: the licence in force
NONCOMMERCIAL = "noncommercial_license"  # reason code
READ_BYTES = 64 << 10  # of a card or a licence text
TITLE_CHARACTERS = 1000  # of a licence text, which contain its title
FRONT_MATTER = re.compile(r"\A\ufeff?---\r?\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"^[ \t]*-[ \t]*(.+)$", re.MULTILINE)


def with_licenses(entries: Collection[RawEntry], raw: Raw, accepted: bool, rules: TableRules) -> Collection[RawEntry]:
    """Entries of sessions, with the stated licence and the card of their dataset in their context. Sessions that allow
    no commercial use are refused, unless that is `accepted`. A row's own licence comes before that of the nearest card
    or licence text in the folders above."""
    stating = {*rules.license.cards, *rules.license.texts}
    paths = {entry.path for entry in entries if entry.path.rpartition("/")[2] in stating}
    known = {path: card for path in sorted(paths) if (card := card_of(path, head_of(raw, path), rules))}
    if not known and not any(entry.context and f'"{LICENSE}"' in entry.context for entry in entries):
        return entries
    by_folder: dict[str, dict[str, Any]] = {}
    for path, card in known.items():  # of two files in a folder the card counts: it gives the name
        folder = path.rpartition("/")[0]
        if folder not in by_folder or path.rpartition("/")[2] in rules.license.cards:
            by_folder[folder] = by_folder.get(folder, {}) | card

    @cache
    def nearest(folder: str) -> dict[str, Any]:
        """What the nearest card or licence text in a folder or above it says."""
        if folder in by_folder:
            return by_folder[folder]
        return nearest(folder.rpartition("/")[0]) if folder else {}

    return SpilledList(
        apply_license(entry, nearest(entry.path.rpartition("/")[0]), accepted, rules) for entry in entries
    )


def apply_license(entry: RawEntry, card: dict[str, Any], accepted: bool, rules: TableRules) -> RawEntry:
    """An entry with its licence; refused where that allows no commercial use."""
    if entry.adapter is None:
        return entry
    context: dict[str, Any] = json.loads(entry.context) if entry.context else {}
    own = context.get(FACTS, {}).get("license")
    name = own or card.get("license")
    if name is None and not card:
        return entry
    if name is not None and not accepted and rules.license.is_noncommercial(name):
        where = "its row" if own else card["path"]
        noted = {"reason": NONCOMMERCIAL, "what": f"is licensed {name} ({where}), which allows no commercial use"}
        part = dict([numbered] if (numbered := place_of(entry.member)) else [])
        place = {PLACE: context[PLACE] | {"adapter": entry.adapter}} if PLACE in context else {}
        refused = json.dumps({"noted": noted | part | {"records": 1}, LICENSE: name} | place, sort_keys=True)
        return msgspec.structs.replace(entry, adapter=None, session_id=None, context=refused)
    context |= {CARD: card} if card else {}
    context |= {} if name is None else {LICENSE: name}
    return msgspec.structs.replace(entry, context=json.dumps(context, sort_keys=True, ensure_ascii=True))


def head_of(raw: Raw, path: str) -> str:
    """The beginning of a file as text; empty if it cannot be read."""
    try:
        if isinstance(raw, ObjectStore):
            content = raw.read(path)[:READ_BYTES]
        else:
            with Path(f"{raw}/{path}").open("rb") as file:
                content = file.read(READ_BYTES)
    except OSError:
        return ""
    return content.decode("utf-8", "replace")


def card_of(path: str, text: str, rules: TableRules) -> dict[str, Any]:
    """{name, license, path} that a dataset's card or a licence text says; empty if it says neither."""
    if path.rpartition("/")[2] in rules.license.texts:
        title = re.search(rules.license.title_pattern, text[:TITLE_CHARACTERS])
        return {"license": "non-commercial", "path": path} if title else {}
    front = FRONT_MATTER.match(text)
    if front is None:
        return {}
    names = [name for key in ("license", "license_name") for name in field(front[1], key)]
    license_name = next((name for name in names if rules.license.is_noncommercial(name)), ", ".join(names) or None)
    card = {"name": next(iter(field(front[1], "pretty_name")), None), "license": license_name}
    stated = {key: value[: rules.longest_name] for key, value in card.items() if value}
    return stated | {"path": path} if stated else {}


def field(front_matter: str, key: str) -> list[str]:
    """The value of a top-level key of a front matter, or the values of its list."""
    match = re.search(rf"^{key}:[ \t]*(.*)\n?((?:[ \t]*-[ \t]+.*\n?)*)", front_matter, re.MULTILINE)
    if match is None:
        return []
    inline = match[1].strip().strip("[]")
    items = inline.split(",") if inline else ITEM.findall(match[2])
    return [plain for item in items if (plain := item.strip().strip("\"'").strip()) and not plain.startswith("#")]
