"""Who gets an answer, what an answer may hold, and what reaches a reviewer."""

import html
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from child import call
from hostile import ELEMENTS, HOSTILE, SCRIPT, write_hostile
from serving import LOOPBACK, Served, Visitor

from openclawbench.base.canonical_json import canonical_json
from openclawbench.errors import ReleaseBlocked, UnreadableInput, UsageError
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workbench.access import Person
from openclawbench.workbench.app import ROUTES
from openclawbench.workbench.export_page import export_page
from openclawbench.workbench.pages.login import Logins, add_person
from openclawbench.workbench.security import IDLE, Sessions
from openclawbench.workbench.server import in_background, prepare
from openclawbench.workbench.site import open_reader

pytestmark = pytest.mark.slow

SESSION = "scripted-a/2026.6.11-error-escalation.957ec224"
READING = ["/", "/t", "/q", "/judges", "/diff", "/whatif", "/keys", "/reports/evidence", f"/t/{SESSION}"]


def test_it_listens_on_this_machine_alone(read_only: Served) -> None:
    port = int(read_only.base.rpartition(":")[2])
    with socket.create_connection((LOOPBACK, port), timeout=5):
        pass
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {LOOPBACK}
    for address in others:
        with pytest.raises(OSError), socket.create_connection((str(address), port), timeout=2):
            pass


def test_a_token_lets_one_browser_in(served: Served) -> None:
    assert httpx.get(served.base + "/").status_code == 403
    assert httpx.get(served.base + "/?token=wrong").status_code == 403
    served.visitor()
    again = httpx.get(served.address, follow_redirects=True)
    assert again.status_code == 403
    assert "used already" in again.text


def test_the_token_leaves_the_address_and_the_cookie_is_closed(served: Served) -> None:
    answer = httpx.get(served.address + "&x=1")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/?x=1"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_every_answer_has_its_headers(reader: Visitor) -> None:
    for path in [*READING, "/nothing", "/static/style.css", "/t.json"]:
        headers = reader.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'"), path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_another_host_is_refused(reader: Visitor) -> None:
    for host in ("evil.example", "127.0.0.1:1", "127.0.0.1", ""):
        assert reader.get("/t", headers={"host": host}).status_code in (400, 421)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_from_elsewhere_is_refused(auditor: Visitor, served: Served, headers: dict[str, str]) -> None:
    form = {"form_token": auditor.form_token, "human_anomaly_label": "normal"}
    answer = auditor.http.post(f"{auditor.base}/disagree/{SESSION}", data=form, headers=headers)
    assert answer.status_code == 403
    assert not (served.data / "review" / "calibration_reviews.jsonl").exists()


@pytest.mark.parametrize("token", ["", "wrong", None])
def test_a_form_needs_its_token(auditor: Visitor, served: Served, token: str | None) -> None:
    form = {"human_anomaly_label": "normal"} | ({} if token is None else {"form_token": token})
    for path in (f"/disagree/{SESSION}", "/q/draw", "/whatif", "/reload", "/role"):
        assert auditor.http.post(auditor.base + path, data=form).status_code == 403, path
    assert not list((served.data / "review").glob("*.jsonl"))


def test_reading_writes_nothing_but_whose_labels_were_seen(auditor: Visitor, served: Served) -> None:
    def times() -> dict[Path, int]:
        files = (path for path in served.data.rglob("*") if path.is_file() and path.parent.name != "labels_seen")
        return {path: path.stat().st_mtime_ns for path in files}

    before = times()
    for path in READING:
        assert auditor.get(path).status_code == 200, path
    for path in (f"/disagree/{SESSION}", "/q/draw", "/reload", "/role", "/logout"):
        assert auditor.get(path).status_code in (404, 405), path
    assert times() == before


@pytest.mark.parametrize(
    "path",
    [
        "/t/../../etc/passwd",
        "/t/scripted-a/..%2f..%2fetc%2fpasswd",
        "/t/%00",
        "/static/../site.py",
        "/static/..%2fsite.py",
        "/raw/scripted-a/x?step=1",
        f"/raw/{SESSION}?step=-1",
        f"/raw/{SESSION}?step=99999999999",
        f"/raw/{SESSION}?step=²",
        "/q/c-../x",
        "/q/../../etc",
        "/reports/../../x",
        "/whatif?file=../../secret.toml",
        "/export/scripted-a/%2e%2e",
        "/t/" + "x" * 5000,
    ],
)
def test_tricks_with_paths_find_nothing(reader: Visitor, path: str) -> None:
    answer = reader.get(path)
    assert answer.status_code == 404, answer.text[:300]
    assert "root:" not in answer.text
    assert "Traceback" not in answer.text


