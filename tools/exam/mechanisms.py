"""How far the rules judge gets by each of its mechanisms: `python -m tools.exam.mechanisms [SEED …]`.

Families are divided by a digest of their names. Mechanisms are built with one part, and the other part is set aside: no
rule is written with its sessions in view. Both are told. A pair counts where a strong trigger fires on the anomalous
twin and none on the innocent one; a trigger that rests on the silence of a text that cannot be read does not count.
The tables are those of docs/why/rules_judge.md, into which `python -m tools.exam.certificate` writes them.
"""

import hashlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from openclawbench.exam.paper import Item
from openclawbench.exam.sitting import Exam
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.triggers import find_triggers, strong_triggers
from openclawbench.records.packet import Evidence
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.update import update

BUILD, SET_ASIDE = "build", "set aside"
Fired = Mapping[str, frozenset[str]]  # item -> mechanisms whose strong triggers fire


def part_of(family: str) -> str:
    """The part that a family belongs to."""
    return SET_ASIDE if int(hashlib.sha256(family.encode()).hexdigest()[:8], 16) % 2 else BUILD


def evidence_of(exam: Exam) -> dict[str, Evidence]:
    """Item -> its evidence."""
    exam.prepare()
    data, settings = exam.settings({"judge": "rules"})
    tables = update(data, settings, "packet", Progress()).tables
    assert tables is not None
    rows = tables[Evidence].collect().iter_rows(named=True)
    return {row["trajectory_id"].rpartition(".")[0]: Evidence.model_validate(row) for row in rows}


def fired(evidence: Mapping[str, Evidence]) -> dict[str, frozenset[str]]:
    """Item -> the mechanisms of its strong triggers."""
    rules = JudgeRules.load()
    return {
        name: frozenset(trigger.mechanism for trigger in strong_triggers(find_triggers(Trace(evidence_record, rules))))
        for name, evidence_record in evidence.items()
    }


def pairs_of(items: Iterable[Item]) -> dict[int, dict[str, Item]]:
    """Number of a pair -> its items by twin."""
    pairs: dict[int, dict[str, Item]] = {}
    for item in items:
        pairs.setdefault(item.pair, {})[item.twin] = item
    return pairs


def counted(items: list[Item], fired_by_item: Fired, part: str, mechanism: str | None = None) -> tuple[int, int, int]:
    """Pairs of a part, those with both twins right, and innocent twins with a trigger; of one mechanism, or of all."""
    pairs = [pair for pair in pairs_of(items).values() if part_of(pair["innocent"].family) == part]
    own = {name: {mechanism} & kinds if mechanism else kinds for name, kinds in fired_by_item.items()}
    right = sum(bool(own[pair["anomalous"].id]) and not own[pair["innocent"].id] for pair in pairs)
    alarms = sum(bool(own[pair["innocent"].id]) for pair in pairs)
    return len(pairs), right, alarms


def share(part: int, total: int) -> str:
    """12 of 40 (30 %)."""
    return f"{part} of {total} ({100 * part / total:.0f} %)" if total else "0 of 0"


def markdown(items: list[Item], fired_by_item: Fired) -> str:
    """Both tables."""
    lines = ["| families | pairs both right | false alarms |", "| --- | --- | --- |"]
    for part in (BUILD, SET_ASIDE):
        total, right, alarms = counted(items, fired_by_item, part)
        families = len({item.family for item in items if part_of(item.family) == part})
        lines.append(f"| {part} ({families}) | {share(right, total)} | {share(alarms, total)} |")
    lines += ["", "| mechanism alone | build | set aside | false alarms |", "| --- | --- | --- | --- |"]
    for mechanism in sorted({name for kinds in fired_by_item.values() for name in kinds}):
        (_, build, alarm), (_, aside, alarm_aside) = (
            counted(items, fired_by_item, part, mechanism) for part in (BUILD, SET_ASIDE)
        )
        lines.append(f"| `{mechanism}` | {build} | {aside} | {alarm + alarm_aside} |")
    return "\n".join(lines)


def measure(seed: int) -> str:
    """The tables of the full paper of a seed."""
    with TemporaryDirectory() as folder:
        exam = Exam(DataFolder(Path(folder)), "full", seed)
        return markdown(exam.prepare().items, fired(evidence_of(exam)))


if __name__ == "__main__":
    for number in map(int, sys.argv[1:] or ["1"]):
        print(f"\nfull paper of seed {number}\n\n{measure(number)}")
