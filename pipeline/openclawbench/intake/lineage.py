"""Lineage: the parent of each session, from the session index and the headers. A sub-agent's session is a separate
trajectory with its parent's id."""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

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
from openclawbench.sources.base import CHILDREN, PARENT

Key = tuple[str, str]  # (source model, identity)


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


def with_parents(entries: Iterable[RawEntry]) -> list[RawEntry]:
    """Entries with `parent_trajectory_id` in their context where exactly one session is the parent, else unchanged.

    A parent is known by its session key (spawned_by of the index) or by its file's basename (parentSession of the
    header), within the source model; of a session inside another one, or in a file that another one names, it is that
    one. Where that names several sessions nothing is linked: never guessed. Neither are
    sessions that would be their own ancestors: their context says so (`circular_parent`).
    """
    listed = list(entries)
    contexts = {index: json.loads(entry.context) for index, entry in enumerate(listed) if entry.context}
    ids_by_name: dict[tuple[str, str], set[str]] = defaultdict(set)
    container_of = containing_sessions(listed, contexts)
    own_keys = {(listed[index].source_model, listed[index].identity) for index in container_of}
    named = trajectory_names(listed, own_keys | set(container_of.values()))
    for index, entry in enumerate(listed):
        trajectory_id = named.get((entry.source_model, entry.identity))
        if trajectory_id is None:
            continue
        ids_by_name[entry.source_model, f"file:{entry_name(entry)}"].add(trajectory_id)
        if key := run_of(contexts.get(index)).get("session_key"):
            ids_by_name[entry.source_model, f"key:{key}"].add(trajectory_id)
    parents: dict[tuple[str, str], str] = {}  # (source model, trajectory) -> its parent
    linked = []
    for index in sorted(contexts.keys() | container_of.keys()):
        run, entry = run_of(contexts.get(index)), listed[index]
        names = [("key", run.get("spawned_by")), ("file", run.get("parent_session"))]
        candidates = [ids_by_name.get((entry.source_model, f"{kind}:{name}"), set()) for kind, name in names if name]
        candidates = [{named[container_of[index]]}] if container_of.get(index) in named else candidates
        parent = next((next(iter(ids)) for ids in candidates if len(ids) == 1), None)
        if parent is not None:
            own = (entry.source_model, named.get((entry.source_model, entry.identity), ""))
            parents[own] = parent
            linked.append((index, own, parent))
    circular = own_ancestors(parents)
    for index, own, parent in linked:
        link = {"circular_parent": parent} if own in circular else {"parent_trajectory_id": parent}
        text = json.dumps(contexts.get(index, {}) | link, sort_keys=True, ensure_ascii=True)
        listed[index] = msgspec.structs.replace(listed[index], context=text)
    return listed


def containing_sessions(listed: list[RawEntry], contexts: dict[int, Any]) -> dict[int, Key]:
    """Index of an entry -> its parent: the session that contains it, or the only one that names its file as a
    sub-agent's."""
    naming: dict[tuple[str, str], set[Key]] = defaultdict(set)
    container_of: dict[int, Key] = {}
    for index, context in contexts.items():
        entry = listed[index]
        for path in context.get(CHILDREN, ()):
            naming[entry.source_model, path].add((entry.source_model, entry.identity))
        if PARENT in context:
            container_of[index] = (entry.source_model, context[PARENT])
    for index, entry in enumerate(listed) if naming else ():
        names = naming.get((entry.source_model, entry.path), set())
        if len(names) == 1 and entry.member is None:
            container_of[index] = next(iter(names))
    return container_of


def own_ancestors(parents: dict[tuple[str, str], str]) -> set[tuple[str, str]]:
    """The trajectories that are their own ancestors."""
    circular: set[tuple[str, str]] = set()
    visited: set[tuple[str, str]] = set()
    for first in list(parents):
        trajectory, path = first, list[tuple[str, str]]()
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
    groups: dict[tuple[str, str], list[RawEntry]] = defaultdict(list)
    for entry in entries:
        if entry.session_id is not None or (entry.source_model, entry.identity) in wanted:
            groups[entry.source_model, entry.identity].append(entry)
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
    """A fault for each trajectory id that sessions of several identities would share (8 hex digits tell them apart)."""
    named: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for entry in entries:
        trajectory_id = f"{entry_name(entry)}.{identity_digits(entry.identity)}"
        named[entry.source_model, trajectory_id].setdefault(entry.identity, entry.path)
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


def run_of(context: Any) -> dict[str, Any]:
    """The index part of a context."""
    index = context.get("index") if isinstance(context, dict) else None
    return index if isinstance(index, dict) else {}
