"""Which session an outcome is given to: every way in which names can mislead, in one corpus, and the coverage of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from bfcl_corpus import Corpus, Outcome

from openclawbench.base.terminal import output
from openclawbench.cli.commands.status import print_status
from openclawbench.errors import UsageError
from openclawbench.inspect.status import as_data
from openclawbench.records.oracle import Fused, UnmatchedRow
from openclawbench.records.release import LabelAssignment, Master, SummaryCount
from openclawbench.records.session import FileOutcome
from openclawbench.reports.files import as_files
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run

MODEL = "m"


class Rows:
    """Lines of an oracle file."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def add(self, name: str | None, success: bool | None = True, task: str | None = None, **more: Any) -> None:
        row = {"source_model": MODEL, "native_session_basename": name, "success": success, "task_id": task}
        self.lines.append(row | {"subset": "s"} | more)

    def write(self, corpus: Corpus) -> None:
        """The file, beside the tree."""
        text = "".join(json.dumps(row) + "\n" for row in self.lines)
        (corpus.tree.parent / "rows.jsonl").write_text(text, encoding="utf-8")


def harbor(corpus: Corpus, trial: str, native: str | None, session_id: str, printed_id: str | None = None) -> None:
    """A session under the name that a harness gives to every session, with what the program printed beside it."""
    corpus.session(MODEL, f"{trial}/agent/openclaw.session", session_id, trial)
    agent = {
        "sessionId": printed_id or session_id,
        "sessionFile": f"/root/.openclaw/agents/main/sessions/{native}.jsonl",
    }
    text = "starting\n" + json.dumps({"payloads": [], "meta": {"agentMeta": agent}}, indent=1) + "\nbye\n"
    if native:
        (corpus.raw / MODEL / trial / "agent" / "openclaw.txt").write_text(text, encoding="utf-8")


def build(folder: Path) -> Corpus:
    corpus, rows = Corpus(folder, {"none"}), Rows()
    for name in ("plain", "suffix", "folders", "deleted", "reset", "Upper", "case", "CASE", "agree", "differ", "tasks"):
        corpus.session(MODEL, name)
    corpus.session(MODEL, "set-aside").rename(corpus.raw / MODEL / "set-aside.jsonl.reset.2026-01-02T03-04-05.000Z")
    corpus.session(MODEL, "of-another-model")
    rows.add("plain")
    rows.add("suffix.jsonl")
    rows.add("/root/.openclaw/agents/main/sessions/folders.jsonl")
    rows.add("deleted.jsonl.deleted.2026-01-02T03-04-05.000Z")
    rows.add("reset.reset.2026-01-02T03-04-05.000Z")
    rows.add("set-aside")
    rows.add("upper")  # only one session differs in nothing but case
    rows.add("case")  # spelt exactly, so CASE is not meant
    rows.add("Case")  # spelt like neither
    rows.add("of-another-model", source_model="other")
    rows.add("agree", task="simple_3")
    rows.add("agree", task="simple_python_3")  # the same task in another spelling, so the same verdict
    rows.add("differ", True, "t1")
    rows.add("differ", False, "t1", error_type="wrong")
    rows.add("tasks", True, "t1")
    rows.add("tasks", True, "t2")
    rows.add("nobody")
    for place in ("a", "b"):
        corpus.session(MODEL, f"{place}/twin", f"twin-{place}", place)
    rows.add("twin")  # two sessions have the name
    rows.add("twin", session_id="twin-b")  # the id decides
    for place in ("c", "d"):
        corpus.session(MODEL, f"{place}/same", "harbor", place)
    rows.add("same", session_id="harbor")  # name and id alike: two files of one identity that differ
    corpus.session(MODEL, "by-id", "only-the-id")
    rows.add(None, session_id="only-the-id")
    rows.add(None, session_id="no-such-id")
    harbor(corpus, "trial-1", "11111111-native", "h1")
    harbor(corpus, "trial-2", "22222222-native", "h2")
    harbor(corpus, "trial-3", None, "h3")
    harbor(corpus, "trial-4", "44444444-native", "h4", printed_id="of another session")
    rows.add("openclaw.session")  # four sessions
    rows.add("11111111-native")
    rows.add("22222222-native.jsonl", False)
    rows.add("44444444-native")
    rows.add("plain", None, status="infra_error", source_model="third")
    rows.write(corpus)
    return corpus


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return build(tmp_path_factory.mktemp("joins")).update()


def outcomes(joined: Outcome) -> dict[str, str | None]:
    """Session, by its id where names are not its own -> outcome."""
    rows = joined.fused_with_ids(MODEL)
    return {name: row["oracle_outcome"] for name, row in rows.items()}


