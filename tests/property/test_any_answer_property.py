"""Whatever a judge answers in any stage, as long as it meets the schema: a release is made, and it is valid."""

import dataclasses
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from any_answer import ANSWERS, AnyJudge, judge_of, says
from child import EXAMPLE, few_shards, lines

from openclawbench.api.run_result import run
from openclawbench.release.validate.validate import validate
from openclawbench.reports import plots
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings as settings_of
from openclawbench.workspace.update import RunReport, update

pytestmark = pytest.mark.slow

MODEL = "scripted-b"
NAMES = (
    "2026.4.15-subagent-spawn",
    "2026.6.11-apply-patch",
    "2026.6.11-branch-after-kill",
    "2026.6.11-memory-write",
    "2026.6.11-sequential-tools",
)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the packets of five sessions."""
    return packets(tmp_path_factory.mktemp("packed"), 1)


@pytest.fixture(scope="module", autouse=True)
def undrawn() -> Iterator[None]:
    """Pictures are not drawn: each is a text of the numbers that it is of. The key is shown to nobody: another judge
    takes the place of the language model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "nobody-asks")
        patch.setattr(
            plots, "pictures", lambda _, kinds, about=None: {kind: f"{kind} {about}".encode() for kind in kinds}
        )
        yield


def packets(folder: Path, copies: int) -> Path:
    """A data folder of the sessions under as many names of models, up to their packets."""
    for number in range(copies):
        to = folder / "raw" / (MODEL if copies == 1 else f"{MODEL}-{number}")
        if copies == 1:
            to.mkdir(parents=True)
            for name in NAMES:
                shutil.copy2(EXAMPLE / "raw" / MODEL / f"{name}.jsonl", to)
        else:
            shutil.copytree(EXAMPLE / "raw" / MODEL, to)
    data = few_shards(folder / "data", 1 if copies == 1 else 4)
    run(data, raw=folder / "raw", oracle=EXAMPLE / "oracle", to="packet", engine="serial")
    return data


def released(data: Path, judge: AnyJudge) -> list[dict[str, Any]]:
    """The records of the release that is made with this judge, after it is found valid."""
    folder = DataFolder(data)
    in_force = dataclasses.replace(settings_of(folder, engine="serial"), judge="openai", model="any-answer")
    report: RunReport = update(folder, in_force, "release", Progress(), replace_judge=lambda _: judge, debug=True)
    assert report.released
    findings = validate(data / "release")
    assert findings.ok, findings.kept
    return [row for path in data.glob("release/fulltax_prod_v1/*/master_table_all.jsonl") for row in lines(path)]


@settings(max_examples=12, phases=[Phase.generate])  # shrinking takes minutes
@given(answers=says)
def test_any_answer_gives_a_valid_release(
    answers: dict[str, list[dict[str, Any]]], packed: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = tmp_path_factory.mktemp("any") / "data"
    shutil.copytree(packed, data)
    for row in released(data, judge_of(answers)):
        if row["quality_tier"] == "review_or_unresolved":
            is_as_answered(row)
    shutil.rmtree(data)


def is_as_answered(row: dict[str, Any]) -> None:
    """A record in review has what B1 and B2 said."""
    b1, b2 = row["stages"]["b1"], row["stages"]["b2"]
    names = ("anomaly_type_l1", "anomaly_type_l2", "absorbed_from", "dominant_episode_exists", "evidence_steps")
    for name in names:
        assert row[name] == (b1[name] if b1 else [] if name == "evidence_steps" else None), name
    for name in ("segment_spans", "earliest_recoverable_onset", "earliest_harmful_onset", "severity"):
        assert row[name] == (b2[name] if b2 else [] if name == "segment_spans" else None), name
    assert row["is_anomalous"] == (b1 and b1["trajectory_is_anomalous"])


def test_a_judge_that_answers_at_random_gives_a_valid_release(tmp_path: Path) -> None:
    """Five hundred records, each stage answered from the schema, without a thought."""
    examples: dict[str, list[dict[str, Any]]] = {stage: [] for stage in ANSWERS}

    @settings(max_examples=400)
    @given(says)
    def draw(answers: dict[str, list[dict[str, Any]]]) -> None:
        for stage, drawn in answers.items():
            examples[stage] += drawn

    draw()
    chance = random.Random(0)
    for drawn in examples.values():
        chance.shuffle(drawn)
    rows = released(packets(tmp_path, 12), judge_of(examples))
    assert len(rows) >= 500
    tiers = Counter(row["quality_tier"] for row in rows)
    assert min(tiers["high_confidence_accepted"], tiers["accepted_repaired"], tiers["review_or_unresolved"]) > 0, tiers
    assert len({row["review_cause"] for row in rows}) > 5
