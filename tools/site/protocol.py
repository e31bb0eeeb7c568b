"""prompts/ and docs/protocol.md, rendered from the sections of the protocol."""

from pathlib import Path

from openclawbench.detect.settings import DetectRules
from openclawbench.judge.prompts import SHARED, STAGES, newest_version
from openclawbench.protocol.sections import OWN, Document, Section, documents, readers_of, sections
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from tools.site.markdown import cell, table

_TOPICS = {
    "roles": "What a judge is given, and the three roles",
    "taxonomy": "Taxonomy and evidence",
    "boundaries": "Where two subtypes are close (T20)",
    "normal": "What is normal",
    "boundary_cases": "Boundary cases (D.8)",
    "localization": "Onset, span, severity and recoverability",
    "stage_a": "Stage A",
    "stage_b1": "Stage B1",
    "stage_b2": "Stage B2",
    "stage_c": "Stage C",
    "detectors": "Detectors",
}


def prompt_files(root: Path) -> dict[Path, str]:
    """Path -> text of the newest prompt of each document that is one. A text that differs from the newest version
    there is becomes the next version: a prompt that has been used is never edited."""
    values = protocol_values()
    rendered = documents()
    shared = _prompt(root, rendered[SHARED], values, None)
    names = [name for name in rendered if (root / "prompts" / name).is_dir() and name != SHARED]
    version = next(iter(shared)).stem
    others = [_prompt(root, rendered[name], values, version if name in STAGES else None) for name in names]
    return {path: text for prompt in (shared, *others) for path, text in prompt.items()}


def protocol_values() -> dict[str, str]:
    """What takes the place of the names in braces: tables of the taxonomy and of detectors' answers."""
    taxonomy, rules = Taxonomy.load(), DetectRules.load()
    when: dict[str, str] = {rule.name: rule.definition.removesuffix(".") for rule in taxonomy.subtypes}
    rows = [[label.symbol, label.name, when.get(label.name, "none of the following")] for label in rules.labels]
    return {
        **taxonomy.tables(),
        "symbols": _rows(("symbol", "label", "when"), rows),
        "labels": _rows(("label", "when"), [row[1:] for row in rows]),
    }


def protocol_page() -> str:
    """docs/protocol.md: every section with its readers, its source and, where it is an own choice, the reason."""
    values = protocol_values()
    by_topic = {topic: [entry for entry in sections().values() if entry.topic == topic] for topic in _TOPICS}
    own = [section for topic in by_topic.values() for section in topic if section.is_own]
    text = (
        "# The annotation protocol\n\n"
        "This page is rendered from `pipeline/openclawbench/protocol/`, like the prompts, the calibration guide and\n"
        "the help of the workbench. To change a rule, edit its section there and run `python -m tools.site`, which\n"
        "carries it everywhere. Each section names its source in the paper and its readers: the judge at all stages\n"
        "(`shared`) or at one (`a`, `b1`, `b2`, `c`), detectors, and people (`guide`).\n\n"
        "## Own choices\n\nWhere the paper is silent, leaves a choice, or was not followed:\n\n"
    )
    text += table(
        ("section", "paper", "why"),
        (
            (f"[`{section.id}`](#{section.id})", "–" if section.source == OWN else section.source, cell(section.why))
            for section in own
        ),
    )
    for topic, title in _TOPICS.items():
        text += f"\n## {title}\n"
        text += "".join(_page_section(section, values) for section in by_topic[topic])
    return text


def _page_section(section: Section, values: dict[str, str]) -> str:
    """A section of the page."""
    body = section.prose(values).replace("\n### ", "\n#### ")
    source = "own choice" if section.source == OWN else section.source
    readers = ", ".join(f"`{name}`" for name in readers_of(section))
    return f"\n### {section.id}\n\n{body}\n\n*Source: {source}. Readers: {readers}.*\n"


def _prompt(root: Path, document: Document, values: dict[str, str], shared: str | None) -> dict[Path, str]:
    """Path and text of one prompt: of the newest version where that has this text, else of the next one."""
    folder = root / "prompts" / document.name
    newest = newest_version(folder)
    path = folder / f"{newest}.md"
    text = _prompt_text(document, newest, values, shared)
    if path.read_text(encoding="utf-8") == text:
        return {path: text}
    following = f"v{int(newest[1:]) + 1}"
    return {folder / f"{following}.md": _prompt_text(document, following, values, shared)}


def _prompt_text(document: Document, version: str, values: dict[str, str], shared: str | None) -> str:
    """A prompt file: front matter, title and sections."""
    head = {"stage": document.name, "version": version, "schema": document.schema} | (
        {SHARED: shared} if shared else {}
    )
    front = "\n".join(f'{name} = "{value}"' for name, value in head.items())
    return f"+++\n{front}\n+++\n# {document.title}\n\n{document.render(values)}"


def _rows(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    """A Markdown table without a line break at its end."""
    head = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"
    return "\n".join([head, *(f"| {' | '.join(row)} |" for row in rows)])
