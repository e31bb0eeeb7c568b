"""A trajectory is found by what a person copies of its id."""

import pytest

from openclawbench.inspect.find import LISTED, Key, listed, matching

IDS = (
    "04626240-dd68-169f-26c4-dbc34a6b39b5.80c58779",
    "2026.6.11-gap.0462abcd",
    "2026.6.11-gap-two.1111abcd",
    "80c5-twin.22220000",
    "same.33330000",
    "same.33334444",
    "undivided",
)
KEYS = [Key("m", name, 0) for name in IDS]


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        (IDS[0], [0]),
        ("04626240-dd68-169f-26c4-dbc34a6b39b5", [0]),
        ("04626240-dd", [0]),
        ("80c58779", [0]),
        ("80c587", [0]),
        ("80c5", [0, 3]),  # digits of one, the beginning of another's name
        ("0462", [0, 1]),
        ("2026.6.11-gap", [1]),  # the whole name of one session
        ("2026.6.11-ga", [1, 2]),
        ("3333", [4, 5]),
        ("33334", [5]),
        ("undiv", [6]),
        ("0c58779", []),
        ("gap", []),
    ],
)
def test_a_beginning_of_an_id_or_of_its_digits_is_enough(name: str, numbers: list[int]) -> None:
    assert matching(KEYS, name) == [KEYS[number] for number in numbers]


def test_few_of_many_candidates_are_listed() -> None:
    many = [Key("m", f"{number:02}.abcd{number:04}", 0) for number in range(60)]
    assert listed(many[:2]) == "m/00.abcd0000, m/01.abcd0001"
    assert listed(many).endswith(" and 55 more") and listed(many).count("m/") == LISTED
