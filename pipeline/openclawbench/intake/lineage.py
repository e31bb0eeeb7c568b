"""Lineage: the parent of each session, from the session index and the headers, and the session that it continues. A
sub-agent's session is a separate trajectory with its parent's id."""

import hashlib
import json
import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from openclawbench.base.session_names import (
    NATIVE_NAME,
    PACKED,
    basename,
    copy_order,
    identity_digits,
    path_name,
    safe_name,
)
from openclawbench.intake.raw_entry import RawEntry
from openclawbench.sources.base import CHILDREN, CONTINUES, FAMILY, PARENT
from openclawbench.storage.spilled_values import SpilledList

Key = tuple[str, str]  # (source model, identity), or another name within a source model
CHECKPOINT = re.compile(r"\.checkpoint\.[0-9a-fA-F-]+\Z")  # in the name of a copy that a session was continued from
SESSION_KEY = '"session_key"'
REFERRING = ('"spawned_by"', '"parent_session"', f'"{CHILDREN}"', f'"{PARENT}"')  # in the context of an entry


def entry_name(entry: RawEntry) -> str:
    """Native-session basename of an entry, as normalize names it."""
    if entry.member or ".jsonl" not in entry.path:
        return safe_name(entry.session_id or entry.member or basename(entry.path))
    return basename(entry.path)


def entry_names(entry: RawEntry) -> set[str]:
    """Every name under which an outcome may mean a session: its basename, the one that it had where it was written,
    which the program's report beside it names, and its path below the source model."""
    context = json.loads(entry.context) if entry.context and NATIVE_NAME in entry.context else {}
    path = None if entry.member else path_name(entry.path)
    return {name for name in (entry_name(entry), context.get(NATIVE_NAME), path) if name}


@dataclass
class Child:
    """A session that may have a parent."""

    key: Key
    parent_names: list[Key]  # names of its parent, as `names_of` writes them
    container: Key | None  # the session that contains it, or the only one that names its file as a sub-agent's


def with_parents(entries: Collection[RawEntry]) -> Collection[RawEntry]:
    """Entries with `parent_trajectory_id` in their context where exactly one session is the parent, else unchanged.

    A parent is known by its session key (spawned_by of the index) or by its file's basename (parentSession of the
    header), within the source model; of a session inside another one, or in a file that another one names, it is that
    one. Where that names several sessions nothing is linked: never guessed. Neither are
    sessions that would be their own ancestors. The context of both says so (`ambiguous_parent`: how many, and
    `circular_parent`).

    The session that a header names as its parent is also the one that it may continue: context that was copied from
    there is told by its records, so both belong to one `family`, which is read together.

    The entries are read several times; only sessions that may have a parent, and parents, are in memory.
    """
    children = find_children(entries)
    if not children:
        return entries
    names = {name for child in children.values() for name in child.parent_names}
    containers = {child.container for child in children.values() if child.container is not None}
    contained = {child.key for child in children.values() if child.container is not None}
    related = {child.key for child in children.values()} | containers
    related.update(key_of(entry) for entry in entries if not names.isdisjoint(names_of(entry)))
    named = trajectory_names((entry for entry in entries if key_of(entry) in related), contained | containers)
    ids_by_name: dict[Key, set[str]] = defaultdict(set)
    keys_by_name: dict[Key, set[Key]] = defaultdict(set)
    for entry in entries:
        if key_of(entry) not in related:
            continue
        for name in names & names_of(entry):
            keys_by_name[name].add(key_of(entry))
            if (trajectory_id := named.get(key_of(entry))) is not None:
                ids_by_name[name].add(trajectory_id)
    parents: dict[Key, str] = {}  # (source model, trajectory) -> its parent
    linked: dict[int, tuple[Key, str]] = {}
    ambiguous: dict[int, int] = {}
    for index, child in sorted(children.items()):
        candidates = [ids_by_name.get(name, set()) for name in child.parent_names]
        candidates = [{named[child.container]}] if child.container in named else candidates
        parent = next((next(iter(ids)) for ids in candidates if len(ids) == 1), None)
        if parent is None and (most := max(map(len, candidates), default=0)) > 1:
            ambiguous[index] = most
        if parent is not None:
            own = (child.key[0], named.get(child.key, ""))
            parents[own] = parent
            linked[index] = own, parent
    continued = continued_sessions(children.values(), keys_by_name)
    return SpilledList(with_links(entries, linked, ambiguous, own_ancestors(parents), continued))


