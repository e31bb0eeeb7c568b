"""A diff as Markdown. Ids, versions and reasons come from the releases, so they stand in code spans."""

from typing import Any

from openclawbench.reports.markdown import code, line, value

TABLES = {
    "changed": ("Changed records by cause", "Records of which more than `provenance` differs."),
    "added": ("Added records", "Keys that only B has."),
    "removed": ("Removed records", "Keys that only A has."),
    "other_key": ("The same session under another key", "The same steps and user turns; by source model."),
    "label_flips": ("Label flips", "Records in both releases whose label differs, by subtype and tier."),
    "tier_moves": ("Tier moves", "Records in both releases whose quality tier differs."),
}
MOVES = "Where a record stands in each release; – is not in that release."
FIELDS = "Fields that differ, by records. `[]` is any entry of a list; alone at the end, its length."


def as_markdown(difference: dict[str, Any], meanings: dict[str, str]) -> str:
    """The whole diff, one section per table; the meanings of the causes come last."""
    a, b = difference["releases"]["a"], difference["releases"]["b"]
    parts = [
        "# What is different between two releases",
        f"A is {code(a['path'])}, B is {code(b['path'])}.",
        "No file differs." if difference["identical"] else files_line(difference["files"]),
        *(f"{heading}: {', '.join(map(code, names))}." for heading, names in name_differences(difference["made_from"])),
        "## Records",
        rows(
            ["", "records"], [[name.replace("_", " "), count] for name, count in difference["records"].items()], plain=1
        ),
        "`restamped`: nothing differs but what the record says of its making.",
        "## Made with",
        rows(["what", "version", "records of A", "records of B"], made_with(a["made_with"], b["made_with"])),
    ]
    for name, (title, about) in TABLES.items():
        parts += section(title, about, difference[name])
    for cut, moves in difference["split_moves"].items():
        parts += section(f"Sides: {cut.replace('_', ' ')}", MOVES, moves)
    parts += section("Fields", FIELDS, difference["fields"])
    parts += ["## Causes", "\n".join(f"- `{cause}`: {text}" for cause, text in meanings.items())]
    return "\n\n".join(parts) + "\n"


def name_differences(made_from: dict[str, list[str]] | None) -> list[tuple[str, list[str]]]:
    """The rules and prompts that differ, in words; empty if none differ."""
    return [(f"{name} that differ", names) for name, names in (made_from or {}).items() if names]


def section(title: str, about: str, entries: list[dict[str, Any]]) -> list[str]:
    """A heading, what the table shows, and the table."""
    if not entries:
        return [f"## {title}", "None."]
    columns = [name for name in entries[0] if name != "causes" or "cause" not in entries[0]]
    return [f"## {title}", about, rows([name.replace("_", " ") for name in columns], cells(entries, columns))]


def cells(entries: list[dict[str, Any]], columns: list[str]) -> list[list[Any]]:
    """Values of the columns; causes as one text each."""
    return [
        [[f"{why}: {n}" for why, n in entry[name].items()] if name == "causes" else entry[name] for name in columns]
        for entry in entries
    ]


def rows(columns: list[str], body: list[list[Any]], plain: int = 0) -> str:
    """A table; the first `plain` columns are our own words."""
    shown = [[cell if at < plain else value(cell) for at, cell in enumerate(row)] for row in body]
    return "\n".join([line(columns), line(["---"] * len(columns)), *map(line, shown)])


def made_with(a: dict[str, dict[str, int]], b: dict[str, dict[str, int]]) -> list[list[Any]]:
    """(name, version, records of A, records of B)."""
    return [
        [producer, version, a.get(producer, {}).get(version, 0), b.get(producer, {}).get(version, 0)]
        for producer in sorted(a | b)
        for version in sorted(a.get(producer, {}) | b.get(producer, {}))
    ]


def files_line(files: dict[str, list[str]]) -> str:
    """How many files differ."""
    return ", ".join(f"{len(names)} files {change}" for change, names in files.items()) + "."
