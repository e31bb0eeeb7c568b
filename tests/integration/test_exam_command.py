"""The exam as it is sat: judges that know the key, an endpoint that is stopped half-way, and what a release quotes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import Endpoint, ledger, rules
from child import ROOT, Ended, Ran, call

from openclawbench.exam.paper import Item
from openclawbench.exam.sitting import Exam, Sitting, sit, unfinished_seed
from openclawbench.fulltax.rules_judge.judge import Answers, RulesJudge
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.judge.protocol import Judge
from openclawbench.records.certificate import JudgeCertificate
from openclawbench.records.fulltax import EvidenceQuote, StageA, StageB1, StageB2, StageC
from openclawbench.records.packet import Evidence
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.certificates import OF_RULES_JUDGE
from openclawbench.workspace.progress import Progress

SEED = 5
LONGEST_QUOTE = 200
PRICES = ["--price-in", "1", "--price-out", "2", "--price-cached", "0.5"]


class KeyedJudge(RulesJudge):
    """Says of each session what the key, as `says` reads it, says of it."""

    def __init__(self, items: dict[str, Item], says: Callable[[Item], bool]) -> None:
        super().__init__()
        self.items, self.says = items, says

    def answers(self, evidence: Evidence) -> Answers:
        return Answers(self.triggers(evidence))

    def triggers(self, evidence: Evidence) -> list[Trigger]:
        item = self.items[evidence.trajectory_id.rpartition(".")[0]]
        if not self.says(item):
            return []
        twin = next(other for other in self.items.values() if other.pair == item.pair and other.twin == "anomalous")
        steps = evidence.steps
        onset = steps[min(twin.onsets[0], len(steps)) - 1]
        quotes = [EvidenceQuote(step_id=onset.step_id, field="action_text", quote=onset.action_text or "")]
        for number in twin.evidence:  # what the tools said there
            if number <= len(steps) and (text := (steps[number - 1].reflection_text or "").strip()):
                quote = text.splitlines()[0][:LONGEST_QUOTE]
                quotes.append(EvidenceQuote(step_id=number, field="reflection_text", quote=quote))
        (subtype, *_) = twin.subtypes
        end = min(max(twin.span[-1], onset.step_id), len(steps))
        return [Trigger("keyed", subtype, None, "strong", onset.step_id, end, tuple(quotes), "As the key says.")]  # type: ignore[arg-type]

    def answer(
        self, stage: str, evidence: Evidence, previous: dict[str, object], triggers: list[Trigger] | None = None
    ) -> StageA | StageB1 | StageB2 | StageC:
        answer = super().answer(stage, evidence, previous, triggers)
        accepted = {"verdict": "accept", "issues": [], "required_fixes": []}
        return answer.model_copy(update=accepted) if isinstance(answer, StageC) else answer


def keyed(data: Path, says: Callable[[Item], bool]) -> Sitting:
    exam = Exam(DataFolder(data), "quick", SEED)
    items = {item.id: item for item in exam.prepare().items}

    def replaced(judge: Judge | None) -> Judge | None:
        return KeyedJudge(items, says)

    return sit(exam, {"judge": "rules"}, Progress(), replace_judge=replaced)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("says", "both", "alarms"),
    [
        (lambda item: item.twin == "anomalous", 39, 0),
        (lambda item: item.twin == "innocent", 0, 39),
        (lambda item: True, 0, 39),
        (lambda item: False, 0, 0),
    ],
    ids=["perfect", "inverted", "always anomalous", "always normal"],
)
def test_judges_that_know_the_key(says: Callable[[Item], bool], both: int, alarms: int, tmp_path: Path) -> None:
    sitting = keyed(tmp_path / "data", says)
    card = sitting.card
    assert card["both_right"]["part"] == both
    assert 0.9 * alarms <= card["false_alarms"]["part"] <= alarms, "a check may send a wrong label to review"
    assert card["review"]["part"] == alarms - card["false_alarms"]["part"]
    if both:
        assert card["subtype_right"]["share"] == card["onset"]["exact"]["share"] == 1.0
        assert card["evidence"]["citations_planted"]["share"] > 0.5
    assert sitting.certificate.both_right.part == both
    page = (sitting.folder / "exam.md").read_text(encoding="utf-8")
    assert f"{both}" in page and (sitting.folder / "summary.svg").is_file()
    assert json.loads((sitting.folder / "certificate.json").read_text())["pairs"] == 39


@pytest.mark.slow
def test_a_coin_gets_a_quarter_of_the_pairs(tmp_path: Path) -> None:
    card = keyed(tmp_path / "data", lambda item: int(item.id[0], 16) % 2 == 0).card
    assert card["both_right"]["low"] < 0.25 < card["both_right"]["high"]
    assert card["both_right"]["part"] + card["review"]["part"] < 30, "the exam tells it from a judge"


def asked(endpoint: Endpoint, data: Path, folder: Path, *more: str) -> Ended:
    judge = ["--judge", "openai", "--model", "test-model", "--base-url", f"{endpoint.url}/v1", *PRICES]
    return call("exam", "--data", data, *judge, *more, env=rules(folder))


@pytest.mark.slow
def test_an_endpoint_that_is_stopped_in_the_middle_is_paid_once(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.script()
    data = tmp_path / "data"
    estimate = asked(endpoint, data, tmp_path, "--seed", "9", "--dry-run", "--json")
    assert estimate.status == 0, estimate.err
    assert estimate.json["seed"] == 9 and estimate.json["calls"] >= 78 and estimate.json["usd"] > 0
    assert endpoint.count() == 0
    stopped = asked(endpoint, data, tmp_path, "--budget-usd", str(estimate.json["usd"] / 3))
    assert stopped.status == 3, stopped.err
    (folder,) = (data / "exam").iterdir()
    kept = ledger(folder / "data", "select count(*) from answers")[0][0]
    assert 0 < kept < estimate.json["most_calls"] and unfinished_seed(DataFolder(data), "quick") == 9
    ended = asked(endpoint, data, tmp_path, "--json")
    assert ended.status == 0, ended.err
    assert [path.name for path in (data / "exam").iterdir()] == [folder.name], "the paper that was begun went on"
    assert endpoint.count() == ledger(folder / "data", "select count(*) from answers")[0][0], "nothing was asked twice"
    certificate = ended.json["certificate"]
    assert certificate["judge_model"] == "test-model" and {"a", "b1", "b2", "c"} <= {
        prompt["stage"] for prompt in certificate["prompts"]
    }
    assert ended.json["score"]["cost_usd"] > 0 and ended.json["score"]["tokens_a_pair"] > 0
    other = call("exam", "--data", data, "--judge", "rules", "--seed", "9", "--json")
    assert other.json["score"]["compared"]["openai-test-model"]["pairs"] == 39
    required = call("exam", "--data", data, "--judge", "rules", "--seed", "9", "--require", "both_right=0.99")
    assert required.status == 1 and "not met: both_right is" in required.err


BAD: dict[str, tuple[list[str], str]] = {
    "size": (["--size", "huge"], "there is no such size"),
    "seed": (["--seed", "-1"], "is not a number"),
    "require": (["--require", "speed=1"], "write NAME=SHARE"),
    "share": (["--require", "both_right=80"], "a share from 0 to 1"),
    "date": (["--date", "yesterday"], "YYYY-MM-DD"),
    "families": (["--families", "/nowhere"], "is not a folder"),
    "dry run": (["--dry-run", "--judge", "rules"], "costs nothing"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_use(case: str, tmp_path: Path) -> None:
    arguments, words = BAD[case]
    ended = call("exam", "--data", tmp_path / "data", "--seed", "1", *arguments)
    assert ended.status == 2 and words in ended.err, ended.err


def test_own_families_are_checked_before_anything_is_asked(tmp_path: Path) -> None:
    source = Path(Exam(DataFolder(tmp_path), "quick", 1).source) / "skeleton_commit"
    own = tmp_path / "own" / "skeleton_commit"
    shutil.copytree(source, own)
    (file,) = [path for path in own.glob("*.toml") if 'onset = "blank_page"' in path.read_text(encoding="utf-8")]
    file.write_text(file.read_text(encoding="utf-8").replace('onset = "blank_page"', 'onset = "asked_first"'))
    ended = call("exam", "--data", tmp_path / "data", "--families", own.parent)
    assert ended.status == 2 and "is not a step of the anomalous twin alone" in ended.err
    assert not (tmp_path / "data" / "exam").exists()


# ------------------------------------------------------------------------------------------------------ what is quoted
def test_the_certificate_that_comes_with_the_program_is_of_its_rules_judge() -> None:
    """Where it is not: `make certificate`."""
    certificate = JudgeCertificate.model_validate_json(OF_RULES_JUDGE.read_bytes())
    judge = RulesJudge()
    assert (certificate.judge, certificate.judge_model) == (judge.name, judge.model)
    assert certificate.judge_digest == judge.method_digest


def test_what_is_written_of_the_rules_judge_is_its_certificate() -> None:
    certificate = JudgeCertificate.model_validate_json(OF_RULES_JUDGE.read_bytes())
    page = (ROOT / "docs" / "why" / "rules_judge.md").read_text(encoding="utf-8")
    assert f"> {certificate.sentence}" in page
    right = certificate.both_right
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"it gets {right.part} of {right.whole} pairs right" in readme


def card_of(data: Path) -> tuple[str, Any, Any]:
    release = data / "release"
    package = json.loads((release / "datapackage.json").read_text())
    croissant = json.loads((release / "croissant.json").read_text())
    return (
        (release / "README.md").read_text(),
        package["provenance"]["judges"][0],
        croissant["rai:dataAnnotationAnalysis"],
    )


@pytest.mark.slow
def test_a_release_quotes_the_certificate_of_its_judge(small: Ran, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(small.data, data)
    card, judge, _ = card_of(data)
    assert judge["certificate"]["size"] == "full" and "on the exam (full, seed" in card
    sat = call("exam", "--data", data, "--seed", "3", "--date", "2026-11-30", "--json")
    assert sat.status == 0, sat.err
    mine = Path(sat.json["folder"]) / "certificate.json"
    ended = call("release", "--data", data)
    assert ended.status == 0 and "on the exam (quick, seed 3, 39 pairs)" in " ".join(ended.err.split())
    card, judge, analysis = card_of(data)
    assert "on the exam (quick, seed 3, 39 pairs)" in card and "seed 3, 39 pairs" in analysis[0]
    assert judge["certificate"]["date"] == "2026-11-30" and judge["certificate"]["endpoint"] is None
    assert call("validate", data / "release").status == 0
    other = json.loads(mine.read_text()) | {"judge_digest": "0" * 64}
    mine.write_text(json.dumps(other))
    again = call("release", "--data", data)
    assert "is not quoted" in " ".join(again.err.split())
    assert card_of(data)[1]["certificate"]["size"] == "full"
    package = data / "release" / "datapackage.json"
    text = package.read_text()
    part = card_of(data)[1]["certificate"]["innocent_right"]["part"]
    assert text.count(f'"part": {part}') >= 1
    package.write_text(text.replace(f'"part": {part}', f'"part": {part - 1}', 1))
    refused = call("validate", data / "release")
    assert refused.status == 1 and "does not follow from its counts" in refused.text + refused.err
