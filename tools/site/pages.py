"""Every generated file: pages that exist in the built site only, and those that are committed.

`python -m tools.site` writes the committed ones (the picture, the table in README.md, the prompts and the page of the
protocol); `--check` says which is stale.
"""

import re
from pathlib import Path

from tools.site.commands import commands_page
from tools.site.fields import fields_page, schemas_page
from tools.site.markdown import table
from tools.site.picture import picture, stages_of_commands
from tools.site.protocol import prompt_files, protocol_page
from tools.site.stages import stages_page
from tools.site.taxonomy import taxonomy_page

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "assets" / "flow.svg"
PROTOCOL = ROOT / "docs" / "protocol.md"
START, END = "<!-- flow:start -->", "<!-- flow:end -->"


def from_root(name: str, up: str) -> str:
    """A document of the checkout's root, with its links into docs/ made relative to a page of the site."""
    return re.sub(r"\]\(docs/", f"]({up}", (ROOT / name).read_text(encoding="utf-8"))


PAGES = {
    "reference/commands.md": commands_page,
    "reference/stages.md": stages_page,
    "reference/fields.md": fields_page,
    "reference/schemas.md": schemas_page,
    "reference/taxonomy.md": taxonomy_page,
    "develop/contributing.md": lambda: from_root("CONTRIBUTING.md", "../"),
    "changelog.md": lambda: from_root("CHANGELOG.md", ""),
}


def command_table() -> str:
    """A row for each command that computes: the stages that it adds to those of the rows above."""
    rows = ((f"`{verb}`", ", ".join(f"`{name}`" for name in names)) for verb, names in stages_of_commands().items())
    return table(("command", "stages it brings up to date, after those above"), rows)


def with_command_table(text: str) -> str:
    """The README's text with the table between the markers. Raises ValueError where a marker is missing."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"{README.name}: the markers {START} and {END} are not both there")
    return f"{before}{START}\n{command_table()}{END}{after}"


def committed() -> dict[Path, str]:
    """Path -> text of each generated file that is committed."""
    return {
        README: with_command_table(README.read_text(encoding="utf-8")),
        PICTURE: picture(),
        PROTOCOL: protocol_page(),
        **prompt_files(ROOT),
    }


def stale() -> list[str]:
    """Names of committed files that differ from what the code generates."""
    return [
        str(path.relative_to(ROOT))
        for path, text in committed().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
