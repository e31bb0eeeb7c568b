"""The protocol: one source, rendered into every document; what the loader refuses; and how long the prompts are."""

from pathlib import Path

import pytest

from openclawbench.errors import InvalidRules
from openclawbench.judge.prompts import SHARED, STAGES, read_prompt
from openclawbench.protocol import sections as protocol
from openclawbench.protocol.sections import OWN, documents, readers_of, sections
from tools.site.protocol import prompt_files, protocol_page, protocol_values

ROOT = Path(__file__).parents[2]
RULES = (
    "taxonomy",
    "normal",
    "boundary_cases",
    "localization",
)  # topics that hold rules, not parts of a prompt's frame


def test_the_committed_prompts_and_page_are_those_of_the_sections() -> None:
    rendered = prompt_files(ROOT) | {ROOT / "docs" / "protocol.md": protocol_page()}
    assert [path for path, text in rendered.items() if not path.is_file() or path.read_text("utf-8") != text] == []


def test_a_changed_section_becomes_the_next_version_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_fill", lambda text, values: text.replace("The body decides.", "The front decides."))
    paths = {path.relative_to(ROOT).as_posix() for path in prompt_files(ROOT)}
    newest = {name: int(read_prompt(name).version[1:]) for name in (SHARED, *STAGES)}
    assert {
        f"prompts/{name}/v{number + 1}.md" for name, number in newest.items()
    } <= paths  # stages name the shared one
    assert "The front decides." in documents()["guide"].render({})


def test_every_own_choice_has_a_reason_and_every_rule_reaches_judges_and_people() -> None:
    for section in sections().values():
        assert section.why or section.source != OWN, section.id
        readers = readers_of(section)
        assert readers, section.id
        if section.topic in ("normal", "boundary_cases"):
            assert "guide" in readers and {"shared", "b1"} & set(readers), section.id


def test_no_prompt_keeps_a_name_in_braces_that_should_have_been_filled() -> None:
    for name in protocol_values():
        assert not [
            document.name for document in documents().values() if f"{{{name}}}" in document.render(protocol_values())
        ]


def test_the_fixed_part_of_a_question_is_no_longer_than_before() -> None:
    """Characters of all four stages together, the shared text in each."""

    def length(version: str) -> int:
        return sum(len(read_prompt(stage, version).text) for stage in STAGES) + 4 * len(
            read_prompt(SHARED, version).text
        )

    assert length(read_prompt(SHARED).version) <= length("v2")


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("source: T1\nwho: me\n\nText.\n", "below its heading"),
        ("Text without a source.\n\nMore.\n", "below its heading"),
        ("source: own choice\n\nText.\n", "needs a line 'why"),
        ("source: T1\n\n\n", "has no text"),
    ],
)
def test_a_section_that_is_not_whole_is_refused_with_its_place(body: str, fault: str) -> None:
    with pytest.raises(InvalidRules, match=f"told.md: section told.*{fault}"):
        protocol._section("told.md: section told", "normal", "told", body)
