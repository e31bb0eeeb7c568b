"""The benchmark corpus: the same bytes for the same seed, realistic, and normalized without a loss."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmarks.corpus import one_session_of, sessions_of, write_corpus
from openclawbench.construct.normalize.normalize import normalize
from openclawbench.intake.intake import Intake, take_in
from openclawbench.intake.oracles.files import numbered_lines
from openclawbench.intake.oracles.jsonl import read_oracle
from openclawbench.records.session import FileOutcome, RunManifestRow, SourceFile, Trajectory
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import Record
from openclawbench.tables.schema import conform

SESSIONS, SEED = 60, 11
EXAMPLE = Path(__file__).parents[2] / "data" / "example" / "raw"
RULES = NormalizeRules.load()


def digests(folder: Path) -> dict[str, str]:
    """sha256 of every file, by its place in the corpus."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def normalized(intake: Intake) -> dict[type[Record], pl.DataFrame]:
    """Every table that normalize writes, over all shards, its rows in one order whatever the number of shards."""
    shards = [
        normalize(intake.read(SourceFile, shard), intake.read(RunManifestRow, shard), RULES)
        for shard in sorted(intake.entries)
    ]
    result = {}
    for position, record in enumerate(normalize.writes):
        table = pl.concat([conform(tables[position].collect(), record) for tables in shards])
        keys = ["source_model", "path", "member"] if record is FileOutcome else ["source_model", "trajectory_id"]
        result[record] = table.sort(keys, maintain_order=True, nulls_last=True)
    return result


def intake_of(raw: Path, folder: Path, shards: int) -> Intake:
    """The intake into a new data folder of that many shards."""
    data = DataFolder(folder)
    data.save_layout({"shards": shards})
    return take_in(data, raw, None, save=False)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "corpus"
    write_corpus(folder, SESSIONS, SEED)
    return folder


@pytest.fixture(scope="module")
def tables(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[type[Record], pl.DataFrame]:
    return normalized(intake_of(corpus / "raw", tmp_path_factory.mktemp("data"), 4))


def records(corpus: Path) -> list[dict[str, Any]]:
    """Every line that is JSON."""
    result = []
    for path in (corpus / "raw").glob("*/*.jsonl"):
        for line in path.read_bytes().split(b"\n"):
            try:
                result.append(json.loads(line))
            except ValueError:
                continue
    return result


def test_the_same_seed_makes_the_same_bytes_and_another_makes_others(corpus: Path, tmp_path: Path) -> None:
    write_corpus(tmp_path / "again", SESSIONS, SEED)
    write_corpus(tmp_path / "other", 6, SEED + 1)
    assert digests(tmp_path / "again") == digests(corpus)
    assert not set(digests(tmp_path / "other").values()) & set(digests(corpus).values())


def test_a_session_does_not_depend_on_how_many_there_are(corpus: Path) -> None:
    for run, built in sessions_of(3, SEED, first=40):
        path = corpus / "raw" / run["source_model"] / f"{built.session_id}.jsonl"
        assert path.read_bytes() == built.content


def test_a_corpus_is_not_written_over(corpus: Path) -> None:
    with pytest.raises(FileExistsError):
        write_corpus(corpus, 1, SEED)


def test_six_models_run_the_same_tasks(corpus: Path) -> None:
    rows = [json.loads(line) for line in (corpus / "raw" / "run_manifest.jsonl").read_bytes().splitlines()]
    models = Counter(row["source_model"] for row in rows)
    assert set(models.values()) == {SESSIONS // 6}
    assert len(models) == 6
    assert {path.name for path in (corpus / "raw").iterdir() if path.is_dir()} == set(models)
    assert set(Counter(row["task_id"] for row in rows).values()) == {6}


def test_the_outcomes_are_oracle_records(corpus: Path) -> None:
    oracle_lines = list(read_oracle(numbered_lines(corpus / "oracle" / "outcomes.jsonl"), "outcomes.jsonl"))
    assert all(oracle_line.record is not None for oracle_line in oracle_lines)
    assert 0.9 * SESSIONS < len(oracle_lines) <= SESSIONS


def test_the_shapes_of_real_sessions_occur(corpus: Path) -> None:
    actual_records = records(corpus)
    messages = [record["message"] for record in actual_records if record["type"] == "message"]
    results = [message for message in messages if message["role"] == "toolResult"]
    agents = [message for message in messages if message["role"] == "assistant"]
    blocks = Counter(block["type"] for message in agents for block in message["content"])
    assert min(blocks["thinking"], blocks["text"], blocks["toolCall"]) > SESSIONS
    assert any(sum(block["type"] == "toolCall" for block in message["content"]) > 1 for message in agents)
    assert any(message.get("errorMessage") and not message["content"] for message in agents)
    statuses = Counter(((result.get("details") or {}).get("status"), result["isError"]) for result in results)
    assert statuses["error", False] > 0
    assert statuses["running", False] > 0
    assert any(result["isError"] for result in results)
    assert any((result.get("details") or {}).get("exitCode") for result in results)


def test_the_sessions_are_as_long_as_real_ones() -> None:
    sizes = [len(built.content) for _, built in sessions_of(300, SEED)]
    assert 26_000 < sum(sizes) / len(sizes) < 38_000


def test_one_long_session_is_as_long_as_asked_for() -> None:
    _, built = one_session_of(1_000_000, SEED)
    assert 1_000_000 <= len(built.content) < 1_200_000


def test_nothing_is_quarantined_and_every_record_is_accounted_for(
    corpus: Path, tables: dict[type[Record], pl.DataFrame]
) -> None:
    files = tables[FileOutcome]
    assert files["disposition"].unique().to_list() == ["trajectory"]
    assert files.height == SESSIONS == tables[Trajectory].height
    counted = files.select(pl.col("record_counts").list.eval(pl.element().struct.field("count")).list.sum())
    assert counted.to_series().to_list() == files["records_in"].to_list()
    lines = sum(path.read_bytes().count(b"\n") for path in (corpus / "raw").glob("*/*.jsonl"))
    torn = tables[Trajectory]["truncated"].sum()
    assert files["records_in"].sum() == lines + torn


@pytest.fixture(scope="module")
def sixteen(tmp_path_factory: pytest.TempPathFactory) -> dict[type[Record], pl.DataFrame]:
    """The tables of the example in sixteen shards."""
    return normalized(intake_of(EXAMPLE, tmp_path_factory.mktemp("sixteen"), 16))


@pytest.mark.parametrize("shards", [1, 5, 64])
def test_the_number_of_shards_changes_nothing(
    shards: int, sixteen: dict[type[Record], pl.DataFrame], tmp_path: Path
) -> None:
    other = normalized(intake_of(EXAMPLE, tmp_path / "other", shards))
    for record, table in sixteen.items():
        assert table.equals(other[record]), record.__name__
        assert table.schema == other[record].schema
