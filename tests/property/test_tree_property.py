"""The active branch is the path from the last record to the root, whatever tree the records make."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from openclawbench.sources.openclaw.branches import Node, active_branch

LABELS = st.sampled_from("abcdef")
free = st.builds(
    Node, id=LABELS | st.none(), parent=LABELS | st.none(), has_parent_key=st.booleans(), content=st.integers(0, 3)
)


@st.composite
def trees(draw: st.DrawFn) -> list[Node]:
    """Unique ids, every parent earlier in the file, contents that differ."""
    size = draw(st.integers(1, 12))
    parents = [None if i == 0 else draw(st.integers(0, i - 1) | st.none()) for i in range(size)]
    return [Node(i, parent, True, f"text {i}") for i, parent in enumerate(parents)]


@given(trees())
def test_the_active_branch_is_the_path_to_the_root(nodes: list[Node]) -> None:
    branch = active_branch(nodes)
    path = [len(nodes) - 1]
    while (parent := nodes[path[-1]].parent) is not None:
        path.append(parent)
    assert branch.active == path[::-1]
    assert branch.abandoned == [i for i in range(len(nodes)) if i not in path]
    assert not branch.duplicates
    assert not branch.missing_parents


@given(st.lists(free, max_size=15))
def test_every_record_is_in_one_place(nodes: list[Node]) -> None:
    branch = active_branch(nodes)
    assert sorted([*branch.active, *branch.abandoned, *branch.duplicates]) == list(range(len(nodes)))
    kept = [i for i in range(len(nodes)) if i not in branch.duplicates]
    if not branch.later_parents:
        assert branch.active == sorted(branch.active)
        assert not nodes or branch.active[-1] == max(kept)
    assert not nodes or max(kept) in branch.active
    odd = [*branch.missing_parents, *branch.later_parents, *branch.circular]
    assert len(odd) == len(set(odd)) and set(odd) <= set(range(len(nodes)))
    assert all(nodes[parent].id == nodes[index].parent for index, parent in branch.later_parents.items())


@given(trees(), st.randoms())
def test_the_order_of_records_in_the_file_does_not_matter_but_for_the_last(nodes: list[Node], order: Random) -> None:
    """A parent may stand later in the file: the same path, told of each record that stands before its parent."""
    moved = nodes[:-1]
    order.shuffle(moved)
    shuffled, plain = [*moved, nodes[-1]], active_branch(nodes)
    branch = active_branch(shuffled)
    ids = [shuffled[index].id for index in branch.active]
    assert ids[: len(plain.active)] == [nodes[index].id for index in plain.active]
    assert not branch.missing_parents and not branch.circular
    where = {node.id: index for index, node in enumerate(shuffled)}
    assert set(branch.later_parents) == {
        index for index, node in enumerate(shuffled) if node.parent is not None and where[node.parent] > index
    }


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_circle_is_cut_at_its_first_record(before: int, size: int) -> None:
    """What comes before it is kept, and so is everything in it."""
    ids = list(range(before + size))
    parents = [None, *ids[:-1]]
    parents[before] = ids[-1]
    branch = active_branch([Node(i, parent, True, i) for i, parent in zip(ids, parents, strict=True)])
    assert branch.circular == [before] and not branch.missing_parents and not branch.later_parents
    assert branch.active == ids


def test_a_long_file_written_backwards_takes_no_longer_than_it_is() -> None:
    size = 100_000
    nodes = [Node(i, i - 1 if i else None, True, i) for i in reversed(range(size))]
    branch = active_branch(nodes)
    assert len(branch.active) == size and len(branch.later_parents) == size - 1
    circles = active_branch([Node(i, i, True, i) for i in range(size)])
    assert len(circles.active) == len(circles.circular) == size


@given(st.integers(1, 12), st.booleans())
def test_records_without_parents_are_a_chain(size: int, ids: bool) -> None:
    nodes = [Node(i if ids else None, None, False, i) for i in range(size)]
    assert active_branch(nodes).active == list(range(size))


@given(trees(), st.data())
def test_a_record_written_twice_counts_once(nodes: list[Node], data: st.DataObject) -> None:
    twice = data.draw(st.integers(0, len(nodes) - 1))
    branch, before = active_branch([*nodes, nodes[twice]]), active_branch(nodes)
    assert branch.duplicates == [len(nodes)]
    assert (branch.active, branch.abandoned) == (before.active, before.abandoned)


@given(trees(), st.data())
def test_a_missing_parent_is_the_previous_record_and_is_counted(nodes: list[Node], data: st.DataObject) -> None:
    lost = data.draw(st.integers(0, len(nodes) - 1))
    broken = [Node(n.id, "gone", True, n.content) if i == lost else n for i, n in enumerate(nodes)]
    mended = [Node(n.id, i - 1 if i else None, True, n.content) if i == lost else n for i, n in enumerate(nodes)]
    branch = active_branch(broken)
    assert branch.missing_parents == [lost]
    assert branch.active == active_branch(mended).active
