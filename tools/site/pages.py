"""Every generated file: pages that exist in the built site only, and those that are committed.

`python -m tools.site` writes the committed ones (the picture, the tables in README.md and docs/reference/settings.md,
the prompts and the page of the protocol); `--check` says which is stale.
"""

import re
from pathlib import Path

from tools.site.commands import commands_page
from tools.site.fields import fields_page, schemas_page
from tools.site.markdown import table
from tools.site.picture import picture, stages_of_commands
from tools.site.protocol import prompt_files, protocol_page
from tools.site.settings import settings_table
from tools.site.stages import stages_page
from tools.site.taxonomy import taxonomy_page

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "assets" / "flow.svg"
PROTOCOL = ROOT / "docs" / "protocol.md"
SETTINGS = ROOT / "docs" / "reference" / "settings.md"


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


def with_table(path: Path, name: str, content: str) -> str:
    """A document's text with the table between its markers. Raises ValueError where a marker is missing."""
    start_marker, end_marker = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    before, start, rest = path.read_text(encoding="utf-8").partition(start_marker)
    _, end, after = rest.partition(end_marker)
    if not (start and end):
        raise ValueError(f"{path.name}: the markers {start_marker} and {end_marker} are not both there")
    return f"{before}{start_marker}\n{content}{end_marker}{after}"


def committed() -> dict[Path, str]:
    """Path -> text of each generated file that is committed."""
    return {
        README: with_table(README, "flow", command_table()),
        SETTINGS: with_table(SETTINGS, "settings", settings_table()),
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
