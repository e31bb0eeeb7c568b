"""Bad input: a sentence, a reason code, a count in the manifest, the rest processed, the right exit status."""

import json
import os
import re
import shutil
import socket
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from child import EXAMPLE, Ended, call, call_all, few_shards, lines, manifest, table

pytestmark = pytest.mark.slow

GOOD = EXAMPLE / "raw" / "scripted-a" / "2026.4.15-parallel-tools.jsonl"
OTHER = EXAMPLE / "raw" / "scripted-a" / "2026.4.15-memory-write.jsonl"
TRACEBACK = "Traceback (most recent call last)"
# path below raw/ -> (reason, what the sentence says, line); all of them quarantined
QUARANTINED = {
    "m/empty.jsonl": ("empty_file", "the file is empty", None),
    "m/blank.jsonl": ("empty_file", "the file is empty", None),
    "m/other-json.jsonl": ("not_a_session", "the first record is of no known session format", 1),
    "m/no-json.jsonl": ("not_json", "line 1: not JSON", 1),
    "m/binary.jsonl": ("not_json", "line 1: not JSON", 1),
    "m/broken-middle.jsonl": ("broken_json", "line 4: not JSON", 4),
    "m/wrong-shape.jsonl": ("unexpected_shape", "line 5", 5),
    "m/dangling.jsonl": ("unreadable_file", "a link to nothing", None),
    "m/pipe.jsonl": ("unreadable_file", "neither a file nor a folder", None),
    "m/socket.jsonl": ("unreadable_file", "neither a file nor a folder", None),
    "m/back.jsonl": ("unreadable_file", "a link that leads back", None),
    "m/caf\\xe9.jsonl": ("unreadable_file", "its name is not UTF-8", None),
    "two\nlines/model.jsonl": ("unreadable_file", "the name of its first folder holds a line break", None),
    "no-model.jsonl": ("no_source_model", "Put it under raw/<source_model>/", None),
}
WARNED = {
    "m/torn.jsonl": ("torn_last_line", "in line"),
    "m/latin-1.jsonl": ("invalid_utf8", "in line"),
}
COPIES = ["m/plain.jsonl.reset.2026-11-21T12-00-00.000Z", "m/under-another-name.jsonl", "m/shorter.jsonl"]
KEPT = ["m/folder.jsonl/inside.jsonl", "m/linked/far.jsonl", "m/latin-1.jsonl", "m/torn.jsonl", "m/plain.jsonl"]
SIDECARS = ["m/notes.txt", "m/plain.jsonl.lock"]


@dataclass(frozen=True)
class Bad:
    """A run over everything that is wrong, with some sessions that are not."""

    raw: Path
    data: Path
    ended: Ended


def another(number: int, path: Path = OTHER) -> bytes:
    """A session of its own: the same records under another id."""
    header, rest = path.read_bytes().split(b"\n", 1)
    return re.sub(rb'"id":"[^"]*"', b'"id":"made-%d"' % number, header, count=1) + b"\n" + rest


