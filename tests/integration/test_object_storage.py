"""Raw files read from, and parts written to, an S3-compatible store: the bytes of local disk, and no key anywhere."""

import gzip
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from child import EXAMPLE, call, few_shards, files, small_raw, temporary
from conftest import Ran
from session_tables import document, jsonl, parquet, trace_row
from storage import BUCKET, KEYS, SECRET, Store, store_process
from thorough import first

from openclawbench.storage.object_store import ObjectStore

pytestmark = pytest.mark.slow
AFTER_ALL_SHARDS = {"coverage", "draw", "near", "split", "certify", "summarize"}
SHARDS = 3
ORACLE = ["--oracle", EXAMPLE / "oracle"]


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with store_process() as result:
        yield result


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve sessions, a packed one, an SQLite store, two of its sessions exported, and tables of sessions."""
    folder = small_raw(tmp_path_factory.mktemp("raw") / "raw")
    (folder / "stores").mkdir()
    for name in ("openclaw-agent.sqlite", "multi-turn.jsonl", "unicode.jsonl"):
        shutil.copy2(Path(__file__).parents[1] / "samples" / "2026.9.6" / name, folder / "stores")
    packed = next((folder / "scripted-a").glob("*unicode.jsonl"))
    (folder / "packed").mkdir()
    (folder / "packed" / "one.jsonl.gz").write_bytes(gzip.compress(packed.read_bytes(), mtime=0))
    jsonl(folder / "tables" / "rows.jsonl", [{"doc": json.dumps(document(n)), "reward": 1} for n in (1, 2)])
    parquet(folder / "tables" / "rows.parquet", [trace_row(n, 0.0, model="tables") for n in (3, 4)], row_group_size=1)
    return folder


@pytest.fixture(scope="module")
def local(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a run on local disk."""
    data = few_shards(tmp_path_factory.mktemp("local") / "data", SHARDS)
    ended = call("run", "--data", data, "--raw", raw, *ORACLE)
    assert ended.status in (0, 1), ended.err
    return data


@pytest.fixture(scope="module")
def prefix(raw: Path, store: Store) -> str:
    return store.put_folder(raw, "raw")


def parts(contents: dict[str, bytes]) -> dict[str, bytes]:
    """Parts of tables. The saved scan is not one: it says where the raw folder is."""
    return {
        name: content for name, content in contents.items() if name.endswith(".parquet") and not name.startswith("scan")
    }


def says_a_key(folder: Path, *texts: str) -> bool:
    """True where a secret stands in a file or a text."""
    held = [*files(folder).values(), *(text.encode() for text in texts)]
    return any(key.encode() in content for content in held for key in (SECRET, KEYS["AWS_ACCESS_KEY_ID"]))


@pytest.mark.parametrize("engine", first(1, ["processes", "serial", "ray"]))
def test_raw_and_parts_in_a_store_give_the_bytes_of_local_disk(
    engine: str, store: Store, prefix: str, local: Path, tmp_path: Path
) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    parts_at = f"s3://{BUCKET}/parts-{engine}"
    where = ["--parts", parts_at, "--endpoint-url", store.endpoint_url, "--engine", engine, "--workers", "2"]
    ended = call("run", "--data", data, "--raw", prefix, *ORACLE, *where, env=store.env)
    assert ended.status == call("run", "--data", local).status, ended.err
    assert parts(store.objects(f"parts-{engine}/work")) == parts(files(local / "work"))
    assert files(data / "release") == files(local / "release")
    assert temporary(data) == []
    again = call("run", "--data", data, *where, env=store.env)  # an address is given again
    assert "nothing was redone" in again.text, again.err
    assert not says_a_key(data, ended.err, ended.text)
    assert not any(SECRET.encode() in content for content in store.objects(f"parts-{engine}").values())


