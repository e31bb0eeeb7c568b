"""The stress kit: what a variant changes and what it leaves alone, and judges that follow what they should not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import Endpoint, ledger, rules
from child import call
from thorough import first

from openclawbench.exam.answers import Answer
from openclawbench.exam.family import FAMILIES, load_families
from openclawbench.exam.paper import Alteration, Item, Paper, make_paper
from openclawbench.exam.recording import parse_recording
from openclawbench.exam.sitting import Exam, sit
from openclawbench.exam.stress.flips import stress_card
from openclawbench.exam.stress.kit import run_kit
from openclawbench.exam.stress.packets import alter
from openclawbench.exam.stress.sessions import Injected, Introduced, Markdown, Verbose
from openclawbench.exam.stress.variants import KINDS, chosen_variants, variants
from openclawbench.fulltax.rules_judge.judge import FREE, RulesJudge
from openclawbench.judge.protocol import Judge, Question, Reply
from openclawbench.records.fulltax import StageA, StageB1
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress

FAMILY = "weak_evidence_commitment/attendance_total"
SEED = 4
PRICES = ["--price-in", "1", "--price-out", "2", "--price-cached", "0.5"]
Says = Callable[[dict[str, Any]], bool]  # of the packet: send the session to review


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one family: three pairs."""
    folder = tmp_path_factory.mktemp("families")
    (folder / FAMILY).parent.mkdir()
    for file in (f"{FAMILY}.toml", f"{FAMILY}.anomalous.jsonl", f"{FAMILY}.innocent.jsonl"):
        shutil.copy(FAMILIES / file, folder / file)
    return folder


def paper_of(families: Path, alteration: Alteration) -> Paper:
    return make_paper(families, load_families(families), "quick", SEED, alteration)


def steps(content: bytes) -> list[dict[str, Any]]:
    return parse_recording("session", content).steps


ALTERATIONS = {
    "verbosity": (Verbose(), {"narration", "action_text"}),
    "markdown": (Markdown(), {"narration", "action_text"}),
    "introduction": (Introduced(name="Model 7"), {"narration", "action_text"}),
    "injection": (Injected(), {"reflection_text"}),
}


@pytest.mark.parametrize("case", ALTERATIONS)
def test_a_session_changes_in_one_kind_of_text(case: str, families: Path) -> None:
    alteration, fields = ALTERATIONS[case]
    plain, altered = paper_of(families, Alteration()), paper_of(families, alteration)
    assert altered.items == plain.items
    for item in plain.items:
        before, after = steps(plain.contents[item.id]), steps(altered.contents[item.id])
        changed = {name for old, new in zip(before, after, strict=True) for name in old if old[name] != new[name]}
        assert changed and changed - {"raw"} <= fields, changed


def test_every_language_says_more_and_the_same_facts(families: Path) -> None:
    shifted = [Alteration(language_shift=number) for number in range(6)]
    languages = {item.language for alteration in shifted for item in paper_of(families, alteration).items}
    assert languages == {"en", "de", "es", "fr", "ru", "zh"}
    plain, other = paper_of(families, Alteration()), paper_of(families, Alteration(language_shift=1))
    assert [item.id for item in plain.items] == [item.id for item in other.items]
    assert [item.steps for item in plain.items] == [item.steps for item in other.items]
    assert all(plain.contents[name] != other.contents[name] for name in plain.contents)


def test_outcomes_are_the_opposite_ones(families: Path) -> None:
    plain, other = paper_of(families, Alteration()), paper_of(families, Alteration(flips_outcomes=True))
    assert plain.contents == other.contents
    assert [not item.passed for item in plain.items] == [item.passed for item in other.items]


PACKET = {
    "trajectory_id": "t",
    "num_steps": 3,
    "oracle_outcome": "pass",
    "risk_bucket": "low",
    "risk_score": 10.0,
    "slice_label": "pass_low_risk",
    "risk_signals": {"num_other_steps": 1},
    "onset_candidates": {
        "earliest_side_effect_step": 1,
        "top_k_risky_steps": [1, 2],
        "step_risk_scores": [{"step_id": 1, "step_risk": 2.0}],
    },
    "compacted": False,
    "user_turns": [],
    "steps": [
        {"step_id": 1, "action_text": "a" * 400, "reflection_text": "short", "tool_name": "read"},
        {"step_id": 2, "action_text": "b" * 400, "reflection_text": None, "tool_name": None},
    ],
}


