"""The sections of the protocol and the documents that are made of them.

`sections/*.md` hold one section a rule: a heading `# id`, lines `source: …` and `why: …`, and its text. `index.toml`
says which document holds which sections. Who changes a rule edits its section alone; `python -m tools.site` renders
the documents that are committed (prompts, docs/protocol.md), and the calibration guide and the workbench read them
here.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from openclawbench.errors import InvalidRules

OWN = "own choice"
_FOLDER = files("openclawbench.protocol")
_HEADING = re.compile(r"^# (\w+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """One rule, or one part of a prompt's frame. `topic`: the name of its file. `source`: tables and sections of the
    paper, or `own choice`. `why`: the reason, where the rule or a part of it is an own choice."""

    id: str
    topic: str
    source: str
    why: str
    text: str

    @property
    def is_own(self) -> bool:
        """True if the rule, or a part of it, does not stand in the paper."""
        return self.source == OWN or bool(self.why)

    def prose(self, values: Mapping[str, str]) -> str:
        """The text for a page of prose: a row of a boundary table is a sentence. `values` as in `Document.render`."""
        text = _fill(self.text, values)
        if "\n" in text or not text.startswith("| "):
            return text
        pair, first, second = (part.strip() for part in text.strip("| ").split(" | "))
        before, _, after = pair.partition(" vs. ")
        return f"`{before}` where {first}; `{after}` where {second}."


@dataclass(frozen=True)
class Part:
    """Some sections under a heading; `columns` head the rows of a table, where the sections are rows."""

    sections: tuple[Section, ...]
    heading: str = ""
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """What one reader gets: a stage's prompt, a detector's, the guide of reviewers, or the help of the workbench."""

    name: str
    title: str
    parts: tuple[Part, ...]
    schema: str = ""

    @property
    def sections(self) -> list[Section]:
        """All sections in their order."""
        return [section for part in self.parts for section in part.sections]

    def render(self, values: Mapping[str, str]) -> str:
        """The document as Markdown, without a title. `values`: what takes the place of `{name}`."""
        return "\n\n".join(_render_part(part, values) for part in self.parts) + "\n"


@cache
def sections() -> dict[str, Section]:
    """Every section by its id, in the order of files and places. Raises InvalidRules with the file and the fault."""
    result: dict[str, Section] = {}
    for file in sorted((_FOLDER / "sections").iterdir(), key=lambda entry: entry.name):
        topic = file.name.removesuffix(".md")
        pieces = _HEADING.split(file.read_text(encoding="utf-8"))
        if pieces[0].strip():
            raise InvalidRules(f"{file}: text before the first heading '# id'. Give it a section.")
        for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
            if name in result:
                raise InvalidRules(f"{file}: section {name} stands twice. Give one another id.")
            result[name] = _section(f"{file}: section {name}", topic, name, body)
    return result


@cache
def documents() -> dict[str, Document]:
    """Every document by its name. Raises InvalidRules if index.toml names a section that is not there or names one
    twice in a document, or if a section is in no document."""
    known = sections()
    rows: list[dict[str, Any]] = tomllib.loads((_FOLDER / "index.toml").read_text(encoding="utf-8"))["document"]
    result = {}
    for row in rows:
        names = [name for part in row["part"] for name in _names_in(part)]
        if any(not _names_in(part) for part in row["part"]):
            raise InvalidRules(f"index.toml: {row['name']}: a part has no sections. Name a topic or sections.")
        if wrong := [name for name in names if name not in known or names.count(name) > 1]:
            raise InvalidRules(f"index.toml: {row['name']}: {wrong[0]} is no section, or stands twice. Correct it.")
        parts = tuple(
            Part(
                tuple(known[name] for name in _names_in(part)),
                part.get("heading", ""),
                tuple(part.get("columns", ())),
            )
            for part in row["part"]
        )
        result[row["name"]] = Document(row["name"], row["title"], parts, row.get("schema", ""))
    if unused := sorted(known.keys() - {section.id for entry in result.values() for section in entry.sections}):
        raise InvalidRules(f"index.toml: no document holds {', '.join(unused)}. Add it to one.")
    return result


def readers_of(section: Section) -> list[str]:
    """The names of the documents that hold a section."""
    return [name for name, document in documents().items() if section in document.sections]


def _names_in(part: Mapping[str, Any]) -> list[str]:
    """Ids of the sections of a part of index.toml: all of its topic, then those that it names."""
    of_topic = [section.id for section in sections().values() if section.topic == part.get("topic")]
    return [*of_topic, *part.get("sections", ())]


def _section(place: str, topic: str, name: str, body: str) -> Section:
    """One section from the text below its heading."""
    head, _, text = body.partition("\n\n")
    fields = dict(line.partition(": ")[::2] for line in head.splitlines())
    if "source" not in fields or fields.keys() - {"source", "why"}:
        raise InvalidRules(f"{place}: below its heading stand 'source: …' and, where it is own, 'why: …' alone.")
    if fields["source"] == OWN and not fields.get("why"):
        raise InvalidRules(f"{place}: an own choice needs a line 'why: …'.")
    if not text.strip():
        raise InvalidRules(f"{place}: has no text. Add it below an empty line.")
    return Section(name, topic, fields["source"], fields.get("why", ""), text.strip())


def _render_part(part: Part, values: Mapping[str, str]) -> str:
    """Heading and texts. Items of a list and rows of a table follow one another without an empty line."""
    text = ""
    for section in part.sections:
        own = _fill(section.text, values)
        if not text:
            text = own
        else:
            text += ("\n" if _joins(text, own) else "\n\n") + own
    if part.columns:
        first_row = text.index("| ")
        head = f"| {' | '.join(part.columns)} |\n{'|---' * len(part.columns)}|\n"
        text = text[:first_row] + head + text[first_row:]
    return f"## {part.heading}\n\n{text}" if part.heading else text


def _fill(text: str, values: Mapping[str, str]) -> str:
    """The text with each `{name}` that `values` holds replaced."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _joins(before: str, after: str) -> bool:
    """True if the two are items of one list or rows of one table."""
    last = before.rpartition("\n\n")[2]
    return any(last.startswith(mark) and after.startswith(mark) for mark in ("- ", "| "))