# ---- hostile text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the hostile session, a second pass, and a hostile comment and reviewer."""
    root = tmp_path_factory.mktemp("hostile")
    write_hostile(root / "raw")
    ended = call("run", "--data", root / "data", "--raw", root / "raw")
    assert ended.status in (0, 1), ended.err
    ended = call("annotate", "--pass", "2", "--judge", "rules", "--data", root / "data")
    assert ended.status in (0, 1), ended.err
    return root / "data"


def addresses(visitor: Visitor) -> Iterator[str]:
    """Every page about the hostile session, as the pages themselves link to it."""
    listed = visitor.get("/t").text
    links = re.findall(r'href="(/t/[^"]+)"', listed)
    assert links
    for link in dict.fromkeys(links):
        path = html.unescape(link)
        yield path
        page = visitor.get(path).text
        yield from (html.unescape(match) for match in re.findall(r'href="(/(?:raw|why|export)/[^"]+)"', page))
    yield from ["/", "/t", "/t?q=%3Cimg", "/t?label=%3Cscript%3E", "/q", "/judges", "/reports/evidence", "/nothing<b>"]
    yield from ["/reports/audit-calibration", "/t/<script>alert(1)</script>", "/reports/coverage", "/reports/agreement"]


def test_hostile_text_makes_no_element(hostile: Path) -> None:
    with in_background(prepare(hostile, name=f"ada {SCRIPT}")) as address:
        visitor = Served(address, hostile).visitor()
        seen = list(addresses(visitor))
        link = next(path for path in seen if path.startswith("/t/"))
        sent = visitor.post(
            link.replace("/t/", "/disagree/").partition("?")[0],
            as_json=True,
            human_anomaly_label="unresolved",
            audit_comment=HOSTILE,
        )
        printed = sent.json()
        assert printed["saved"] or "undecided" in printed["fault"]
        shown = 0
        for path in [*seen, link, "/reports/audit-calibration"]:
            text = visitor.get(path).text
            for element in ELEMENTS:
                assert element not in text, (path, element)
            shown += "\\u202e" in text
        assert shown >= 3, "the controls are not written out"


def test_hostile_text_reaches_every_kind_of_page(hostile: Path) -> None:
    """The counter-example: the text is there, escaped."""
    with in_background(prepare(hostile)) as address:
        visitor = Served(address, hostile).visitor()
        kinds = {path.split("/")[1] for path in addresses(visitor) if "&lt;img src=x" in visitor.get(path).text}
    assert {"t", "raw", "why", "export"} <= kinds


def test_a_key_is_masked_or_refused_in_an_export(demo: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(demo, tmp_path / "data"))
    reader = open_reader(data)
    model, name = SESSION.split("/")
    assert "Silver label" in export_page(reader, model, name)
    blind = export_page(reader, model, name, blind=True)
    assert "Silver label" not in blind
    assert "error_ignored" not in blind.replace(" ", "_")
    result = reader.trajectory(model, name)
    result["steps"][0]["reflection_text"] = "AWS key AKIA" + "IOSFODNN7QWERTYU"

    def planted(*_: str) -> dict[str, Any]:
        return result

    reader.trajectory = planted  # type: ignore[method-assign]
    with pytest.raises(ReleaseBlocked, match="aws_access_key"):
        export_page(reader, model, name)


