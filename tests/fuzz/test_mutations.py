"""Damaged sessions: nothing raises, nothing hangs, and each file and record is accounted for.

Everything is seeded: mutant 1234 is the same on every machine. A few hundred in the fast suite, more than ten thousand
real sessions in `make test-all`.
"""

import gzip
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from documents import COMPANIONS, DOCUMENTS
from mutations import BYTES, Mutation, flip_bits, mutant
from normalizing import SAMPLES, Normalized, check_accounting, normalized_folder, read

from openclawbench.intake.intake import Intake
from openclawbench.sources.identification import identify
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import update

SECONDS = 1.0  # of processor time that one mutant may take
BATCH = 100
SHARDS = 2  # that their number changes nothing has its own test
LARGEST = 20_000  # bytes
STORE = SAMPLES / "2026.9.6" / "openclaw-agent.sqlite"
CASES = SAMPLES.parent / "golden" / "cases"
OTHER_SPELLINGS = [
    CASES / "unknown-blocks" / "raw" / "model-a" / "other-spelling.jsonl",
    CASES / "results-in-user-messages" / "raw" / "model-a" / "results-in-user-messages.jsonl",
]
REAL = {
    f"{path.parent.name}-{path.name}": path.read_bytes()
    for path in [*sorted(SAMPLES.glob("*/*.jsonl")), *OTHER_SPELLINGS]
    if path.stat().st_size <= LARGEST
}
FAST, MORE = range(200), range(200, 10_300)
thorough = pytest.mark.thorough


def batches(numbers: range) -> list[range]:
    return [numbers[at : at + BATCH] for at in range(0, len(numbers), BATCH)]


def check(name: str, content: bytes) -> None:
    """One mutant read by its adapter, in time and with its records accounted for."""
    began = time.process_time()
    source = identify(content).source
    inside = source.find_members(content) if source else None
    if inside is None:
        read(content, f"m/{name}")
    for entry in inside or []:
        read(content[entry.offset : entry.offset + entry.length], f"m/{name}")
    took = time.process_time() - began
    assert took < SECONDS, f"{name}: {took:.1f} s"


def normalized(folder: Path) -> tuple[Intake, Normalized]:
    """Every file of the raw folder in a folder."""
    DataFolder(folder / "data").save_layout({"shards": SHARDS})
    return normalized_folder(folder / "raw", folder / "data")


def check_all(mutants: dict[str, bytes], folder: Path) -> None:
    """All mutants, each alone and then as one raw folder."""
    raw = folder / "raw" / "m"
    raw.mkdir(parents=True)
    for name, content in mutants.items():
        check(name, content)
        (raw / name).write_bytes(content)
    intake, result = normalized(folder)
    check_accounting(result, sum(map(len, intake.entries.values())))
    assert {row["path"] for row in result.files} == {f"m/{name}" for name in mutants}


def mutated_files(
    documents: dict[str, bytes], numbers: range, mutations: tuple[Mutation, ...] | None = None
) -> dict[str, bytes]:
    """Mutants by name; the number is the seed."""
    result = {}
    for number in numbers:
        random = Random(number)
        name = random.choice(sorted(documents))
        more = () if mutations is None else (mutations,)
        result[f"{number:05}-{name}"] = mutant(documents[name], random, *more)
    return result


@pytest.mark.parametrize("numbers", [FAST, *(pytest.param(batch, marks=thorough) for batch in batches(MORE))], ids=str)
def test_damaged_sessions(numbers: range, tmp_path: Path) -> None:
    check_all(mutated_files(REAL, numbers), tmp_path)


@pytest.mark.parametrize(
    "numbers", [range(60), *(pytest.param(batch, marks=thorough) for batch in batches(range(60, 3000)))], ids=str
)
def test_damaged_documents_of_other_formats(numbers: range, tmp_path: Path) -> None:
    check_all(mutated_files(DOCUMENTS, numbers), tmp_path)


@pytest.mark.parametrize("numbers", [range(20), pytest.param(range(20, 400), marks=thorough)], ids=str)
def test_damaged_packed_files(numbers: range, tmp_path: Path) -> None:
    """Compressed bytes flipped, cut, repeated: read through, or refused with a reason."""
    packed = {}
    for name in sorted(REAL)[:10]:
        packed[f"{name}.gz"] = gzip.compress(REAL[name], mtime=0)
        packed[f"{name}.zst"] = pa.compress(REAL[name], "zstd", asbytes=True)
    check_all(mutated_files(packed, numbers, BYTES), tmp_path)


