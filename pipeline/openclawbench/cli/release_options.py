"""The options of releasing, for every command that may write a release."""

import shlex
from collections.abc import Callable
from typing import Any

from openclawbench.cli.options import with_options
from openclawbench.cli.settings import Settings
from openclawbench.release.privacy.policy import REPORT
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.settings import PublishRules
from openclawbench.storage.data_folder import DataFolder, read_json

Releasing = dict[str, Any]  # setting -> value, null where no flag was given
RELEASING = ("release", "run")
PLACES = {"text": "released text", "paths": "paths of inputs (datapackage.json)"}
HELP = {
    "on_keys": "Released text that looks like a key: block (the default), redact or report.",
    "on_personal": "E-mail addresses, telephone, account and card numbers, user names in paths: report (the default), "
    "redact or block.",
    "jsonl": "JSONL files of the release: plain (the default), gz or zst.",
}


def with_releasing(verb: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give the command of a verb the options of releasing, where it may write a release; they reach its parameter
    `releasing` as {setting: value or null}."""
    texts = HELP if verb in RELEASING else {}
    return with_options("releasing", {name: (str, text) for name, text in texts.items()})


def left_in(data: DataFolder) -> list[str]:
    """What the release that stands holds of keys, addresses and numbers, loud for keys; nothing where it holds none."""
    rows = (read_json(data.manifest_file("publish")) or {}).get("left_in", [])
    folder = data.report_folder(REPORT)
    said = []
    for where, named in PLACES.items():
        for keys in (True, False):
            kinds = [one for one in rows if one["where"] == where and (one["group"] == "key") == keys]
            counts = ", ".join(f"{one['kind']} {one['finds']}" for one in kinds)
            loud = "warning: keys are left in by --on-keys report: " if keys else ""
            said += [f"{loud}in {named}: {counts} (finds in {folder})"] if counts else []
    return said


def in_place_of_rules(settings: Settings) -> dict[str, dict[str, Any]]:
    """Rule file -> keys that these settings decide in the file's place."""
    personal = dict.fromkeys(("on_account", "on_email", "on_phone", "on_user_name"), settings.on_personal)
    suspected = "redact" if settings.on_keys == "redact" else None  # who has keys taken out wants what may be one out
    privacy = {"on_key": settings.on_keys, "on_suspected_key": suspected, **personal}
    chosen = {PrivacyRules.FILE: privacy, PublishRules.FILE: {"jsonl": settings.jsonl}}
    said = {file: {name: one for name, one in keys.items() if one is not None} for file, keys in chosen.items()}
    return {file: keys for file, keys in said.items() if keys}


def commands(settings: Settings) -> list[str]:
    """What makes the release of these settings again from its inputs: the settings that decide bytes, however they were
    given. No folder, engine, limit, address or key is among them."""
    named = {"judge": settings.judge, "model": settings.model, "unmatched": settings.unmatched}
    chosen = named | {name: getattr(settings, name) for name in HELP}
    again = [written("release", chosen)]
    if settings.second_judge is None:
        return again
    second = {"pass": "2", "judge": settings.second_judge, "model": settings.second_model}
    return [written("annotate", second), *again]


def written(verb: str, flags: dict[str, str | None]) -> str:
    """A call as it is typed; flags that nothing was said of are left out."""
    said = [
        part for name, value in flags.items() if value is not None for part in (f"--{name.replace('_', '-')}", value)
    ]
    return shlex.join(["openclawbench", verb, *said])