def spoil(raw: Path) -> None:
    """Write every bad file, and the good ones beside them."""
    model = raw / "m"
    model.mkdir(parents=True)
    good = GOOD.read_bytes()
    rows = another(1).split(b"\n")
    (model / "plain.jsonl").write_bytes(good)
    (model / COPIES[0][2:]).write_bytes(good)
    (model / "under-another-name.jsonl").write_bytes(good)
    (model / "shorter.jsonl").write_bytes(b"\n".join(good.split(b"\n")[:5]) + b"\n")
    (model / "empty.jsonl").touch()
    (model / "blank.jsonl").write_bytes(b"\n \n")
    (model / "other-json.jsonl").write_bytes(b'{"hello": "world"}\n')
    (model / "no-json.jsonl").write_bytes(b"Dear diary,\n")
    (model / "binary.jsonl").write_bytes(bytes(range(256)))
    (model / "broken-middle.jsonl").write_bytes(b"\n".join([*rows[:3], rows[3][:40], *rows[4:]]))
    (model / "wrong-shape.jsonl").write_bytes(b"\n".join([*rows[:4], b'["a list"]', *rows[5:]]))
    (model / "torn.jsonl").write_bytes(another(2).rstrip(b"\n")[:-30])
    (model / "latin-1.jsonl").write_bytes(
        another(3).replace(b'"type":"text","text":"', b'"type":"text","text":"\xe9', 1)
    )
    (model / "dangling.jsonl").symlink_to(model / "nowhere.jsonl")
    (model / "back.jsonl").symlink_to(raw)
    os.mkfifo(model / "pipe.jsonl")
    os.mkfifo(model / "pipe")
    here = Path.cwd()
    os.chdir(model)  # the path of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as entry:
            entry.bind("socket.jsonl")
    finally:
        os.chdir(here)
    (model / "folder.jsonl").mkdir()
    (model / "folder.jsonl" / "inside.jsonl").write_bytes(another(4))
    far = raw.parent / "far"
    far.mkdir()
    (far / "far.jsonl").write_bytes(another(5))
    (model / "linked").symlink_to(far)
    (raw / "no-model.jsonl").write_bytes(another(6))
    (raw / "two\nlines").mkdir()
    (raw / "two\nlines" / "model.jsonl").write_bytes(another(8))
    (model / "notes.txt").write_text("not a session")
    (model / "plain.jsonl.lock").write_text('{\n "pid": 1,\n "createdAt": "2026-11-21T12:00:00Z"\n}\n')
    with open(os.fsencode(model) + b"/caf\xe9.jsonl", "wb") as file:  # noqa: PTH123 (a name that is not text)
        file.write(another(7))


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    folder = tmp_path_factory.mktemp("bad")
    spoil(folder / "raw")
    data = few_shards(folder / "data")
    return Bad(folder / "raw", data, call("run", "--data", data, "--raw", folder / "raw"))


def outcomes(bad: Bad) -> dict[str, dict[str, object]]:
    """What became of each file, by its path."""
    rows = pl.read_parquet(bad.data / "work" / "file_outcome" / "*.parquet").to_dicts()
    return {row["path"]: row for row in rows}


def test_the_run_ends_with_a_release_and_asks_for_a_person(bad: Bad) -> None:
    assert bad.ended.status == 1
    assert TRACEBACK not in bad.ended.err + bad.ended.text
    assert {row["trajectory_id"].rsplit(".", 1)[0] for row in table(bad.data, "trajectory")} == {
        Path(path).name.removesuffix(".jsonl") for path in KEPT
    }
    released = lines(bad.data / "release" / "fulltax_prod_v1" / "m" / "master_table_all.jsonl")
    assert len(released) == len(KEPT)


@pytest.mark.parametrize("path", QUARANTINED)
def test_a_file_that_cannot_be_used(bad: Bad, path: str) -> None:
    reason, sentence, line = QUARANTINED[path]
    row = outcomes(bad)[path]
    assert (row["disposition"], row["reason"], row["line"]) == ("quarantined", reason, line)
    shown = path.replace("\n", "\\n")
    reported = [text for text in bad.ended.err.splitlines() if shown in text]
    assert len(reported) == 1
    assert reported[0].startswith(f"{reason}: ") and sentence in reported[0]
    assert reported[0].rstrip().endswith(".")


@pytest.mark.parametrize("path", WARNED)
def test_a_fault_that_does_not_stop_a_file(bad: Bad, path: str) -> None:
    reason, sentence = WARNED[path]
    row = outcomes(bad)[path]
    assert (row["disposition"], row["reason"]) == ("trajectory", None)
    assert [(warning["name"], warning["count"]) for warning in row["warnings"]] == [(reason, 1)]
    sentence += f" {row['warnings'][0]['line']};"
    assert any(line.startswith(f"{reason}: {path}") and sentence in line for line in bad.ended.err.splitlines())


def test_status_shows_what_was_kept_with_a_warning(bad: Bad) -> None:
    input_warnings = json.loads(call("status", "--json", "--data", bad.data, "--raw", bad.raw).text)["input_warnings"]
    assert {
        (input_warning["file"], input_warning["reason"], input_warning["count"]) for input_warning in input_warnings
    } == {(path, reason, 1) for path, (reason, _) in WARNED.items()}
    shown = call("status", "--data", bad.data, "--raw", bad.raw).text
    assert "Kept with a warning" in shown
    assert all(any(reason in line for line in shown.splitlines()) for reason, _ in WARNED.values())


