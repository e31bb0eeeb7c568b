"""Settings and the origin of each: openclawbench.toml in the data folder < environment < flags."""

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from openclawbench.base.shard_selection import ShardSelection
from openclawbench.errors import UsageError
from openclawbench.intake.raw_object_store import Raw
from openclawbench.judge.settings import AskingSettings
from openclawbench.runtime.engines.choice import ENGINES
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.object_store import ObjectStore, is_url

FILE = "openclawbench.toml"
ENVIRONMENT = "OPENCLAWBENCH_"
SCHEME = re.compile(r"\w+:/")
REMEMBERED = (
    "raw",
    "parts",
    "endpoint_url",
    "oracle",
    "judge",
    "model",
    "base_url",
    "second_judge",
    "second_model",
    "unmatched",
    "blind",
    "noncommercial",
)
NO_JUDGE = "none"  # ends a second pass
ACTIONS = ("block", "redact", "report")
ALLOWED_VALUES = {  # setting -> its values
    "engine": ENGINES,
    "unmatched": ("exclude", "review"),
    "on_keys": ACTIONS,
    "on_personal": ACTIONS,
    "jsonl": ("plain", "gz", "zst"),
    "noncommercial": ("refuse", "accept"),
}


class BfclSettings(BaseModel):
    """The settings under [bfcl] in openclawbench.toml."""

    model_config = ConfigDict(extra="forbid")
    models: dict[str, str] = {}


class FileSettings(AskingSettings):
    """The settings in openclawbench.toml. Keys of services come from the environment only."""

    raw: str | None = None
    oracle: str | None = None
    judge: str | None = None
    model: str | None = None
    second_judge: str | None = None
    second_model: str | None = None
    quarantine_limit: int | None = None
    engine: str | None = None
    workers: int | None = None
    ray_address: str | None = None
    parts: str | None = None
    endpoint_url: str | None = None
    unmatched: str | None = None
    blind: bool | None = None
    on_keys: str | None = None
    on_personal: str | None = None
    jsonl: str | None = None
    noncommercial: str | None = None
    bfcl: BfclSettings = BfclSettings()


SETTABLE = (FileSettings.model_fields.keys() - {"bfcl"}) | {"shard"}  # what a flag or an argument may say


@dataclass(frozen=True)
class Settings:
    """The settings in force for a data folder. `origin` of each name: flag, environment, file, last run or default."""

    raw: Raw
    oracle: Path | None
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
    on_keys: str | None  # block | redact | report; None: as privacy.toml says
    on_personal: str | None  # the same of personal data
    jsonl: str | None  # plain | gz | zst; None: as publish.toml says
    noncommercial: str  # refuse | accept: sessions whose licence allows no commercial use
    bfcl_models: dict[str, str]  # model folder of a BFCL tree -> source model
    origin: dict[str, str]

    @property
    def accepts_noncommercial(self) -> bool:
        """True if the user says that all use is non-commercial."""
        return self.noncommercial == "accept"


def read_file(data: DataFolder) -> FileSettings:
    """The settings file. Raises UsageError with the name of a setting that does not exist or has the wrong type."""
    path = data.root / FILE
    if not path.exists():
        return FileSettings()
    try:
        return FileSettings.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}. Correct the file.") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot read the settings: {error}. Correct the file.") from error