def find_children(entries: Iterable[RawEntry]) -> dict[int, Child]:
    """The sessions that may have a parent, by place in the list."""
    children: dict[int, Child] = {}
    naming: dict[Key, set[Key]] = defaultdict(set)  # (source model, file) -> the sessions that name it
    for index, entry in enumerate(entries):
        if entry.context is None or not any(word in entry.context for word in REFERRING):
            continue
        context, key = json.loads(entry.context), key_of(entry)
        run = run_of(context)
        for path in context.get(CHILDREN, ()):
            naming[entry.source_model, path].add(key)
        file = run.get("parent_session")
        named = [("key", run.get("spawned_by")), ("file", file), ("file", CHECKPOINT.sub("", file or "") or None)]
        parent_names = [(entry.source_model, f"{kind}:{name}") for kind, name in named if name]
        container = (entry.source_model, context[PARENT]) if PARENT in context else None
        if parent_names or container:
            children[index] = Child(key, parent_names, container)
    for index, entry in enumerate(entries) if naming else ():
        sessions = naming.get((entry.source_model, entry.path), set())
        if len(sessions) == 1 and entry.member is None:
            children.setdefault(index, Child(key_of(entry), [], None)).container = next(iter(sessions))
    return children


def continued_sessions(children: Iterable[Child], keys_by_name: dict[Key, set[Key]]) -> dict[Key, Key]:
    """The session that each one continues whose header names one, where exactly one has that file's name."""
    continued: dict[Key, Key] = {}
    for child in children:
        candidates = [keys_by_name[name] - {child.key} for name in child.parent_names if name[1].startswith("file:")]
        former = next((next(iter(keys)) for keys in candidates if len(keys) == 1), None)
        if former is not None:
            continued[child.key] = former
    return continued


def family_of(key: Key, continued: dict[Key, Key]) -> Key:
    """The first of the sessions that were continued up to this one."""
    passed = {key}
    while (former := continued.get(key)) is not None and former not in passed:
        key = former
        passed.add(key)
    return key if former is None else min(passed)


def with_links(
    entries: Iterable[RawEntry],
    linked: dict[int, tuple[Key, str]],
    ambiguous: dict[int, int],
    circular: set[Key],
    continued: dict[Key, Key],
) -> Iterator[RawEntry]:
    """The entries, with the parents of those that are `linked`, the number of them where several sessions may be the
    parent, and what those continue that do."""
    for index, entry in enumerate(entries):
        key = key_of(entry)
        if index not in linked and index not in ambiguous and key not in continued:
            yield entry
            continue
        link: dict[str, Any] = {"ambiguous_parent": ambiguous[index]} if index in ambiguous else {}
        if index in linked:
            own, parent = linked[index]
            link = {"circular_parent": parent} if own in circular else {"parent_trajectory_id": parent}
        if key in continued:
            link |= {CONTINUES: continued[key][1], FAMILY: family_of(key, continued)[1]}
        context = json.loads(entry.context) if entry.context else {}
        text = json.dumps(context | link, sort_keys=True, ensure_ascii=True)
        yield msgspec.structs.replace(entry, context=text)


def family_identity(entry: RawEntry) -> str:
    """The identity that chooses the shard of an entry: its own, or that of the first session that it continues."""
    if entry.context is None or FAMILY not in entry.context:
        return entry.identity
    return str(json.loads(entry.context).get(FAMILY, entry.identity))


