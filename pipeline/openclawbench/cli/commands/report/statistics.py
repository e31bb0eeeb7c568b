"""`openclawbench report statistics`: the statistics of any release, or copy of one, computed again from its files."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openclawbench.base.terminal import output, safe, table
from openclawbench.cli.options import ReleaseFolder
from openclawbench.errors import UnreadableInput, UsageError

if TYPE_CHECKING:
    from openclawbench.release.settings import PublishRules

OutputFolder = Annotated[Path | None, typer.Option("-o", "--output", help="Folder for the tables and pictures.")]
SHOWN = ("all", "mode", "slice", "source_model")


def statistics(
    release: ReleaseFolder,
    out: OutputFolder = None,
    json_out: Annotated[bool, typer.Option("--json", help="Print statistics.json.")] = False,
) -> None:
    """T4, T5, T6, T9, T14, T31, subtypes, onsets, severity, and the gap with intervals, from the files of a release."""
    from openclawbench.release.release_folder import refuse_other_folder
    from openclawbench.release.statistics.corrected_gap import gap_sentence
    from openclawbench.release.statistics.files import statistics_files, statistics_of
    from openclawbench.reports.counting import percent
    from openclawbench.reports.files import as_json

    refuse_other_folder(release)
    rules = settings_of(release)
    computed = statistics_of(release, rules)
    if out is not None:
        write(out, statistics_files(computed, rules))
    if json_out:
        print(as_json(computed.data()), end="")
        return
    console = output()
    sections = {section.name: section for section in computed.sections}
    rows = [row for row in sections["gap"].rows if row["scope"] in SHOWN]
    shares = ("anomalous_share", "low_share", "high_share")
    counts = ("scope", "name", "trajectories", "anomalous")
    lines = [[*(row[name] for name in counts), *(percent(row[name]) for name in shares)] for row in rows]
    console.print(table(sections["gap"].title, [*counts, "share", "from", "to"], lines))
    console.print(f"\n{gap_sentence(sections['corrected_gap'].facts)}")
    if computed.notice:
        console.print(f"\n{computed.notice}")
    if out is not None:
        console.print(f"\n{safe(str(out))}/STATISTICS.md, statistics.json, statistics/")


def settings_of(release: Path) -> "PublishRules":
    """The settings that the release was written with; those in force where it holds none."""
    from openclawbench.release.settings import PublishRules

    path = release / PublishRules.FILE
    if not path.is_file():
        return PublishRules.load()
    try:
        return PublishRules.checked(tomllib.loads(path.read_text(encoding="utf-8")), path)
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{path}: cannot be read: {error}. Validate the copy, or copy it anew.") from error


def write(folder: Path, files: dict[str, bytes]) -> None:
    """The files below a folder that is not a release. Raises UsageError, UnreadableInput."""
    from openclawbench.release.files.names import ROOT

    if (folder / ROOT).exists():
        raise UsageError(f"{folder}: is a release, and a release is not written to. Name another folder with -o.")
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise UnreadableInput(f"{folder}: cannot write here: {error.strerror}. Name another folder with -o.") from error