def test_machines_that_share_only_the_store_finish_each_others_work(
    store: Store, prefix: str, local: Path, tmp_path: Path
) -> None:
    """Each with a data folder of its own, and the raw files read once."""
    where = ["--parts", f"s3://{BUCKET}/shared", "--endpoint-url", store.endpoint_url]
    for share in ("0/2", "1/2"):
        data = tmp_path / share[0]
        if share == "0/2":
            few_shards(data, SHARDS)
        ended = call("run", "--data", data, "--raw", prefix, *ORACLE, *where, "--shard", share, env=store.env)
        assert ended.status in (0, 1), ended.err
    assert json.loads((tmp_path / "1" / "work" / "layout.json").read_text())["shards"] == SHARDS
    assert (tmp_path / "0" / "work" / "scan.parquet").read_bytes() == (
        tmp_path / "1" / "work" / "scan.parquet"
    ).read_bytes()
    last = call("run", "--data", tmp_path / "2", "--raw", prefix, *ORACLE, *where, "--json", env=store.env)
    assert {stage["stage"] for stage in last.json["stages"] if stage["redone"]} == AFTER_ALL_SHARDS
    assert files(tmp_path / "2" / "release") == files(local / "release")


def test_readers_fetch_what_they_read(store: Store, prefix: str, small: Ran, tmp_path: Path) -> None:
    where = ["--parts", f"s3://{BUCKET}/read", "--endpoint-url", store.endpoint_url]
    data = few_shards(tmp_path / "data", SHARDS)
    assert call("run", "--data", data, "--raw", prefix, *ORACLE, *where, env=store.env).status in (0, 1)
    for path in (data / "work").glob("*/*.parquet"):
        path.unlink()
    places = {"OPENCLAWBENCH_PARTS": f"s3://{BUCKET}/read", "OPENCLAWBENCH_ENDPOINT_URL": store.endpoint_url}
    shown = call("show", "scripted-a/2026.4.15-unicode", "--data", data, env=store.env | places)
    assert shown.status == 0, shown.err
    traced = call("trace", "scripted-a/2026.4.15-unicode", "1", "--data", data, env=store.env | places)
    assert (
        traced.status == 0
        and traced.out.splitlines()[0]
        in next((EXAMPLE / "raw" / "scripted-a").glob("*4.15-unicode.jsonl")).read_bytes().splitlines()
    )


def test_a_changed_object_redoes_its_shard_alone(store: Store, small: Ran, tmp_path: Path) -> None:
    prefix, data = store.put_folder(small.raw, "changing"), few_shards(tmp_path / "data", 7)
    run = ["run", "--to", "normalize", "--data", data, "--endpoint-url", store.endpoint_url, "--json"]
    assert call(*run, "--raw", prefix, env=store.env).status == 0
    name = f"{BUCKET}/changing/scripted-a/2026.4.15-unicode.jsonl"
    store.system.pipe_file(name, store.system.cat_file(name) + b"\n")
    again = call(*run, env=store.env)
    assert [stage["redone"] for stage in again.json["stages"]] == [1]


def test_of_several_who_create_an_object_one_does(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.env.items():
        monkeypatch.setenv(name, value)
    remote = ObjectStore(f"s3://{BUCKET}/once", store.endpoint_url)
    assert [remote.create("it", b"first"), remote.create("it", b"second")] == [True, False]
    assert remote.read("it") == b"first"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--raw", "s3://no-such-bucket/raw"], "there is no such folder"),
        (["--raw", "s3://corpus/raw", "--parts", "s3://no-such-bucket/x"], "s3://no-such-bucket/x"),
        (["--raw", "s3://key:secret@corpus/raw"], "credentials go into the environment"),
        (["--raw", "s3://corpus/raw", "--parts", "parts"], "is not an address"),
        (["--raw", "nosuch://corpus/raw"], "no object storage of this kind"),
    ],
)
def test_what_cannot_be_reached_is_said_in_a_sentence(
    arguments: list[str], says: str, store: Store, prefix: str, tmp_path: Path
) -> None:
    ended = call("run", "--data", tmp_path / "data", "--endpoint-url", store.endpoint_url, *arguments, env=store.env)
    assert (ended.status, says in ended.err, "Traceback" in ended.err) == (2, True, False), ended.err


def test_a_data_folder_is_a_folder(store: Store) -> None:
    ended = call("run", "--data", f"s3://{BUCKET}/data", env=store.env)
    assert (ended.status, "Name object storage with --parts" in ended.err) == (2, True)


def test_without_the_extra_the_sentence_names_it(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "s3fs.py").write_text("raise ImportError('s3fs is not here')\n")
    path = f"{tmp_path / 'hidden'}:{Path(__file__).parents[2]}"
    import subprocess

    code = "from openclawbench.storage.object_store import ObjectStore; ObjectStore('s3://corpus/raw').exists()"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert "Install the extra `s3`: run `make setup`" in done.stderr
