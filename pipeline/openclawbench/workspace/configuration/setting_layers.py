"""Where the values of settings come from: option, environment, openclawbench.toml of the data folder, the user's own
config.toml, default. The first of these that names a setting decides.

It loads neither polars nor pydantic.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclawbench.rules.loading.toml_lines import line_of
from openclawbench.workspace.configuration.setting_table import (
    ENVIRONMENT,
    OTHER_VARIABLES,
    SETTINGS,
    Setting,
    default_of,
    meant,
    use,
)
from openclawbench.workspace.configuration.trust import (
    SETTINGS_FILE,
    configuration_folder,
    expanded,
    guarded_rules,
    is_trusted,
)

USERS_FILE = "config.toml"
BFCL, BFCL_MODELS = "bfcl", "models"
PLACES = ("raw", "oracle", "rules", "prompts", "batch_files")  # paths; in a file they are relative to its folder
DEVELOPERS = ("BIN", "LLM_HOME", "LLM_THREADS", "SHARED", "UPDATE_GOLDEN")  # variables of tests and tools


@dataclass
class FileContent:
    """A settings file: the values that can be used, the line of each, and a sentence for everything else."""

    path: Path
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int | None] = field(default_factory=dict)
    bfcl_models: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    exists: bool = False

    def place(self, name: str) -> str:
        """File and line of a setting."""
        return f"{self.path}: line {self.lines[name]}" if self.lines.get(name) else str(self.path)


@dataclass
class Layers:
    """The value of every setting with its origin: flag, environment, file, config or default. `withheld`: settings that
    an untrusted data folder says, and where; their value is not used. `problems`: a sentence for each fault."""

    values: dict[str, Any]
    origin: dict[str, str]
    folder: FileContent
    withheld: dict[str, str]
    problems: list[str]

    @property
    def rules(self) -> Path | None:
        """The folder of rules that the data folder's file names."""
        return Path(self.folder.values["rules"]) if "rules" in self.folder.values else None


def read_layers(root: Path, flags: Mapping[str, Any]) -> Layers:
    """Resolve every setting for a data folder. Nothing is raised: a value that is not valid is a problem, and the next
    layer decides."""
    folder = read_settings_file(root / SETTINGS_FILE, is_users=False)
    users = read_settings_file(configuration_folder() / USERS_FILE, is_users=True)
    problems = [*folder.problems, *users.problems]
    by_layer = {
        "flag": read_flags(flags, problems),
        "environment": read_environment(problems),
        "file": folder.values,
        "config": users.values,
    }
    values, origin, withheld = {}, {}, {}
    own_rules = Path(folder.values["rules"]) if "rules" in folder.values else None
    trusted = is_trusted(root, SETTINGS_FILE, own_rules)
    for name, setting in SETTINGS.items():
        origin[name] = next((layer for layer, layer_values in by_layer.items() if name in layer_values), "default")
        values[name] = default_of(setting) if origin[name] == "default" else by_layer[origin[name]][name]
        if origin[name] == "file" and not trusted and needs_trust(setting, values[name]):
            withheld[name] = folder.place(name)
            if setting.is_guarded:
                values[name] = setting.default
    return Layers(values, origin, folder, withheld, problems)


def needs_trust(setting: Setting, value: Any) -> bool:
    """True for a value that a data folder may set only if the user trusts it: what is an address, or decides what is
    paid, in a folder of rules too."""
    if setting.name == "rules":
        return bool(guarded_rules(Path(value)))
    return setting.is_guarded or (setting.name in PLACES and "://" in str(value))


def read_flags(flags: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """The options that were given. An empty text is one that was not."""
    values: dict[str, Any] = {}
    for name, value in flags.items():
        if name not in SETTINGS:
            problems.append(f"{name}: there is no such setting{meant(name, SETTINGS) or '.'} {use(sorted(SETTINGS))}.")
        elif value is not None:
            keep(values, SETTINGS[name], value, name, problems)
    return values


def read_environment(problems: list[str]) -> dict[str, Any]:
    """The variables OPENCLAWBENCH_*; OPENAI_BASE_URL, which the client library reads, is the base URL without one. A
    variable of that name that there is not is a problem."""
    variables = {setting.variable: setting for setting in SETTINGS.values() if setting.variable}
    values: dict[str, Any] = {}
    for variable, value in sorted(os.environ.items()):
        if not variable.startswith(ENVIRONMENT) or not value or variable in OTHER_VARIABLES:
            continue
        if variable in variables:
            keep(values, variables[variable], value, variable, problems)
        elif is_misspelt(variable):
            known = [str(name).removeprefix(ENVIRONMENT) for name in (*variables, *OTHER_VARIABLES)]
            close = meant(variable.removeprefix(ENVIRONMENT), known).replace('"', f'"{ENVIRONMENT}', 1)
            problems.append(f"{variable}: there is no such variable{close or '.'} Correct or unset it.")
    if "base_url" not in values and (address := os.environ.get("OPENAI_BASE_URL")):
        values["base_url"] = address
    return values


def is_misspelt(variable: str) -> bool:
    """True for an unknown variable that is not one of a test or a tool."""
    name = variable.removeprefix(ENVIRONMENT)
    return name not in DEVELOPERS and not name.startswith("TEST_")


def read_settings_file(path: Path, is_users: bool) -> FileContent:
    """A settings file: openclawbench.toml of a data folder, or the user's own config.toml, which holds no setting that
    names the data or decides bytes. Relative paths start at the file's folder."""
    content = FileContent(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        content.exists = True
        table = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return content
    except (OSError, ValueError) as error:
        content.exists = True
        content.problems.append(f"{path}: cannot read the settings: {error}. Correct the file.")
        return content
    for name, value in table.items():
        content.lines[name] = line_of(text, [name])
        place = f"{content.place(name)}: {name}"
        if name == BFCL and not is_users:
            read_bfcl(value, place, content)
        elif (setting := SETTINGS.get(name)) is None or setting.kind == "call":
            known = [name for name, known in SETTINGS.items() if known.kind != "call"]
            content.problems.append(f"{place}: there is no such setting{meant(name, known) or '.'} Correct the file.")
        elif is_users and setting.kind == "data":
            content.problems.append(f"{place}: belongs to a data folder. Write it into {SETTINGS_FILE} there.")
        else:
            keep(content.values, setting, value, place, content.problems)
            if name in PLACES and name in content.values and "://" not in content.values[name]:
                content.values[name] = str(path.parent / expanded(Path(content.values[name])))
    return content


def read_bfcl(value: Any, place: str, content: FileContent) -> None:
    """The table [bfcl]: in it, [bfcl.models] alone."""
    models = value.get(BFCL_MODELS, {}) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(models, dict):
        content.problems.append(f"{place}: is not a table. Write [bfcl.models]. Correct the file.")
        return
    for name in value.keys() - {BFCL_MODELS}:
        content.problems.append(
            f"{place}.{name}: there is no such setting{meant(name, [BFCL_MODELS]) or '.'} Correct the file."
        )
    for folder, model in models.items():
        if isinstance(model, str):
            content.bfcl_models[folder] = model
        else:
            content.problems.append(f"{place}.{BFCL_MODELS}.{folder}: is not a text. Correct the file.")


def keep(values: dict[str, Any], setting: Setting, value: Any, place: str, problems: list[str]) -> None:
    """Keep a value that is valid; else the problem. A value that may be an address is not repeated."""
    try:
        values[setting.name] = setting.read(value)
    except ValueError as error:
        shown = "" if setting.kind == "address" else f" {value!r}" if setting.type is not str else f" {value}"
        problems.append(f"{place}{shown}: {error}.")
