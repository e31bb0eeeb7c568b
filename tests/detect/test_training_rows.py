"""Training rows: what they hold, how long they are, what is left out and counted, and which rows an epoch has."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from calls import call, files
from hypothesis import given
from hypothesis import strategies as st
from made import item
from made_release import made_release, session, verdict
from toy import TEST, TRAIN, read_lines, toy_release, toy_tokenizer

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.detect.labels import LabelSelection, provenance_base, read_labels, read_packets
from openclawbench.detect.packet import detector_messages, detector_prompt
from openclawbench.detect.predictions import write_predictions
from openclawbench.detect.settings import LABELS, NORMAL, DetectRules
from openclawbench.detect.training.encode import IGNORED, EncodedRow, check_row
from openclawbench.detect.training.epochs import EpochDraws, is_validation
from openclawbench.detect.training.held_out import held_out_sides, joint_provenance
from openclawbench.detect.training.plan import accumulation_of
from openclawbench.detect.training.recipe import Recipe, load_recipe
from openclawbench.errors import InvalidRules, TrainingRefused, UsageError
from openclawbench.rules.loading.own_folder import shipped_path

RULES = DetectRules.load()
RECIPE = load_recipe()
PROMPT = detector_prompt("symbol")
WEAK = LABELS[3]


def export(release: Path, out: Path, *more: str | Path) -> dict[str, Any]:
    ended = call("detect", "sft-export", "--release", release, "-o", out, "--json", *more)
    assert ended.status == 0, ended.err
    row: dict[str, Any] = ended.json
    return row


# ------------------------------------------------------------------------------------------------------- epochs
def keyed(labels: list[str]) -> list[Any]:
    return [(("m", f"t{number}"), label) for number, label in enumerate(labels)]


@given(st.lists(st.sampled_from(LABELS), max_size=60), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), st.integers(1, 9))
def test_an_epoch_has_every_anomalous_row_and_at_most_so_many_normal_ones(
    labels: list[str], balance: float, seed: int
) -> None:
    draws = EpochDraws(keyed(labels), balance, seed)
    anomalous = {number for number, label in enumerate(labels) if label != NORMAL}
    most = len(labels) - len(anomalous) if not balance else int(balance * len(anomalous))
    for epoch in (1, 2):
        rows = draws.draw(epoch)
        assert len(rows) == len(set(rows)) == draws.size
        assert anomalous <= set(rows)
        assert len(set(rows) - anomalous) == min(most, len(labels) - len(anomalous))
        assert rows == EpochDraws(keyed(labels), balance, seed).draw(epoch)


def test_each_epoch_draws_anew_and_all_normal_rows_come_up() -> None:
    draws = EpochDraws(keyed([WEAK] * 10 + [NORMAL] * 60), 2, 1)
    drawn = [frozenset(draws.draw(epoch)) for epoch in range(1, 21)]
    assert len(set(drawn)) == 20
    assert frozenset.union(*drawn) == set(range(70))
    assert draws.draw(1) != EpochDraws(draws_rows(draws), 2, 2).draw(1)


def draws_rows(draws: EpochDraws) -> list[Any]:
    return [(key, WEAK if number in draws.anomalous else NORMAL) for number, key in enumerate(draws.keys)]


def test_the_draw_depends_on_keys_and_not_on_the_order_of_the_rows() -> None:
    rows = keyed([WEAK] * 5 + [NORMAL] * 50)
    names = [rows[number][0] for number in EpochDraws(rows, 2, 1).draw(3)]
    turned = rows[::-1]
    assert names == [turned[number][0] for number in EpochDraws(turned, 2, 1).draw(3)]


def test_the_papers_pool_gives_the_papers_epoch() -> None:
    """T42: about 8,800 of 23,857. At 1:2 that is 2,933 anomalous ones."""
    draws = EpochDraws(keyed([WEAK] * 2933 + [NORMAL] * (23857 - 2933)), RECIPE.balance.normal_per_anomalous, 1)
    assert draws.size == 8799


def test_the_validation_part_is_drawn_by_task() -> None:
    items = [item(number, task=f"task{number // 3}") for number in range(900)]
    chosen = {labelled.task for labelled in items if is_validation(labelled, 0.1, 1)}
    assert 10 < len(chosen) < 60
    assert all(is_validation(labelled, 0.1, 1) == (labelled.task in chosen) for labelled in items)
    assert not any(is_validation(labelled, 0.0, 1) for labelled in items)


# ------------------------------------------------------------------------------------------------------- export
def test_a_row_is_the_question_that_a_model_is_asked_and_the_symbol(tmp_path: Path) -> None:
    release, out = toy_release(tmp_path / "release"), tmp_path / "sft"
    manifest = export(release, out)
    labels = read_labels(release, LabelSelection(side="train"))
    asked = {
        (detector_packet.source_model, detector_packet.trajectory_id): detector_packet
        for detector_packet in read_packets(release, set(labels.by_key))
    }
    lines, rows = read_lines(out / "train.jsonl"), read_lines(out / "rows.jsonl")
    assert len(lines) == len(rows) == manifest["rows"] == len(labels.items) == 150
    for line, row in zip(lines, rows, strict=True):
        key = (row["source_model"], row["trajectory_id"])
        assert line["prompt"] == detector_messages(asked[key].text, PROMPT)
        assert line["completion"] == [{"role": "assistant", "content": row["symbol"]}]
        assert row["label"] == labels.by_key[key].label == RULES.symbols[row["symbol"]]
        assert row["packet_sha256"] == sha256_text(asked[key].text) == asked[key].packet_sha256
    counts = {label["name"]: label["count"] for label in manifest["labels"]}
    assert sum(counts.values()) == 150 and counts[NORMAL] == 75
    assert manifest["files"] == [
        {"name": name, "sha256": digest(out / name)} for name in ("train.jsonl", "rows.jsonl", "epochs.jsonl")
    ]


def digest(path: Path) -> str:
    return sha256_text(path.read_text(encoding="utf-8"))


def test_the_forms_say_the_same(tmp_path: Path) -> None:
    release = toy_release(tmp_path / "release")
    for form in ("chat", "completion", "messages"):
        export(release, tmp_path / form, "--form", form)
    chat, text, complete = (read_lines(tmp_path / form / "train.jsonl") for form in ("chat", "completion", "messages"))
    for entry, other, third in zip(chat, text, complete, strict=True):
        assert third["messages"] == entry["prompt"] + entry["completion"]
        assert other["completion"] == entry["completion"][0]["content"] and len(other["completion"]) == 1
        assert all(message["content"] in other["prompt"] for message in entry["prompt"])
    ended = call("detect", "sft-export", "--release", release, "-o", tmp_path / "x", "--form", "xml")
    assert ended.status == 2 and "Use one of: chat, completion, messages." in ended.err


def test_epochs_are_lines_of_the_file(tmp_path: Path) -> None:
    sessions = [session(n, WEAK if n < 8 else NORMAL, side="train", task=f"o{n}") for n in range(60)]
    release, out = made_release(tmp_path / "release", sessions), tmp_path / "sft"
    manifest = export(release, out, "--epochs", "3", "--seed", "7", "--balance", "1:3")
    rows, epochs = read_lines(out / "rows.jsonl"), read_lines(out / "epochs.jsonl")
    assert [line["epoch"] for line in epochs] == [1, 2, 3] and manifest["rows_of_an_epoch"] == 32
    for line in epochs:
        labels = [rows[number]["label"] for number in line["rows"]]
        assert (labels.count(WEAK), labels.count(NORMAL)) == (8, 24)
    assert len({tuple(sorted(line["rows"])) for line in epochs}) == 3
    assert export(release, out, "--balance", "none")["rows_of_an_epoch"] == 60
    for wrong in ("2:1", "1:0", "1:-2", "1:x", "1:inf", "half"):
        ended = call("detect", "sft-export", "--release", release, "-o", out, "--balance", wrong)
        assert ended.status == 2 and f"--balance {wrong}" in ended.err


def test_a_long_trajectory_loses_its_middle_and_never_its_end_or_its_label(tmp_path: Path) -> None:
    middle = " ".join(f"word{number}" for number in range(9000))
    sessions = [
        session(1, WEAK, side="train", words="begin " + middle + " end", steps=1),
        session(2, NORMAL, side="train"),
    ]
    release, out = made_release(tmp_path / "release", sessions), tmp_path / "sft"
    for most in ("8192", "2000", "1300"):
        manifest = export(release, out, "--max-tokens", most)
        line = next(line for line in read_lines(out / "train.jsonl") if "begin" in str(line))
        row = next(row for row in read_lines(out / "rows.jsonl") if row["label"] == WEAK)
        assert line["completion"][0]["content"] == row["symbol"]
        packet = json.loads(line["prompt"][1]["content"].split("\n")[1])
        assert packet[1]["action"].startswith("begin ") and packet[1]["action"].endswith(" end")
        assert packet[-1]["feedback"] == "result 1"
        assert 0 < row["characters_left_out"] < len(middle) and row["tokens"] <= int(most)
        assert (manifest["shortened"], manifest["characters_left_out"]) == (1, row["characters_left_out"])
        assert manifest["tokens"]["longest"] == row["tokens"]


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    sessions = [
        session(1, WEAK, side="train"),
        session(2, WEAK, side="train", scoreable=False),
        session(3, WEAK, side="train", in_calibration_pool=True),
        session(4, NORMAL, side="train", user_turns=[]),
        *(session(n, NORMAL, side="train", steps=40, words="x" * 400) for n in (5, 6)),
    ]
    release, out = made_release(tmp_path / "release", sessions), tmp_path / "sft"
    manifest = export(release, out)
    assert manifest["left_out"] == [{"name": "calibration_pool", "count": 1}, {"name": "not_scoreable", "count": 1}]
    shortest = sorted(row["tokens"] for row in read_lines(out / "rows.jsonl"))[1]
    manifest = export(release, out, "--max-tokens", str(shortest))
    left_out = {entry["name"]: entry["count"] for entry in manifest["left_out"]}
    assert (left_out["too_long"], manifest["rows"]) == (2, 2)
    assert len(read_lines(out / "train.jsonl")) == len(read_lines(out / "rows.jsonl")) == 2


def test_nothing_fits_is_said(tmp_path: Path) -> None:
    ended = call(
        *("detect", "sft-export", "--release", toy_release(tmp_path / "release"), "-o", tmp_path / "sft"),
        *("--max-tokens", "50"),
    )
    assert ended.status == 2 and "no trajectory is anomalous" in ended.err
    assert not (tmp_path / "sft" / "manifest.json").exists()


def test_a_tokenizer_counts_exactly(tmp_path: Path) -> None:
    release = toy_release(tmp_path / "release")
    export(release, tmp_path / "text", "--form", "completion")
    texts = [line["prompt"] for line in read_lines(tmp_path / "text" / "train.jsonl")]
    tokenizer = toy_tokenizer(texts, list(RULES.symbols))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    manifest = export(release, tmp_path / "sft", "--tokenizer", tmp_path / "tokenizer.json")
    for line, row in zip(
        read_lines(tmp_path / "sft" / "train.jsonl"), read_lines(tmp_path / "sft" / "rows.jsonl"), strict=True
    ):
        counted = sum(len(tokenizer.encode(message["content"]).ids) for message in line["prompt"])
        assert row["tokens"] == counted + RECIPE.sequence.template_tokens + 1
    assert manifest["tokens"]["counted_by"] == "tokenizer.json"


def test_the_test_side_has_no_epochs_and_need_not_be_anomalous(tmp_path: Path) -> None:
    release = made_release(tmp_path / "release", [session(1, NORMAL, side="test")])
    manifest = export(release, tmp_path / "sft", "--side", "test")
    assert (manifest["rows"], manifest["epochs"], manifest["rows_of_an_epoch"]) == (1, 0, 0)
    assert sorted(files(tmp_path / "sft")) == ["manifest.json", "rows.jsonl", "test.jsonl"]


def test_what_people_reviewed_is_not_trained_on(tmp_path: Path) -> None:
    recording = session(1, WEAK, side="train")
    release = made_release(tmp_path / "release", [recording], human=[verdict(recording, WEAK)])
    ended = call("detect", "sft-export", "--release", release, "-o", tmp_path / "sft", "--pool", "human")
    assert ended.status == 2 and "nothing is trained on it" in ended.err


def test_a_pool_without_an_anomalous_trajectory_is_refused(tmp_path: Path) -> None:
    release = made_release(tmp_path / "release", [session(n, NORMAL, side="train") for n in range(5)])
    ended = call("detect", "sft-export", "--release", release, "-o", tmp_path / "sft")
    assert ended.status == 2 and "no trajectory is anomalous, so there is nothing to learn" in ended.err
    assert not (tmp_path / "sft" / "manifest.json").exists()


def test_labels_of_the_rules_judge_come_with_a_warning(tmp_path: Path) -> None:
    sessions = [session(1, WEAK, side="train", label_status="baseline", quality_tier="baseline_accepted")]
    release = made_release(tmp_path / "release", sessions, judge="rules")
    asked = ("detect", "sft-export", "--release", release, "-o", tmp_path / "sft")
    assert "Every label of this release is the rules judge's: --pool baseline" in call(*asked).err
    ended = call(*asked, "--pool", "baseline")
    assert ended.status == 0 and "Do not train on them as if a person" in " ".join(ended.err.split())
    manifest = json.loads((tmp_path / "sft" / "manifest.json").read_text())
    assert (manifest["label_judges"], manifest["label_statuses"]) == (["rules"], ["baseline"])


def test_a_folder_with_other_files_is_refused_and_one_of_an_export_is_written_anew(tmp_path: Path) -> None:
    release, out = toy_release(tmp_path / "release"), tmp_path / "sft"
    export(release, out)
    before = files(out)
    export(release, out)
    assert files(out) == before
    (out / "mine.txt").write_text("mine")
    ended = call("detect", "sft-export", "--release", release, "-o", out)
    assert ended.status == 2 and "holds mine.txt" in ended.err
    assert {name: content for name, content in files(out).items() if name != "mine.txt"} == before


def test_outcome_risk_and_words_of_a_judge_are_in_no_row(tmp_path: Path) -> None:
    toy_release(tmp_path / "one")
    toy_release(
        tmp_path / "other",
        oracle_outcome="canary",
        slice_label="canary",
        risk_score=0.9,
        annotator_rationale="canary",
        onset_candidates={"first_candidate": 2},
    )
    for name in ("one", "other"):
        export(tmp_path / name, tmp_path / f"{name}_rows")
    first, second = files(tmp_path / "one_rows"), files(tmp_path / "other_rows")
    assert first == second and b"canary" not in b"".join(second.values())


# ------------------------------------------------------------------------------------------------- rows and recipe
def test_a_row_that_is_not_whole_is_refused() -> None:
    ids = [5, 6, 7, 9]
    good = EncodedRow(ids, [IGNORED, IGNORED, IGNORED, 9])
    check_row(good, 9, 4, "m/t")
    for row, answer, most, why in (
        (good, 9, 3, "its label would be cut off"),
        (EncodedRow(ids[:3], [IGNORED] * 3), 9, 4, "no token with a loss"),
        (EncodedRow(ids, ids), 9, 4, "a loss on other tokens than its label"),
        (EncodedRow(ids, [IGNORED, IGNORED, 7, IGNORED]), 9, 4, "a loss on other tokens than its label"),
        (good, 8, 4, "does not end in the symbol of its label"),
    ):
        with pytest.raises(TrainingRefused, match=f"^m/t: the row .*{why}"):
            check_row(row, answer, most, "m/t")


def test_the_recipe_is_the_papers_table_42() -> None:
    lora, batch, optimizer, precision = RECIPE.lora, RECIPE.batch, RECIPE.optimizer, RECIPE.precision
    assert RECIPE.base.model == "google/gemma-3-12b-it"
    assert RECIPE.balance.normal_per_anomalous == 2
    assert (lora.r, lora.alpha, lora.dropout) == (32, 64, 0.05)
    assert lora.target_modules == ["q_proj", "k_proj", "v_proj", "o_proj"]
    assert RECIPE.sequence.max_tokens == 8192
    assert (batch.per_device, accumulation_of(RECIPE, 8), batch.effective) == (1, 2, 16)
    assert (optimizer.name, optimizer.learning_rate, optimizer.schedule) == ("adamw_torch", 1.5e-4, "cosine")
    assert [phase.epochs for phase in RECIPE.phases] == [3, 2]
    assert (precision.dtype, precision.gradient_checkpointing) == ("bf16", True)
    text = shipped_path(Recipe.FILE).read_text()
    values = [line for line in text.splitlines() if " = " in line and not line.startswith(("#", "version"))]
    assert all("T42" in line or "own choice" in line or line.startswith("share") for line in values)


def test_with_fewer_devices_more_batches_are_accumulated() -> None:
    assert [accumulation_of(RECIPE, devices) for devices in (1, 2, 4, 16)] == [16, 8, 4, 1]
    with pytest.raises(UsageError, match="not a multiple of 1 a device on 3 devices"):
        accumulation_of(RECIPE, 3)


def test_a_recipe_of_ones_own_is_checked(tmp_path: Path) -> None:
    text = shipped_path(Recipe.FILE).read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("dropout = 0.05", "dropout = 5"))
    with pytest.raises(InvalidRules, match=r"mine.toml.*line \d+.*dropout"):
        load_recipe(path)
    path.write_text(text.replace("[lora] ", "[lora]\nrank = 3\n#"))
    with pytest.raises(InvalidRules, match="rank"):
        load_recipe(path)
    with pytest.raises(InvalidRules, match="cannot read the recipe"):
        load_recipe(tmp_path / "none.toml")


@pytest.mark.skipif(find_spec("torch") is not None, reason="the extra `train` is installed")
def test_without_the_extra_training_says_how_to_get_it(tmp_path: Path) -> None:
    ended = call("detect", "train", "--release", toy_release(tmp_path / "release"), "-o", tmp_path / "out")
    assert ended.status == 2
    assert "not part of `make setup`" in ended.err and "CHECKOUT[train]" in ended.err
    assert not (tmp_path / "out").exists()


def test_rows_for_each_model_that_is_held_out_in_one_command(tmp_path: Path) -> None:
    release = toy_release(tmp_path / "release")
    ended = call(
        "detect", "sft-export", "--release", release, "--data", tmp_path / "d", "--cut", "hold-one-out", "--json"
    )
    assert ended.status == 0, ended.err
    exports = ended.json["exports"]
    assert [export["cut"] for export in exports] == ["m1", "m2", "m3"]
    for export in exports:
        folder = tmp_path / "d" / "detect" / "sft" / "accepted.hold-one-out.train.chat" / export["cut"]
        keys = {row["source_model"] for row in read_lines(folder / "rows.jsonl")}
        assert keys == {"m1", "m2", "m3"} - {export["cut"]} and export["rows"] == len(
            read_lines(folder / "train.jsonl")
        )


def test_exports_of_sides_and_forms_lie_in_folders_of_their_own(tmp_path: Path) -> None:
    release = toy_release(tmp_path / "release")
    for more in ((), ("--side", "test"), ("--form", "completion")):
        assert call("detect", "sft-export", "--release", release, "--data", tmp_path / "d", *more).status == 0
    folders = sorted((tmp_path / "d" / "detect" / "sft").iterdir())
    assert [folder.name for folder in folders] == [
        *("accepted.default.test.chat", "accepted.default.train.chat", "accepted.default.train.completion"),
    ]
    assert all((folder / "manifest.json").is_file() for folder in folders)


def test_the_joint_provenance_names_every_adapter_and_what_they_have_in_common(tmp_path: Path) -> None:
    release = toy_release(tmp_path / "release")
    provenances = []
    for number, (train, test) in enumerate(held_out_sides(release, "accepted")):
        about = provenance_base(test, RULES) | {
            "kind": "adapter",
            "detector": "d",
            "weights_sha256": f"w{number}",
            "parameters": {"seed": 1, "rows_sha256": f"r{number}"},
            "trained_on": train.training_data(),
        }
        provenances.append(write_predictions(tmp_path / f"{number}.jsonl", [], about))
    joint = joint_provenance(provenances)
    weights = {"m1": "w0", "m2": "w1", "m3": "w2"}
    assert joint["parameters"] == {"seed": 1} | {
        f"weights without {model}": weight for model, weight in weights.items()
    }
    assert joint["weights_sha256"] == sha256_text(canonical_json(weights))
    assert (joint["cut"], joint["trained_on"]["cut"]) == ("hold-one-out", "hold-one-out")
    assert joint["trained_on"]["rows"] == 2 * (TRAIN + TEST)
    with pytest.raises(UsageError, match="nothing is trained on it"):
        list(held_out_sides(release, "human"))