def key_of(entry: RawEntry) -> Key:
    """(source model, identity) of an entry."""
    return entry.source_model, entry.identity


def names_of(entry: RawEntry) -> set[Key]:
    """The names by which a child may mean an entry: its file's, and its session key."""
    names = {(entry.source_model, f"file:{entry_name(entry)}")}
    if entry.context and SESSION_KEY in entry.context and (key := run_of(json.loads(entry.context)).get("session_key")):
        names.add((entry.source_model, f"key:{key}"))
    return names


def own_ancestors(parents: dict[Key, str]) -> set[Key]:
    """The trajectories that are their own ancestors."""
    circular: set[Key] = set()
    visited: set[Key] = set()
    for first in list(parents):
        trajectory, path = first, list[Key]()
        while trajectory in parents and trajectory not in visited:
            visited.add(trajectory)
            path.append(trajectory)
            trajectory = (trajectory[0], parents[trajectory])
        if trajectory in path:
            circular.update(path[path.index(trajectory) :])
    return circular


def trajectory_names(entries: Iterable[RawEntry], wanted: set[Key]) -> dict[Key, str]:
    """Trajectory id by (source model, identity), as normalize gives it, of sessions with an id and of those `wanted`:
    of copies under several names the longest names it. Left out if the files would have to be read for that: a
    compressed file among them hides its length."""
    groups: dict[Key, list[RawEntry]] = defaultdict(list)
    for entry in entries:
        if entry.session_id is not None or key_of(entry) in wanted:
            groups[key_of(entry)].append(entry)
    names = {}
    for key, group in groups.items():
        first = group[0]
        if len(group) > 1:  # rare: the order is not computed for every session
            first = min(group, key=lambda entry: (-entry.size, *copy_order(entry.path, entry.member, entry.session_id)))
        any_compressed = any(entry.path.endswith(PACKED) for entry in group)
        if not any_compressed or len({entry_name(entry) for entry in group}) == 1:
            names[key] = f"{entry_name(first)}.{identity_digits(first.identity)}"
    return names


def collisions(entries: Iterable[RawEntry]) -> list[dict[str, Any]]:
    """A fault for each trajectory id that sessions of several identities would share (8 hex digits tell them apart).
    The entries are read twice: first, 16 bytes of each are held."""
    ids, identities = array("Q"), array("Q")
    for entry in entries:
        ids.append(short_digest("\0".join(trajectory_of(entry))))
        identities.append(short_digest("\0".join(key_of(entry))))
    pairs = pl.DataFrame({"id": ids, "identity": identities}, schema={"id": pl.UInt64, "identity": pl.UInt64})
    several = pairs.group_by("id").agg(pl.col("identity").n_unique()).filter(pl.col("identity") > 1)["id"]
    shared = set(several.to_list())
    named: dict[Key, dict[str, str]] = defaultdict(dict)
    for entry, digest in zip(entries, ids, strict=True) if shared else ():
        if digest in shared:
            named[trajectory_of(entry)].setdefault(entry.identity, entry.path)
    return [
        {
            "reason": "trajectory_id_collision",
            "file": sorted(paths.values())[0],
            "line": None,
            "message": f"{', '.join(sorted(paths.values()))}: would share the id {name}. Give one another file name.",
        }
        for (_, name), paths in sorted(named.items())
        if len(paths) > 1
    ]


def trajectory_of(entry: RawEntry) -> Key:
    """(source model, trajectory id) that an entry alone would have."""
    return entry.source_model, f"{entry_name(entry)}.{identity_digits(entry.identity)}"


def short_digest(text: str) -> int:
    """A number of 64 bits for a text, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def run_of(context: Any) -> dict[str, Any]:
    """The index part of a context."""
    index = context.get("index") if isinstance(context, dict) else None
    return index if isinstance(index, dict) else {}