def test_a_torn_session_is_truncated_and_bad_bytes_are_kept(bad: Bad) -> None:
    trajectories = {row["source_file"]: row for row in table(bad.data, "trajectory")}
    assert [path for path, row in trajectories.items() if row["truncated"]] == ["m/torn.jsonl"]
    turns = [row["raw_text"] for row in table(bad.data, "user_turn") if row["trajectory_id"].startswith("latin-1.")]
    assert turns and turns[0].startswith("\\xe9")


def test_copies_are_counted_and_give_one_trajectory(bad: Bad) -> None:
    actual_outcomes = outcomes(bad)
    assert {path for path, row in actual_outcomes.items() if row["disposition"] == "copy"} == set(COPIES)
    assert {actual_outcomes[path]["reason"] for path in COPIES} == {"copy_of"}
    assert {actual_outcomes[path]["trajectory_id"] for path in COPIES} == {
        actual_outcomes["m/plain.jsonl"]["trajectory_id"]
    }


def test_files_beside_sessions_are_named_and_alarm_nobody(bad: Bad) -> None:
    actual_outcomes = outcomes(bad)
    assert {path for path, row in actual_outcomes.items() if row["disposition"] == "sidecar"} == set(SIDECARS)
    assert not any(path in bad.ended.err for path in ("notes.txt", ".lock"))


def test_every_reason_is_counted_in_the_manifest(bad: Bad) -> None:
    stated_manifest = manifest(bad.data, "normalize")
    counted = Counter({row["reason"]: 0 for row in stated_manifest["reasons"]["FileOutcome"]})
    for row in stated_manifest["reasons"]["FileOutcome"]:
        counted[row["reason"]] += row["count"]
    expected = Counter(reason for reason, _, _ in QUARANTINED.values())
    expected.update({"copy_of": len(COPIES), None: len(KEPT), "no_session": 1, "session_lock": 1})
    assert counted == expected
    assert stated_manifest["counts"]["FileOutcome"]["warnings"] == {"invalid_utf8": 1, "torn_last_line": 1}
    assert stated_manifest["outputs"]["FileOutcome"]["rows"] == len(outcomes(bad)) == expected.total()


