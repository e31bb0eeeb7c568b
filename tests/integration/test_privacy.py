"""Keys and addresses planted in sessions: no release holds them, and a redacted one is whole."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from child import EXAMPLE, call, few_shards, files, lines, manifest
from conftest import Ran

from openclawbench.release.validate.validate import validate

pytestmark = pytest.mark.slow

# Put together here, so that no scanner of this repository takes them for keys.
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
CUT = "glpat-" + "Zq7rT4mK9xW2vB6nL3sDZq7rT4mK9xW2vB6nL3sD"
BODY = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MaLIFVHvuqk2jpWn"
PRIVATE = "-----BEGIN RSA PRIVATE" + f" KEY-----\\n{BODY}\\n-----END RSA PRIVATE" + " KEY-----"
EMAIL = "ada.lovelace@analytical-engine.org"
PLANTED = {
    # The command is quoted as evidence; so are the words of the failure, up to a length that ends within the key, which
    # stands in a word so long that a quote has to end within it.
    "scripted-a/2026.6.11-error-escalation": ("rm -rf db/backup && ls db", f"rm -rf db/backup && ls db/{TOKEN}"),
    "scripted-b/2026.4.15-subagent-spawn": (
        "no close reason",
        f"no_close_reason{'/gateway' * 11}/{CUT}",
    ),
    "scripted-a/2026.2.1-unknown-tool": ('"text":"', f'"text":"{PRIVATE} {EMAIL} '),
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    """Arguments of a run up to merge over sessions that hold keys, one of them cut short by its quote."""
    folder = tmp_path_factory.mktemp("planted")
    for name, (before, after) in PLANTED.items():
        to = folder / "raw" / f"{name}.jsonl"
        to.parent.mkdir(parents=True, exist_ok=True)
        text = (EXAMPLE / "raw" / f"{name}.jsonl").read_text(encoding="utf-8")
        assert before in text
        to.write_text(text.replace(before, after), encoding="utf-8")
    data = few_shards(folder / "data")
    where: list[str | Path] = ["--data", data, "--raw", folder / "raw", "--oracle", EXAMPLE / "oracle"]
    assert call("merge", *where).status == 0
    return where


@pytest.fixture
def copy(planted: list[str | Path], tmp_path: Path) -> list[str | Path]:
    """The same, to release from."""
    shutil.copytree(planted[1], tmp_path / "data")
    return ["--data", tmp_path / "data", *planted[2:]]


def held(folder: Path, text: str) -> list[str]:
    """Files that hold a text; Parquet as its rows."""
    names = [name for name, content in files(folder).items() if text.encode() in content]
    for path in folder.rglob("*.parquet"):
        names += [path.name] if text in json.dumps(pl.read_parquet(path).to_dicts(), ensure_ascii=False) else []
    return names


def test_a_key_blocks_the_release_and_is_shown_nowhere(copy: list[str | Path]) -> None:
    data = Path(copy[1])
    ended = call("release", *copy)
    assert ended.status == 1
    for name in PLANTED:
        assert name in ended.err
    assert "--on-keys redact" in ended.err
    assert not (data / "release").exists()
    reports = data / "work" / "reports" / "privacy"
    assert str(reports) in ended.err
    finds = lines(reports / "finds.jsonl")
    assert {row["kind"] for row in finds} == {"github_token", "gitlab_token", "private_key", "email"}
    for secret in (TOKEN[4:12], CUT[6:14], BODY[:10], "lovelace"):
        assert secret not in ended.err + ended.text
        assert not held(reports, secret)


def test_a_redacted_release_is_whole_and_holds_no_key(copy: list[str | Path]) -> None:
    data = Path(copy[1])
    ended = call("release", *copy, "--on-keys", "redact")
    assert ended.status == 0, ended.err
    release = data / "release"
    for secret in (TOKEN, TOKEN[4:20], CUT, CUT[6:16], BODY[:30]):
        assert held(release, secret) == []
    findings = validate(release)
    assert findings.ok, findings.kept
    assert {row["kind"]: row["records"] for row in findings.reported} == {"email": 1, "redacted": 3}
    quotes = [quote for row in records(release) for quote in row["evidence_steps"]]
    assert any("ls db/[redacted: github_token]" in quote["quote"] for quote in quotes)
    assert any(quote["quote"].endswith("/gateway/[redacted: gitlab_token]") for quote in quotes)
    assert "| `redacted` |" in (release / "README.md").read_text()
    again = call("release", *copy, "--on-keys", "redact")
    assert "nothing has changed, nothing was redone" in again.text


def test_addresses_are_redacted_where_that_is_asked(copy: list[str | Path]) -> None:
    ended = call("release", *copy, env={"OPENCLAWBENCH_ON_KEYS": "redact", "OPENCLAWBENCH_ON_PERSONAL": "redact"})
    assert ended.status == 0, ended.err
    release = Path(copy[1]) / "release"
    assert held(release, EMAIL) == []
    assert validate(release).ok


NAMED_KEY = "AKIA" + "Q7ZL2M5XW3RT9KDP"


def with_names(tmp_path: Path, *names: str) -> list[str | Path]:
    """Arguments of a run over one session under these names, the first of which is a record of its own."""
    raw = tmp_path / "raw" / "m"
    raw.mkdir(parents=True)
    for name in names:
        shutil.copy(EXAMPLE / "raw" / "scripted-a" / "2026.2.1-unknown-tool.jsonl", raw / f"{name}.jsonl")
    return ["--data", few_shards(tmp_path / "data"), "--raw", tmp_path / "raw"]


@pytest.mark.parametrize("action", ["block", "redact"])
def test_a_key_in_a_name_blocks_and_says_to_rename(tmp_path: Path, action: str) -> None:
    where = with_names(tmp_path, f"{NAMED_KEY} jane@x.com")
    ended = call("release", *where, "--on-keys", action)
    assert ended.status == 1
    assert "cannot be redacted: rename the file" in ended.err
    assert NAMED_KEY not in ended.err + ended.text
    assert "jane@x.com" not in ended.err
    assert not held(tmp_path / "data" / "work" / "reports" / "privacy", NAMED_KEY)
    assert not (tmp_path / "data" / "release").exists()


def test_an_address_in_a_name_is_whole_and_reported(tmp_path: Path) -> None:
    where = with_names(tmp_path, "jane@x.com")
    ended = call("release", *where, "--on-keys", "redact", "--on-personal", "redact")
    assert ended.status == 0, ended.err
    assert "in released text: email " in ended.err
    assert "in paths of inputs (datapackage.json): email 1" in ended.err
    release = tmp_path / "data" / "release"
    (row,) = records(release)
    assert row["trajectory_id"].startswith("jane@x.com.")
    assert {stage["trajectory_id"] for stage in row["stages"].values() if stage} == {row["trajectory_id"]}
    findings = validate(release)
    assert findings.ok, findings.kept
    assert {(entry["where"], entry["kind"]) for entry in findings.reported} >= {("text", "email"), ("paths", "email")}


def test_what_is_reported_is_released_and_said(copy: list[str | Path]) -> None:
    ended = call("release", *copy, "--on-keys", "report")
    assert ended.status == 0, ended.err
    assert "warning: keys are left in by --on-keys report: in released text: github_token " in ended.err
    assert "in released text: email " in call("release", *copy, "--on-keys", "report").err
    release = Path(copy[1]) / "release"
    answer = call("validate", release)
    assert answer.status == 0, answer.text
    assert "in released text: github_token" in answer.text
    assert TOKEN[4:12] not in answer.text


def test_a_key_in_a_copy_of_a_release_is_named(copy: list[str | Path], tmp_path: Path) -> None:
    assert call("release", *copy, "--on-keys", "report").status == 0
    rules = Path(copy[1]) / "release" / "privacy.json"
    rules.write_text(rules.read_text().replace('"on_key": "report"', '"on_key": "block"'))
    findings = validate(Path(copy[1]) / "release")
    assert findings.counts["text_key"] >= 3
    assert not [entry for entry in findings.kept if TOKEN[4:12] in entry.message]


def test_an_unknown_action_is_wrong_use(copy: list[str | Path]) -> None:
    ended = call("release", *copy, "--on-keys", "ignore")
    assert ended.status == 2
    assert "block, redact, report" in ended.err


def test_the_example_holds_none(example: Ran) -> None:
    assert (example.data / "work" / "reports" / "privacy" / "finds.jsonl").read_bytes() == b""
    assert manifest(example.data, "publish")["key"]


WAYS_OUT: dict[str, list[str]] = {
    "merge": ["export", "merge"],
    "normalize": ["export", "normalize"],
    "merge as csv": ["export", "merge", "--format", "csv"],
    "merge as parquet": ["export", "merge", "--format", "parquet"],
    "stage a": ["export", "stage-a"],
    **{form: ["export", "--to", form] for form in ("atif", "scout", "pi")},
    "html": ["export", "--to", "html", "2026.6.11-error-escalation"],
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_a_key_that_blocks_a_release_blocks_every_way_out(way: str, copy: list[str | Path], tmp_path: Path) -> None:
    target = tmp_path / "out"
    ended = call(*WAYS_OUT[way], *copy[:2], "-o", target)
    assert ended.status == 1, (way, ended.text)
    assert "nothing is written" in ended.err
    assert any(name in ended.err for name in PLANTED), ended.err
    assert "--on-keys redact" in ended.err
    assert not target.exists(), [*target.rglob("*")]
    for secret in (TOKEN[4:12], CUT[6:14], BODY[:10]):
        assert secret not in ended.err + ended.text


@pytest.mark.parametrize("way", WAYS_OUT)
def test_what_leaves_redacted_holds_no_key(way: str, copy: list[str | Path], tmp_path: Path) -> None:
    target = tmp_path / "out" / ("out.parquet" if way == "merge as parquet" else "out")
    target.parent.mkdir()
    ended = call(*WAYS_OUT[way], *copy[:2], "-o", target, "--on-keys", "redact", "--on-personal", "redact")
    assert ended.status == 0, (way, ended.err)
    for secret in (TOKEN, TOKEN[4:20], CUT, CUT[6:16], BODY[:30], EMAIL):
        assert held(target.parent, secret) == []
    written = (
        b"".join(files(target.parent).values())
        + json.dumps([pl.read_parquet(path).to_dicts() for path in target.parent.rglob("*.parquet")]).encode()
    )
    assert b"[redacted: github_token]" in written


def records(release: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(release.glob("fulltax_prod_v1/*/master_table_all.jsonl")) for row in lines(path)]
