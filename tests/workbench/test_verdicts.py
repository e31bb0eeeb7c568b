"""Verdicts: the same records as `audit import`, on disk when they are acknowledged, none lost and none twice."""

import html
import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from child import call, few_shards, small_raw
from serving import Served, Visitor

from openclawbench.audit.calibration.form import CALIBRATION
from openclawbench.audit.review_folder import reviews
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workbench.desk import Desk
from openclawbench.workbench.server import in_background, prepare

pytestmark = pytest.mark.slow

SESSION = "scripted-a/2026.6.11-error-escalation.957ec224"


@pytest.fixture
def sample(served: Served) -> str:
    """A blind sample of five rows."""
    ended = call("audit", "sample-calibration", "--n", "5", "--data", served.data, "--json")
    assert ended.status == 0, ended.err
    return str(json.loads(ended.out)["sample"])


@pytest.fixture
def reviewer(served: Served, sample: str) -> Visitor:
    visitor = served.visitor()
    visitor.post("/role", role="reviewer")
    return visitor


def queue(visitor: Visitor, sample: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(visitor.get(f"/q/{sample}.json").text)["rows"]
    return rows


def records(data: Path) -> list[dict[str, Any]]:
    path = data / "review" / "calibration_reviews.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_verdict_is_the_record_that_import_makes(served: Served, reviewer: Visitor, sample: str) -> None:
    row = queue(reviewer, sample)[0]["row"]
    form = {
        "human_anomaly_label": "anomalous",
        "human_subtype": "weak_evidence_commitment",
        "human_onset": "1",
        "human_severity": "low",
        "human_recoverability": "recoverable",
        "human_evidence": '1 action_text "a \\"quote\\" with\\na line"\n1 user_turn as it stands',
        "audit_comment": "claims what it never checked",
    }
    answer = reviewer.post(f"/q/{sample}/{row}", as_json=True, **form).json()
    assert answer["saved"]
    (mine,) = records(served.data)
    sheet = served.data / "sheet.jsonl"
    lines = (served.data / "review" / f"calibration-{sample}.jsonl").read_text().splitlines()
    filled = [json.loads(line) for line in lines]
    filled = [entry | (form if entry["row"] == row else {}) for entry in filled]
    sheet.write_text("".join(json.dumps(entry) + "\n" for entry in filled))
    ended = call("audit", "import", sheet, "--reviewer", "ben", "--reviewed-at", "2026-01-02", "--data", served.data)
    assert ended.status == 0, ended.err
    record = records(served.data)[-1]
    own = ("reviewer", "reviewed_at", "sheet_sha256")
    assert {name: value for name, value in mine.items() if name not in own} == {
        name: value for name, value in record.items() if name not in own
    }
    assert mine["human_evidence"] == [
        {"step_id": 1, "field": "action_text", "quote": 'a "quote" with\na line'},
        {"step_id": 1, "field": "user_turn", "quote": "as it stands"},
    ]
    shown = html.unescape(reviewer.get(f"/q/{sample}/{row}").text)
    assert '1 action_text "a \\"quote\\" with\\na line"\n1 user_turn "as it stands"</textarea>' in shown
    submitted = (served.data / "review" / "submitted.jsonl").read_bytes().splitlines()
    import hashlib

    assert hashlib.sha256(submitted[0]).hexdigest() == mine["sheet_sha256"]
    assert json.loads(submitted[0])["answers"]["audit_comment"] == "claims what it never checked"


def test_the_name_comes_from_the_session(served: Served, reviewer: Visitor, sample: str) -> None:
    row = queue(reviewer, sample)[0]["row"]
    form = {"human_anomaly_label": "normal", "reviewer": "somebody else", "reviewed_at": "1999-01-01"}
    assert reviewer.post(f"/q/{sample}/{row}", as_json=True, **form).json()["saved"]
    (record,) = records(served.data)
    assert record["reviewer"] == "ada"
    assert not record["reviewed_at"].startswith("1999")


def test_a_correction_is_a_new_record(served: Served, reviewer: Visitor, sample: str) -> None:
    row = queue(reviewer, sample)[0]["row"]
    first = reviewer.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label="normal").json()
    again = reviewer.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label="normal").json()
    other = reviewer.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label="unresolved").json()
    assert [first["words"], again["words"]] == ["saved, on disk", "already on record"]
    assert "earlier one stays" in other["words"]
    assert [record["human_anomaly_label"] for record in records(served.data)] == [False, None]
    page = reviewer.get(f"/q/{sample}/{row}").text
    assert "You gave a verdict" in page
    assert 'value="unresolved" data-key="3" checked' in page
    following = queue(reviewer, sample)[1]["row"]
    assert "Saved: unresolved." in reviewer.get(f"/q/{sample}/{following}", params={"last": row}).text
    assert "Saved:" not in reviewer.get(f"/q/{sample}/{following}", params={"last": "no-row"}).text


