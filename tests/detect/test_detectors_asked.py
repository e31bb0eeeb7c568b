"""`detect run` against an endpoint in another process: probabilities, resuming, budget, both protocols, bad answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from asking import KEY, Endpoint, rules
from batch_folder import answer
from calls import call, files
from child import Ended
from detector_endpoint import Detector
from made_release import made_release, session, verdict

from openclawbench.detect.protocols import NO_SYMBOL_FIRST, SPLIT_SYMBOLS
from openclawbench.detect.settings import LABELS, NORMAL

WEAK = "weak_evidence_commitment"
PRICES = ("--price-in", "1", "--price-out", "2", "--price-cached", "0.5")
ROWS = 12


@pytest.fixture
def release(tmp_path: Path) -> Path:
    sessions = [
        session(n, WEAK if n % 3 == 0 else NORMAL, words=f"{WEAK} {n}" if n % 3 == 0 else f"look {n}")
        for n in range(ROWS)
    ]
    return made_release(tmp_path / "release", sessions)


def run(endpoint: Endpoint, release: Path, *more: str) -> Ended:
    data = release.parent / "data"
    asked = ["--release", release, "--data", data, "--model", "m", "--base-url", f"{endpoint.url}/v1", *PRICES]
    return call("detect", "run", *asked, "--out", release.parent / "p.jsonl", *more, env=rules(release.parent))


def rows(release: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (release.parent / "p.jsonl").read_text().splitlines()]


def provenance(release: Path) -> dict[str, Any]:
    row: dict[str, Any] = json.loads((release.parent / "p.provenance.json").read_text())
    return row


def test_a_symbol_comes_with_the_probabilities_of_all_six(endpoint: Endpoint, release: Path) -> None:
    endpoint.script(sure=0.8)
    ended = run(endpoint, release, "--json")
    assert ended.status == 0, ended.err
    body = endpoint.log()["bodies"][0]
    assert (body["logprobs"], body["top_logprobs"], body["temperature"]) == (True, 20, 0.0)
    assert "response_format" not in body and body["max_completion_tokens"] == 4
    actual_rows = rows(release)
    assert [row["label"] for row in actual_rows] == [
        WEAK if int(row["trajectory_id"][1:]) % 3 == 0 else NORMAL for row in actual_rows
    ]
    for row in actual_rows:
        mass = 0.8 + 5 * 0.02
        assert row["probability_mass"] == pytest.approx(mass)
        assert row["probabilities"][row["label"]] == pytest.approx(0.8 / mass)
        assert sum(row["probabilities"].values()) == pytest.approx(1)
        assert row["parse"] == "ok" and row["trajectory_sha256"] and row["cost_usd"] > 0
    (card,) = ended.json["detectors"]
    assert card["conventions"]["wrong"]["measures"]["f1"]["value"] == 1.0 and card["verified"]
    assert card["probabilities"]["outside_mass"]["mean"] == pytest.approx(1 - mass)
    new_provenance = provenance(release)
    assert (new_provenance["kind"], new_provenance["protocol"], new_provenance["model"], new_provenance["rows"]) == (
        "endpoint",
        "symbol",
        "m",
        ROWS,
    )
    assert new_provenance["endpoint"] == f"{endpoint.url}/v1" and new_provenance["prompt"]["stage"] == "detect_symbol"


def test_a_detector_is_sent_the_instructions_and_the_trajectory_alone(endpoint: Endpoint, release: Path) -> None:
    endpoint.script()
    assert run(endpoint, release).status == 0
    shown = call("detect", "prompt", "m1/t00000", "--release", release, "--json").json
    assert shown["messages"] in [body["messages"] for body in endpoint.log()["bodies"]]
    for body in endpoint.log()["bodies"]:
        system, user = body["messages"]
        assert system["role"] == "system" and user["content"].startswith("BEGIN TRAJECTORY")
        assert "low_risk" not in user["content"] and "t0000" not in user["content"]


def test_a_run_stopped_by_its_budget_goes_on_and_pays_for_nothing_twice(endpoint: Endpoint, release: Path) -> None:
    endpoint.script()
    cost = json.loads(run(endpoint, release, "--dry-run", "--json").out)["most_usd"]
    budget = cost / 2
    stopped = run(endpoint, release, "--budget-usd", f"{budget:.8f}", "--concurrency", "1")
    assert stopped.status == 3 and "budget" in stopped.err
    assert not (release.parent / "p.jsonl").exists()
    asked = endpoint.log()["calls"]
    assert 0 < asked < ROWS
    left = run(endpoint, release, "--dry-run", "--json").json
    assert (left["questions"], left["answered"]) == (ROWS, asked)
    assert run(endpoint, release).status == 0
    log = endpoint.log()
    assert log["calls"] == ROWS and set(log["paid"].values()) == {1}
    first = files(release.parent)["p.jsonl"]
    (release.parent / "p.jsonl").unlink()
    assert run(endpoint, release).status == 0
    assert endpoint.log()["calls"] == ROWS and files(release.parent)["p.jsonl"] == first


def test_faults_of_the_endpoint_change_no_prediction(endpoint: Endpoint, release: Path) -> None:
    endpoint.script()
    assert run(endpoint, release).status == 0
    undisturbed = rows(release)
    endpoint.script(faults={"500": 0.2, "429": 0.2, "dropped": 0.1})
    again = call(
        *("detect", "run", "--release", release, "--data", release.parent / "other", "--model", "m", *PRICES),
        *("--base-url", f"{endpoint.url}/v1", "--out", release.parent / "p.jsonl"),
        env=rules(release.parent),
    )
    assert again.status == 0, again.err
    assert endpoint.log()["calls"] > ROWS and rows(release) == undisturbed


def test_a_dry_run_prices_and_sends_nothing(endpoint: Endpoint, release: Path) -> None:
    endpoint.script()
    ended = run(endpoint, release, "--dry-run")
    assert ended.status == 0 and endpoint.count() == 0
    assert f"{ROWS} questions" in ended.text and "at most 48 answer tokens" in ended.text
    plan = run(endpoint, release, "--dry-run", "--json").json
    assert plan["most_usd"] == pytest.approx((plan["prompt_tokens"] + 2 * 48) / 1e6)
    in_batches = run(endpoint, release, "--dry-run", "--json", "--batch").json
    assert in_batches["most_usd"] == pytest.approx(plan["most_usd"] / 2)
    assert not (release.parent / "p.jsonl").exists() and endpoint.count() == 0


def test_a_model_without_a_price_is_not_asked(release: Path) -> None:
    asked = (
        "--release",
        release,
        "--data",
        release.parent / "data",
        "--model",
        "m",
        "--base-url",
        "http://example.org/v1",
    )
    ended = call("detect", "run", *asked, env=rules(release.parent))
    assert ended.status == 2 and "--price-in" in ended.err


def test_batches_give_the_same_predictions(endpoint: Endpoint, release: Path) -> None:
    endpoint.script()
    assert run(endpoint, release).status == 0
    online = rows(release)
    folder = release.parent / "batched"
    asked = ("--release", release, "--data", folder, "--model", "m", "--base-url", f"{endpoint.url}/v1", *PRICES)
    endpoint.script(looks=1)
    quick = rules(release.parent, poll_s=0.05)
    ended = call("detect", "run", *asked, "--batch", "--out", release.parent / "p.jsonl", env=quick)
    assert ended.status == 0, ended.err
    assert len(endpoint.log()["batches"]) == 1
    batched = rows(release)
    for row, other in zip(batched, online, strict=True):
        assert row["cost_usd"] == pytest.approx(other["cost_usd"] / 2)
        assert row | {"cost_usd": 0} == other | {"cost_usd": 0}


def test_a_json_answer_has_onset_and_span(endpoint: Endpoint, release: Path) -> None:
    endpoint.script()
    ended = run(endpoint, release, "--protocol", "json", "--json")
    assert ended.status == 0, ended.err
    body = endpoint.log()["bodies"][0]
    assert "logprobs" not in body
    enum = body["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"]
    assert enum == list(LABELS)
    for row in rows(release):
        if row["label"] == NORMAL:
            assert row["onset"] is None and row["span"] is None
        else:
            assert row["onset"] == 1 and row["span"] == {"start_step": 1, "end_step": 2}
        assert row["probabilities"] is None
    (card,) = ended.json["detectors"]
    assert card["location"]["onset"]["of_all"]["exact"]["value"] == 1.0
    assert card["location"]["span"]["of_all"]["mean_iou"]["value"] == 1.0


BAD = {
    "symbol": {
        "words": ("repaired", NO_SYMBOL_FIRST),
        "two": ("failed", "2 different symbols"),
        "prose": ("failed", "no symbol"),
        "empty": ("failed", "empty"),
        "refusal": ("failed", "refusal"),
    },
    "json": {
        "fenced": ("repaired", None),
        "short": ("repaired", None),
        "bad_steps": ("ok", "onset is not a step of the trajectory; span ends before it starts"),
        "prose": ("failed", "no JSON object with a label"),
        "cut": ("failed", "cut off"),
        "empty": ("failed", "empty"),
        "refusal": ("failed", "refusal"),
    },
}


@pytest.mark.parametrize("protocol", BAD)
def test_an_answer_that_is_none_is_a_result_and_is_asked_for_once(
    endpoint: Endpoint, tmp_path: Path, protocol: str
) -> None:
    kinds = BAD[protocol]
    anomalous = [session(n, WEAK, words=f"{WEAK} asked-{kind}") for n, kind in enumerate([*kinds, "well"])]
    release = made_release(tmp_path / "release", [*anomalous, session(50), session(51)])
    endpoint.script(kind_of={f"asked-{kind}": kind for kind in kinds})
    ended = run(endpoint, release, "--protocol", protocol, "--json")
    assert ended.status == 0, ended.err
    assert endpoint.log()["calls"] == len(kinds) + 3
    actual_rows = {row["trajectory_id"]: row for row in rows(release)}
    for number, (parse, failure) in enumerate(kinds.values()):
        row = actual_rows[f"t{number:05}"]
        assert (row["parse"], row["failure"]) == (parse, failure)
        assert row["label"] == (None if parse == "failed" else WEAK)
        assert row["probabilities"] is None or parse != "failed"
        assert failure is None or (row["onset"] is None and row["span"] is None)
    (card,) = ended.json["detectors"]
    wrong, left_out = (card["conventions"][name] for name in ("wrong", "left_out"))
    failed = sum(parse == "failed" for parse, _ in kinds.values())
    assert card["unreadable"] == failed == card["compared"]["parse"]["failed"] > 0
    assert (wrong["fn"], left_out["fn"]) == (failed, 0)
    assert wrong["tp"] == left_out["tp"] == len(kinds) + 1 - failed


def test_a_model_that_never_answers_stops_the_run_unless_that_is_accepted(endpoint: Endpoint, tmp_path: Path) -> None:
    many = [session(n, words=f"look {n}") for n in range(60)]
    release = made_release(tmp_path / "release", many)
    endpoint.script(kind="prose")
    stopped = run(endpoint, release)
    assert stopped.status == 3 and not (tmp_path / "p.jsonl").exists()
    assert "--accept-unreadable" in stopped.err and "--ask-again" not in stopped.err
    asked = endpoint.log()["calls"]
    assert asked < 60
    accepted = run(endpoint, release, "--accept-unreadable", "--json")
    assert accepted.status == 0, accepted.err
    assert endpoint.log()["calls"] == 60
    assert {row["parse"] for row in rows(release)} == {"failed"}
    assert accepted.json["detectors"][0]["conventions"]["wrong"]["fp"] == 60


def test_a_server_without_log_probabilities_gives_labels_alone(endpoint: Endpoint, release: Path) -> None:
    endpoint.script(no_logprobs=True)
    ended = run(endpoint, release, "--json")
    assert ended.status == 0, ended.err
    assert {row["probabilities"] for row in rows(release)} == {None}
    (card,) = ended.json["detectors"]
    assert card["probabilities"] is None and card["conventions"]["wrong"]["measures"]["f1"]["value"] == 1.0


def test_a_model_whose_tokenizer_splits_symbols_has_labels_and_is_named(endpoint: Endpoint, release: Path) -> None:
    endpoint.script(split=True)
    ended = run(endpoint, release)
    assert ended.status == 0, ended.err
    for row in rows(release):
        assert (row["probabilities"], row["probability_mass"]) == (None, None)
        assert (row["parse"], row["failure"]) == ("ok", SPLIT_SYMBOLS)
    assert {row["label"] for row in rows(release)} == {WEAK, NORMAL}
    assert "without probabilities because the model's tokenizer splits symbols: 12 answers" in ended.err
    assert "the endpoint gave no probabilities" not in ended.err and "F1" in ended.text


def test_a_server_that_refuses_log_probabilities_is_asked_without(endpoint: Endpoint, release: Path) -> None:
    endpoint.script(refuse_params=["logprobs"])
    ended = run(endpoint, release)
    assert ended.status == 0, ended.err
    assert {row["probabilities"] for row in rows(release)} == {None}
    assert "gave no probabilities" in ended.err
    assert '"logprobs":false' in next(text for text in provenance(release)["parameters"].values() if "{" in str(text))


def test_sessions_with_the_same_text_are_one_question(endpoint: Endpoint, tmp_path: Path) -> None:
    same = [session(5, words="look"), session(5, words="look", model="m9")]
    release = made_release(tmp_path / "release", same)
    endpoint.script()
    assert run(endpoint, release).status == 0
    assert endpoint.log()["calls"] == 1 and len(rows(release)) == 2


def test_the_key_is_in_no_file_and_no_output(endpoint: Endpoint, release: Path) -> None:
    endpoint.script()
    ended = run(endpoint, release, "--json")
    assert ended.status == 0 and KEY not in ended.text and KEY not in ended.err
    assert [name for name, content in files(release.parent).items() if KEY.encode() in content] == []
    assert {header["Authorization"] for header in endpoint.log()["headers"]} == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--protocol", "words", "Use one of: symbol, json"),
        ("--pool", "best", "Use one of: accepted"),
        ("--cut", "other", "Use one of: default, paper, hold-one-out, m1"),
        ("--side", "middle", "Use one of: train, test"),
        ("--out", "x.txt", "ends in .jsonl"),
        ("--date", "yesterday", "YYYY-MM-DD"),
        ("--pool", "both-high", "annotate --pass 2"),
        ("--pool", "human", "audit sample-calibration"),
        ("--pool", "baseline", "holds no trajectory"),
    ],
)
def test_a_wrong_option_says_what_is_right(release: Path, option: str, value: str, sentence: str) -> None:
    asked = ["--release", release, "--data", release.parent / "data", "--model", "m"]
    ended = call("detect", "run", *asked, "--base-url", "http://127.0.0.1:1/v1", option, value)
    assert ended.status == 2 and sentence in ended.err


def test_reviewed_trajectories_are_asked_about_beside_the_labelled_ones(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.script()
    pool = [session(n, WEAK, words=f"{WEAK} {n}", side="none", task=f"p{n}") for n in range(20, 23)]
    sessions = [*(session(n, words=f"look {n}", task=f"o{n}") for n in range(6)), *pool]
    release = made_release(tmp_path / "release", sessions, human=[verdict(pool[0], WEAK), verdict(pool[1], NORMAL)])
    planned = run(endpoint, release, "--dry-run")
    assert "labelled trajectories: 6; reviewed by people beside them: 2; 0 answered already; 8 to ask" in planned.text
    (card,) = run(endpoint, release, "--json").json["detectors"]
    assert endpoint.log()["calls"] == 8 and card["trajectories"] == 6 and card["compared"]["reviewed"] == 2
    assert card["human"]["compared"] == 2 and card["corrected"]["verdicts"] == 2


def test_files_give_the_same_predictions(endpoint: Endpoint, release: Path) -> None:
    endpoint.script()
    assert run(endpoint, release).status == 0
    online, folder = rows(release), release.parent / "files"
    asked = ("--release", release, "--data", release.parent / "by files", "--model", "m", "--batch-files", folder)
    stopped = call("detect", "run", *asked, "--out", release.parent / "p.jsonl")
    assert stopped.status == 3 and "detect-001.jsonl" in stopped.err, stopped.err
    assert call("detect", "run", *asked, "--dry-run", "--json").json["endpoint"] == f"batch files in {folder}"
    assert answer(folder, "vllm", answerer=Detector())
    ended = call("detect", "run", *asked, "--out", release.parent / "p.jsonl")
    assert ended.status == 0, ended.err
    left_out = ("cost_usd", "request_id")
    assert [{**row, **dict.fromkeys(left_out)} for row in rows(release)] == [
        {**row, **dict.fromkeys(left_out)} for row in online
    ]
    assert provenance(release)["endpoint"] == "batch files"