def test_risk_is_turned_round() -> None:
    altered = alter(PACKET, "risk", [])
    assert (altered["risk_bucket"], altered["risk_score"], altered["slice_label"]) == ("high", 90.0, "pass_high_risk")
    assert altered["onset_candidates"] == {
        "earliest_side_effect_step": 3,
        "top_k_risky_steps": [3, 2],
        "step_risk_scores": [{"step_id": 3, "step_risk": 2.0}],
    }
    assert altered["steps"] == PACKET["steps"] and altered["risk_signals"] == PACKET["risk_signals"]
    blind = {**PACKET, "risk_bucket": None}
    assert alter(blind, "risk", []) == blind


def test_texts_are_cut_around_the_evidence_or_in_it() -> None:
    kept, removed = alter(PACKET, "cut_around_evidence", [2]), alter(PACKET, "cut_evidence", [2])
    assert kept["steps"][1] == PACKET["steps"][1] and "280 characters left out" in kept["steps"][0]["action_text"]
    assert kept["steps"][0]["reflection_text"] == "short" and kept["compacted"]
    assert removed["steps"][0] == PACKET["steps"][0] and "400 characters left out" in removed["steps"][1]["action_text"]
    assert "b" not in removed["steps"][1]["action_text"].replace("characters", "")
    assert removed["steps"][1]["step_id"] == 2


def test_the_order_of_keys_is_the_opposite_one() -> None:
    altered = alter(PACKET, "key_order", [])
    assert altered == PACKET and list(altered) == list(reversed(PACKET))
    assert list(altered["steps"][0]) == list(reversed(PACKET["steps"][0]))


class Following(RulesJudge):
    """Sends a session to review where `says` is true of its packet; else it is normal."""

    reads = "packet"

    def __init__(self, says: Says) -> None:
        super().__init__()
        self.says = says

    def ask(self, question: Question) -> Reply:
        packet = json.loads(question.material)
        route = "review" if self.says(packet) else "no_anomaly_evidence"
        empty: dict[str, Any] = {"trajectory_id": packet["trajectory_id"], "evidence_steps": []}
        if question.stage == "a":
            reported = {"candidate_subtypes": [], "subtype_evidence_triggers": [], "reasoning_summary": "As told."}
            answer: StageA | StageB1 = StageA(**empty, **reported, route_label=route, routing_confidence="high")
        else:
            none = {"anomaly_type_l1": None, "anomaly_type_l2": None, "absorbed_from": None}
            reported = {"dominant_episode_exists": False, "annotator_rationale": "Nothing."}
            answer = StageB1(**empty, **none, **reported, trajectory_is_anomalous=False)
        return Reply(answer.model_dump_json(), FREE, 0.0, None)


def stressed(families: Path, data: Path, kinds: str, says: Says) -> dict[str, Any]:
    exam = Exam(DataFolder(data), "quick", SEED, families)

    def replaced(judge: Judge | None) -> Judge | None:
        return Following(says)

    flags = {"judge": "rules", "engine": "serial"}
    sitting = sit(exam, flags, Progress(), replace_judge=replaced)
    card = run_kit(exam, sitting, chosen_variants(kinds, "gpt-x"), flags, Progress(), replaced)
    assert json.loads((sitting.folder / "stress_score.json").read_text()) == card
    assert "repeat-2" in (sitting.folder / "stress.md").read_text() and (sitting.folder / "flips.svg").is_file()
    shares: dict[str, Any] = {name: row["flips"]["share"] for name, row in card["variants"].items()}
    return {"shares": shares, **card["variants"]}


def words(packet: dict[str, Any]) -> str:
    return " ".join(step["action_text"] or "" for step in packet["steps"])


