"""What lies in the oracle folder: packed files and linked folders are read, nothing is passed over without a word."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bfcl_corpus import CALLS_MODEL, Corpus

from openclawbench.errors import UnreadableInput
from openclawbench.intake.oracles.files import oracle_files
from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.sources.io import file_encodings as compressed

CALLS = "scripted-calls"


def pack(path: Path, kind: str) -> Path:
    """Replace a file by its packed self."""
    data = path.read_bytes()
    packed = gzip.compress(data) if kind == "gz" else pa.Codec("zstd").compress(data, asbytes=True)
    path.unlink()
    path = path.with_name(f"{path.name}.{kind}")
    path.write_bytes(packed)
    return path


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("role", ["result", "score", "both"])
def test_a_packed_tree_says_what_it_says_unpacked(kind: str, role: str, tmp_path: Path) -> None:
    plain = Corpus(tmp_path / "plain", {"multiple"}).sessions().read()
    corpus = Corpus(tmp_path / "packed", {"multiple"}).sessions()
    for entry in ("result", "score") if role == "both" else (role,):
        pack(corpus.file("multiple", entry), kind)
    reading = corpus.read()
    assert (reading.notes, reading.faults) == ([], [])
    assert reading.verdicts() == plain.verdicts() != {}
    assert reading.category("multiple")["verdict"] == "scored"


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("named", [False, True])
def test_packed_records_and_manifests_are_read(kind: str, named: bool, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"})
    corpus.session(CALLS, "by-hand")
    corpus.attempt(CALLS, "multiple_0")
    path = corpus.tree.parent / "own.jsonl"
    path.write_text(json.dumps({"source_model": CALLS, "native_session_basename": "by-hand", "success": True}) + "\n")
    path = pack(path, kind)
    manifest = corpus.tree / "run_manifest.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in corpus.manifest))
    corpus.manifest.clear()
    pack(manifest, kind)
    reading = corpus.read(path if named else None)
    assert ("by-hand" in reading.joined(), "multiple_0" in reading.joined()) == (True, not named)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_packed_manifest_of_the_raw_folder_is_read(kind: str, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.write_manifest()
    corpus.manifest.clear()
    pack(corpus.raw / "run_manifest.jsonl", kind)
    reading = corpus.read()
    assert (reading.faults, reading.intake.counts["run_manifest"]) == ([], 1)
    assert reading.joined()["multiple_0"] == "multiple_0"
    assert [
        entry.path for entries in reading.intake.entries.values() for entry in entries if "manifest" in entry.path
    ] == []


def test_broken_packing_ends_the_call(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    path = pack(corpus.file("multiple", "result"), "gz")
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UnreadableInput, match=rf"{path}: broken gzip data.*Put the file back whole, or remove it\.$"):
        corpus.read()


def test_a_few_bytes_that_stand_for_very_many_end_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    path = pack(corpus.file("multiple", "result"), "gz")
    monkeypatch.setattr(compressed, "MOST_BYTES", 100)
    with pytest.raises(UnreadableInput, match=rf"{path}: [0-9]+ compressed bytes that stand for more"):
        corpus.read()


def test_a_linked_tree_is_read_under_the_name_of_the_link(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    elsewhere = tmp_path / "elsewhere"
    corpus.tree.rename(elsewhere)
    corpus.tree.symlink_to(elsewhere)
    reading = corpus.read()
    assert reading.notes == []
    assert reading.category("multiple")["tree"] == "run-1"
    assert reading.joined()["multiple_0"] == "multiple_0"


def test_a_linked_folder_of_a_model_is_read(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    model = corpus.tree / "score" / CALLS_MODEL
    model.rename(tmp_path / "scores")
    model.symlink_to(tmp_path / "scores")
    assert corpus.read().category("multiple")["verdict"] == "scored"


def test_links_that_lead_back_or_nowhere_and_other_files_are_named_and_counted(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    (corpus.tree / "again").symlink_to("..")
    (corpus.tree / "gone.json").symlink_to("/nowhere")
    os.mkfifo(corpus.tree / "pipe")
    (corpus.tree / "notes.txt").write_text("hello")
    reading = corpus.read()
    assert reading.intake.counts["no_oracle"] == 4
    assert [row["file"] for row in reading.intake.unused] == [
        "run-1/again",
        "run-1/gone.json",
        "run-1/notes.txt",
        "run-1/pipe",
    ]
    assert reading.notes == ["oracle_not_used"]
    message = reading.intake.warnings[0]["message"]
    assert message.startswith(f"{corpus.tree.parent}: 4 files give no outcome and are not used: run-1/again: ")
    assert message.endswith("and 1 more (the coverage report's JSON names all).")


def test_what_the_evaluator_leaves_in_every_tree_is_counted_without_a_warning(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    (corpus.tree / "score" / "data_overall.csv").write_text("Rank,Model\n")
    model = corpus.tree / "result" / CALLS_MODEL
    snapshot = model / "memory_snapshot" / "memory_kv" / "customer_final.json"
    prereq = model / "agentic" / "memory" / "kv" / "BFCL_v4_memory_kv_prereq_result.json"
    for path, value in ((snapshot, {"core_memory": {}}), (prereq, {"id": "memory_kv_prereq_0-a-0", "result": []})):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    corpus.attempt(CALLS, "memory_kv_prereq_0-a-0")
    reading = corpus.read()
    assert reading.notes == []
    assert (len(reading.intake.unused), reading.intake.counts["no_oracle"]) == (2, 3)  # one entry a kind
    rows = [row for shard in reading.intake.manifest_rows.values() for row in shard]
    assert {row["subset"] for row in rows if "prereq" in row["task_id"]} == {"memory"}


@pytest.mark.parametrize("place", [".", "run-1", "run-1/score"])
def test_a_folder_that_may_not_be_listed_ends_the_call(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    refused, scandir = (corpus.tree.parent / place).resolve(), os.scandir

    def denied(path: Any) -> Iterator[os.DirEntry[str]]:
        if Path(path).resolve() == refused:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    monkeypatch.setattr(os, "listdir", denied)
    with pytest.raises(UnreadableInput, match=rf"{refused}: Permission denied\. Make it readable and run again\.$"):
        oracle_files(corpus.tree.parent, OracleRules.load())


def test_a_tree_of_the_first_releases_is_named_as_such(tmp_path: Path) -> None:
    """Its entries have numbers, which no session names."""
    lines = {
        "result": [{"idx": 0, "result": "f(x=1)"}, {"idx": 1, "result": "f(x=2)"}],
        "score": [
            {"accuracy": 0.5, "correct_count": 1, "total_count": 2},
            {"id": 1, "model_name": "m", "test_category": "simple", "valid": False, "error": ["x"]},
        ],
    }
    for role, entries in lines.items():
        path = tmp_path / role / "m" / f"gorilla_openfunctions_v1_test_simple_{role}.json"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    files = oracle_files(tmp_path, OracleRules.load())
    assert (files.bfcl, files.jsonl) == ([], [])
    assert [unused.why.split(",")[0] for unused in files.others] == [
        "results or scores of BFCL's first releases (2024)"
    ] * 2