def test_sessions_and_records_add_up(bad: Bad) -> None:
    form = r"^sessions (\d+) read: (\d+) trajectories \(.*\), (\d+) copies, (\d+) quarantined$"
    shown = re.search(form, bad.ended.text, re.MULTILINE)
    assert shown
    sessions, trajectories, copies, quarantined = map(int, shown.groups())
    assert sessions == trajectories + copies + quarantined
    assert (trajectories, copies, quarantined) == (len(KEPT), len(COPIES), len(QUARANTINED))
    for path, row in outcomes(bad).items():
        counts = row["record_counts"]
        assert isinstance(counts, list)
        assert sum(count["count"] for count in counts) == row["records_in"], path


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """Calls that cannot be carried out, or with an oracle that is broken in places."""
    folder = tmp_path_factory.mktemp("calls")
    raw = folder / "raw"
    (raw / "m").mkdir(parents=True)
    shutil.copy2(GOOD, raw / "m" / "plain.jsonl")
    (folder / "nothing").mkdir()
    (folder / "empty-model" / "m").mkdir(parents=True)
    (folder / "beside" / "m").mkdir(parents=True)
    (folder / "beside" / "m" / "notes.txt").write_text("not a session")
    (folder / "file").write_text("a file")
    (folder / "oracle.jsonl").write_text(
        '{"source_model": "m", "native_session_basename": "plain", "success": true}\n'
        "{broken\n"
        '{"source_model": "m", "native_session_basename": "plain", "success": "perhaps"}\n'
        '{"source_model": "m", "native_session_basename": "plain", "status": "invented"}\n'
        '{"source_model": "m", "native_session_basename": "plain", "status": "not_scored", "success": true}\n'
    )
    for name, text in {
        "unknown": "# one\njuge = 'rules'\nblnd = true\non_keys = 'blok'\n[bfcl]\nmodel = {}\n",
        "type": "quarantine_limit = 'many'\n",
        "toml": "raw = \n",
    }.items():
        (folder / name).mkdir()
        (folder / name / "openclawbench.toml").write_text(text)
    few_shards(folder / "faults", 1)
    few_shards(folder / "sidecars", 1)
    run: list[list[str | Path]] = [["run", "--data", folder / f"data-{number}"] for number in range(6)]
    return call_all(
        {
            "no_raw": [*run[0], "--raw", folder / "nowhere"],
            "no_raw_debug": [*run[1], "--raw", folder / "nowhere", "--debug"],
            "raw_is_a_file": [*run[2], "--raw", folder / "file"],
            "raw_holds_data": ["run", "--data", raw / "m" / "data", "--raw", raw],
            "raw_is_data": ["run", "--data", raw, "--raw", raw],
            "no_files": [*run[3], "--raw", folder / "nothing"],
            "no_sessions": [*run[4], "--raw", folder / "empty-model"],
            "sidecars_only": ["run", "--data", folder / "sidecars", "--raw", folder / "beside"],
            "no_oracle": [*run[5], "--raw", raw, "--oracle", folder / "nowhere.jsonl"],
            "data_is_a_file": ["run", "--data", folder / "file", "--raw", raw],
            "unknown_setting": ["run", "--data", folder / "unknown"],
            "setting_type": ["run", "--data", folder / "type"],
            "setting_syntax": ["run", "--data", folder / "toml"],
            "broken_oracle": ["fuse", "--data", folder / "faults", "--raw", raw, "--oracle", folder / "oracle.jsonl"],
        }
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_raw", r"error: .*/nowhere: there is no such folder\. Put sessions under .* or name --raw\.$"),
        ("raw_is_a_file", r"error: .*/file: is a file\."),
        ("raw_holds_data", r"error: .*: holds the data folder .*/m/data, so a run would read what runs write\. Name "),
        ("raw_is_data", r"error: .*: holds the data folder .*, so a run would read what runs write\. Name "),
        ("no_files", r"error: .*/nothing: holds no files\. Put sessions under "),
        ("no_sessions", r"error: .*/empty-model: holds no files\."),
        ("no_oracle", r"error: .*/nowhere\.jsonl: there is no such oracle file or folder\. Name an existing one\.$"),
        ("data_is_a_file", r"error: .*/file: cannot write here: .*\. Name another --data\.$"),
        (
            "unknown_setting",
            r'error: .*/unknown/openclawbench\.toml: line 2: juge: there is no such setting; did you mean "judge"\? .*'
            r'line 3: blnd: there is no such setting; did you mean "blind"\? .*'
            r'line 4: on_keys blok: there is no such on_keys; did you mean "block"\? .*'
            r'line 5: bfcl\.model: there is no such setting; did you mean "models"\?',
        ),
        (
            "setting_type",
            r"error: .*openclawbench\.toml: line 1: quarantine_limit 'many': is not a number\. Give a whole",
        ),
        ("setting_syntax", r"error: .*openclawbench\.toml: cannot read the settings: .*line 1"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_one_sentence(calls: dict[str, Ended], name: str, sentence: str) -> None:
    ended = calls[name]
    assert ended.status == 2
    assert ended.text == ""
    assert re.match(sentence, ended.err), ended.err
    assert ended.err.count("\n") == 1


def test_debug_shows_where_it_came_from(calls: dict[str, Ended]) -> None:
    assert calls["no_raw_debug"].status != 0
    assert TRACEBACK in calls["no_raw_debug"].err
    assert "UnreadableInput" in calls["no_raw_debug"].err


def test_a_folder_with_files_but_no_session_says_so(calls: dict[str, Ended]) -> None:
    ended = calls["sidecars_only"]
    assert ended.status == 1
    assert re.search(r"^no_sessions: no file here is a session\. Put ", ended.err, re.MULTILINE)
    assert TRACEBACK not in ended.err


def test_broken_oracle_lines_are_named_and_the_good_one_is_used(calls: dict[str, Ended]) -> None:
    ended = calls["broken_oracle"]
    assert ended.status == 1
    actual_lines = ended.err.splitlines()
    for line, reason in enumerate(
        ["oracle_broken_json", "oracle_malformed", "oracle_unknown_status", "oracle_contradicts_itself"], start=2
    ):
        assert any(
            actual_line.startswith(f"{reason}: ") and f"line {line}: " in actual_line for actual_line in actual_lines
        ), reason
    assert TRACEBACK not in ended.err
    assert re.search(r"^m +│ +- │ +1 │ +1 │ +1 │ +1 │", ended.text, re.MULTILINE), ended.text