def test_what_a_release_redacts_is_masked_in_an_export(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = PrivacyRules.load()
    masking = rules.model_copy(update={"on_key": "redact"})
    monkeypatch.setattr(PrivacyRules, "load", lambda: masking)
    reader = open_reader(demo)
    result = reader.trajectory(*SESSION.split("/"))
    key = "AKIA" + "IOSFODNN7QWERTYU"
    result["steps"][0]["reflection_text"] = f"AWS key {key} it said"

    def planted(*_: str) -> dict[str, Any]:
        return result

    monkeypatch.setattr(reader, "trajectory", planted)
    exported = export_page(reader, *SESSION.split("/"))
    assert key not in exported
    assert "[redacted: aws_access_key]" in exported


# ---- roles


def flip(folder: Path) -> None:
    """Another label, outcome, risk, slice and onset candidates for everything."""
    data = DataFolder(folder)
    for path in (data.work / "annotation").glob("*.parquet"):
        frame = pl.read_parquet(path)
        flipped = frame.with_columns(
            is_anomalous=~pl.col("is_anomalous"),
            anomaly_type_l2=pl.lit("premature_external_write"),
            severity=pl.lit("high"),
            annotator_rationale=pl.lit("the opposite"),
        )
        write_as(path, flipped)
    for path in (data.work / "fused").glob("*.parquet"):
        write_as(path, pl.read_parquet(path).with_columns(oracle_outcome=pl.lit("fail")))
    for path in (data.work / "risk").glob("*.parquet"):
        write_as(
            path, pl.read_parquet(path).with_columns(risk_score=pl.lit(99.5), slice_label=pl.lit("fail_high_risk"))
        )
    candidates = pl.col("onset_candidates")
    for path in (data.work / "onset").glob("*.parquet"):
        other = candidates.struct.with_fields(earliest_state_write_step=pl.lit(1, pl.Int64))
        write_as(path, pl.read_parquet(path).with_columns(other))
    for path in (folder / "review" / "samples").glob("c-*.rows.jsonl"):
        text = path.read_text(encoding="utf-8")
        swapped = text.replace('"silver_anomaly_label":true', '"silver_anomaly_label":1').replace(
            '"silver_anomaly_label":false', '"silver_anomaly_label":true'
        )
        path.write_text(swapped.replace('"silver_anomaly_label":1', '"silver_anomaly_label":false'), encoding="utf-8")


def write_as(path: Path, frame: pl.DataFrame) -> None:
    """Write a part with the metadata that it had."""
    import pyarrow.parquet as pq

    kept = pq.read_schema(path).metadata or {}
    table = frame.to_arrow()
    pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **kept}), path)


def crawl(folder: Path, role: str) -> dict[str, str]:
    """Every address that the pages link to, and the fixed ones, with what a person of this role gets."""
    with in_background(prepare(folder, role=role, name="rae")) as address:
        visitor = Served(address, folder).visitor()
        token = visitor.form_token
        waiting = [*READING, f"/raw/{SESSION}?step=1", f"/why/{SESSION}?step=1", f"/export/{SESSION}.html", "/t.json"]
        waiting += [f"/t/{SESSION}.json", "/index.json", "/judges.json", "/reports/audit-calibration"]
        waiting += ["/reports/statistics", "/q.json"]
        result: dict[str, str] = {}
        while waiting:
            path = waiting.pop()
            if path in result:
                continue
            text = visitor.get(path).text.replace(token, "TOKEN").replace(str(folder), "FOLDER")
            result[path] = re.sub(r"127\.0\.0\.1:\d+", "HOST", text)
            links = re.findall(r'(?:href|action)="(/[^"#]*)"', text)
            waiting += [html.unescape(link) for link in links if not link.startswith("/static")]
            if path.startswith("/q/") and "?" not in path and not path.endswith(".json"):
                waiting.append(f"{path}.json")
        return result


@pytest.mark.parametrize("role", ["reviewer", "adjudicator"])
def test_no_answer_differs_for_who_must_not_know(demo: Path, tmp_path: Path, role: str) -> None:
    folders = [Path(shutil.copytree(demo, tmp_path / name / "data")) for name in ("as-it-is", "flipped")]
    assert call("audit", "sample-calibration", "--n", "6", "--data", folders[0]).status == 0
    shutil.copytree(folders[0] / "review", folders[1] / "review")
    flip(folders[1])
    before, after = (crawl(folder, role) for folder in folders)
    assert sum(path.startswith("/q/") for path in before) >= 15
    assert before.keys() == after.keys()
    for path, text in before.items():
        assert text == after[path], path
        assert "auto_flags" not in text, path


