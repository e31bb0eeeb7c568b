"""`detect baseline`, `score`, `table`, `prompt`, `check-tokenizer`: files that are wrong, and what is said of them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from calls import call, files
from made import T43, item, label_set, predictions_file
from made_release import made_release, session, verdict

from openclawbench.detect.pages import plots
from openclawbench.detect.predictions import prediction, probabilities_of
from openclawbench.detect.score.card import score_card
from openclawbench.detect.settings import LABELS, NORMAL, DetectRules
from openclawbench.storage.data_folder import sha256_file

WEAK, GAP = LABELS[3], LABELS[1]
EVEN = dict.fromkeys(LABELS, 1 / 6)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """30 train and 30 test trajectories, a third of them weak evidence, of three source models."""
    sessions = []
    for number in range(60):
        label = WEAK if number % 3 == 0 else GAP if number % 10 == 1 else NORMAL
        words = {WEAK: "guess", GAP: "no tool"}.get(label, "look")
        side = "train" if number < 30 else "test"
        model = f"m{number // 2 % 3 + 1}"
        sessions.append(session(number, label, side=side, words=words, model=model, task=f"o{number // 2}"))
    return made_release(tmp_path / "release", sessions)


def truth(release: Path) -> list[dict[str, Any]]:
    """A row a test trajectory with its label, as somebody else's file would have it."""
    rows = []
    for number in range(30, 60):
        label = WEAK if number % 3 == 0 else GAP if number % 10 == 1 else NORMAL
        rows.append({"source_model": f"m{number // 2 % 3 + 1}", "trajectory_id": f"t{number:05}", "label": label})
    return rows


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def scored(release: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    ended = call("detect", "score", *arguments, "--release", release, "--json")
    assert ended.status == 0, ended.err
    rows: list[dict[str, Any]] = ended.json["detectors"]
    return rows


def f1(card: dict[str, Any], convention: str = "wrong") -> float | None:
    value: float | None = card["conventions"][convention]["measures"]["f1"]["value"]
    return value


# -------------------------------------------------------------------------------- wrong prediction files
def test_lines_that_are_wrong_are_named_counted_and_left_out(release: Path, tmp_path: Path) -> None:
    rows: list[Any] = truth(release)
    twice, contradicting = rows[0], rows[1] | {"label": GAP if rows[1]["label"] != GAP else NORMAL}
    nan = rows[2] | {"probabilities": EVEN | {NORMAL: float("nan")}}
    no_sum = rows[3] | {"probabilities": dict.fromkeys(LABELS, 0.5)}
    other_key = {"source_model": "m9", "trajectory_id": "elsewhere", "label": NORMAL}
    no_label = rows[4] | {"label": "odd"}
    other_trajectory = rows[5] | {"trajectory_sha256": "0" * 64}
    bad = [rows[0], twice, rows[1], contradicting, nan, no_sum, other_key, no_label, other_trajectory]
    bad += ["{not json\n", '{"label": "normal"}\n', rows[6] | {"more": 1}]
    (card,) = scored(release, written(tmp_path / "p.jsonl", [*bad, *rows[7:20]]))
    compared = card["compared"]
    assert compared["faults"] == {
        "contradicting": 1,
        "no_key": 1,
        "not_a_prediction": 1,
        "not_json": 1,
        "probabilities": 2,
        "twice": 1,
        "unknown_field": 1,
    }
    assert compared["fault_lines"]["twice"] == ["line 2: m1/t00030: the same row stands twice; it counts once"]
    assert "sum to 3" in compared["fault_lines"]["probabilities"][1]
    # Comparable: row 0, 2, 3, 6, and 13 more; 1 contradicts itself, 4 has no label, 5 is another trajectory.
    assert compared["compared"] == 17 and compared["coverage"] == pytest.approx(17 / 30, abs=1e-6)
    assert compared["not_compared"] == {"other_key": 1, "other_trajectory": 1, "missing": 12}
    assert compared["named"]["other_key"] == ["m9/elsewhere"]
    assert card["trajectories"] == 17 and f1(card) == 1.0
    assert card["probabilities"] is None


def test_what_is_wrong_is_said_to_people_too(release: Path, tmp_path: Path) -> None:
    rows: list[Any] = truth(release)
    path = written(tmp_path / "theirs.jsonl", [*rows[:20], "{\n", rows[0] | {"trajectory_id": "zz\u001b[2J"}])
    ended = call("detect", "score", path, "--release", release)
    assert ended.status == 0
    assert "theirs: unverified: the file has no provenance file" in ended.err
    assert "theirs: scored on 20 of 30 labelled trajectories (66.67 %)" in ended.err
    assert "theirs: not_json: 1 line: line 21" in ended.err
    assert "theirs: other_key: 1, such as" in ended.err and "theirs: missing: 10, such as" in ended.err
    assert "\u001b" not in ended.err + ended.text


def test_numbers_that_are_none_are_not_used(release: Path, tmp_path: Path) -> None:
    rows: list[Any] = truth(release)
    bad = {"cost_usd": float("nan"), "prompt_tokens": -5, "probability_mass": float("inf")}
    rows[0] |= bad | {"onset": 10**30, "span": {"start_step": 5, "end_step": 1}}
    (card,) = scored(release, written(tmp_path / "p.jsonl", rows))
    assert card["compared"]["faults"] == {"number": 3} and card["compared"]["compared"] == 30
    assert card["cost_usd"] == 0.0 and card["tokens"] == 0
    assert call("detect", "score", tmp_path / "p.jsonl", "--release", release).status == 0


def test_a_hostile_provenance_reaches_no_terminal_and_no_markup(release: Path, tmp_path: Path) -> None:
    data, evil = tmp_path / "data", "evil\u001b[2J|`x`\n# big"
    assert call("detect", "baseline", "majority", "--release", release, "--data", data).status == 0
    (path,) = (data / "detect" / "predictions").glob("*.jsonl")
    beside = path.with_name("majority.accepted.default.test.provenance.json")
    document = json.loads(beside.read_text())
    named = ("detector", "model", "endpoint", "release_sha256", "program_version", "date")
    document |= dict.fromkeys(named, evil)
    document["trained_on"] |= {"pool": evil, "cut": evil, "side": evil}
    beside.write_text(json.dumps(document))
    ended = call("detect", "table", path, "--release", release, "--data", data)
    shown = call("detect", "score", path, "--release", release)
    assert ended.status == shown.status == 0
    page = (data / "detect" / "table" / "detectors.md").read_text()
    for text in (ended.text, ended.err, shown.text, shown.err, page):
        assert "\u001b" not in text and "\n# big" not in text
    assert "|`x`" not in page


def test_predictions_made_over_another_release_are_compared_by_their_trajectories(
    release: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    assert call("detect", "baseline", "bow", "--release", release, "--data", data).status == 0
    path = data / "detect" / "predictions" / "bow.accepted.default.test.jsonl"
    changed = [session(n, NORMAL, words="guess", model=f"m{n // 2 % 3 + 1}", task=f"o{n // 2}") for n in range(30, 60)]
    other = made_release(tmp_path / "other", [*changed, session(7, WEAK, model="m1")])
    ended = call("detect", "score", path, "--release", other, "--json")
    (card,) = ended.json["detectors"]
    assert any(note.startswith("made over another release") for note in card["notes"])
    kept = sum(number % 3 == 0 for number in range(30, 60))  # the same words, so the same trajectory
    assert card["compared"]["not_compared"] == {"other_trajectory": 30 - kept, "missing": 1}
    assert card["trajectories"] == kept


def test_a_file_that_was_changed_since_is_unverified(release: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert call("detect", "baseline", "majority", "--release", release, "--data", data).status == 0
    path = data / "detect" / "predictions" / "majority.accepted.default.test.jsonl"
    assert scored(release, path)[0]["verified"]
    path.write_bytes(path.read_bytes() + b"\n")
    (card,) = scored(release, path)
    assert not card["verified"] and card["unverified"] == "is not the file that its provenance describes"


def test_a_side_without_an_anomaly_is_said_and_has_no_f1(tmp_path: Path) -> None:
    root = made_release(tmp_path / "release", [session(n, task=f"o{n}") for n in range(5)])
    rows = [{"source_model": f"m{n % 3 + 1}", "trajectory_id": f"t{n:05}", "label": NORMAL} for n in range(5)]
    path = written(tmp_path / "p.jsonl", rows)
    (card,) = scored(root, path)
    assert f1(card) is None and card["conventions"]["wrong"]["measures"]["macro_f1"]["value"] is None
    ended = call("detect", "score", path, "--release", root)
    assert "no trajectory here is anomalous" in ended.err and ended.status == 0
    table = call("detect", "table", path, "--release", root, "--out", tmp_path / "table")
    assert table.status == 0, table.err
    assert "no trajectory here is anomalous" in (tmp_path / "table" / "detectors.md").read_text()


def test_a_file_named_twice_or_missing_and_files_of_different_labels_are_refused(release: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for cut in ("default", "m1"):
        assert call("detect", "baseline", "majority", "--release", release, "--data", data, "--cut", cut).status == 0
    entry, other = sorted((data / "detect" / "predictions").glob("*.jsonl"))
    twice = call("detect", "score", entry, entry, "--release", release)
    assert twice.status == 2 and "is named 2 times" in twice.err
    mixed = call("detect", "score", entry, other, "--release", release)
    assert mixed.status == 2 and "Name --pool, --cut and --side" in mixed.err
    assert (
        call(
            "detect",
            "score",
            entry,
            other,
            "--release",
            release,
            "--pool",
            "accepted",
            "--cut",
            "default",
            "--side",
            "test",
        ).status
        == 0
    )
    missing = call("detect", "score", tmp_path / "none.jsonl", "--release", release)
    assert missing.status == 2 and "Name a predictions file" in missing.err


def test_a_detector_scored_where_it_was_fitted_is_told_on(release: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert call("detect", "baseline", "majority", "--release", release, "--data", data, "--cut", "m1").status == 0
    (path,) = (data / "detect" / "predictions").glob("*.jsonl")
    (card,) = scored(release, path, "--cut", "default")
    assert any("it may have seen what is scored here" in note for note in card["notes"])
    assert scored(release, path)[0]["notes"] == []


# -------------------------------------------------------------------------------- the paper
def test_a_corpus_with_the_confusion_of_t43_gives_its_metrics(tmp_path: Path) -> None:
    """The whole way: records of a release, a predictions file, the command."""
    sessions, rows, number = [], [], 0
    for label, counts in zip(LABELS, T43, strict=True):
        for stated_label, count in zip(LABELS, counts, strict=True):
            for _ in range(count):
                recording = session(number, label, task=f"task{number // 3}", steps=1)
                sessions.append(recording)
                rows.append(
                    {name: recording[name] for name in ("source_model", "trajectory_id")} | {"label": stated_label}
                )
                number += 1
    root = made_release(tmp_path / "release", sessions)
    (card,) = scored(root, written(tmp_path / "p.jsonl", rows))
    measured = {name: measure["value"] for name, measure in card["conventions"]["wrong"]["measures"].items()}
    assert (card["trajectories"], card["anomalous"]) == (2646, 391)
    assert [row[:6] for row in card["confusion"]] == T43
    shown = ("precision", "recall", "f1", "macro_f1", "predicted_share")
    assert [round(measured[name], 3) for name in shown] == [0.660, 0.813, 0.729, 0.403, 0.182]
    assert round(measured["f1_capability_gap_overcommitment"], 3) == 0.744
    assert card["contradictions"] == []


CONTRADICTIONS = [  # where, printed, what the others imply: paper T2, T3, T43, F.10
    ("T43, against T2", "0.820", "0.813299"),
    ("T43, against T2", "17.7%", "18.2162 %"),
    ("T43, against T2", "14.7%", "14.777 %"),
    ("T43 macro F1, against T2", "0.408", "0.402608"),
    ("T3 label anomalies, against T43", "391", "388"),
    ("F.10 confusion with normal, against T43", "95%", "82.5784 %"),
]


@pytest.mark.parametrize(("where", "printed", "implied"), CONTRADICTIONS)
def test_the_contradictions_of_the_paper_are_printed(where: str, printed: str, implied: str) -> None:
    ended = call("detect", "table", "--paper")
    assert ended.status == 0
    lines = [line for line in ended.text.splitlines() if line.startswith(where)]
    assert any(printed in line and implied in line for line in lines)
    rows = call("detect", "table", "--paper", "--json").json["sections"]["paper_contradictions"]["rows"]
    assert any((row["where"], row["printed"], row["implied"]) == (where, printed, implied) for row in rows)


# -------------------------------------------------------------------------------- leaderboard
def test_a_leaderboard_is_markdown_json_and_pictures_with_provenance(release: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("majority", "bow", "descriptors"):
        assert call("detect", "baseline", name, "--release", release, "--data", data).status == 0
    path = written(tmp_path / "theirs|`x`.jsonl", truth(release)[:25])
    own = sorted((data / "detect" / "predictions").glob("*.jsonl"))
    ended = call("detect", "table", *own, path, "--release", release, "--data", data, "--paper")
    assert ended.status == 0, ended.err
    folder = data / "detect" / "table"
    actual_files = files(folder)
    for name in ("headline", "by_source_model", "confusion", "probabilities", "sweep"):
        assert actual_files[f"{name}.png"].startswith(b"\x89PNG") and b"<svg" in actual_files[f"{name}.svg"]
    page, sections = actual_files["detectors.md"].decode(), json.loads(actual_files["detectors.json"])["sections"]
    headline = {row["detector"]: row for row in sections["headline"]["rows"]}
    assert headline["bow"]["f1"] == 1.0 and headline["majority"]["f1"] == 0.0 and headline["bow"]["verified"]
    assert not headline["theirs|`x`"]["verified"] and headline["theirs|`x`"]["trajectories"] == 25
    assert sections["headline"]["facts"]["contradictions"] == 0
    assert "theirs|" not in page and "\\x7c\\x60x\\x60" in page
    files_told = {row["detector"]: row for row in sections["provenance"]["rows"]}
    assert files_told["theirs|`x`"]["unverified"] == "has no provenance file"
    assert files_told["bow"]["trained_on"].startswith("accepted, default, train: 30, ")
    models = [row["source_model"] for row in sections["by_source_model"]["rows"] if row["detector"] == "bow"]
    assert models == ["m1", "m2", "m3"]
    pairs = {(row["first"], row["second"]): row for row in sections["mcnemar"]["rows"]}
    assert len(pairs) == 6
    against = pairs["bow", "majority"]
    assert (against["only_first"], against["only_second"]) == (12, 0)
    assert against["p_value"] == pytest.approx(2 * 0.5**12)
    assert "paper_contradictions" in sections
    again = call("detect", "table", *own, path, "--release", release, "--data", data, "--paper")
    assert again.status == 0 and files(folder) == actual_files


def test_two_files_of_one_detector_are_told_apart(release: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("a.jsonl", "b.jsonl"):
        out = ("--out", tmp_path / name)
        assert call("detect", "baseline", "majority", "--release", release, "--data", data, *out).status == 0
    cards = scored(release, tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert [card["detector"] for card in cards] == ["majority (a.jsonl)", "majority (b.jsonl)"]
    (tmp_path / "x").mkdir()
    for name in ("a.jsonl", "a.provenance.json"):
        shutil.copy(tmp_path / name, tmp_path / "x" / name)
    cards = scored(release, tmp_path / "a.jsonl", tmp_path / "x" / "a.jsonl")
    assert len({card["detector"] for card in cards}) == 2


def test_a_table_needs_files_or_the_paper() -> None:
    ended = call("detect", "table")
    assert ended.status == 2 and "name predictions files" in ended.err


def test_each_model_is_held_out_in_one_command(release: Path, tmp_path: Path) -> None:
    ended = call(
        "detect", "baseline", "bow", "--cut", "hold-one-out", "--release", release, "--data", tmp_path, "--json"
    )
    (card,) = ended.json["detectors"]
    assert card["trajectories"] == 60
    assert [row["group"] for row in card["by"]["source_model"]] == ["m1", "m2", "m3"]
    assert card["provenance"]["trained_on"]["cut"] == "hold-one-out" and card["notes"] == []


# -------------------------------------------------------------------------------- people
def reviewed(tmp_path: Path) -> tuple[Path, Path]:
    """A release in which people call half of the silver anomalies normal, and a detector that agrees with people."""
    sessions = [session(n, WEAK if n % 2 else NORMAL, task=f"o{n}") for n in range(200)]
    says = {recording["trajectory_id"]: WEAK if n % 4 == 1 else NORMAL for n, recording in enumerate(sessions)}
    verdicts = [verdict(recording, says[recording["trajectory_id"]]) for recording in sessions[:100]] + [
        verdict(sessions[150], None)
    ]
    root = made_release(tmp_path / "release", sessions, human=verdicts)
    keys = ("source_model", "trajectory_id")
    rows = [
        {name: recording[name] for name in keys} | {"label": says[recording["trajectory_id"]]} for recording in sessions
    ]
    return root, written(tmp_path / "p.jsonl", rows)


def test_scores_corrected_by_verdicts_stand_beside_silver(tmp_path: Path) -> None:
    root, path = reviewed(tmp_path)
    (card,) = scored(root, path)
    silver, corrected = card["conventions"]["wrong"]["measures"], card["corrected"]["measures"]
    assert silver["recall"]["value"] == 0.5 and corrected["recall"]["value"] == 1.0
    assert silver["recall"]["low"] < 0.5 < silver["recall"]["high"]
    assert 0.8 < corrected["recall"]["low"] < corrected["recall"]["high"] <= 1.0
    assert card["corrected"]["verdicts"] == 100 and f1(card["human"]) == 1.0
    ended = call("detect", "score", path, "--release", root)
    assert "against silver, and corrected by 100 verdicts" in ended.text and "against people: F1 1.000" in ended.text
    table = call("detect", "table", path, "--release", root, "--out", tmp_path / "t")
    assert table.status == 0, table.err
    sections = json.loads((tmp_path / "t" / "detectors.json").read_text())["sections"]
    row = next(row for row in sections["corrected"]["rows"] if row["measure"] == "recall")
    assert (row["silver"], row["corrected"]) == (0.5, 1.0) and len(sections["strata"]["rows"]) == 3
    assert sections["human"]["rows"][0]["trajectories"] == 100


def test_verdicts_alone_are_a_pool_of_their_own(tmp_path: Path) -> None:
    root, path = reviewed(tmp_path)
    for choice in (["--labels", "human"], ["--pool", "human"]):
        (card,) = scored(root, path, *choice)
        assert card["labels"]["judges"] == ["human"] and card["labels"]["left_out"] == {"no_settled_verdict": 1}
        assert card["trajectories"] == 100 and f1(card) == 1.0 and "corrected" not in card


def test_without_verdicts_nothing_is_corrected(release: Path, tmp_path: Path) -> None:
    (card,) = scored(release, written(tmp_path / "p.jsonl", truth(release)))
    assert "corrected" not in card and "human" not in card
    table = call("detect", "table", tmp_path / "p.jsonl", "--release", release, "--out", tmp_path / "t")
    assert table.status == 0 and "Corrected" not in (tmp_path / "t" / "detectors.md").read_text()
    ended = call("detect", "score", tmp_path / "p.jsonl", "--release", release, "--labels", "people")
    assert ended.status == 2 and "silver, human" in ended.err


def test_labels_of_the_rules_judge_come_with_a_warning(tmp_path: Path) -> None:
    status = {"quality_tier": "baseline_accepted", "label_status": "baseline"}
    sessions = [session(n, WEAK if n % 2 else NORMAL, task=f"o{n}", **status) for n in range(10)]
    root = made_release(tmp_path / "release", sessions, judge="rules")
    ended = call("detect", "baseline", "screen", "--pool", "baseline", "--release", root, "--data", tmp_path / "data")
    assert ended.status == 0 and "these labels are the rules judge's" in ended.err
    (path,) = (tmp_path / "data" / "detect" / "predictions").glob("*.jsonl")
    assert call("detect", "table", path, "--release", root, "--data", tmp_path / "data").status == 0
    page = (tmp_path / "data" / "detect" / "table" / "detectors.md").read_text()
    assert page.splitlines()[2].startswith("> **The labels are the rules judge's")


# -------------------------------------------------------------------------------- prompt and tokenizer
def test_the_prompt_is_printed_alone_and_with_a_trajectory(release: Path) -> None:
    alone = call("detect", "prompt")
    assert alone.status == 0 and "| ∘ | normal |" in alone.text
    ended = call("detect", "prompt", "t00031", "--release", release, "--protocol", "json")
    assert ended.status == 0 and "ask 31" in ended.text and "END TRAJECTORY" in ended.text
    assert "0 of" in ended.err and "left out" in ended.err
    several = call("detect", "prompt", "t0003", "--release", release)
    assert several.status == 2 and "is one of m1/t00030" in several.err
    none = call("detect", "prompt", "x", "--release", release)
    assert none.status == 2 and "has no trajectory x" in none.err


def tokenizer(folder: Path, single: bool) -> Path:
    """A byte-level tokenizer, in whose vocabulary the symbols are or are not."""
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    new_tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    new_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    new_tokenizer.train_from_iterator([], tokenizers.trainers.BpeTrainer(vocab_size=256, initial_alphabet=alphabet))
    if single:
        new_tokenizer.add_tokens(list(DetectRules.load().symbols))
    folder.mkdir()
    new_tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_a_tokenizer_with_each_symbol_as_a_token_is_good(tmp_path: Path) -> None:
    ended = call("detect", "check-tokenizer", tokenizer(tmp_path / "model", single=True))
    assert ended.status == 0, ended.err
    assert "each of the six symbols is a single token of its own" in ended.text


def test_a_tokenizer_that_splits_symbols_is_not(tmp_path: Path, release: Path) -> None:
    folder = tokenizer(tmp_path / "model", single=False)
    ended = call("detect", "check-tokenizer", folder / "tokenizer.json", "--json")
    assert ended.status == 1
    assert not ended.json["is_good"] and {len(row["tokens"]) for row in ended.json["symbols"]} == {3}
    assert set(ended.json["alike"]) == set(DetectRules.load().symbols)  # the bytes of all begin alike
    counted = call("detect", "prompt", "t00031", "--release", release, "--tokenizer", folder, "--json").json
    text = counted["messages"][1]["content"].split("\n")[1]
    assert counted["packet"]["estimated_tokens"] == len(text.encode())  # a token a byte


@pytest.mark.parametrize("content", [None, b"{}", b"\xff"])
def test_what_is_no_tokenizer_is_refused(tmp_path: Path, content: bytes | None) -> None:
    pytest.importorskip("tokenizers")
    if content is not None:
        (tmp_path / "tokenizer.json").write_bytes(content)
    ended = call("detect", "check-tokenizer", tmp_path)
    assert ended.status == 2 and "tokenizer.json" in ended.err


def test_reviewed_trajectories_are_predicted_beside_the_test_side(tmp_path: Path) -> None:
    """The calibration pool is on no side of the default cut; without them no score could be corrected."""
    sessions = [
        session(n, WEAK if n % 3 == 0 else NORMAL, task=f"o{n}", side=("train", "test")[n % 2]) for n in range(40)
    ]
    pool = [session(n, WEAK, task=f"p{n}", side="none", in_calibration_pool=True) for n in range(100, 104)]
    empty = session(104, NORMAL, task="p104", side="none", steps=0, scoreable=False)
    verdicts = [verdict(pool[0], WEAK), verdict(pool[1], NORMAL), verdict(pool[2], None), verdict(empty, NORMAL)]
    verdicts += [
        verdict(sessions[0], NORMAL),
        verdict(sessions[1], NORMAL),
    ]  # one on the train side, one on the test side
    root = made_release(tmp_path / "release", [*sessions, *pool, empty], human=verdicts)
    out = tmp_path / "p.jsonl"
    ended = call("detect", "baseline", "prior", "--release", root, "--out", out, "--json")
    assert ended.status == 0, ended.err
    (card,) = ended.json["detectors"]
    predicted = {json.loads(line)["trajectory_id"] for line in out.read_text().splitlines()}
    assert predicted == {recording["trajectory_id"] for recording in sessions if recording["side"] == "test"} | {
        "t00100",
        "t00101",
    }
    assert (card["trajectories"], card["compared"]["reviewed"]) == (20, 2)
    assert card["compared"]["not_compared"] == {} and card["provenance"]["rows"] == 22
    assert card["corrected"]["verdicts"] == card["human"]["compared"] == 3
    judged = call("detect", "baseline", "screen", "--release", root, "--out", out, "--json").json["detectors"][0]
    assert judged["compared"]["reviewed"] == 3  # it is not fitted, so the one on the train side counts too
    held = call("detect", "baseline", "majority", "--cut", "hold-one-out", "--release", root, "--out", out, "--json")
    (card,) = held.json["detectors"]
    assert card["compared"]["reviewed"] == 0  # a model that is held out is tested whole, the pool included
    assert card["human"]["compared"] == 4


def test_a_file_of_another_detector_is_not_overwritten(release: Path, tmp_path: Path) -> None:
    def written_files(*more: str | Path) -> set[str]:
        ended = call("detect", "baseline", "majority", "--release", release, "--data", tmp_path, *more)
        assert ended.status == 0, ended.err
        return {path.name for path in (tmp_path / "detect" / "predictions").glob("*.jsonl")}

    assert written_files() == {"majority.accepted.default.test.jsonl"}
    first = (tmp_path / "detect" / "predictions" / "majority.accepted.default.test.jsonl").read_bytes()
    assert written_files("--date", "2026-11-26") == {"majority.accepted.default.test.jsonl"}  # the same again
    two = written_files("--fit", "high")
    assert len(two) == 2 and written_files("--fit", "high") == two  # fitted to another pool
    assert (tmp_path / "detect" / "predictions" / "majority.accepted.default.test.jsonl").read_bytes() == first
    (tmp_path / "detect" / "predictions" / "majority.accepted.default.test.provenance.json").unlink()
    assert len(written_files()) == 3  # whose the first file is, nothing says now


def test_names_that_make_the_same_file_name_do_not_collide(tmp_path: Path) -> None:
    from openclawbench.cli.commands.detect.results import distinct_path, predictions_path
    from openclawbench.detect.labels import LabelSelection, provenance_base, read_labels
    from openclawbench.detect.predictions import write_predictions
    from openclawbench.detect.settings import DetectRules

    labels = read_labels(made_release(tmp_path / "release", [session(1)]), LabelSelection())
    about = provenance_base(labels, DetectRules.load()) | {"kind": "endpoint", "detector": "a/b"}
    path = predictions_path(None, tmp_path, "a/b", labels)
    assert path == predictions_path(None, tmp_path, "a b", labels)
    write_predictions(path, [], about)
    assert distinct_path(path, about) == path
    other = distinct_path(path, about | {"detector": "a b"})
    assert other.parent == path.parent and other != path and other.suffix == ".jsonl"


def test_a_table_says_what_it_was_made_from_and_how_many_are_right(tmp_path: Path) -> None:
    pool = [session(n, WEAK if n % 2 else NORMAL, side="none", task=f"p{n}") for n in range(100, 112)]
    sessions = [
        session(n, WEAK if n % 2 else NORMAL, task=f"o{n}", side=("train", "test")[n % 4 > 1]) for n in range(40)
    ]
    truncated = session(90, NORMAL, task="o90", scoreable=False)
    root = made_release(
        tmp_path / "release", [*sessions, *pool, truncated], human=[verdict(member, WEAK) for member in pool]
    )
    path = tmp_path / "p.jsonl"
    assert call("detect", "baseline", "prior", "--release", root, "--out", path).status == 0
    ended = call("detect", "table", path, "--release", root, "--out", tmp_path / "t")
    assert ended.status == 0, ended.err
    table = json.loads((tmp_path / "t" / "detectors.json").read_text())
    assert table["inputs"] == {
        "CHECKSUMS.sha256": sha256_file(root / "CHECKSUMS.sha256"),
        str(path): sha256_file(path),
    }
    assert set(table["rules"]) == {"detect.toml"}
    sections = table["sections"]
    (row,) = sections["headline"]["rows"]
    assert row["tp"] + row["fn"] == 10 and row["fp"] + row["tn"] == 10
    assert row["recall"] == pytest.approx(row["tp"] / 10, abs=1e-6)
    assert sections["comparable"]["rows"][0]["reviewed"] == 12
    assert "1 not_scoreable" in sections["comparable"]["about"]
    swept = sections["human_sweep"]["rows"]
    assert len(swept) == 19 and swept[0]["recall"] == 1.0 and swept[0]["accuracy"] == 1.0
    assert "Thresholds, against people" in (tmp_path / "t" / "detectors.md").read_text()


def test_pictures_show_every_detector() -> None:
    import matplotlib.colors

    even = probabilities_of([0.5, 0.5, 0, 0, 0, 0])
    items = [item(number, LABELS[number % 2]) for number in range(6)]
    cards = []
    for number in range(13):
        rows = [prediction(labelled.key, label=labelled.label, probabilities=even) for labelled in items]
        cards.append(score_card(label_set(items), predictions_file(rows, f"detector {number}"), {}, DetectRules.load()))
    drawn = plots.reliability(cards)
    assert drawn is not None
    shown = plots.confusions(cards, list("abcdef"))()
    assert [axes.get_title(loc="left") for axes in shown.axes if axes.axison] == [f"detector {n}" for n in range(13)]
    for figure in (plots.curves(cards)(), drawn()):
        lines = [line for line in figure.axes[0].lines if str(line.get_label()).startswith("detector")]
        looks = {(matplotlib.colors.to_hex(line.get_color()), line.get_linestyle()) for line in lines}
        assert len(lines) == len(looks) == 13


def test_files_about_the_human_pool_are_compared_whatever_they_were_fitted_to(tmp_path: Path) -> None:
    sessions = [session(n, WEAK if n % 2 else NORMAL, side="train", task=f"o{n}") for n in range(20)]
    pool = [session(n, WEAK if n % 2 else NORMAL, side="none", task=f"p{n}") for n in range(100, 108)]
    verdicts = [verdict(member, WEAK) for member in pool]
    root = made_release(tmp_path / "release", [*sessions, *pool], human=verdicts)
    paths = [tmp_path / f"{cut}.jsonl" for cut in ("default", "paper")]
    for path in paths:
        choice = ("--pool", "human", "--fit", "accepted", "--cut", path.stem)
        ended = call("detect", "baseline", "majority", *choice, "--release", root, "--out", path)
        assert ended.status == 0, ended.err
    cards = scored(root, *paths)
    assert [card["trajectories"] for card in cards] == [8, 8]
