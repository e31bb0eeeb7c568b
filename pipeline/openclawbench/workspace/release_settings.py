"""The settings of a release: which rules they override, and the commands that make the release again."""

import shlex
from collections.abc import Mapping
from typing import Any

from openclawbench.base.resources import how_to_install
from openclawbench.release.privacy.checks import missing_libraries
from openclawbench.release.privacy.policy import REPORT
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.settings import PublishRules
from openclawbench.rules.construct.packet import PacketRules
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.storage.data_folder import DataFolder, read_json
from openclawbench.workspace.settings import Settings

PLACES = {"text": "released text", "paths": "paths of inputs (datapackage.json)"}
RELEASE_SETTINGS = ("on_keys", "on_personal", "jsonl")


def describe_finds(data: DataFolder) -> list[str]:
    """Keys, addresses and numbers that the current release holds, one sentence per place; a warning if it is a key."""
    rows = (read_json(data.manifest_file("publish")) or {}).get("left_in", [])
    folder = data.report_folder(REPORT)
    sentences = []
    if missing := missing_libraries():
        sentences.append(
            f"national telephone numbers and ids of persons were not all searched for: {', '.join(missing)} is not "
            f"installed. {how_to_install('privacy')}."
        )
    for place, place_name in PLACES.items():
        for is_key in (True, False):
            finds = [row for row in rows if row["where"] == place and (row["group"] == "key") == is_key]
            if finds:
                counts = ", ".join(f"{row['kind']} {row['finds']}" for row in finds)
                warning = "warning: keys are left in by --on-keys report: " if is_key else ""
                sentences.append(f"{warning}in {place_name}: {counts} (finds in {folder})")
    return sentences


def rule_overrides(settings: Settings) -> dict[str, dict[str, Any]]:
    """Rule file -> keys that these settings override."""
    personal = dict.fromkeys(("on_account", "on_email", "on_phone", "on_user_name"), settings.on_personal)
    suspected = "redact" if settings.on_keys == "redact" else None  # whoever redacts keys also wants suspected ones out
    missing = list(missing_libraries()) or None
    privacy = {"on_key": settings.on_keys, "on_suspected_key": suspected, "without": missing, **personal}
    by_file: dict[str, dict[str, Any]] = {
        PacketRules.FILE: {"unmatched": settings.unmatched, "blind": settings.blind},
        PrivacyRules.FILE: privacy,
        PublishRules.FILE: {"jsonl": settings.jsonl},
        ReleaseRules.FILE: {"test_share": settings.test_share},
    }
    overrides = {
        file: {key: value for key, value in keys.items() if value is not None} for file, keys in by_file.items()
    }
    return {file: keys for file, keys in overrides.items() if keys}


def release_commands(settings: Settings) -> list[str]:
    """The commands that make the release again from its inputs, with every setting that decides bytes, however it was
    given. Folders, engines, limits, addresses and keys are left out."""
    names = ("judge", "model", "unmatched", "blind", "test_share", *RELEASE_SETTINGS)
    accepted = {"noncommercial": settings.noncommercial if settings.accepts_noncommercial else None}
    commands = [write_command("release", {name: getattr(settings, name) for name in names} | accepted)]
    if settings.second_judge is not None:
        second = {
            "pass": "2",
            "judge": settings.second_judge,
            "model": settings.second_model,
        }
        commands.insert(0, write_command("annotate", second))
    return commands


def write_command(verb: str, flags: Mapping[str, str | bool | float | None]) -> str:
    """A call as it is typed. Flags without a value are left out."""
    words = []
    for name, value in flags.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value is not None:
            words += [f"--{option}", str(value)]
    return shlex.join(["openclawbench", verb, *words])