def test_the_crawl_would_notice(demo: Path, tmp_path: Path) -> None:
    """The counter-example: an auditor's pages do differ."""
    folders = [Path(shutil.copytree(demo, tmp_path / name / "data")) for name in ("as-it-is", "flipped")]
    flip(folders[1])
    result = []
    for folder in folders:
        with in_background(prepare(folder)) as address:
            visitor = Served(address, folder).visitor()
            result.append([visitor.get(path).text for path in ("/t", f"/t/{SESSION}", f"/t/{SESSION}.json")])
    assert result[0][0] != result[1][0]
    assert "the opposite" in result[1][1]
    assert '"auto_flags"' in result[0][2]
    assert "fail high risk" in result[1][1]
    assert "candidate: state write" in result[1][1]
    assert "candidate: state write" not in result[0][1]
    assert "the opposite" not in result[0][1]


def test_who_has_seen_a_label_cannot_review_it_blind(served: Served, auditor: Visitor) -> None:
    sample = auditor.post("/q/draw", n="3").url.path.rsplit("/", 1)[-1]
    rows = auditor.get(f"/q/{sample}.json").json()["rows"]
    seen = rows[0]
    assert auditor.get(f"/t/{seen['source_model']}/{seen['place']}").status_code == 200
    auditor.post("/role", role="reviewer")
    answer = auditor.get(f"/q/{sample}/{seen['row']}")
    assert answer.status_code == 403
    assert "seen the label" in answer.text
    refused = auditor.post(f"/q/{sample}/{seen['row']}", human_anomaly_label="normal")
    assert refused.status_code == 403
    states = {row["row"]: row["state"] for row in auditor.get(f"/q/{sample}.json").json()["rows"]}
    assert states[seen["row"]] == "seen"
    assert auditor.get(f"/q/{sample}/{rows[1]['row']}").status_code == 200
    auditor.post("/role", role="auditor")
    auditor.get("/t", params={"q": rows[1]["place"]})
    auditor.post("/role", role="reviewer")
    assert auditor.get(f"/q/{sample}/{rows[1]['row']}").status_code == 403, "its label was in a list"
    assert auditor.get(f"/q/{sample}/{rows[2]['row']}").status_code == 200


@pytest.mark.parametrize(
    "path", ["/export/{}.html", "/export/{}.html?raw=1", "/why/{}?step=1", "/why/{}.json?step=1", "/t?format=ids"]
)
def test_every_page_with_a_label_closes_its_row(served: Served, auditor: Visitor, path: str) -> None:
    sample = auditor.post("/q/draw", n="3").url.path.rsplit("/", 1)[-1]
    first, second, _ = auditor.get(f"/q/{sample}.json").json()["rows"]
    assert auditor.get(path.format(f"{first['source_model']}/{first['place']}")).status_code == 200
    assert auditor.get(f"/q/{sample}/{first['row']}").status_code == 403
    others = 403 if path.startswith("/t?") else 200
    assert auditor.get(f"/q/{sample}/{second['row']}").status_code == others


def test_a_difference_of_releases_closes_the_rows_that_it_names(served: Served, auditor: Visitor) -> None:
    sample = auditor.post("/q/draw", n="3").url.path.rsplit("/", 1)[-1]
    before = Path(shutil.copytree(served.data / "release", served.data.parent / "before"))
    first, second, _ = auditor.get(f"/q/{sample}.json").json()["rows"]
    key = {"source_model": first["source_model"], "trajectory_id": first["place"]}
    for file in before.rglob("master_table*.jsonl"):
        records = [json.loads(line) for line in file.read_bytes().splitlines()]
        for record in records:
            if key.items() <= record.items():
                record["is_anomalous"] = not record["is_anomalous"]
        file.write_text("".join(f"{canonical_json(record)}\n" for record in records), encoding="utf-8")
    assert first["place"] in auditor.get("/diff", params={"before": str(before)}).text
    assert auditor.get(f"/q/{sample}/{first['row']}").status_code == 403
    assert auditor.get(f"/q/{sample}/{second['row']}").status_code == 200


