"""A session is a tree: which of its records are on the active branch (the path from the last record to the root)."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass
class Branch:
    """Indices of the records, by kind."""

    active: list[int] = field(default_factory=list)  # each behind its parent: nearly always the file's order
    abandoned: list[int] = field(default_factory=list)
    duplicates: list[int] = field(default_factory=list)
    missing_parents: list[int] = field(default_factory=list)
    later_parents: dict[int, int] = field(default_factory=dict)  # record -> its parent, which is behind it
    circular: list[int] = field(default_factory=list)  # would be their own ancestors


class Node(NamedTuple):
    """The properties of a record that the tree needs. `content` is equal for records that say the same."""

    id: Hashable | None
    parent: Hashable | None
    has_parent_key: bool
    content: Any


def is_chain(ids: list[Any], parents: list[Any]) -> bool:
    """True if each record hangs on the one before it and no id repeats: nothing is off the branch.

    Most sessions are one; the walk of active_branch would give the same, more slowly.
    """
    all_text = set(map(type, ids)) <= {str}
    return all_text and parents == [None, *ids][: len(ids)] and len(set(ids)) == len(ids)


class LeafMove(NamedTuple):
    """What a `leaf` record says: on which record the session goes on, and which one the next record names instead."""

    target: Hashable | None
    append_parent: Hashable | None


def with_leaf_moves(nodes: list[Node], moves: dict[int, LeafMove]) -> list[Node]:
    """The nodes, those of `leaf` records and of what is appended behind them hung where the session goes on. A move to
    a record that does not stand before it is none."""
    hung: list[Node] = []
    ids: set[Hashable] = {None}
    last: LeafMove | None = None
    for at, node in enumerate(nodes):
        move = moves.get(at)
        if move is not None and move.target in ids:
            hung.append(node._replace(parent=move.target, has_parent_key=True))
            last = move
        else:
            follows = last is not None and node.parent == last.append_parent
            hung.append(node._replace(parent=last.target) if last is not None and follows else node)
            last = None
        ids.add(node.id)
    return hung


def active_branch(nodes: list[Node]) -> Branch:
    """Walk from the last record to the root.

    An id may repeat: a parent is the nearest earlier record of that id; where none is earlier, the first of the later
    ones. A record without an id or without a parent field hangs on the previous record in file order, and so does one
    whose parent is not in the file, or that would be its own ancestor (both counted). Duplicates (same id and content,
    or same parent and content off the branch) count once.
    """
    branch = Branch()
    latest: dict[Hashable, int] = {}
    first: dict[Hashable, int] = {}
    before: dict[int, int | None] = {}  # of each record that is kept, the one before it
    above: dict[int, int | None] = {}
    open_ended: list[int] = []  # records whose parent does not come before them
    previous: int | None = None
    for index, node in enumerate(nodes):
        same = latest.get(node.id) if node.id is not None else None
        if same is not None and nodes[same].content == node.content:
            branch.duplicates.append(index)
            continue
        before[index] = above[index] = previous
        if node.has_parent_key and node.id is not None:
            if node.parent is None:
                above[index] = None
            elif node.parent in latest:
                above[index] = latest[node.parent]
            else:
                open_ended.append(index)
        previous = index
        if node.id is not None:
            latest[node.id] = index
            first.setdefault(node.id, index)
    for index in open_ended:
        if (later := first.get(nodes[index].parent)) is None:
            branch.missing_parents.append(index)
        else:
            branch.later_parents[index] = above[index] = later
    if branch.later_parents:
        cut_circles(branch, above, before)
    place(branch, nodes, above, previous)
    return branch


def cut_circles(branch: Branch, above: dict[int, int | None], before: dict[int, int | None]) -> None:
    """Give records that are their own ancestors the record before them as a parent, or none if that is their
    descendant.

    In every circle some record has a parent that comes later in the file: the first such record loses its parent.
    """
    visited: set[int] = set()
    for start in above:
        path: dict[int, None] = {}
        node: int | None = start
        while node is not None and node not in visited:
            visited.add(node)
            path[node] = None
            node = above[node]
        if node in path:
            circle = list(path)
            cut = min(index for index in circle[circle.index(node) :] if index in branch.later_parents)
            branch.circular.append(cut)
            del branch.later_parents[cut]
            above[cut] = None
    branch.circular.sort()
    roots = dict(above)
    for cut in branch.circular:
        if (previous := before[cut]) is not None and root_of(previous, roots) != cut:
            above[cut] = roots[cut] = previous


def root_of(index: int, roots: dict[int, int | None]) -> int:
    """The root above a record. Shortens the paths in `roots` for later calls."""
    while (up := roots[index]) is not None:
        roots[index] = roots[up] if roots[up] is not None else up
        index = up
    return index


def hanging_on(last: int | None, above: dict[int, int | None]) -> int | None:
    """The last descendant of a record: its last child, the last child of that, and so on."""
    below = {parent: index for index, parent in above.items() if parent is not None}
    while last in below:
        last = below[last]
    return last


def place(branch: Branch, nodes: list[Node], above: dict[int, int | None], last: int | None) -> None:
    """Note for each record that is kept where it is. The active path ends at the last record of the file, or at the
    last descendant of that if earlier records descend from it."""
    path: dict[int, None] = {}
    cursor = hanging_on(last, above) if branch.later_parents else last
    while cursor is not None:
        path[cursor] = None
        cursor = above[cursor]
    branch.active = list(reversed(path))
    if len(path) == len(above):
        return
    below: dict[int | None, list[int]] = defaultdict(list)
    for index in path:
        below[above[index]].append(index)
    for index in above:
        if index in path:
            continue
        if any(nodes[sibling].content == nodes[index].content for sibling in below[above[index]]):
            branch.duplicates.append(index)
        else:
            branch.abandoned.append(index)