@pytest.mark.parametrize("number", [*range(4), *(pytest.param(number, marks=thorough) for number in range(4, 150))])
def test_a_damaged_store(number: int, tmp_path: Path) -> None:
    """Random bytes in the database: some of its sessions, or a reason why there are none."""
    random = Random(number)
    content = bytearray(STORE.read_bytes())
    if number % 5 == 0:
        content = content[: random.randrange(len(content))]
    for _ in range(random.choice((1, 10, 100, 2000))):
        content[random.randrange(20, len(content))] = random.randrange(256)
    (tmp_path / "raw" / "m").mkdir(parents=True)
    (tmp_path / "raw" / "m" / STORE.name).write_bytes(content)
    began = time.process_time()
    intake, result = normalized(tmp_path)
    assert time.process_time() - began < 5 * SECONDS
    check_accounting(result, sum(map(len, intake.entries.values())))


@pytest.mark.parametrize(
    "numbers", [range(30), *(pytest.param(batch, marks=thorough) for batch in batches(range(30, 2000)))], ids=str
)
def test_what_lies_beside_a_session_is_damaged(numbers: range, tmp_path: Path) -> None:
    """The session is read all the same: what can't be read of its context is null."""
    session = SAMPLES / "2026.4.15" / "simple-reply.jsonl"
    for number in numbers:
        folder = tmp_path / "raw" / "m" / str(number)
        folder.mkdir(parents=True)
        shutil.copyfile(session, folder / session.name)
        damaged = Random(number).choice(sorted(COMPANIONS))
        for name, content in COMPANIONS.items():
            (folder / name).write_bytes(mutant(content, Random(number)) if name == damaged else content)
    intake, result = normalized(tmp_path)
    check_accounting(result, sum(map(len, intake.entries.values())))
    read_ones = {row["path"] for row in result.files if row["disposition"] in ("trajectory", "copy")}
    assert read_ones >= {f"m/{number}/{session.name}" for number in numbers}


@pytest.mark.parametrize("number", [pytest.param(100, marks=pytest.mark.slow), pytest.param(1000, marks=thorough)])
def test_damaged_sessions_go_through_every_stage(number: int, tmp_path: Path) -> None:
    """What normalize makes of them hurts no later stage either."""
    raw = tmp_path / "raw" / "m"
    raw.mkdir(parents=True)
    mutants = mutated_files(REAL, range(number)) | mutated_files(DOCUMENTS, range(1000, 1000 + number // 2))
    for name, content in mutants.items():
        (raw / name).write_bytes(content)
    data = DataFolder(tmp_path / "data")
    chosen = settings(data, raw=str(tmp_path / "raw"), oracle=None, judge="rules")
    done = update(data, chosen, "release", Progress())
    assert done.released
    assert done.sessions > number


CELLS = (
    None,
    "",
    "{",
    "[]",
    "7",
    "null",
    '{"type":"message","message":7}',
    b"",
    b"\x28\xb5\x2f\xfd\x00",
    b"\xff",
    7,
    1.5,
)


@pytest.mark.parametrize("number", [*range(3), *(pytest.param(number, marks=thorough) for number in range(3, 100))])
def test_a_store_with_odd_cells(number: int, tmp_path: Path) -> None:
    """A whole database whose cells are not what they should be."""
    random = Random(number)
    (tmp_path / "raw" / "m").mkdir(parents=True)
    store = tmp_path / "raw" / "m" / STORE.name
    shutil.copyfile(STORE, store)
    changed = (
        ("transcript_events", "event_json"),
        ("transcript_events", "event_zstd"),
        ("transcript_events", "session_id"),
        ("session_nodes", "entry_json"),
        ("session_nodes", "session_key"),
        ("session_nodes", "status"),
    )
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for _ in range(random.choice((1, 3, 20))):
            table, column = random.choice(changed)
            rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
            cell = (random.choice(CELLS), random.choice(rows))
            with suppress(sqlite3.Error):  # the database refuses some
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", cell)
        connection.commit()
    intake, result = normalized(tmp_path)
    check_accounting(result, sum(map(len, intake.entries.values())))


def test_the_undamaged_documents_are_read(tmp_path: Path) -> None:
    """The mutants come from documents that are what they are meant to be."""
    (tmp_path / "raw").mkdir()
    for name, content in DOCUMENTS.items():
        folder = tmp_path / "raw" / "m" / name
        folder.mkdir(parents=True)
        (folder / name).write_bytes(content)
    shutil.copyfile(STORE, tmp_path / "raw" / "m" / STORE.name)
    _, result = normalized(tmp_path)
    formats = {row["source_format"] for row in result.trajectories}
    known = {
        "atif",
        "run_artifact",
        "llm_benchmark",
        "aec_trajectory",
        "openclaw_sqlite",
        "message_list",
    }
    assert formats == known
    assert flip_bits(b"ab", Random(1)) == flip_bits(b"ab", Random(1)) != b"ab"