@pytest.mark.parametrize(
    ("form", "fault"),
    [
        ({}, "nothing is filled in"),
        ({"human_anomaly_label": "maybe"}, "write anomalous, normal or unresolved"),
        ({"human_anomaly_label": "normal", "human_severity": "low"}, "leave it empty"),
        ({"human_anomaly_label": "anomalous", "human_onset": "999"}, "write a step from 1 to"),
        ({"human_anomaly_label": "anomalous", "human_subtype": "x"}, "use one of"),
        ({"human_anomaly_label": "anomalous", "human_evidence": "here it is"}, "write a step, a field"),
        ({"human_anomaly_label": "anomalous", "human_evidence": "999 action_text x"}, "write a step, a field"),
    ],
)
def test_a_fault_keeps_the_form(
    served: Served, reviewer: Visitor, sample: str, form: dict[str, str], fault: str
) -> None:
    row = queue(reviewer, sample)[0]["row"]
    answer = reviewer.post(f"/q/{sample}/{row}", as_json=True, **form)
    assert answer.status_code == 422
    assert fault in answer.json()["fault"]
    page = reviewer.post(f"/q/{sample}/{row}", audit_comment="my <long> comment", **form)
    assert page.status_code == 422 or not form
    if form:
        assert "my &lt;long&gt; comment" in page.text
    assert [record for record in records(served.data) if record["audit_comment"] is None] == []


def test_a_full_disk_is_said_and_nothing_counts(
    served: Served, reviewer: Visitor, sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = queue(reviewer, sample)[0]["row"]

    def full(*_: Any, **_options: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(DataFolder, "append_review", full)
        answer = reviewer.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label="normal")
    assert answer.status_code == 422
    assert "No space left" in answer.json()["fault"]
    assert records(served.data) == []
    assert reviewer.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label="normal").json()["saved"]


def test_disagreeing_on_the_page_is_in_the_report(served: Served, auditor: Visitor) -> None:
    answer = auditor.post(f"/disagree/{SESSION}", as_json=True, human_anomaly_label="normal", audit_comment="harmless")
    assert answer.json()["status"] == "major_disagreement"
    ended = call("audit", "report", "calibration", "--data", served.data, "--json")
    assert ended.status == 0, ended.err
    sections = json.loads(ended.out)["sections"]
    assert sections["calibration_1"]["facts"]["over_flags"] == 1
    assert "chose these trajectories themselves" in sections["calibration_1"]["about"]
    shown = json.loads(auditor.get("/reports/audit-calibration.json").text)
    assert shown["sections"] == sections
    assert "harmless" in auditor.get(f"/t/{SESSION}").text
    rows = json.loads(auditor.get("/t.json?human=major_disagreement").text)["rows"]
    assert [row["trajectory_id"] for row in rows] == [SESSION.split("/")[1]]