def test_each_row_goes_to_the_session_that_it_means_or_to_none(joined: Outcome) -> None:
    assert outcomes(joined) == {
        "plain": "pass",
        "suffix": "pass",
        "folders": "pass",
        "deleted": "pass",
        "reset": "pass",
        "set-aside": "pass",
        "Upper": "pass",
        "case": "pass",
        "CASE": None,
        "of-another-model": None,
        "agree": "pass",
        "differ": None,
        "tasks": None,
        "twin-a": None,
        "twin-b": "pass",
        "harbor": None,
        "only-the-id": "pass",
        "h1": "pass",
        "h2": "fail",
        "h3": None,
        "h4": None,
    }


def test_rows_that_contradict_each_other_are_unscorable_and_all_of_them_are_kept(joined: Outcome) -> None:
    row = joined.fused(MODEL)["differ"]
    assert row["oracle_match"] == "contradiction"
    assert (row["oracle"]["status"], row["oracle"]["success"], row["oracle"]["task_id"]) == ("unscorable", None, "t1")
    assert joined.fused(MODEL)["tasks"]["oracle"]["task_id"] is None
    kept = [
        (r["trajectory_id"].split(".")[0], r["task_id"], r["success"], r["error_type"]) for r in joined.contradictions()
    ]
    assert kept == [
        ("differ", "t1", True, None),
        ("differ", "t1", False, "wrong"),
        ("tasks", "t1", True, None),
        ("tasks", "t2", True, None),
    ]


def test_rows_that_agree_count_once(joined: Outcome) -> None:
    row = joined.fused(MODEL)["agree"]
    assert (row["oracle_match"], len(row["oracle_rows"]), row["oracle_outcome"]) == ("duplicate_rows", 2, "pass")


def test_the_coverage_counts_every_session_and_every_row(joined: Outcome) -> None:
    rows = joined.rows_of_coverage()
    total = {name: sum(row[name] for row in rows) for name in rows[0] if isinstance(rows[0][name], int)}
    assert total == {
        "sessions": 22,  # the two that share name and id are two
        "matched": 15,
        "scored": 13,
        "passed": 12,
        "infra_errors": 0,
        "not_scored": 0,
        "unscorable": 2,
        "unmatched_sessions": 7,
        "contradictions": 2,
        "oracle_rows": 27,
        "unmatched_rows": 9,
        "no_manifest_row": 0,
        "ambiguous_attempts": 0,
        "ambiguous_basenames": 3,  # Case, twin without an id, openclaw.session
        "duplicate_rows": 1,
        "failures_only": 0,
        "set_aside_rows": 0,
    }
    assert joined.faults == joined.notes == []


def test_each_row_that_no_session_got_is_named_with_the_reason(joined: Outcome) -> None:
    section = joined.coverage_report().data()["sections"]["unmatched_rows"]
    named = [(row["line"], row["native_session_basename"], row["session_id"], row["reason"]) for row in section["rows"]]
    assert named == [
        (9, "Case", None, "ambiguous_basename"),
        (10, "of-another-model", None, "no_session"),
        (17, "nobody", None, "no_session"),
        (18, "twin", None, "ambiguous_basename"),
        (20, "same", "harbor", "no_trajectory"),
        (22, None, "no-such-id", "no_session"),
        (23, "openclaw.session", None, "ambiguous_basename"),
        (26, "44444444-native", None, "no_session"),
        (27, "plain", None, "no_session"),
    ]
    assert {row["file"] for row in section["rows"]} == {"rows.jsonl"}
    assert section["facts"] == {"no_session": 5, "no_trajectory": 1, "ambiguous_basename": 3}


def test_the_list_of_rows_is_bounded_and_says_how_many_more(tmp_path: Path) -> None:
    corpus, rows = Corpus(tmp_path, {"none"}), Rows()
    corpus.session(MODEL, "one")
    for number in range(100):
        rows.add(f"nobody-{number}")
    rows.write(corpus)
    updated = corpus.update()
    shown = as_files(updated.coverage_report())["coverage.md"].decode()
    assert shown.count("`nobody-") == 60
    assert "… and 40 more rows, in the JSON file." in shown


