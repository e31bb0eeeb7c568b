"""What is remembered is what the function gave, asked once a key, and never more than there may be."""

from openclawbench.base.memoize import MAX_ENTRIES, MemoDict


def test_a_key_is_asked_about_once_and_of_too_many_all_are_forgotten() -> None:
    asked: list[int] = []

    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    known = MemoDict(double)
    assert [known[number] for number in (3, 0, 3, 0)] == [6, 0, 6, 0]
    assert asked == [3, 0]
    for number in range(MAX_ENTRIES + 1):
        assert known[number] == 2 * number
        assert len(known) <= MAX_ENTRIES
    assert known[3] == 6