def test_chosen_verdicts_do_not_move_the_gap(served: Served, auditor: Visitor) -> None:
    """A person chooses what looks wrong: rates are estimated from drawn rows alone."""
    auditor.post(f"/disagree/{SESSION}", as_json=True, human_anomaly_label="normal")
    before = (served.data / "release" / "CHECKSUMS.sha256").read_bytes()
    ended = call("release", "--data", served.data)
    assert ended.status in (0, 1), ended.err
    assert (served.data / "release" / "CHECKSUMS.sha256").read_bytes() == before
    assert not (served.data / "release" / "human_audited.jsonl").exists()


def test_an_undecided_label_cannot_be_agreed_with(auditor: Visitor) -> None:
    (row, *_) = json.loads(auditor.get("/t.json?label=undecided").text)["rows"]
    path = f"{row['source_model']}/{row['trajectory_id']}"
    answer = auditor.post(f"/disagree/{path}", as_json=True, human_anomaly_label="normal")
    assert answer.status_code == 422
    assert "undecided" in answer.json()["fault"]


def test_adjudication_hides_names_and_shows_silver_after_the_decision(served: Served, sample: str) -> None:
    people = {}
    for name, verdict in (("Ada", "anomalous"), ("Ben", "normal")):
        with in_background(prepare(served.data, role="reviewer", name=name)) as address:
            visitor = Served(address, served.data).visitor()
            row = sorted(entry["row"] for entry in queue(visitor, sample))[0]
            visitor.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label=verdict)
            people[name] = visitor.get(f"/q/{sample}.json").text
    with in_background(prepare(served.data, role="adjudicator", name="Cy")) as address:
        visitor = Served(address, served.data).visitor()
        listed = visitor.get(f"/adjudicate/{sample}").text
        page = visitor.get(f"/adjudicate/{sample}/{row}").text
        for text in (listed, page):
            assert "Ada" not in text
            assert "Ben" not in text
        assert "anomalous" in listed
        assert "once you have decided" in page
        assert "Silver label</h2>" not in page
        visitor.post(f"/adjudicate/{sample}/{row}", human_anomaly_label="anomalous", human_onset="1")
        assert "Silver label</h2>" in visitor.get(f"/adjudicate/{sample}/{row}").text
        assert "Nothing to settle" in visitor.get(f"/adjudicate/{sample}").text
    assert [record["adjudication"] for record in records(served.data)] == [False, False, True]
    report = call("audit", "report", "calibration", "--data", served.data, "--json")
    facts = json.loads(report.out)["sections"]["calibration_reviewers_1"]["facts"]
    assert facts["settled_by_adjudication"] == 1


def test_each_reviewer_has_an_order_of_their_own(served: Served, sample: str) -> None:
    desk = Desk(DataFolder(served.data))
    orders = {name: [entry.drawn.row for entry in desk.queue(sample, name)] for name in ("Ada", "Ben", "Cy", "Di")}
    assert len({tuple(order) for order in orders.values()}) > 1
    assert len({frozenset(order) for order in orders.values()}) == 1
    assert orders["Ada"] == [entry.drawn.row for entry in desk.queue(sample, "Ada")]