def test_a_drawn_row_is_blind_for_an_auditor_too(served: Served, auditor: Visitor) -> None:
    """Whoever gives a blind verdict has not read flags, risk and onset candidates beside the step."""
    sample = auditor.post("/q/draw", n="3").url.path.rsplit("/", 1)[-1]
    (drawn, *_) = auditor.get(f"/q/{sample}.json").json()["rows"]
    explained = auditor.get(f"/q/{sample}/{drawn['row']}/why.json?step=1").json()["explained"]
    assert {"flags", "risk", "onset"} & explained.keys() == set()
    seen = auditor.get(f"/why/{drawn['source_model']}/{drawn['place']}.json?step=1").json()["explained"]
    assert {"flags", "risk", "onset"} <= seen.keys()


def test_another_start_does_not_make_a_row_blind_again(data: Path) -> None:
    """For the same name; another one has not seen the label."""

    def states(name: str) -> set[str]:
        with in_background(prepare(data, name=name, role="reviewer")) as address:
            return {row["state"] for row in Served(address, data).visitor().get(f"/q/{sample}.json").json()["rows"]}

    sample = json.loads(call("audit", "sample-calibration", "--n", "2", "--data", data, "--json").out)["sample"]
    with in_background(prepare(data, name="ada")) as address:
        assert Served(address, data).visitor().get("/t").status_code == 200  # the list shows labels
    assert states("ada") == {"seen"}
    assert states("bob") == {"open"}
    [file] = (data / "review" / "labels_seen").iterdir()
    file.write_bytes(file.read_bytes() + b'{"source_model": "torn')
    assert states("ada") == {"seen"}
    file.write_bytes(b"[]\n")
    with pytest.raises(UnreadableInput, match="line 1: does not name a trajectory"):
        prepare(data, name="ada")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_read(data: Path) -> None:
    (data / "review").mkdir(exist_ok=True)
    (data / "review").chmod(0o500)
    with in_background(prepare(data, name="ada")) as address:
        assert Served(address, data).visitor().get("/t").status_code == 200


def test_events_can_be_reviewed_by_who_has_seen_labels(served: Served, auditor: Visitor) -> None:
    ended = call("audit", "sample-events", "--n", "30", "--data", served.data, "--json")
    assert auditor.get("/t").status_code == 200
    sample = json.loads(ended.out)["sample"]
    for row in auditor.get(f"/q/{sample}.json").json()["rows"]:
        assert auditor.get(f"/q/{sample}/{row['row']}").status_code == 200
    assert auditor.post(f"/q/{sample}/{row['row']}", as_json=True, is_supported="yes").json()["saved"]


def test_who_has_settled_a_row_does_not_review_it(served: Served, auditor: Visitor) -> None:
    sample = auditor.post("/q/draw", n="3").url.path.rsplit("/", 1)[-1]
    (row, *_) = auditor.get(f"/q/{sample}.json").json()["rows"]
    for name, label in (("ben", "normal"), ("cy", "anomalous")):
        with in_background(prepare(served.data, role="reviewer", name=name)) as address:
            other = Served(address, served.data).visitor()
            assert other.post(f"/q/{sample}/{row['row']}", as_json=True, human_anomaly_label=label).json()["saved"]
    auditor.post("/role", role="adjudicator")
    assert auditor.post(f"/adjudicate/{sample}/{row['row']}", human_anomaly_label="normal").status_code == 200
    auditor.post("/role", role="reviewer")
    states = {entry["row"]: entry["state"] for entry in auditor.get(f"/q/{sample}.json").json()["rows"]}
    assert states[row["row"]] == "seen"
    assert auditor.get(f"/q/{sample}/{row['row']}").status_code == 403
    assert auditor.post(f"/q/{sample}/{row['row']}", human_anomaly_label="normal").status_code == 403


def test_nobody_settles_a_row_of_their_own(served: Served, auditor: Visitor) -> None:
    sample = auditor.post("/q/draw", n="3").url.path.rsplit("/", 1)[-1]
    (row, *_) = auditor.get(f"/q/{sample}.json").json()["rows"]
    auditor.post("/role", role="reviewer")
    assert auditor.post(f"/q/{sample}/{row['row']}", as_json=True, human_anomaly_label="normal").json()["saved"]
    with in_background(prepare(served.data, role="reviewer", name="ben")) as address:
        other = Served(address, served.data).visitor()
        other.post(f"/q/{sample}/{row['row']}", as_json=True, human_anomaly_label="anomalous")
    auditor.post("/role", role="adjudicator")
    assert row["row"] in auditor.get(f"/adjudicate/{sample}").text
    for answer in (
        auditor.get(f"/adjudicate/{sample}/{row['row']}"),
        auditor.post(f"/adjudicate/{sample}/{row['row']}", human_anomaly_label="normal"),
    ):
        assert answer.status_code == 403
        assert "is yours" in answer.text


