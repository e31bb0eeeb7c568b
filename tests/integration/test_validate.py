"""`openclawbench validate`: a good release passes from anywhere, and each way of breaking one is named."""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from child import Ran, call
from drawn_once import DRAW
from sealing import Damage, found_after, seal
from thorough import every

from openclawbench.base.canonical_json import canonical_json
from openclawbench.release.validate.recompute.stages import StageRerun
from openclawbench.release.validate.validate import validate
from openclawbench.reports import plots
from openclawbench.runtime.engines.protocol import ignore_start
from openclawbench.runtime.engines.serial import Serial

pytestmark = pytest.mark.slow

A = "fulltax_prod_v1/scripted-a"
MASTER = f"{A}/master_table_all.jsonl"
MAIN = f"{A}/accepted_baseline_all.jsonl"
POSITIVES = f"{A}/positives_baseline_all.jsonl"
TRAIN, TEST = "silver_train_labels.jsonl", "silver_test_labels.jsonl"
Change = Callable[[dict[str, Any]], object]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def put(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(b"".join(canonical_json(row).encode() + b"\n" for row in rows))


def anomalous(row: dict[str, Any]) -> bool:
    return bool(row["is_anomalous"]) and row["quality_tier"] != "review_or_unresolved"


def normal(row: dict[str, Any]) -> bool:
    return row["is_anomalous"] is False


def everywhere(root: Path, which: Callable[[dict[str, Any]], bool], change: Change) -> None:
    """Change the first such record of a master table, and its line in its tier's file, alike."""
    masters = [(model, row) for model in ("scripted-a", "scripted-b") for row in rows_of(root / master_of(model))]
    model, victim = next((model, row) for model, row in masters if which(row))
    key = victim["trajectory_id"]
    for name in (master_of(model), master_of(model).replace("master_table", "accepted_baseline")):
        rows = rows_of(root / name)
        for row in rows:
            if row["trajectory_id"] == key:
                change(row)
        put(root / name, rows)


def master_of(model: str) -> str:
    return f"fulltax_prod_v1/{model}/master_table_all.jsonl"


def in_one_row(name: str, which: Callable[[dict[str, Any]], bool], change: Change) -> Callable[[Path], None]:
    """Change the first such row of one file."""

    def damage(root: Path) -> None:
        rows = rows_of(root / name)
        change(next(row for row in rows if which(row)))
        put(root / name, rows)

    return damage


def both(which: Callable[[dict[str, Any]], bool], change: Change) -> Callable[[Path], None]:
    return lambda root: everywhere(root, which, change)


def drop(name: str) -> Callable[[Path], None]:
    return lambda root: put(root / name, rows_of(root / name)[1:])


def double(name: str) -> Callable[[Path], None]:
    return lambda root: put(root / name, [*(rows := rows_of(root / name)), rows[-1]])


def leak(root: Path) -> None:
    put(root / TEST, [*rows_of(root / TEST), rows_of(root / TRAIN)[0]])


def parquet_differs(root: Path) -> None:
    path = root / "silver_train_labels.parquet"
    pl.read_parquet(path).with_columns(scoreable=~pl.col("scoreable")).write_parquet(path)


README = "README.md"


def says(name: str, before: str, after: str) -> Callable[[Path], None]:
    """Change the text of a file."""

    def damage(root: Path) -> None:
        text = (root / name).read_text()
        assert before in text
        (root / name).write_text(text.replace(before, after))

    return damage


def default_holds_more(root: Path) -> None:
    rows = pl.read_parquet(root / "silver_train_labels.parquet")
    more = rows.head(1).with_columns(label_status=pl.lit("needs_review"))
    pl.concat([rows, more]).write_parquet(root / "silver_train_labels_accepted.parquet")


def digest_lies(root: Path) -> None:
    document = json.loads((root / "croissant.json").read_text())
    document["distribution"][-1]["sha256"] = "0" * 64
    (root / "croissant.json").write_text(json.dumps(document))


def typed_differs(root: Path) -> None:
    path = root / MASTER.replace(".jsonl", "-00000-of-00001.parquet")
    table = pq.read_table(path)
    pq.write_table(table.slice(0, table.num_rows - 1), path)


def typed_otherwise(root: Path) -> None:
    path = root / MAIN.replace(".jsonl", "-00000-of-00001.parquet")
    table = pq.read_table(path)
    nulls = pa.nulls(table.num_rows)
    pq.write_table(table.set_column(table.schema.get_field_index("severity"), "severity", nulls), path)


def summary_lies(root: Path) -> None:
    path = root / "dataset_summary.json"
    document = json.loads(path.read_text())
    document["totals"]["trajectories"] += 1
    path.write_text(json.dumps(document))


def package(change: Change) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        document = json.loads((root / "datapackage.json").read_text())
        change(document)
        (root / "datapackage.json").write_text(json.dumps(document))

    return damage


def any_row(_row: dict[str, Any]) -> bool:
    return True


def with_steps(row: dict[str, Any]) -> bool:
    return len(row["steps"]) > 1 and row["quality_tier"] == "baseline_accepted"


def anomalous_with_steps(row: dict[str, Any]) -> bool:
    return anomalous(row) and row["num_steps"] > 1


def late_onset(row: dict[str, Any]) -> None:
    row.update(earliest_recoverable_onset=row["num_steps"], earliest_harmful_onset=1)


WAYS: dict[str, tuple[Damage, str]] = {
    "a flipped label": (both(normal, lambda row: row.update(is_anomalous=True)), "protocol_|label|numbers"),
    "a flipped label in a label file": (in_one_row(TRAIN, any_row, lambda r: r.update(is_anomalous=True)), "splits"),
    "another subtype in a label file": (in_one_row(TRAIN, any_row, lambda r: r.update(anomaly_type_l2="x")), "splits"),
    "a subtype outside the set": (both(anomalous, lambda r: r.update(anomaly_type_l2="laziness")), "vocabulary"),
    "a family that is another's": (
        both(anomalous, lambda r: r.update(anomaly_type_l1="state_integrity_failures")),
        "protocol_taxonomy_correctness",
    ),
    "a missing line of the master table": (drop(MASTER), "tiers"),
    "a missing line of a tier": (drop(MAIN), "tiers"),
    "a missing positive": (drop(POSITIVES), "positives"),
    "a missing label": (drop(TRAIN), "splits"),
    "a missing answer": (drop(f"{A}/stage_a_raw_pass1.jsonl"), "raw_answers"),
    "a duplicated key": (double(MASTER), "key_unique"),
    "a duplicated label": (double(TRAIN), "splits"),
    "a duplicated answer": (double(f"{A}/stage_a_raw_pass1.jsonl"), "raw_answers"),
    "a trajectory on both sides": (leak, "splits"),
    "an onset out of range": (
        both(anomalous, lambda r: r.update(earliest_harmful_onset=r["num_steps"] + 1)),
        "onset_range",
    ),
    "onsets in the wrong order": (
        both(anomalous_with_steps, late_onset),
        "protocol_onset_consistency",
    ),
    "a span out of range": (
        both(anomalous, lambda r: r["segment_spans"][0].update(end_step=99)),
        "span_range",
    ),
    "a quote that stands nowhere": (
        both(anomalous, lambda r: r["evidence_steps"][0].update(quote="never said by anybody")),
        "quote",
    ),
    "steps misnumbered": (both(with_steps, lambda r: r["steps"][0].update(step_id=2)), "steps"),
    "a step taken out": (both(with_steps, lambda r: r["steps"].pop()), "steps"),
    "a category that does not exist": (both(with_steps, lambda r: r["steps"][0].update(event_type="magic")), "schema"),
    "a status that does not exist": (
        both(with_steps, lambda r: r["steps"][0].update(tool_status="fine")),
        "vocabulary",
    ),
    "a flag that does not exist": (
        both(with_steps, lambda r: r["steps"][0].update(auto_flags=["nervous"])),
        "vocabulary",
    ),
    "a slice that is not outcome and bucket": (
        both(normal, lambda r: r.update(slice_label="fail_high_risk")),
        "context",
    ),
    "an outcome that the oracle does not say": (both(normal, lambda r: r.update(oracle_outcome="fail")), "context"),
    "a score that its breakdown does not give": (both(with_steps, lambda r: r.update(risk_score_raw=55.5)), "context"),
    "a review cause beside acceptance": (both(normal, lambda r: r.update(review_cause="malformed_span")), "tier"),
    "repaired without a repair": (both(normal, lambda r: r.update(quality_tier="accepted_repaired")), "tier"),
    "a label of the rules judge raised to high confidence": (
        both(normal, lambda r: r.update(quality_tier="high_confidence_accepted", label_status="accepted")),
        "tier",
    ),
    "a tier that does not exist": (both(normal, lambda r: r.update(quality_tier="odd")), "vocabulary"),
    "a status that is not its tier's": (both(normal, lambda r: r.update(label_status="accepted")), "tier"),
    "a status that is not its record's in a label file": (
        in_one_row(TRAIN, any_row, lambda r: r.update(label_status="accepted")),
        "splits",
    ),
    "a normal record with a severity": (both(normal, lambda r: r.update(severity="low")), "label"),
    "a field too many": (both(any_row, lambda r: r.update(source_file="/home/x.jsonl")), "schema"),
    "a field too few": (both(any_row, lambda r: r.pop("risk_bucket")), "schema"),
    "a number as text": (both(any_row, lambda r: r.update(num_steps=str(r["num_steps"]))), "schema"),
    "a line that is not valid JSON": (lambda root: append(root / MASTER, b"{\n"), "json"),
    "a record left out without a reason where a model is held out": (
        drop("hold_out/scripted-a/silver_train_labels.jsonl"),
        "splits",
    ),
    "no reasons where a model is held out": (
        lambda root: (root / "hold_out" / "scripted-a" / "label_exclusions.jsonl").unlink(),
        "file_missing",
    ),
    "a cut file": (lambda root: cut(root / MASTER), "json"),
    "a summary that lies": (summary_lies, "numbers"),
    "Parquet that differs": (parquet_differs, "parquet"),
    "Parquet that is none": (lambda root: (root / "silver_test_labels.parquet").write_bytes(b"PAR1"), "parquet"),
    "a card with another number": (says(README, "| trajectories | 12 |", "| trajectories | 13 |"), "card"),
    "a card without its warning": (says(README, "They are a baseline", "They are gold"), "card"),
    "a default file that offers a record in review": (default_holds_more, "parquet"),
    "another name in croissant.json": (
        says("croissant.json", '"name": "openclawbench"', '"name": "gold"'),
        "croissant",
    ),
    "a licence in the data package that nobody gave": (
        package(lambda document: document["licenses"].append({"name": "CC0-1.0", "title": "data"})),
        "datapackage",
    ),
    "a name in the data package that is not the settings'": (
        package(lambda document: document.update(name="gold")),
        "datapackage",
    ),
    "another digest in croissant.json": (digest_lies, "croissant"),
    "no settings to make the card with": (lambda root: (root / "publish.toml").unlink(), "card"),
    "a package that lists another digest": (
        says("datapackage.json", '"hash": "sha256:', '"hash": "sha256:0'),
        "datapackage",
    ),
    "a package without a file": (package(lambda document: document["resources"].pop()), "datapackage"),
    "a package that names another judge": (
        package(lambda document: document["provenance"]["judges"][0].update(judge_model="rules-v0")),
        "datapackage",
    ),
    "a package that names another prompt": (
        package(lambda document: document["provenance"]["prompts"][0].update(sha256="0" * 64)),
        "datapackage",
    ),
    "no inputs": (lambda root: (root / "input_files.jsonl").write_bytes(b""), "inputs"),
    "other inputs as Parquet": (
        lambda root: pl.read_parquet(root / "input_files.parquet").head(1).write_parquet(root / "input_files.parquet"),
        "parquet",
    ),
    "a package with a field too many": (package(lambda document: document.update(host="ada")), "datapackage"),
    "no word on what text was searched for": (lambda root: (root / "privacy.json").unlink(), "text_rules"),
    "a key in a text": (
        both(with_steps, lambda r: r["steps"][0].update(narration="ghp_" + "aB3dE5gH7jK9" * 3)),
        "text_key",
    ),
    "a typed row that is missing": (typed_differs, "parquet"),
    "a typed column of another type": (typed_otherwise, "parquet"),
    "a typed file that is missing": (
        lambda root: (root / MASTER.replace(".jsonl", "-00000-of-00001.parquet")).unlink(),
        "file_missing",
    ),
    "a file missing": (lambda root: (root / POSITIVES).unlink(), "file_missing"),
    "another answer than the record shows": (
        in_one_row(f"{A}/stage_a_raw_pass1.jsonl", any_row, lambda r: r.update(parsed='{"route_label":"review"}')),
        "raw_answers",
    ),
}


def append(path: Path, more: bytes) -> None:
    path.write_bytes(path.read_bytes() + more)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def test_a_release_is_valid_wherever_it_lies(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "pictures", DRAW)
    findings = validate(copy)
    assert findings.ok, findings.kept
    assert findings.checked["records"] == 12
    assert findings.checked["quotes"] > 0
    assert findings.checked["pictures"] == 7


def test_the_whole_example_is_valid_by_the_command(example: Ran) -> None:
    ended = call("validate", example.data / "release")
    assert ended.status == 0, ended.text
    assert ended.text.startswith("valid: ")


@pytest.mark.parametrize("way", every(4, WAYS))
def test_each_way_of_breaking_a_release_is_named(way: str, copy: Path) -> None:
    damage, expected = WAYS[way]
    findings = found_after(damage, copy)
    assert any(name.startswith(tuple(expected.split("|"))) for name in findings.counts), (way, findings.kept)


def test_worker_processes_find_the_same_in_the_same_order(copy: Path) -> None:
    damages = (
        lambda root: put(root / MASTER, rows_of(root / MASTER)[::-1]),
        drop(POSITIVES),
        drop(MAIN),
        drop("fulltax_prod_v1/scripted-b/stage_a_raw_pass1.jsonl"),
        leak,
        parquet_differs,
        typed_differs,
    )
    assert json.dumps(validate(copy, workers=2).as_data()) == json.dumps(validate(copy, workers=1).as_data())
    for damage in damages:
        damage(copy)
    seal(copy)
    findings = validate(copy, workers=1)
    assert {"tables", "tiers", "positives", "raw_answers", "parquet", "splits"} <= set(findings.counts)
    assert json.dumps(validate(copy, workers=2).as_data()) == json.dumps(findings.as_data())
    assert call("validate", copy, "--json", "--workers", "2").json == json.loads(json.dumps(findings.as_data()))


class DoneTwice(Serial):
    """Every task is carried out twice, as after the death of a worker that had done it."""

    def run(self, function: Callable[[Any], Any], tasks: Iterable[Any], begun: Any = ignore_start) -> Iterator[Any]:
        return super().run(lambda task: [function(task), function(task)][1], tasks, begun)


def test_a_task_that_is_done_again_gives_the_same(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    double(MAIN)(copy)
    expected = json.dumps(validate(copy).as_data())
    monkeypatch.setattr("openclawbench.release.validate.validate.engine_for", lambda *_: DoneTwice())
    assert json.dumps(validate(copy).as_data()) == expected


def test_one_record_that_cannot_be_recomputed_is_named_alone(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim, run = rows_of(copy / MASTER)[1]["trajectory_id"], StageRerun.run

    def run_or_fail(self: StageRerun, passes: Iterable[int]) -> None:
        if any(record["trajectory_id"] == victim for record in self.records):
            raise ValueError("planted")
        run(self, passes)

    monkeypatch.setattr(StageRerun, "run", run_or_fail)
    messages = [finding.message for finding in validate(copy).kept if finding.check == "derived"]
    assert messages == [f"{victim} cannot be recomputed: planted"]


def test_temporary_files_are_gone_when_validation_ends(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    validate(copy)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_changed_byte_is_noticed_by_the_checksums(copy: Path) -> None:
    path = copy / "taxonomy.toml"
    path.write_bytes(path.read_bytes() + b"\n")
    assert validate(copy).counts == {"checksum": 1, "datapackage": 1}


def test_files_that_are_not_listed_and_lists_that_are_wrong_are_named(copy: Path) -> None:
    (copy / "notes.txt").write_text("mine")
    append(copy / "CHECKSUMS.sha256", b"not a line\n")
    assert set(validate(copy).counts) == {"file_not_listed", "file_unknown", "checksum_list"}


def test_a_table_names_file_line_and_what_is_wrong(copy: Path) -> None:
    WAYS["a quote that stands nowhere"][0](copy)
    ended = call("validate", copy)
    assert ended.status == 1
    assert "never said by anybody" in ended.text
    assert "master_table_all.jsonl" in ended.text
    printed = call("validate", copy, "--json").json
    assert printed["valid"] is False
    assert printed["counts"]["quote"] == 1


def test_a_folder_that_is_no_release_is_wrong_use(tmp_path: Path) -> None:
    ended = call("validate", tmp_path)
    assert ended.status == 2
    assert "not a release" in ended.err
    file = tmp_path / "file"
    file.touch()
    (tmp_path / "data" / "release" / "fulltax_prod_v1").mkdir(parents=True)
    for command in (["validate"], ["report", "statistics"]):
        assert "there is no such folder" in call(*command, tmp_path / "gone").err
        assert "is a file" in call(*command, file).err
        assert f"Did you mean {tmp_path / 'data' / 'release'}?" in call(*command, tmp_path / "data").err


@pytest.mark.slow
def test_a_release_without_records_is_a_release(tmp_path: Path) -> None:
    """It has no folder of source models, since no session could be read."""
    raw = tmp_path / "raw" / "model-a"
    raw.mkdir(parents=True)
    (raw / "broken.jsonl").write_text("not JSON\n")
    data = tmp_path / "data"
    assert call("run", "--judge", "rules", "--raw", raw.parent, "--data", data).status == 1  # a file is quarantined
    release = data / "release"
    for command in (["validate", release], ["diff", release, release], ["report", "gap", release]):
        ended = call(*command)
        assert ended.status == 0, (command, ended.text)
    (release / "datapackage.json").write_text("{}")
    assert call("validate", release).status == 2


def test_a_label_line_that_is_not_utf_8_is_named_so(copy: Path) -> None:
    path = copy / "silver_train_labels.jsonl"
    append(path, b'\x00"\xff"\n')
    kept = [entry for entry in validate(copy).kept if entry.check == "json"]
    assert [entry.message for entry in kept] == ["is not UTF-8 (byte 3 of the line)"]