def test_events_are_reviewed_field_by_field(served: Served) -> None:
    ended = call("audit", "sample-events", "--n", "30", "--data", served.data, "--json")
    sample = json.loads(ended.out)["sample"]
    with in_background(prepare(served.data, role="reviewer", name="Ada")) as address:
        visitor = Served(address, served.data).visitor()
        first, second, *_ = queue(visitor, sample)
        assert "Which fields are wrong?" in visitor.get(f"/q/{sample}/{first['row']}").text
        saved = visitor.post(
            f"/q/{sample}/{first['row']}",
            as_json=True,
            is_supported="no",
            error_type="wrong_category",
            wrong_fields=["event_type", "side_effect"],
            structure="missing_step",
        )
        assert saved.json()["saved"], saved.text
        wrong = visitor.post(
            f"/q/{sample}/{second['row']}", as_json=True, is_supported="yes", wrong_fields="event_type"
        )
        assert "leave it empty" in wrong.json()["fault"]
    path = served.data / "review" / "event_reviews.jsonl"
    (record,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert record["wrong_fields"] == ["event_type", "side_effect"]
    assert record["structure"] == "missing_step"
    report = call("audit", "report", "events", "--data", served.data, "--json")
    assert report.status == 0, report.err
    sections = json.loads(report.out)["sections"]
    fields = {row["field"]: row["wrong"] for row in sections["fields_1"]["rows"]}
    assert fields["event_type"] == fields["side_effect"] == fields["missing_step"] == 1
    assert fields["tool_status"] == 0


def test_a_corpus_without_outcomes_can_be_audited(tmp_path: Path) -> None:
    raw, data = small_raw(tmp_path / "raw"), few_shards(tmp_path / "data")
    assert call("run", "--data", data, "--raw", raw).status in (0, 1)
    ended = call("audit", "sample-calibration", "--pool", "labelled", "--n", "3", "--data", data, "--json")
    assert ended.status == 0, ended.err
    sample = json.loads(ended.out)["sample"]
    with in_background(prepare(data, role="reviewer", name="Ada")) as address:
        visitor = Served(address, data).visitor()
        rows = queue(visitor, sample)
        assert len(rows) == 3
        answer = visitor.post(f"/q/{sample}/{rows[0]['row']}", as_json=True, human_anomaly_label="normal")
        assert answer.json()["saved"]
    report = call("audit", "report", "calibration", "--data", data, "--json")
    assert report.status == 0, report.err
    assert json.loads(report.out)["sections"]["calibration_1"]["facts"]["audited"] == 1


def test_reviews_go_on_while_a_run_works(served: Served, reviewer: Visitor, sample: str) -> None:
    with DataFolder(served.data).locked():
        row = queue(reviewer, sample)[0]["row"]
        assert reviewer.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label="normal").json()["saved"]


def test_records_of_other_processes_are_seen(served: Served, reviewer: Visitor, sample: str) -> None:
    row = queue(reviewer, sample)[0]["row"]
    reviewer.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label="normal")
    other = Desk(DataFolder(served.data))
    other.submit(sample, row, blank() | {"human_anomaly_label": "anomalous"}, "Ben")
    states = json.loads(reviewer.get("/q.json").text)["samples"]
    assert next(entry for entry in states if entry["sample"] == sample)["reviewers"] == ["Ben", "ada"]
    path = served.data / "review" / "calibration_reviews.jsonl"
    with path.open("ab") as file:
        file.write(b'{"torn":')
    assert reviewer.get(f"/q/{sample}").status_code == 200
    reviewer.post(f"/q/{sample}/{row}", as_json=True, human_anomaly_label="unresolved")
    assert len(records(served.data)) == 3


def blank() -> dict[str, str]:
    return dict.fromkeys(CALIBRATION.answers, "")


# ---- kill -9

SERVE = """
import sys
from pathlib import Path
from openclawbench.workbench.server import prepare, server_of
opened = prepare(Path(sys.argv[1]), role="reviewer", name="nobody")
people = [opened.address] + [
    opened.address.split("?")[0] + "?token=" + opened.sessions.invite(type(next(iter(opened.sessions.unused.values())))(
        f"reviewer {n}", "reviewer")) for n in range(8)]
print("\\n".join(people[1:]), flush=True)
server_of(opened).run(sockets=[opened.listener])
"""