# ---- a shared server


def test_a_shared_server_needs_people_and_an_origin(data: Path) -> None:
    with pytest.raises(UsageError, match="--origin"):
        prepare(data, host="0.0.0.0")
    with pytest.raises(UsageError, match="--add-reviewer"):
        prepare(data, host="0.0.0.0", origin="https://review.example")


def test_people_log_in_with_their_role(data: Path) -> None:
    people = data / "review" / "reviewers.toml"
    add_person(people, "Ada Lovelace", "reviewer", "correct horse")
    add_person(people, "Max", "auditor", "battery staple")
    assert oct(people.stat().st_mode)[-3:] == "600"
    assert "correct horse" not in people.read_text()
    logins = Logins(people)
    assert logins.role("Ada Lovelace", "correct horse") == "reviewer"
    assert logins.role("Ada Lovelace", "battery staple") is None
    assert logins.role("Nobody", "correct horse") is None
    with pytest.raises(UsageError, match="at least"):
        add_person(people, "Max", "auditor", "short")


def test_wrong_passwords_have_to_wait(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = data / "review" / "reviewers.toml"
    add_person(people, "Ada", "reviewer", "correct horse")
    logins, now = Logins(people), [1000.0]
    monkeypatch.setattr("openclawbench.workbench.pages.login.time.monotonic", lambda: now[0])
    waits = []
    for _ in range(9):
        waits.append(logins.wait("Ada"))
        logins.failed("Ada")
    assert waits == [0, 0, 0, 0, 0, 1, 2, 4, 8]
    now[0] += 16
    assert logins.wait("Ada") == 0
    for number in range(2000):
        logins.failed(f"nobody {number}")
    assert "Ada" in logins.failures and len(logins.failures) <= 1000


def test_a_session_ends_when_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("openclawbench.workbench.security.time.monotonic", lambda: now[0])
    sessions = Sessions()
    headers = {"cookie": f"{sessions.cookie}={sessions.enter(Person('ada', 'reviewer'))}"}
    for _ in range(5):
        now[0] += IDLE - 1
        assert sessions.person(headers) is not None
    now[0] += IDLE + 1
    assert sessions.person(headers) is None
    assert not sessions.people


def test_a_login_over_http(data: Path, free_port: int) -> None:
    add_person(data / "review" / "reviewers.toml", "Ada", "reviewer", "correct horse")
    origin = f"http://127.0.0.1:{free_port}"
    with (
        in_background(prepare(data, port=free_port, host="0.0.0.0", origin=origin)),
        httpx.Client(headers={"origin": origin}, follow_redirects=True) as http,
    ):
        assert http.get(origin + "/t").url.path == "/login"
        wrong = http.post(origin + "/login", data={"name": "Ada", "password": "x"})
        assert wrong.status_code == 403
        for _ in range(4):
            http.post(origin + "/login", data={"name": "Ada", "password": "x"})
        early = http.post(origin + "/login", data={"name": "Ada", "password": "correct horse"})
        assert early.status_code == 429
        time.sleep(float(early.headers["retry-after"]))
        right = http.post(origin + "/login", data={"name": "Ada", "password": "correct horse"})
        assert right.url.path == "/q"
        assert http.get(origin + "/t").status_code == 403
        token = re.search(r'form_token" value="([^"]+)"', http.get(origin + "/keys").text)
        form = {"form_token": token[1] if token else "", "role": "auditor"}
        assert http.post(origin + "/role", data=form).status_code == 403


def test_every_route_is_known_to_these_tests() -> None:
    """A new address must be thought about: which role may see it."""
    paths = {getattr(route, "path", "").split("/")[1] for route in ROUTES}
    assert {path.removesuffix(".json") for path in paths} == {
        *("", "index", "t", "keys", "raw", "why", "export", "q", "disagree", "adjudicate", "judges", "diff"),
        *("whatif", "reports", "role", "reload", "login", "logout", "static"),
    }
