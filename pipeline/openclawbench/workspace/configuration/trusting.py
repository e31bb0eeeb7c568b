"""`openclawbench config trust`: what a data folder says of addresses and prices, and the user's trust in it."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from openclawbench.workspace.configuration.setting_layers import needs_trust, read_settings_file
from openclawbench.workspace.configuration.setting_table import SETTINGS
from openclawbench.workspace.configuration.settings_file import lines_of, rules_named
from openclawbench.workspace.configuration.trust import GUARDED_FILES, PLAN_FILE, SETTINGS_FILE, guarded_rules, trust


def trust_folder(root: Path) -> list[str]:
    """Trust the files of a data folder as they are now; returns what is allowed by it, a line each."""
    lines = [*setting_lines(root), *endpoint_lines(root)]
    for name in GUARDED_FILES:
        trust(root, name, rules_named(root) if name == SETTINGS_FILE else None)
    return [f"trusted, until the file changes: {line}" for line in lines]


def setting_lines(root: Path) -> Iterator[str]:
    """Settings of openclawbench.toml that need trust, and the rule files with addresses and prices that it names."""
    content = read_settings_file(root / SETTINGS_FILE, is_users=False)
    for name, value in content.values.items():
        if needs_trust(SETTINGS[name], value):
            files = ", ".join(map(str, guarded_rules(Path(value)))) if name == "rules" else ""
            yield f"{content.place(name)}: {lines_of({name: value})[0]}{f' ({files})' if files else ''}"


def endpoint_lines(root: Path) -> Iterator[str]:
    """Endpoints of the plan of a collection, with the variables that hold their keys."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        plan = json.loads((root / PLAN_FILE).read_text(encoding="utf-8"))
        for source in plan["source_models"]:
            key = f", with the key in {source['api_key_env']}" if source.get("api_key_env") else ""
            yield f"{root / PLAN_FILE}: {source['name']} is asked at {source['base_url']}{key}"