def test_no_acknowledged_verdict_is_lost_by_a_kill(demo: Path, tmp_path: Path) -> None:
    """Eight reviewers send verdicts while the server is killed again and again."""
    data = Path(shutil.copytree(demo, tmp_path / "data"))
    ended = call("audit", "sample-calibration", "--data", data, "--json")
    sample = json.loads(ended.out)["sample"]
    rows = [entry.drawn.row for entry in Desk(DataFolder(data)).queue(sample, "x")]
    acknowledged: list[tuple[str, str, str]] = []
    luck = random.Random(7)
    for round_ in range(25):
        with KilledAfter(data, luck.uniform(0.0, 0.4), acknowledged) as addresses, ThreadPoolExecutor(8) as pool:
            jobs = [
                pool.submit(send, address, sample, rows, f"reviewer {n}", round_, acknowledged)
                for n, address in enumerate(addresses)
            ]
            for job in jobs:
                job.result()
    assert len(acknowledged) > 50
    stored = reviews(DataFolder(data), CALIBRATION)
    stated = [(review.reviewer, review.row, review.audit_comment) for review in stored]
    assert set(acknowledged) <= set(stated)
    assert len(stated) == len(set(stated)), "a verdict is there twice"


class KilledAfter:
    """A server in a process of its own that is killed some time after its first acknowledgement."""

    def __init__(self, data: Path, seconds: float, acknowledged: list[tuple[str, str, str]]) -> None:
        self.data, self.seconds, self.acknowledged = data, seconds, acknowledged

    def __enter__(self) -> list[str]:
        command = [sys.executable, "-c", SERVE, str(self.data)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        addresses = [self.process.stdout.readline().strip() for _ in range(8)]
        threading.Thread(target=self.kill, args=(len(self.acknowledged),), daemon=True).start()
        return addresses

    def kill(self, before: int) -> None:
        """End the process at once, in the middle of whatever it does."""
        while len(self.acknowledged) == before and self.process.poll() is None:
            time.sleep(0.005)
        time.sleep(self.seconds)
        self.process.send_signal(signal.SIGKILL)

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def send(
    address: str, sample: str, rows: list[str], name: str, round_: int, acknowledged: list[tuple[str, str, str]]
) -> None:
    """Send verdicts until nobody answers."""
    base = address.partition("/?")[0]
    try:
        with httpx.Client(headers={"origin": base}, follow_redirects=True, timeout=20) as http:
            visitor = Visitor(base, http)
            http.get(address)
            token = visitor.form_token
            for number in range(200):
                row, comment = rows[number % len(rows)], f"{round_}-{number}"
                form = {"form_token": token, "human_anomaly_label": "normal", "audit_comment": comment}
                headers = {"accept": "application/json"}
                answer = http.post(f"{base}/q/{sample}/{row}", data=form, headers=headers)
                if answer.status_code == 200 and answer.json()["saved"]:
                    acknowledged.append((name, row, comment))
    except (httpx.HTTPError, AssertionError):
        return


def test_a_blind_verdict_is_not_compared_with_the_label(served: Served, reviewer: Visitor, sample: str) -> None:
    """Whether it agrees would say what the label is, and a correction could then follow it."""
    rows = queue(reviewer, sample)
    labels = {"normal", "anomalous"}
    answers = [
        reviewer.post(f"/q/{sample}/{rows[0]['row']}", as_json=True, human_anomaly_label=label).json()
        for label in sorted(labels)
    ]
    assert [answer["status"] for answer in answers] == [None, None]
    assert len({record["agreement_status"] for record in records(served.data)}) == 2, "the records do compare"


def test_a_drawn_reply_is_not_called_a_call(served: Served) -> None:
    ended = call("audit", "sample-events", "--n", "30", "--data", served.data, "--json")
    sample = json.loads(ended.out)["sample"]
    desk = Desk(DataFolder(served.data))
    drawn = [entry.drawn for entry in desk.queue(sample, "Ada")]
    reply = next(row for row in drawn if row.tool_name_raw is None)
    tool_call = next(row for row in drawn if row.tool_name_raw)
    with in_background(prepare(served.data, role="reviewer", name="Ada")) as address:
        visitor = Served(address, served.data).visitor()
        pages = [visitor.get(f"/q/{sample}/{row.row}").text for row in (reply, tool_call)]
    assert ['<span class="word">replies</span>' in page for page in pages] == [True, False]
    assert ['<span class="word">calls</span>' in page for page in pages] == [False, True]