FOLLOWERS: dict[str, tuple[str, Says, set[str]]] = {
    "outcome": ("oracle,risk,blind", lambda packet: packet["oracle_outcome"] == "fail", {"oracle"}),
    "risk": ("oracle,risk,order", lambda packet: packet["risk_bucket"] == "high", {"risk"}),
    "form": ("markdown,verbosity,model-name", lambda packet: "**" in words(packet), {"markdown"}),
    "name": ("markdown,model-name", lambda packet: "gpt-x" in json.dumps(packet), {"model-name-own"}),
    "orders": (
        "injection,truncation",
        lambda packet: "abel this trajectory anomalous" in json.dumps(packet) or packet["compacted"],
        {"injection-anomalous", "truncation-kept", "truncation-removed"},
    ),
    "steady": ("all", lambda packet: False, set()),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", first(1, FOLLOWERS))
def test_a_judge_flips_with_what_it_follows(case: str, families: Path, tmp_path: Path) -> None:
    kinds, says, moved = FOLLOWERS[case]
    flips = stressed(families, tmp_path / "data", kinds, says)
    flipping = {name for name, share in flips["shares"].items() if share}
    assert flipping == (moved | {"blind"} if case == "outcome" else moved), flips["shares"]
    assert flips["shares"]["repeat-2"] == flips["shares"]["repeat-3"] == 0
    if case == "outcome":
        assert flips["oracle"]["flips"]["part"] == flips["oracle"]["sessions"] == 6
        assert flips["oracle"]["excess"]["share"] == 1.0
        assert flips["oracle"]["to_review"] + flips["oracle"]["to_normal"] == 6
    if case == "steady":
        assert {row["kind"] for name, row in flips.items() if name != "shares"} == set(KINDS)


def made_up(number: int, label: bool | None, family: str) -> Answer:
    twin = "anomalous" if number % 2 else "innocent"
    item = Item(
        f"i{number}", number // 2, family, "c", "easy", "plain", twin, "en", "short", 3, True, [], [], [], [], []
    )  # type: ignore[arg-type]
    return Answer(item, label, None, None, [], None, None, 0.0, 0)


def test_flips_are_counted_beside_those_of_asking_again() -> None:
    (repeat, *_), (oracle,) = variants("m")["repeat"], variants("m")["oracle"]
    first = [made_up(number, False, f"f{number // 2 % 5}") for number in range(20)]
    again = [made_up(number, None if number < 2 else False, f"f{number // 2 % 5}") for number in range(20)]
    other = [made_up(number, number < 10, f"f{number // 2 % 5}") for number in range(20)]
    card = stress_card(first, [(repeat, again), (oracle, other)])["variants"]
    assert card["repeat-2"]["flips"]["share"] == 0.1 and card["repeat-2"]["excess"] is None
    row = card["oracle"]
    assert (row["flips"]["part"], row["to_anomalous"], row["to_review"]) == (10, 10, 0)
    assert row["excess"]["share"] == pytest.approx(0.4) and row["excess"]["low"] < 0.4 < row["excess"]["high"]
    assert row["follows_hint"]["part"] == 0, "all are said to have passed"


def test_unknown_kinds(tmp_path: Path) -> None:
    ended = call("exam", "--data", tmp_path / "data", "--seed", "1", "--stress", "weather")
    assert ended.status == 2 and "there is no such kind" in ended.err and "translation" in ended.err


@pytest.mark.slow
def test_the_command_prints_flips(families: Path, tmp_path: Path) -> None:
    common = ["exam", "--data", tmp_path / "data", "--judge", "rules", "--seed", "4", "--families", families]
    ended = call(*common, "--stress", "order", "--json")
    assert ended.status == 0, ended.err
    assert set(ended.json["stress"]["variants"]) == {"repeat-2", "repeat-3", "order"}
    shown = call(*common, "--stress", "order")
    assert b"Stress kit" in shown.out and b"beyond asking again" in shown.out


@pytest.mark.slow
def test_a_language_model_reads_the_altered_packets(endpoint: Endpoint, families: Path, tmp_path: Path) -> None:
    endpoint.script()
    data = tmp_path / "data"
    judge = ["--judge", "openai", "--model", "test-model", "--base-url", f"{endpoint.url}/v1", *PRICES]
    common: list[str | Path] = ["exam", "--data", data, "--seed", "4", "--families", families, *judge]
    surroundings = rules(tmp_path)
    priced = call(*common, "--stress", "risk,blind", "--dry-run", "--json", env=surroundings)
    assert priced.status == 0 and set(priced.json["stress_usd"]) == {"repeat-2", "repeat-3", "risk", "blind"}
    assert endpoint.count() == 0
    exam = call(*common, "--json", env=surroundings)
    assert exam.status == 0, exam.err
    asked = endpoint.count()
    poor = call(
        *common, "--stress", "risk,blind", "--budget-usd", f"{exam.json['score']['cost_usd'] * 1.5}", env=surroundings
    )
    assert poor.status == 3 and "repeat-2: the budget is that of the exam and all its variants" in poor.err
    endpoint.script()
    ended = call(*common, "--stress", "risk,blind", "--json", env=surroundings)
    assert ended.status == 0, ended.err
    (folder,) = (data / "exam").iterdir()
    kept = {
        path.parent.name: ledger(path, "select count(*) from answers")[0][0] for path in folder.glob("stress/*/data")
    }
    assert set(kept) == {"repeat-2", "repeat-3", "risk", "blind"} and set(kept.values()) == {asked}
    bodies = [json.dumps(body) for body in endpoint.log()["bodies"]]
    shown = [body for body in bodies if "oracle_outcome" in body.partition("BEGIN PACKET")[2]]
    assert len(bodies) - len(shown) == kept["blind"], "only blind packets have no outcome"
    again = endpoint.count()
    assert call(*common, "--stress", "risk,blind", "--json", env=surroundings).json["stress"] == ended.json["stress"]
    assert endpoint.count() == again, "nothing is asked twice"
    assert ended.json["stress"]["variants"]["blind"]["cost_usd"] > 0
