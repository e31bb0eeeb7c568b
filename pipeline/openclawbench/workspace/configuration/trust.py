"""Files of a data folder that may say where sessions and keys go, and which of them the user trusts.

A data folder may come from somebody else. An address in it is used only after `openclawbench config trust FOLDER`,
which notes the content of these files in the user's own configuration folder: when one of them changes, it must be
trusted again. It loads neither polars nor pydantic.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

SETTINGS_FILE = "openclawbench.toml"
PLAN_FILE = "collect/plan.json"
GUARDED_FILES = (SETTINGS_FILE, PLAN_FILE)
GUARDED_RULES = ("asking.toml", "prices.toml")  # rule files that hold an address or prices
PROGRAM = "openclawbench"


def configuration_folder() -> Path:
    """The user's own folder: $XDG_CONFIG_HOME/openclawbench, by default ~/.config/openclawbench."""
    named = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (named if named.is_absolute() else expanded(Path("~/.config"))) / PROGRAM


def expanded(path: Path) -> Path:
    """The path with the user's folder in place of ~; as it is where nobody knows that folder."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def digest_of(file: Path, rules: Path | None = None) -> str | None:
    """The digest of a guarded file, with the rule files of the folder `rules` that say where and at what price
    to ask; None without the file."""
    try:
        digest = hashlib.sha256(file.read_bytes())
    except OSError:
        return None
    for path in guarded_rules(rules):
        digest.update(f"\n{path.name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def guarded_rules(rules: Path | None) -> list[Path]:
    """Rule files of a folder that hold an address or prices, by path."""
    if rules is None:
        return []
    return sorted(path for name in GUARDED_RULES for path in rules.rglob(name) if path.is_file())


def is_trusted(root: Path, name: str, rules: Path | None = None) -> bool:
    """True if the user trusts this file of the data folder as it is now. `rules`: the folder of rules that it names."""
    digest = digest_of(root / name, rules)
    return digest is not None and trusted_files(root).get(name) == digest


def trust(root: Path, name: str, rules: Path | None = None) -> None:
    """Note that the user trusts this file of the data folder as it is now."""
    digest = digest_of(root / name, rules)
    if digest is None:
        return
    place = place_of(root)
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    noted = {"folder": str(root.resolve()), "files": trusted_files(root) | {name: digest}}
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    temporary.write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")
    temporary.replace(place)


def trusted_files(root: Path) -> dict[str, str]:
    """Name of a trusted file of the data folder -> the digest that is trusted; empty if the note cannot be read."""
    with suppress(OSError, ValueError):
        noted = json.loads(place_of(root).read_text(encoding="utf-8"))
        if isinstance(noted, dict) and noted.get("folder") == str(root.resolve()) and isinstance(noted["files"], dict):
            return noted["files"]
    return {}


def place_of(root: Path) -> Path:
    """The note on a data folder."""
    return configuration_folder() / "trusted" / f"{hashlib.sha256(str(root.resolve()).encode()).hexdigest()}.json"