def test_a_row_that_says_nothing_of_a_run_contradicts_none_that_does(tmp_path: Path) -> None:
    corpus, rows = Corpus(tmp_path, {"none"}), Rows()
    for name in ("passed", "silent", "lost"):
        corpus.session(MODEL, name)
    rows.add("passed", None, "t0", status="unscorable", subset="other")
    rows.add("passed", True, "t1")
    rows.add("passed", None, "t1", status="not_scored")
    rows.add("silent", None, status="unscorable")
    rows.add("silent", None, status="not_scored")  # of two that say nothing, neither is better
    rows.add("lost", None, status="infra_error")
    rows.add("lost", None, status="not_scored")
    rows.write(corpus)
    updated = corpus.update()
    by_name = {name: (row["oracle_match"], row["oracle"]["status"]) for name, row in updated.fused(MODEL).items()}
    assert by_name == {
        "passed": ("matched", "scored"),
        "silent": ("duplicate_rows", "unscorable"),
        "lost": ("matched", "infra_error"),
    }
    row = updated.fused(MODEL)["passed"]
    assert (row["oracle_outcome"], row["task_id"], row["subset"]) == ("pass", "t1", "s")
    assert (row["oracle_rows"], row["oracle_rows_set_aside"]) == (["rows.jsonl:2"], ["rows.jsonl:1", "rows.jsonl:3"])
    (counts,) = updated.rows_of_coverage()
    assert (counts["oracle_rows"], counts["unmatched_rows"], counts["set_aside_rows"]) == (7, 0, 3)
    assert (counts["duplicate_rows"], counts["contradictions"]) == (1, 0)
    named = {(row["row_id"], row["reason"]) for row in updated.rows(UnmatchedRow)}
    assert named == {(f"rows.jsonl:{line}", "set_aside") for line in (1, 3, 7)}


TRIAL = [
    {"format": "aec-bench-trajectory", "version": 1, "timestamp": "2026-01-02T03:04:05Z"},
    {"step": 1, "role": "assistant", "content": "Done."},
]


