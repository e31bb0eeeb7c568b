"""How a release is written: each file by one declared step, and none is published that validate would refuse."""

import json
from pathlib import Path

import polars as pl
import pytest
from child import Ran

from openclawbench.errors import InvalidRelease
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.validate.before_publishing import check_file, refuse_invalid
from openclawbench.release.writer.steps import STEPS, Step, carry_out
from openclawbench.runtime.engines.processes import Processes
from openclawbench.runtime.engines.serial import Serial
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import TRAJECTORY_KEY

pytestmark = pytest.mark.slow
MASTER = "fulltax_prod_v1/scripted-a/master_table_all.jsonl"


def count(number: int) -> int:
    return number + 1


def test_each_file_of_a_release_is_written_by_one_declared_step(example: Ran) -> None:
    root = example.data / "release"
    paths = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_file()]
    assert len(paths) > 50
    writers = {path: [step.name for step in STEPS if step.writes(path)] for path in paths}
    assert {path: names for path, names in writers.items() if len(names) != 1} == {}


def test_a_step_reads_only_what_is_provided_or_returned_before_it(tmp_path: Path) -> None:
    staging = StagingFolder(DataFolder(tmp_path))

    rounds = [[Step(count, returns="number")], [Step(count, returns="number", in_this_process=True)]]
    assert carry_out(rounds, {"number": 1}, staging, lambda _: Serial())["number"] == 3
    with pytest.raises(KeyError, match="number"):
        carry_out(rounds, {}, staging, lambda _: Serial())
    each = [[Step(count, returns="numbers", each="members")]]
    assert carry_out(each, {"members": [1, 2, 3]}, staging, lambda _: Processes(2))["numbers"] == [2, 3, 4]


def checked(root: Path, scratch: Path) -> None:
    """Check a release as it is checked before it is published."""
    rows = map(json.loads, (root / "record_index.jsonl").read_bytes().splitlines())
    keys = [(row["source_model"], row["trajectory_id"]) for row in rows if row["partial_trial"]]
    partial_trials = pl.DataFrame(keys, dict.fromkeys(TRAJECTORY_KEY, pl.String), orient="row")
    tables = [path.relative_to(root).as_posix() for path in sorted(root.rglob("master_table_all.jsonl"))]
    assert tables
    refuse_invalid(root, [check_file(root, name, partial_trials, scratch) for name in tables])


def test_a_release_that_stands_could_be_published(copy: Path, tmp_path: Path) -> None:
    checked(copy, tmp_path)


def test_a_record_that_contradicts_itself_is_not_published(copy: Path, tmp_path: Path) -> None:
    lines = (copy / MASTER).read_bytes().splitlines(keepends=True)
    record = json.loads(lines[1])
    record["trace_summary"]["user_turns"] += 1
    lines[1] = json.dumps(record).encode() + b"\n"
    (copy / MASTER).write_bytes(b"".join(lines))
    with pytest.raises(InvalidRelease, match=rf"not published: {MASTER}:2: .*trace_summary\.user_turns is 2"):
        checked(copy, tmp_path)


@pytest.mark.parametrize("name", ["dataset_summary.json", "statistics.json"])
def test_a_number_that_the_records_do_not_give_is_not_published(copy: Path, name: str, tmp_path: Path) -> None:
    content = json.loads((copy / name).read_text())
    if name == "statistics.json":
        content["sections"]["onsets"]["rows"][0]["median"] = 77
    else:
        content["quality_tier"]["baseline_accepted"] += 1
    (copy / name).write_text(json.dumps(content))
    with pytest.raises(InvalidRelease, match=name):
        checked(copy, tmp_path)