def settings(data: DataFolder, **flags: Any) -> Settings:
    """Resolve every setting. Paths of the last run are kept in the data folder, so that later calls find the inputs."""
    if SCHEME.match(str(data.root)):
        raise UsageError(f"--data {data.root}: must be a folder. Name object storage with --parts, and with --raw.")
    layout = data.layout()
    default_oracle = data.root / "oracle"
    defaults = {
        "raw": str(data.root / "raw"),
        "oracle": str(default_oracle) if default_oracle.is_dir() else None,
        "judge": "rules",
        "model": None,
        "second_judge": None,
        "second_model": None,
        "quarantine_limit": 0,
        "engine": "auto",
        "workers": None,
        "shard": None,
        "ray_address": None,
        "parts": None,
        "endpoint_url": None,
        **dict.fromkeys(AskingSettings.model_fields),
        "unmatched": None,
        "blind": None,
        "on_keys": None,
        "on_personal": None,
        "jsonl": None,
        "noncommercial": "refuse",
    }
    in_file = read_file(data)
    environment = {name: os.environ.get(f"{ENVIRONMENT}{name.upper()}") for name in defaults}
    environment["base_url"] = environment["base_url"] or os.environ.get("OPENAI_BASE_URL") or None
    layers = {
        "flag": flags,
        "environment": environment,
        "file": in_file.model_dump(),
        "last run": {name: layout.get(name) for name in REMEMBERED},
        "default": defaults,
    }
    values_in_force: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name in defaults:
        for layer, values in layers.items():
            if values.get(name) is not None or layer == "default":
                values_in_force[name], origin[name] = values.get(name), layer
                break
    for name, offered in ALLOWED_VALUES.items():
        if values_in_force[name] is not None and values_in_force[name] not in offered:
            raise UsageError(
                f"{name} {values_in_force[name]}: there is no such {name}. Use one of: {', '.join(offered)}."
            )
    endpoint_url = values_in_force["endpoint_url"]
    if values_in_force["parts"] is not None and not is_url(values_in_force["parts"]):
        raise UsageError(
            f"--parts {values_in_force['parts']}: is not an address. Write s3://bucket/prefix, or leave it out."
        )
    return Settings(
        raw=ObjectStore(values_in_force["raw"], endpoint_url)
        if is_url(values_in_force["raw"])
        else Path(values_in_force["raw"]),
        oracle=None if values_in_force["oracle"] is None else Path(values_in_force["oracle"]),
        judge=str(values_in_force["judge"]),
        model=values_in_force["model"],
        second_judge=None if values_in_force["second_judge"] == NO_JUDGE else values_in_force["second_judge"],
        second_model=values_in_force["second_model"],
        quarantine_limit=whole_number("quarantine_limit", values_in_force["quarantine_limit"], 0),
        engine=values_in_force["engine"],
        ray_address=values_in_force["ray_address"],
        workers=None if values_in_force["workers"] is None else whole_number("workers", values_in_force["workers"], 1),
        shard=None if values_in_force["shard"] is None else ShardSelection.parse(values_in_force["shard"]),
        parts=None if values_in_force["parts"] is None else ObjectStore(values_in_force["parts"], endpoint_url),
        endpoint_url=endpoint_url,
        asking=AskingSettings.of({name: values_in_force[name] for name in AskingSettings.model_fields}),
        unmatched=values_in_force["unmatched"],
        blind=None if values_in_force["blind"] is None else yes_or_no("blind", values_in_force["blind"]),
        on_keys=values_in_force["on_keys"],
        on_personal=values_in_force["on_personal"],
        jsonl=values_in_force["jsonl"],
        noncommercial=values_in_force["noncommercial"],
        bfcl_models=in_file.bfcl.models,
        origin=origin | ({"bfcl_models": "file"} if in_file.bfcl.models else {}),
    )


def yes_or_no(name: str, value: Any) -> bool:
    """A setting that is true or false. Raises UsageError if it is neither."""
    try:
        return TypeAdapter(bool).validate_python(value)
    except ValidationError as error:
        raise UsageError(f"{name} {value!r} is neither true nor false. Give true or false.") from error


def whole_number(name: str, value: Any, least: int) -> int:
    """A setting that is a count. Raises UsageError if it is not a number or is below the minimum."""
    try:
        number = int(value)
    except ValueError as error:
        raise UsageError(f"{name} {value!r} is not a number. Give a whole number.") from error
    if number < least:
        raise UsageError(f"{name} {value} is too small. Give {least} or more.")
    return number
