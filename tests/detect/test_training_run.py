"""`detect train` for real: a toy model with random weights learns a toy release, on the processor, without a network.

Needs the extra `train` (make test-train installs it in an environment of its own); elsewhere it is skipped.
"""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from toy import CHAT_TEMPLATE, TEST, TRAIN, read_lines, toy_release, write_model

from openclawbench.base.canonical_json import sha256_bytes
from openclawbench.detect.labels import LabelSelection, read_labels
from openclawbench.detect.predictions import read_predictions
from openclawbench.detect.settings import LABELS, NORMAL, DetectRules
from openclawbench.detect.training.export import export_rows, options_of
from openclawbench.detect.training.recipe import Recipe, load_recipe
from openclawbench.errors import TrainingRefused, UsageError
from openclawbench.rules.loading.own_folder import shipped_path

MISSING = [name for name in ("torch", "transformers", "peft", "trl") if find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(MISSING), reason=f"the extra `train` is not installed ({', '.join(MISSING)}): make test-train"
    ),
]
RULES = DetectRules.load()
ROOT = Path(__file__).parents[2]
FASTER = {  # of the paper's recipe, for a model of 200,000 weights on a processor
    "learning_rate = 1.5e-4": "learning_rate = 5e-3",
    "effective = 16": "effective = 4",
    'dtype = "bf16"': 'dtype = "fp32"',
    "gradient_checkpointing = true": "gradient_checkpointing = false",
    "share = 0.05": "share = 0.1",
    "steps = 100": "steps = 20",
    "epochs = 3 ": "epochs = 2 ",
    "epochs = 2                       # T42: 2 ext": "epochs = 1                       # T42: 2 ext",
}


class Toy:
    """A toy release, a toy model, a recipe, and the command over them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.release, self.model = folder, folder / "release", folder / "model"
        toy_release(self.release)
        recipe = load_recipe()
        labels = read_labels(self.release, LabelSelection(side="train"))
        export_rows(labels, folder / "rows", options_of(recipe, "completion"), recipe, RULES)
        self.texts = [line["prompt"] for line in read_lines(folder / "rows" / "train.jsonl")]
        write_model(self.model, self.texts, list(RULES.symbols))
        self.recipe = self.write_recipe("toy.toml")

    def write_recipe(self, name: str, **changes: str) -> Path:
        text = shipped_path(Recipe.FILE).read_text()
        for old, new in FASTER.items():
            assert text.count(old) == 1, old
            text = text.replace(old, changes.get(old.split(" ")[0], new))
        path = self.folder / name
        path.write_text(text)
        return path

    def command(self, out: Path, *more: str | Path) -> list[str]:
        inputs = ("--release", self.release, "--model", self.model, "--recipe", self.recipe, "-o", out, *more)
        return [sys.executable, "-m", "openclawbench", "detect", "train", *map(str, inputs)]

    def run(self, out: Path, *more: str | Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(out, *more), env=surroundings(), cwd=self.folder, capture_output=True, text=True, check=False
        )


def surroundings() -> dict[str, str]:
    """No thread waits for another on a processor that others use too."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "pipeline")}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    return Toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def trained(toy: Toy) -> tuple[Path, dict[str, Any]]:
    """The folder of a training, and what the command printed as JSON."""
    out = toy.folder / "trained"
    began = time.monotonic()
    ended = toy.run(out, "--json", "--name", "toy", "--date", "2026-11-25")
    assert ended.returncode == 0, ended.stderr
    print(f"trained and predicted in {time.monotonic() - began:.0f} s")
    return out, json.loads(ended.stdout)


def adapter_digest(out: Path) -> str:
    return sha256_bytes((out / "adapter" / "adapter_model.safetensors").read_bytes())


