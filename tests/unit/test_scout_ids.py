"""Ids of exported transcripts: one part of the viewer's addresses, whatever a session is called, and none twice."""

import re

from openclawbench.release.interchange.scout import plain

NAMES = ["2026.4.15-unicode", "a/b", "a~2f~b", "a%2Fb", "a b", "ä", "a:b", "..", "a\n", "", "一", "a~2f", "a/"]


def test_no_character_ends_a_part_of_an_address() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]*", plain(name)) for name in NAMES)
    assert plain("2026.4.15-unicode") == "2026.4.15-unicode"


def test_two_names_are_never_one() -> None:
    assert len({plain(name) for name in NAMES}) == len(NAMES)
