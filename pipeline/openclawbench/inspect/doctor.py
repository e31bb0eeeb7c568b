"""The settings in force, and what a run would do with each file of a folder. Writes nothing."""

import tempfile
from pathlib import Path
from typing import Any

from openclawbench.audit.settings import AuditRules
from openclawbench.construct.normalize.normalize import normalize
from openclawbench.errors import UnreadableInput
from openclawbench.flow import FLOW
from openclawbench.inspect.recognized import sentences
from openclawbench.inspect.whatif.rules import read_toml
from openclawbench.intake.intake import take_in
from openclawbench.records.oracle import SourceOutcome
from openclawbench.records.session import FileOutcome, RunManifestRow, SourceFile
from openclawbench.release.provenance import OWN_RULES
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.rules.intake.tables import TableRules
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.fence import FenceRules
from openclawbench.rules.judge.prices import PriceRules
from openclawbench.rules.judge.request import RequestRules
from openclawbench.rules.judge.sent import SentRules
from openclawbench.rules.loading.own_folder import own_files, shipped_path
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.sources.tables.rows import place_of
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.schema import empty
from openclawbench.workspace.settings import Settings

BESIDE_STAGES: tuple[type[Rules], ...] = (
    AskingRules,
    AuditRules,
    FenceRules,
    JudgeRules,
    OracleRules,
    PriceRules,
    RequestRules,
    SentRules,
    TableRules,
)


def settings_in_force(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """Every setting with its value and origin, and the user's own rule files with the keys that differ from the
    built-in ones. InvalidRules if the folder of rules is not one, or a rule in it is refused."""
    own = own_files()
    for kind in rules_of_a_run():
        if kind.FILE in own:
            kind.load()
    values = settings.asking.model_dump() | vars(settings)
    rows = [{"setting": name, "value": values[name], "from": origin} for name, origin in settings.origin.items()]
    for row in rows:
        if place := settings.withheld.get(row["setting"]):
            row["from"] = f"{place}, which is not trusted"
    files = [{"file": str(path), "in_place_of": name, "other_keys": other_keys(path)} for name, path in own.items()]
    return {"settings": rows, "own_rule_files": files}


def rules_of_a_run() -> list[type[Rules]]:
    """The kinds of rules that a run reads, each once."""
    of_stages: list[type[Rules]] = [kind for stage in FLOW for kind in stage.rules.values()]
    return list(dict.fromkeys([*BESIDE_STAGES, *OWN_RULES, *of_stages]))


def other_keys(path: Path) -> list[str]:
    """Top-level keys in which an own rule file differs from the built-in one: changed, added or missing."""
    own, shipped = read_toml(path), read_toml(shipped_path(path.name))
    return sorted(key for key in own.keys() | shipped.keys() if key not in own or own[key] != shipped.get(key))


def examine(raw: Path) -> list[dict[str, Any]]:
    """What a run would do with each file of a folder: rows of FileOutcome, sorted by path.

    The folder may be a raw folder (`<source_model>/…`) or the folder of one source model. Nothing is written in it.
    """
    return examine_folder(raw)[0]


def examine_folder(raw: Path, accept_noncommercial: bool = False) -> tuple[list[dict[str, Any]], list[str]]:
    """(rows of examine(), a sentence for each table of sessions and each of Harbor's job trees)."""
    if not raw.is_dir():
        raise UnreadableInput(f"{raw}: is not a folder. Name a folder of session files.")
    rules = NormalizeRules.load()
    rows: list[dict[str, Any]] = []
    outcomes: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="openclawbench-") as scratch:
        intake = take_in(DataFolder(Path(scratch)), raw, None, False, accept_noncommercial=accept_noncommercial)
        for shard in sorted(intake.entries):
            files = intake.read(SourceFile, shard)
            tables = dict(zip(normalize.writes, normalize(files, empty(RunManifestRow).lazy(), rules), strict=True))
            rows += tables[FileOutcome].collect().select(list(FileOutcome.model_fields)).to_dicts()
            outcomes += tables[SourceOutcome].collect().to_dicts()
        rows.sort(key=lambda row: (row["path"], place_order(row["member"])))
        return rows, sentences(
            (entry for shard_entries in intake.entries.values() for entry in shard_entries), rows, outcomes
        )


def place_order(member: str | None) -> tuple[int, str]:
    """Sorts the parts of a file; rows and lines by their numbers."""
    numbered = place_of(member)
    return (numbered[1] if numbered else 0, member or "")