def test_it_learns_the_labels_and_is_scored(trained: tuple[Path, dict[str, Any]], toy: Toy) -> None:
    out, printed = trained
    labels = read_labels(toy.release, LabelSelection(side="test"))
    predicted = read_predictions(out / "predictions.jsonl", RULES)
    right = sum(predicted.rows[item.key].label == item.label for item in labels.items)
    print(f"{right} of {TEST} right")
    assert right >= 0.9 * TEST
    card = printed["evaluation"]["detectors"][0]
    assert (card["detector"], card["unverified"], card["compared"]["compared"]) == ("toy", None, TEST)
    assert card["conventions"]["wrong"]["measures"]["f1"]["value"] >= 0.9
    assert card["probabilities"]["of"] == TEST
    assert not predicted.faults
    mass = [row.probability_mass for row in predicted.rows.values()]
    assert min(entry for entry in mass if entry is not None) > 0.5, "the symbols are what the model writes"


def test_provenance_says_from_what(trained: tuple[Path, dict[str, Any]], toy: Toy) -> None:
    out, printed = trained
    adapter = json.loads((out / "adapter" / "provenance.json").read_text())
    assert adapter == printed["adapter"]
    rows = out / "rows.jsonl"
    assert adapter["rows_sha256"] == sha256_bytes(rows.read_bytes()) and len(read_lines(rows)) == TRAIN
    assert adapter["release_sha256"] == sha256_bytes((toy.release / "CHECKSUMS.sha256").read_bytes())
    assert adapter["recipe_sha256"] == load_recipe(toy.recipe).digest
    assert (out / "adapter" / "recipe.toml").read_bytes() == toy.recipe.read_bytes()
    assert {"torch", "transformers", "peft", "trl"} <= {version["name"] for version in adapter["versions"]}
    learned = TRAIN - adapter["validation_rows"]
    assert 0 < adapter["validation_rows"] < 40
    assert adapter["label_tokens"] == sum(phase["rows_of_an_epoch"] * phase["epochs"] for phase in adapter["phases"])
    assert adapter["phases"][0]["rows_of_an_epoch"] <= learned and adapter["form"] == "chat"
    assert str(toy.folder) not in json.dumps(adapter)
    predicted = read_predictions(out / "predictions.jsonl", RULES).provenance
    assert predicted is not None and predicted.kind == "adapter" and predicted.weights_sha256 == adapter_digest(out)
    assert predicted.trained_on is not None and predicted.trained_on.rows == TRAIN
    assert predicted.date == adapter["date"] == "2026-11-25"


def test_the_same_command_again_does_nothing_and_another_training_is_refused(
    trained: tuple[Path, dict[str, Any]], toy: Toy
) -> None:
    out, _ = trained
    before = {path: path.stat().st_mtime_ns for path in (out / "adapter").iterdir()}
    predictions = (out / "predictions.jsonl").stat().st_mtime_ns
    again = toy.run(out, "--name", "toy")
    assert again.returncode == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in (out / "adapter").iterdir()} == before
    assert (out / "predictions.jsonl").stat().st_mtime_ns == predictions
    other = toy.write_recipe("other.toml", learning_rate="learning_rate = 1e-3")
    refused = toy.run(out, "--recipe", other)
    assert refused.returncode == 2 and "holds another training (other recipe_sha256)" in " ".join(
        refused.stderr.split()
    )


