"""Finds in released text: every rule finds its kind, words of documentation are none, nothing is shown whole."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_personal_forms import FORMS as PERSONAL
from test_privacy_forms import EVERY, filled

from openclawbench.base.canonical_json import canonical_json
from openclawbench.records.release import ReleaseLine
from openclawbench.release.privacy import scan
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.publishing import Redaction, Row, Scanned
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import finds_in, finds_of, texts_of
from openclawbench.release.privacy.search import search_text
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import schema

RULES = PrivacyRules.load()
PRIVACY_FINDER = PrivacyFinder(RULES)
BODY = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MaLIFVHvuqk2jpWn"
# Put together here, so that no scanner of this repository takes them for keys.
SECRETS = {
    "aws_access_key": "AKIA" + "Q3EGRJ7ZLNB5TQWD",
    "aws_secret_key": "aws_secret_access_key = " + "wJalrXUtnFEMIK7MDENGbPxRfiCYzzR5AbC9dEfG",
    "azure_storage_key": "AccountKey=" + "q7Zp" * 22,
    "basic_auth": "https://ada:" + "tr0ub4dor" + "@db.internal/x",
    "discord_token": "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
    "github_token": "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5",
    "gitlab_token": "glpat-" + "Zq7rT4mK9xW2vB6nL3sD",
    "json_web_token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJhZGEifQ." + "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "mailchimp_key": "7d3f9a1c5e8b2d4f6a0c9e7b1d3f5a8c" + "-us14",
    "npm_token": "npm_" + "Zk4Rt9Wm2Xq7Lb5Vn8Cs3Df6Gh1JyAeTuIoP",
    "openai_key": "sk-" + "Ab3dEf6hIj9kLm2nOp5q" + "T3BlbkFJ" + "Rs8tUv1wXy4zAb7cDe0f",
    "provider_key": "sk-ant-" + "api03-Zk4Rt9Wm2Xq7Lb5Vn8Cs3Df6Gh",
    "private_key": "-----BEGIN RSA PRIVATE" + f" KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE" + " KEY-----",
    "pypi_token": "pypi-AgEIcHlwaS5vcmc" + "Zk4Rt9Wm2X" * 8,
    "sendgrid_key": "SG." + "Zk4Rt9Wm2Xq7Lb5Vn8Cs3D" + "." + "f6Gh1JyAeTuIoPZk4Rt9Wm2Xq7Lb5Vn8Cs3Df6Gh1Jy",
    "slack_token": "xoxb-" + "203948576123-203948576124-zk4rt9wm2xq7",
    "square_secret": "sq0csp-" + "Zk4Rt9Wm2Xq7Lb5Vn8Cs3Df6Gh1JyAeTuIoPZk4Rt9W",
    "stripe_key": "sk_live_" + "Zk4Rt9Wm2Xq7Lb5Vn8Cs3Df6",
    "telegram_token": "723948576:AA" + "Zk4Rt9Wm2Xq7Lb5Vn8Cs3Df6Gh1JyAeTu",
    "email": "ada.lovelace@analytical-engine.org",
    "phone": "+44 20 7946 0018",
}
NONE = [
    "-----BEGIN RSA PRIVATE" + " KEY----- is what grep looks for",
    "AKIAIOSFODNN7EXAMPLE",
    "mail me at ada@example.com, or git clone git@github.com:a/b.git",
    "postgres://user:password@localhost/db and https://$USER:$TOKEN@host/",
    "a task-runner-that-never-ends-and-so-on-and-on-again, risk-assessment-of-the-whole-of-it",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "/home/user/projects/openclaw/src/index.ts:120:33",
    "2026-11-30T12:00:00.000+08:00, +1, 100-200-3000, 192.168.100.200, call 555-0123 or (555) 555-0123",
    "icon@2x.png @types/node@20.1.2 user@host",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
]


def line(text: Any) -> dict[str, Any]:
    return {"source_model": "m", "trajectory_id": "t", "steps": [{"step_id": 1, "action_text": text}]}


def kinds(text: str) -> list[str]:
    return [hit.kind for hit in PRIVACY_FINDER.hits(text)]


@pytest.mark.parametrize("kind", SECRETS)
def test_each_kind_is_found_as_a_whole_wherever_it_stands(kind: str) -> None:
    secret = SECRETS[kind]
    for text in (secret, f"before {secret} after", json.dumps({"command": f"run\n{secret}\n"})):
        (hit,) = PRIVACY_FINDER.hits(text)
        assert hit.kind == kind
        assert text[hit.start : hit.end] not in ("", "ghp")


def test_every_kind_of_the_rules_is_tested() -> None:
    """Here, or in a form whose outcome is told (test_privacy_forms.py)."""
    actual_kinds = {hit.kind for form in EVERY for hit in PRIVACY_FINDER.hits(filled(form))}
    own_kinds = {rule.kind for rule in RULES.rule if rule.source is None}
    assert own_kinds <= actual_kinds | set(SECRETS) | set(PERSONAL)


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("written", [str, json.dumps, lambda text: json.dumps(json.dumps(text))])
def test_the_quick_look_passes_over_no_line_with_a_find(kind: str, written: Any) -> None:
    frame = pl.DataFrame(
        {"line": [canonical_json(line(written({"say": SECRETS[kind]} if written is not str else SECRETS[kind])))]}
    )
    assert PRIVACY_FINDER.worth_a_look(frame["line"]).select(pl.any_horizontal(pl.all())).to_series().sum() == 1


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_secret_is_no_find(text: str) -> None:
    assert kinds(text) == []


def test_a_find_says_where_and_shows_nothing() -> None:
    token, other = SECRETS["github_token"], SECRETS["slack_token"]
    (first, second) = finds_in(line(f"export A={token} B={other}"), PRIVACY_FINDER, "f.jsonl", 7)
    assert first[:8] == ("f.jsonl", 7, "m", "t", 1, "steps[0].action_text", "key", "github_token")
    assert first.excerpt == "export A=ghp_…(40 characters) B=…(43 characters)"
    assert second.excerpt == "ghp_…(40 characters) B=…(43 characters)"
    for find in (first, second):
        assert token[4:12] not in find.excerpt and other[5:12] not in find.excerpt


def test_texts_know_their_step() -> None:
    value = {"a": ["x", {"step_id": 3, "b": "y"}], "n": 1, "z": None}
    assert list(texts_of(value)) == [("a[0]", None, "x"), ("a[1].b", 3, "y")]


def lines_of(rows: list[dict[str, Any]]) -> pl.LazyFrame:
    """Rendered lines of the master table."""
    files = ["master_table_all.jsonl", "accepted_main_all.jsonl"]
    return pl.LazyFrame(
        [{name: row[name] for name in TRAJECTORY_KEY} | {"files": files, "line": canonical_json(row)} for row in rows],
        schema(ReleaseLine),
    )


def looked_at(folder: Path, passes: list[list[list[dict[str, Any]]]]) -> Scanned:
    """What is known of the finds in these rows: of each pass, of each shard."""
    tables = []
    for number, shards in enumerate(passes):
        parts = {shard: folder / f"{number}-{shard}.parquet" for shard in range(len(shards))}
        for shard, rows in enumerate(shards):
            search_text.call(lines_of(rows), RULES).collect().write_parquet(parts[shard])
        tables.append(parts)
    scanned = Scanned(RULES.model_copy(update={"on_email": "redact"}))
    scanned.count_finds(tables, [])
    return scanned


def test_finds_are_counted_by_record_over_both_passes_and_those_of_a_redacted_one_replaced(tmp_path: Path) -> None:
    email, phone = line(f"{SECRETS['email']} and {SECRETS['email']}"), line(SECRETS["phone"]) | {"trajectory_id": "u"}
    scanned = looked_at(tmp_path, [[[email], [phone]], [[email], []]])
    assert scanned.kinds.table() == [
        {"group": "email", "kind": "email", "finds": 4, "records": 1},
        {"group": "phone", "kind": "phone", "finds": 1, "records": 1},
    ]
    assert [find.kind for find in scanned.kept] == ["email", "email", "phone", "email", "email"]
    redaction = Redaction(scanned.rules, pl.concat(scanned.redacted))
    assert set(redaction.former) == {("m", "t")}
    rows = [Row("m", "t", ["stage_a_raw_pass1.jsonl"], canonical_json(email | {"parsed": None}).encode())]
    (redacted,) = redaction.lines(rows)
    assert b"[redacted: email] and [redacted: email]" in redacted.line
    scanned.kinds.update(redaction.change)
    assert [tuple(row.values()) for row in scanned.kinds.table()] == [
        ("phone", "phone", 1, 1),
        ("redacted", "redacted", 2, 1),
    ]


def test_finds_in_names_and_in_texts_block_apart(tmp_path: Path) -> None:
    name, token = SECRETS["provider_key"], SECRETS["github_token"]
    in_name, in_text = line("plain") | {"trajectory_id": name}, line(f"{token} {SECRETS['slack_token']}")
    scanned = looked_at(tmp_path, [[[in_name, in_text]]])
    assert (scanned.in_names, scanned.in_texts) == (1, 1)
    assert looked_at(tmp_path, []).kinds.table() == []


def test_a_line_that_is_no_record_is_searched_all_the_same() -> None:
    broken = [f'{{"a":"{SECRETS["email"]}', f'["{SECRETS["email"]}"]', f'"{SECRETS["email"]}"']
    frame = pl.DataFrame({"line": broken, "file": "f", "number": [1, 2, 3]})
    assert [find.line for find in finds_of(frame, PRIVACY_FINDER)] == [1, 2, 3]


def test_half_a_character_in_a_text_does_not_end_the_search() -> None:
    text = json.dumps({"source_model": "m", "trajectory_id": "t", "text": f"\ud83d mail {SECRETS['email']}"})
    table = pl.DataFrame({"line": [text], "file": ["f"], "number": [1]})
    assert [(find.kind, find.excerpt) for find in finds_of(table, PRIVACY_FINDER)] == [
        ("email", f"? mail …({len(SECRETS['email'])} characters)")
    ]


def test_long_lines_are_read_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [json.dumps(line(f"{number} {SECRETS['email']}")) for number in range(7)]
    table = pl.DataFrame({"line": texts, "file": "f", "number": range(7)})
    complete, heights = [*finds_of(table, PRIVACY_FINDER)], list[int]()
    search = PRIVACY_FINDER.suspects
    monkeypatch.setattr(scan, "BYTES_AT_ONCE", 3 * len(texts[0]))
    monkeypatch.setattr(PRIVACY_FINDER, "suspects", lambda *args: heights.append(len(args[2])) or search(*args))
    assert [*finds_of(table, PRIVACY_FINDER)] == complete
    assert [find.line for find in complete] == [*range(7)]
    assert heights == [3, 3, 1]
    assert [*finds_of(table.clear(), PRIVACY_FINDER)] == []