@pytest.mark.parametrize(
    ("verdicts", "match", "outcome"),
    [
        ((True, True), "matched", "pass"),
        ((True, False), "contradiction", None),
        ((False, True, True), "contradiction", None),
        ((None, True), "matched", "pass"),
        ((None, False, None), "matched", "fail"),
    ],
)
def test_copies_of_a_session_beside_which_different_outcomes_lie(
    verdicts: tuple[bool | None, ...], match: str, outcome: str | None, tmp_path: Path
) -> None:
    corpus = Corpus(tmp_path, {"none"})
    for number, verdict in enumerate(verdicts, 1):
        folder = corpus.raw / MODEL / f"trial-{number}"
        folder.mkdir(parents=True)
        (folder / "trajectory.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in TRIAL), encoding="utf-8")
        record = {"trial_id": "t", "task_id": "drop", "completeness": "complete", "evaluation": {"passed": verdict}}
        (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    updated = corpus.update()
    (row,) = updated.rows(Fused)
    assert (row["oracle_match"], row["oracle_outcome"]) == (match, outcome)
    differ = match == "contradiction"
    kept = [(member["row_id"], member["success"]) for member in updated.contradictions()]
    name = f"source:{row['trajectory_id']}"
    assert kept == ([(name, verdicts[0]), (f"{name}#2", verdicts[1])] if differ else [])
    names = [warning["name"] for file in updated.rows(FileOutcome) for warning in file["warnings"]]
    names = [name for name in names if name != "provenance_missing"]  # which the records leave out
    assert names == ["differing_outcomes"] * differ


@pytest.mark.parametrize("more", [{}, {"status": "scored"}, {"status": "scored", "success": None}])
def test_a_row_that_is_scored_and_says_no_success_is_a_fault(more: dict[str, Any], tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"none"})
    corpus.session(MODEL, "one")
    row = {"source_model": MODEL, "native_session_basename": "one"} | more
    (corpus.tree.parent / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    updated = corpus.update()
    assert updated.faults == ["oracle_scored_without_success"]
    fault = updated.done.faults[0]
    assert fault["line"] == 1
    assert fault["message"].startswith("rows.jsonl: line 1: status is scored")
    assert updated.fused(MODEL)["one"]["oracle_match"] == "unmatched"


def test_the_manifest_may_spell_names_otherwise_too(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"none"})
    for name in ("Upper", "plain", "a/twin", "b/twin", "twice"):
        corpus.session(MODEL, name, name.replace("/", "-"))
    for name, task in {"upper": "t1", "x/plain.jsonl": "simple_7", "twin": "t3"}.items():
        corpus.manifest.append({"source_model": MODEL, "native_session_basename": name, "task_id": task})
    for task in ("t4", "t4", "t5"):
        corpus.manifest.append({"source_model": MODEL, "native_session_basename": "twice", "task_id": task})
    corpus.manifest.append({"source_model": MODEL, "native_session_basename": "nobody", "task_id": "t6"})
    stated = {"upper": "t1", "plain": "t2"}  # for plain another task than the manifest says
    rows = [
        {"source_model": MODEL, "native_session_basename": n, "task_id": t, "success": True} for n, t in stated.items()
    ]
    (corpus.tree.parent / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    updated = corpus.update()
    assert {name: row["oracle_outcome"] for name, row in updated.fused(MODEL).items() if row["oracle"]} == {
        "Upper": "pass"
    }
    tasks = {(row["task_id"], row["subset"]) for row in updated.fused(MODEL).values()}
    assert tasks == {("t1", None), ("simple_7", "simple_python"), (None, None)}
    assert updated.faults == ["run_manifest_ambiguous", "run_manifest_several_tasks", "oracle_other_task"]
    assert "rows.jsonl: line 2: names the task t2" in updated.done.faults[2]["message"]
    assert "2 sessions are called m/twin" in updated.done.faults[0]["message"]
    assert "run_manifest.jsonl:4" in updated.done.faults[1]["message"]
    assert "run_manifest.jsonl:6" in updated.done.faults[1]["message"]
    assert updated.intake.counts["manifest_rows_without_session"] == 1


@pytest.mark.parametrize("policy", ["exclude", "review"])
def test_what_becomes_of_a_session_without_an_outcome(policy: str, tmp_path: Path) -> None:
    """Excluded: annotated, in no slice, outside the gap and the calibration pool. Reviewed: not judged at all."""
    corpus = Corpus(tmp_path, {"none"})
    for name in ("matched", "unmatched", "lost"):
        corpus.session(MODEL, name)
    rows = [{"source_model": MODEL, "native_session_basename": "matched", "success": True}]
    rows.append({"source_model": MODEL, "native_session_basename": "lost", "status": "infra_error"})
    (corpus.tree.parent / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    updated = corpus.update("release", unmatched=policy)
    master = {row["trajectory_id"].split(".")[0]: row for row in updated.rows(Master)}
    for name in ("unmatched", "lost"):
        row = master[name]
        assert (row["slice_label"], row["pass_but_high_risk"], row["oracle_outcome"]) == (None, None, None)
        judged = (row["review_cause"], row["is_anomalous"], row["provenance"]["judge"])
        assert judged == ((None, False, "rules") if policy == "exclude" else ("unmatched_oracle", None, None))
        assert (row["stages"]["a"] is None) == (policy == "review")
    assert master["matched"]["quality_tier"] == "baseline_accepted"
    assert master["matched"]["slice_label"] == "pass_low_risk"
    counts = {(row["group"], row["name"]): row["count"] for row in updated.rows(SummaryCount)}
    assert counts["outcome_process_gap", "passing"] == 1
    pool = [row["trajectory_id"] for row in updated.rows(LabelAssignment) if row["in_calibration_pool"]]
    assert pool in ([], [master["matched"]["trajectory_id"]])
    assert settings(corpus.data).origin["unmatched"] == "default"  # nothing is remembered of a run
    path = corpus.data.root / "openclawbench.toml"
    path.write_text(f'unmatched = "{policy}"\n{path.read_text(encoding="utf-8")}', encoding="utf-8")
    assert corpus.update("release").rows(Master) == updated.rows(Master)  # the file says the same
    assert settings(corpus.data).origin["unmatched"] == "file"


def test_an_unknown_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Use one of: exclude, review"):
        Corpus(tmp_path, {"none"}).update(unmatched="guess")


def test_the_report_says_it_all_and_twice_the_same(joined: Outcome) -> None:
    report = joined.coverage_report()
    files = as_files(report)
    assert files == as_files(joined.coverage_report())
    assert set(files) == {"coverage.md", "coverage.json", "coverage.svg", "coverage.png"}
    sections = json.loads(files["coverage.json"])["sections"]
    assert sections["coverage"]["facts"]["sessions"] == 22
    assert sections["coverage"]["facts"]["pass_share"] == round(12 / 13, 6)
    assert len(sections["contradictions"]["rows"]) == 4
    assert sections["extremes"]["rows"] == []
    assert sections["said"]["facts"]["oracle_jsonl"] == 1
    assert "| `m` | `s` |" in files["coverage.md"].decode()


def test_status_shows_faults_of_the_manifest_and_the_oracle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    (corpus.tree.parent / "rows.jsonl").write_text('{"source_model": "m"}\nno JSON\n', encoding="utf-8")
    for task in ("t1", "t2"):
        corpus.manifest.append({"source_model": "scripted-calls", "native_session_basename": "x", "task_id": task})
    corpus.header("multiple", accuracy=0.0, correct_count=0, total_count=6)
    corpus.update("normalize")
    run = open_run(corpus.data, settings(corpus.data))
    print_status(run, [], output())
    shown = capsys.readouterr().out
    for reason in ("oracle_names_no_session", "oracle_broken_json", "run_manifest_several_tasks"):
        assert reason in shown
        assert reason in {input_fault["reason"] for input_fault in as_data(run, [])["input_faults"]}
    assert "bfcl_header_mismatch" in shown
    assert "bfcl_score" in shown
