"""The settings in force for a data folder, each with its origin (setting_layers.py)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openclawbench.base.shard_selection import ShardSelection
from openclawbench.errors import UsageError
from openclawbench.intake.raw_object_store import Raw
from openclawbench.judge.settings import AskingSettings
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.object_store import ObjectStore, is_url
from openclawbench.workspace.configuration.folder import put_in_force, refuse_missing_folder
from openclawbench.workspace.configuration.setting_layers import Layers, read_layers
from openclawbench.workspace.configuration.setting_table import LANGUAGE_MODEL, NO_JUDGE, SETTINGS
from openclawbench.workspace.configuration.trust import SETTINGS_FILE

SCHEME = re.compile(r"\w+:/")
STORAGE = ("raw", "parts", "endpoint_url", "ray_address")  # addresses that every command needs
NEEDED = "needs"  # in work/layout.json: storage settings that the last run was given, by name alone
ASKING = (
    "base_url",
    "batch_files",
    "budget_usd",
    "budget_tokens",
    "price_in",
    "price_out",
    "price_cached",
    "rules",
)  # to ask


@dataclass(frozen=True)
class Settings:
    """The settings in force for a data folder. `origin` of each name: flag, environment, file, config or default."""

    raw: Raw
    oracle: Path | None
    rules: Path | None  # a folder of the user's own rule files
    prompts: Path | None
    prompt_versions: str | None
    judge: str
    model: str | None
    second_judge: str | None  # None: no second pass
    second_model: str | None
    quarantine_limit: int
    engine: str  # auto | serial | processes | ray
    ray_address: str | None  # None: a Ray cluster of this machine alone
    workers: int | None  # None: one for each processor
    shard: ShardSelection | None  # None: everything
    parts: ObjectStore | None  # where parts of tables are, if not in the data folder
    endpoint_url: str | None  # of object storage that is not AWS's
    asking: AskingSettings
    unmatched: str | None  # exclude | review; None: as packet.toml says
    blind: bool | None  # None: as packet.toml says
    test_share: float | None  # None: as release.toml says
    on_keys: str | None  # block | redact | report; None: as privacy.toml says
    on_personal: str | None  # the same of personal data
    jsonl: str | None  # plain | gz | zst; None: as publish.toml says
    noncommercial: str  # refuse | accept: sessions whose licence allows no commercial use
    bfcl_models: dict[str, str]  # model folder of a BFCL tree -> source model
    origin: dict[str, str]
    withheld: dict[str, str]  # settings that an untrusted data folder says -> file and line

    @property
    def accepts_noncommercial(self) -> bool:
        """True if the user says that all use is non-commercial."""
        return self.noncommercial == "accept"

    def refuse_untrusted(self, names: Iterable[str], root: Path) -> None:
        """Raise UsageError if one of these settings stands in the data folder, and the user has not trusted it."""
        places = [f"{place}: {name}" for name, place in self.withheld.items() if name in names]
        if places:
            raise UsageError(
                f"{'; '.join(places)}: a data folder may not say where sessions and keys go, or what is paid. Look at "
                f"it; to allow it: openclawbench config trust {root}. Or give it as an option."
            )


def settings(data: DataFolder, may_be_new: bool = False, /, **flags: Any) -> Settings:
    """Resolve every setting of a data folder. Raises UsageError with everything that is not valid, and for a folder
    that does not exist; with `may_be_new` it may still have to be made."""
    layers = read_layers(data.root, flags)
    if SCHEME.match(str(data.root)):
        raise UsageError(f"--data {data.root}: must be a folder. Name object storage with --parts, and with --raw.")
    if layers.problems:
        raise UsageError(" ".join(layers.problems))
    if layers.origin["raw"] not in ("flag", "environment"):
        refuse_missing_folder(data.root, may_be_new)
    chosen = in_force(data, layers)
    chosen.refuse_untrusted(STORAGE, data.root)
    refuse_forgotten(data, chosen)
    return chosen


def usable_settings(data: DataFolder, **flags: Any) -> tuple[Settings, list[str]]:
    """The settings as far as they can be used, and a sentence for each fault: for commands that say what is wrong."""
    layers = read_layers(data.root, flags)
    return in_force(data, layers), layers.problems


def in_force(data: DataFolder, layers: Layers) -> Settings:
    """The settings of these layers; the folder's rules and prompts are those of this process from now on."""
    values, default_oracle = with_named_judge(layers), data.root / "oracle"
    own: dict[str, Any] = {name: values[name] for name in SETTINGS if name in Settings.__dataclass_fields__}
    endpoint_url, raw, parts = values["endpoint_url"], values["raw"] or str(data.root / "raw"), values["parts"]
    oracle = values["oracle"] or (str(default_oracle) if default_oracle.is_dir() else None)
    if parts is not None and not is_url(parts):
        raise UsageError(f"--parts {parts}: is not an address. Write s3://bucket/prefix, or leave it out.")
    if values["batch_files"] is not None and is_url(values["batch_files"]):
        raise UsageError(f"--batch-files {values['batch_files']}: is an address. Name a folder.")
    put_in_force({name: value for name, value in values.items() if layers.origin[name] == "file"})
    return Settings(
        **own
        | {
            "raw": ObjectStore(raw, endpoint_url) if is_url(raw) and "raw" not in layers.withheld else Path(raw),
            "oracle": as_path(oracle),
            "rules": as_path(values["rules"]),
            "prompts": as_path(values["prompts"]),
            "second_judge": None if values["second_judge"] == NO_JUDGE else values["second_judge"],
            "shard": None if values["shard"] is None else ShardSelection.parse(values["shard"]),
            "parts": None if parts is None else ObjectStore(parts, endpoint_url),
            "asking": AskingSettings.of({name: values[name] for name in AskingSettings.model_fields}),
            "bfcl_models": layers.folder.bfcl_models,
            "origin": layers.origin | ({"bfcl_models": "file"} if layers.folder.bfcl_models else {}),
            "withheld": layers.withheld,
        }
    )


def with_named_judge(layers: Layers) -> dict[str, Any]:
    """The values; a model without a judge is a language model, named where the model is."""
    if layers.origin["judge"] != "default" or layers.values["model"] is None:
        return layers.values
    layers.origin["judge"] = layers.origin["model"]
    return layers.values | {"judge": LANGUAGE_MODEL}


def as_path(place: str | None) -> Path | None:
    """A place as a path."""
    return None if place is None else Path(place)


def for_folder_within(chosen: Settings, root: Path, raw: Path, oracle: Path) -> Settings:
    """The same judge, prompts and limits over other inputs, in a folder of the program's own within `root`. Raises
    UsageError if the data folder says how to ask, and is not trusted."""
    chosen.refuse_untrusted(ASKING if chosen.judge == LANGUAGE_MODEL else (), root)
    return replace(chosen, raw=raw, oracle=oracle, parts=None, shard=None, second_judge=None, second_model=None)


def refuse_forgotten(data: DataFolder, chosen: Settings) -> None:
    """Raise UsageError if the last run here was given an address of storage that this one lacks: without it, everything
    would be computed again, or looked for elsewhere."""
    named = data.layout().get(NEEDED)
    missing = [name for name in STORAGE if isinstance(named, list) and name in named and not getattr(chosen, name)]
    if missing:
        flags = ", ".join(SETTINGS[name].flag for name in missing)
        raise UsageError(
            f"{data.root}: its last run was given {flags}, and an address is not remembered. Give it again; or write "
            f"it into {data.root / SETTINGS_FILE} and allow it: openclawbench config trust {data.root}."
        )
