"""The user's own folder of rule files (OPENCLAWBENCH_RULES, or `rules` in openclawbench.toml of the data folder): each
replaces the shipped file of its name.

A name that means nothing is an error. Otherwise the shipped rules would be in force, without notice.
"""

import os
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from openclawbench.errors import InvalidRules

OVERRIDE = "OPENCLAWBENCH_RULES"
OF_FOLDER = "_OPENCLAWBENCH_RULES"  # what the data folder names, for this process and those that it starts
PACKAGE = Path(__file__).parents[2]
ENDING = ".toml"
DEEPEST = 3  # folders within an own folder: links may lead back
DATA = frozenset({"exam", "protocol", "fields.toml", "gitleaks.toml", "licenses.toml", "paper.toml"})  # hold no rules


def own_files() -> dict[str, Path]:
    """Name -> the user's own file that takes the place of the shipped one, sorted by name. A copy of rules/, with its
    folders, may be given as well as the files themselves.

    Raises InvalidRules if there is no such folder, if it holds no rule file, or the same one twice, or a file that is
    not named as a rule file.
    """
    named_by, named = OVERRIDE, os.environ.get(OVERRIDE)
    if not named:
        named_by, named = "rules in openclawbench.toml", os.environ.get(OF_FOLDER)
    if not named:
        return {}
    folder = Path(named)
    files: dict[str, Path] = {}
    for path in files_in(folder, f"{named_by}: "):
        refuse_misspelt(path)
        if path.name in rule_file_names() and (other := files.setdefault(path.name, path)) != path:
            raise InvalidRules(f"{path}: {other} is a rule file of the same name. Remove one of them.")
    if not files:
        raise InvalidRules(f"{named_by}: {named}: holds no rule file; {listed()}. Name their folder, or unset it.")
    return dict(sorted(files.items()))


def refuse_misspelt(path: Path) -> None:
    """Raises InvalidRules for a file of an own folder that has no rule file's name and was meant for one."""
    if is_misspelt(path.name):
        close = get_close_matches(path.name.lower(), rule_file_names(), n=1)
        meant = f'did you mean "{close[0]}"?' if close else f"{listed()}."
        raise InvalidRules(f"{path}: there is no rule file of this name; {meant} Rename it, or move it elsewhere.")


def files_in(folder: Path, named_by: str = "", depth: int = 0) -> list[Path]:
    """What the folder and its folders hold, by path. Raises InvalidRules, which begins with `named_by`, if one of them
    cannot be read."""
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise InvalidRules(
            f"{named_by}{folder}: {error.strerror}.{similar_folder(folder)} Name a folder of rule files."
        ) from error
    folders = {entry for entry in inside if depth < DEEPEST and entry.is_dir()}
    return [
        path for entry in inside for path in (files_in(entry, named_by, depth + 1) if entry in folders else [entry])
    ]


def rule_file_names() -> frozenset[str]:
    """Names of all rule files."""
    return frozenset(shipped_files())


def shipped_path(name: str) -> Path:
    """The rule file of that name that comes with the program."""
    return shipped_files()[name]


@lru_cache(maxsize=1)
def shipped_files() -> dict[str, Path]:
    """Name -> rule file that comes with the program. No two have the same name."""
    paths = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob(f"*{ENDING}")))
    return {path.name: PACKAGE / path for path in paths if DATA.isdisjoint(path.parts)}


def is_misspelt(name: str) -> bool:
    """True for a name that was meant for a rule file and is none: any other *.toml; or the name of a rule file with an
    ending that is nearly .toml (that of a backup, .toml~ or .toml.orig, is not)."""
    path = Path(name.lower())
    if path.suffix == ENDING:
        return name not in rule_file_names()
    return (
        f"{path.stem}{ENDING}" in rule_file_names()
        and not path.suffix.startswith(ENDING)
        and resembles_ending(path.suffix)
    )


def resembles_ending(suffix: str) -> bool:
    """True for an ending that is nearly .toml."""
    return bool(get_close_matches(suffix, [ENDING], cutoff=0.7))


def similar_folder(folder: Path) -> str:
    """A suggestion if a neighbouring folder has nearly this name."""
    close = get_close_matches(folder.name, folders_in(folder.parent), n=1)
    return f' Did you mean "{folder.parent / close[0]}"?' if close else ""


def folders_in(folder: Path) -> Iterator[str]:
    """Names of the folders in one; none where it cannot be listed."""
    try:
        yield from (path.name for path in folder.iterdir() if path.is_dir())
    except OSError:
        return


def listed() -> str:
    return f"rule files are {', '.join(sorted(rule_file_names()))}"
