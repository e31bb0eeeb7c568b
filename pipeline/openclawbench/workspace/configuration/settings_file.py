"""Writing openclawbench.toml: from the options of the first run in a folder, and lines that a command adds or removes.

Afterwards only a person changes it. What differs from it for one run is said in a line that can be copied into it.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from openclawbench.storage.data_folder import DataFolder, write_atomic
from openclawbench.storage.object_store import is_url
from openclawbench.workspace.configuration.setting_layers import PLACES, needs_trust, read_settings_file
from openclawbench.workspace.configuration.setting_table import SETTINGS, default_of
from openclawbench.workspace.configuration.trust import SETTINGS_FILE, is_trusted, trust
from openclawbench.workspace.settings import Settings

HEAD = "# What names the data of this folder and decides the bytes of its release. Yours to change.\n"
TABLE_HEADER = re.compile(r"^\s*\[", re.MULTILINE)
DEFAULT_PLACES = {"raw": "raw", "oracle": "oracle"}
JUDGE = {1: ("judge", "model"), 2: ("second_judge", "second_model")}  # annotation pass -> its settings


def note_settings(data: DataFolder, chosen: Settings, annotation_pass: int, asks: bool) -> list[str]:
    """Write openclawbench.toml in the first run of a folder that has none, from what this run was told; add the judge
    that is asked first (`asks`), if the file names none. Returns a sentence for what was written, and for what differs
    from the file. A run notes its intake after this, so a folder with that note had one before."""
    path = data.root / SETTINGS_FILE
    former = read_settings_file(path, is_users=False)
    of_this_run = {name: value for name, value in as_written(data.root, chosen).items() if is_of_this_run(chosen, name)}
    judged = {name: value for name, value in of_this_run.items() if name in JUDGE[annotation_pass]}
    if not former.exists and not data.manifest_file("intake").exists():
        new = of_this_run
    elif asks and not former.values.keys() & set(JUDGE[annotation_pass]):
        new = judged
    else:
        new = {}
    sentences = [
        f"{name}: cannot be written into {path}. Give it again." for name in new if name not in known_texts(new)
    ]
    if new := known_texts(new):
        add_lines(data.root, new)
        verb = "written" if not former.exists else "added"
        sentences.append(f"{path}: {verb}, so that later runs do the same: {'; '.join(lines_of(new))}")
    known = DEFAULT_PLACES | as_written(data.root, chosen, former.values) | new
    for name, value in known_texts(of_this_run).items():
        if known.get(name, default_of(SETTINGS[name])) != value:
            by = "option" if chosen.origin[name] == "flag" else "environment"
            sentences.append(
                f"{name}: for this run, by {by}. To keep it, write into {path}: {lines_of({name: value})[0]}"
            )
    return sentences


def known_texts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values that a file can hold."""
    return {name: value for name, value in values.items() if can_be_written(name, value)}


def is_of_this_run(chosen: Settings, name: str) -> bool:
    """True for a setting of the data that this run was told by option or environment."""
    return SETTINGS[name].kind == "data" and chosen.origin[name] in ("flag", "environment")


def as_written(root: Path, chosen: Settings, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Settings of the data as a file holds them: a path within the data folder is relative to it."""
    if values is None:
        values = {name: getattr(chosen, name) for name, setting in SETTINGS.items() if setting.kind == "data"}
    written = {name: value for name, value in values.items() if value is not None}
    return {name: place_written(root, value) if name in PLACES else value for name, value in written.items()}


def place_written(root: Path, place: Any) -> str:
    """A place as a file of the data folder holds it."""
    if is_url(place):
        return str(place)
    path, base = Path(place).resolve(), root.resolve()
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)


def add_lines(root: Path, values: Mapping[str, Any]) -> None:
    """Add settings to openclawbench.toml, before its first table. What the user typed is trusted; so is a file that was
    trusted before."""
    path = root / SETTINGS_FILE
    is_own = not path.exists() or is_trusted(root, SETTINGS_FILE, rules_named(root))
    text = path.read_text(encoding="utf-8") if path.exists() else HEAD
    table = TABLE_HEADER.search(text)
    at = table.start() if table else len(text)
    before = text[:at] if text[:at].endswith("\n") or not text[:at] else f"{text[:at]}\n"
    write_atomic(path, [before.encode(), *(f"{line}\n".encode() for line in lines_of(values)), text[at:].encode()])
    if is_own:
        keep_trust(root)


def remove_lines(root: Path, names: Iterable[str]) -> list[str]:
    """Remove settings from openclawbench.toml; returns those that stood there."""
    path = root / SETTINGS_FILE
    content = read_settings_file(path, is_users=False)
    there = [name for name in names if name in content.lines]
    if there:
        was_trusted = is_trusted(root, SETTINGS_FILE, rules_named(root))
        numbers = {content.lines[name] for name in there}
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        write_atomic(path, [line.encode() for number, line in enumerate(lines, start=1) if number not in numbers])
        if was_trusted:
            keep_trust(root)
    return there


def keep_trust(root: Path) -> None:
    """Trust the file as it is now, if something in it needs that. Without a place for the note, the next run asks."""
    content = read_settings_file(root / SETTINGS_FILE, is_users=False)
    if any(needs_trust(SETTINGS[name], value) for name, value in content.values.items()):
        with suppress(OSError):
            trust(root, SETTINGS_FILE, rules_named(root))


def rules_named(root: Path) -> Path | None:
    """The folder of rules that openclawbench.toml names."""
    named = read_settings_file(root / SETTINGS_FILE, is_users=False).values.get("rules")
    return None if named is None else Path(named)


def can_be_written(name: str, value: Any) -> bool:
    """True for a value that a file gives back as it is; a path that is no Unicode text is not."""
    try:
        line = lines_of({name: value})[0]
        line.encode()
        return bool(tomllib.loads(line)[name] == value)
    except ValueError:
        return False


def lines_of(values: Mapping[str, Any]) -> list[str]:
    """Settings as lines of TOML."""
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