def test_a_killed_training_goes_on_and_gives_the_same_adapter(trained: tuple[Path, dict[str, Any]], toy: Toy) -> None:
    out = toy.folder / "killed"
    with subprocess.Popen(
        toy.command(out, "--name", "toy"), env=surroundings(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as process:
        end = time.monotonic() + 300
        while not list(out.glob("checkpoints/phase_1/checkpoint-*/trainer_state.json")) and time.monotonic() < end:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL and not (out / "adapter").exists()
    ended = toy.run(out, "--name", "toy")
    assert ended.returncode == 0 and "phase 1: goes on from checkpoint-" in ended.stderr, ended.stderr
    assert adapter_digest(out) == adapter_digest(trained[0])
    assert (out / "predictions.jsonl").read_bytes() == (trained[0] / "predictions.jsonl").read_bytes()


# ----------------------------------------------------------------------------------------------- what is refused
def encoder_of(model: Path) -> Any:
    from openclawbench.detect.training.base_model import load_tokenizer
    from openclawbench.detect.training.encode import Encoder

    return Encoder(load_tokenizer(model), load_recipe(), RULES)


def phase_of(toy: Toy, folder: Path, change: Any) -> Any:
    """A short phase over rows that were changed, and what it needs."""
    from openclawbench.detect.training import base_model
    from openclawbench.detect.training.encode import Encoder
    from openclawbench.detect.training.plan import TrainingRun, prepare
    from openclawbench.detect.training.trainer import Phase, run_phase

    recipe = load_recipe(toy.recipe)
    tokenizer = base_model.load_tokenizer(toy.model)
    sides = [read_labels(toy.release, LabelSelection(side=side)) for side in ("train", "test")]
    run = TrainingRun(sides[0], sides[1], folder, recipe, RULES, str(toy.model), toy.recipe)
    prepared = prepare(run, Encoder(tokenizer, recipe, RULES))
    model = base_model.with_new_adapter(base_model.load_model(toy.model, "fp32"), recipe)
    rows = [change(row) for row in prepared.learned]
    phase = Phase(1, 1, 0, folder, rows, [], prepared.draws(recipe))
    return run_phase(phase, model, tokenizer, recipe, 4, lambda _line: None)


def test_a_truncated_label_stops_training(toy: Toy, tmp_path: Path) -> None:
    from openclawbench.detect.training.encode import EncodedRow

    def cut(row: Any) -> Any:
        return EncodedRow(row.input_ids[:-1], row.labels[:-1])

    with pytest.raises(TrainingRefused, match="tokens with a loss, and each must have one"):
        phase_of(toy, tmp_path / "phase", cut)


def test_trl_would_train_on_truncated_labels_without_a_word(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why the check is there: without it the loss is zero and training goes on to its end."""
    from openclawbench.detect.training import trainer
    from openclawbench.detect.training.encode import EncodedRow

    losses: list[float] = []
    monkeypatch.setattr(trainer, "check_labels", lambda *_: 0)
    monkeypatch.setattr(trainer, "check_gradient", lambda *_: None)
    monkeypatch.setattr(trainer, "check_loss", lambda loss, is_first: losses.append(loss))
    end = phase_of(toy, tmp_path / "phase", lambda row: EncodedRow(row.input_ids[:-1], row.labels[:-1]))
    assert losses and set(losses) == {0.0} and end.last_loss == 0


def test_a_loss_of_zero_stops_training(toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openclawbench.detect.training import trainer
    from openclawbench.detect.training.encode import EncodedRow

    monkeypatch.setattr(trainer, "check_labels", lambda *_: 0)
    with pytest.raises(TrainingRefused, match="the loss of the first batch is zero"):
        phase_of(toy, tmp_path / "phase", lambda row: EncodedRow(row.input_ids[:-1], row.labels[:-1]))


def test_a_loss_on_other_tokens_stops_training(toy: Toy, tmp_path: Path) -> None:
    from openclawbench.detect.training.encode import EncodedRow

    with pytest.raises(TrainingRefused, match="tokens with a loss, and each must have one"):
        phase_of(toy, tmp_path / "phase", lambda row: EncodedRow(row.input_ids, row.input_ids))


def test_each_epoch_learns_the_rows_that_are_drawn_for_it(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openclawbench.detect.training import trainer

    seen: list[tuple[int, ...]] = []
    drawn: list[tuple[int, ...]] = []
    real_labels, real_draw = trainer.check_labels, trainer.EpochDraws.draw
    rows: list[Any] = []

    def keep(labels: Any, input_ids: Any) -> int:
        seen.extend(tuple(ids) for ids in input_ids.tolist())
        return real_labels(labels, input_ids)

    def draw(self: Any, epoch: int) -> list[int]:
        result = real_draw(self, epoch)
        drawn[:] = [tuple(map(int, rows[number].input_ids)) for number in result]
        return result

    def note(row: Any) -> Any:
        rows.append(row)
        return row

    monkeypatch.setattr(trainer, "check_labels", keep)
    monkeypatch.setattr(trainer.EpochDraws, "draw", draw)
    end = phase_of(toy, tmp_path / "phase", note)
    assert end.label_tokens == len(seen) == len(drawn)
    assert seen == drawn


def test_rows_are_what_trl_makes_of_the_export(toy: Toy, tmp_path: Path) -> None:
    """The chat form, tokenized as trl does it, begins with our tokens: prompt, then the label."""
    recipe = load_recipe()
    labels = read_labels(toy.release, LabelSelection(side="train"))
    export_rows(labels, tmp_path / "sft", options_of(recipe), recipe, RULES)
    encoder = encoder_of(toy.model)
    for line, row in zip(
        read_lines(tmp_path / "sft" / "train.jsonl")[:20], read_lines(tmp_path / "sft" / "rows.jsonl"), strict=False
    ):
        asked = encoder.tokenizer.apply_chat_template(line["prompt"], tokenize=False, add_generation_prompt=True)
        complete = encoder.tokenizer.apply_chat_template(line["prompt"] + line["completion"], tokenize=False)
        ids = encoder.ids(asked)
        assert encoder.ids(complete)[: len(ids) + 1] == [*ids, encoder.label_ids[row["label"]]]


def test_a_base_model_without_a_template_and_one_whose_symbols_are_split(toy: Toy, tmp_path: Path) -> None:
    symbols = list(RULES.symbols)
    plain = write_model(tmp_path / "plain", toy.texts, symbols, template=None)
    assert encoder_of(plain).form == "completion"
    split = write_model(tmp_path / "split", ["no symbol here"], symbols[:1], template=CHAT_TEMPLATE)
    with pytest.raises(UsageError, match="is not a single token of this tokenizer"):
        encoder_of(split)


def test_a_dry_run_says_what_would_be_learned_and_writes_nothing(toy: Toy) -> None:
    out = toy.folder / "dry"
    ended = toy.run(out, "--dry-run")
    assert ended.returncode == 0 and "for validation" in ended.stderr and "longest" in ended.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("model", "why"),
    [("nowhere/at/all", "there is no such folder"), ("owner/name", "--allow-download"), (".", "has no config.json")],
)
def test_a_base_model_that_is_not_there_is_named(toy: Toy, model: str, why: str) -> None:
    ended = toy.run(toy.folder / "none", "--model", model)
    assert ended.returncode == 2 and why in " ".join(ended.stderr.split()), ended.stderr
    assert not (toy.folder / "none").exists()


def test_labels_of_the_toy_are_balanced(toy: Toy) -> None:
    """What the other tests rest on: an accuracy that the most frequent label does not reach."""
    labels = [item.label for item in read_labels(toy.release, LabelSelection(side="test")).items]
    assert max(labels.count(label) for label in LABELS) <= TEST // 2 and labels.count(NORMAL) == TEST // 2


def test_each_model_is_held_out_in_one_command(toy: Toy) -> None:
    out = toy.folder / "held"
    ended = toy.run(out, "--json", "--cut", "hold-one-out", "--name", "held")
    assert ended.returncode == 0, ended.stderr
    printed = json.loads(ended.stdout)
    assert [adapter["trained_on"]["cut"] for adapter in printed["adapters"]] == ["m1", "m2", "m3"]
    for model in ("m1", "m2", "m3"):
        learned = {row["source_model"] for row in read_lines(out / model / "rows.jsonl")}
        assert learned == {"m1", "m2", "m3"} - {model}
        own = read_lines(out / model / "predictions.jsonl")
        assert {row["source_model"] for row in own} == {model}
    joint = read_predictions(out / "predictions.jsonl", RULES)
    assert len(joint.rows) == TRAIN + TEST and joint.provenance is not None and not joint.faults
    assert (joint.provenance.cut, joint.provenance.detector) == ("hold-one-out", "held")
    assert joint.provenance.trained_on is not None and joint.provenance.trained_on.rows == 2 * (TRAIN + TEST)
    for model in ("m1", "m2", "m3"):
        assert joint.provenance.parameters[f"weights without {model}"] == adapter_digest(out / model)
    (card,) = printed["evaluation"]["detectors"]
    assert card["trajectories"] == TRAIN + TEST and card["verified"] and card["notes"] == []
    assert [row["group"] for row in card["by"]["source_model"]] == ["m1", "m2", "m3"]
    assert card["conventions"]["wrong"]["measures"]["f1"]["value"] >= 0.9
