"""Without a judge a run releases what is known, says that nobody judged, and what judging would cost."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from child import EXAMPLE, Ran, call, few_shards

from openclawbench import open_data, open_release, run, validate
from openclawbench.errors import UsageError
from openclawbench.records.tiers import UNJUDGED
from openclawbench.release.unjudged import UNJUDGED_NOTICE
from openclawbench.workspace.configuration.setting_table import TEST_JUDGE

pytestmark = pytest.mark.slow

NO_AGENT_ACTION = "2026.2.1-provider-500-always"
NOBODY = {TEST_JUDGE: "none"}
LABEL_FILES = (
    "silver",
    "splits",
    "calibration",
    "exclusions",
    "accepted",
    "positives",
    "stage_",
    "both_high",
    "hold_out",
)


@pytest.fixture(scope="module")
def unjudged(small: Ran, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The small corpus without a judge, and a session in which no agent acts."""
    raw = Path(shutil.copytree(small.raw, tmp_path_factory.mktemp("unjudged") / "raw"))
    for path in (EXAMPLE / "raw" / "scripted-a").rglob(f"{NO_AGENT_ACTION}*"):
        shutil.copy(path, raw / "scripted-a")
    data = few_shards(raw.parent / "data")
    ended = call("run", "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle", "--json", env=NOBODY)
    assert ended.status == 0, ended.err
    return Ran(data, raw, ended)


def test_it_holds_what_is_known_and_no_label(unjudged: Ran, small: Ran) -> None:
    release = unjudged.data / "release"
    names = [path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file()]
    assert [name for name in names if any(word in name for word in LABEL_FILES)] == []
    records = pl.read_parquet(release / "fulltax_prod_v1/*/master_table_all-*.parquet")
    assert set(records["label_status"]) == {UNJUDGED, "needs_review"}
    waiting = records.filter(label_status=UNJUDGED)
    labels = ("quality_tier", "review_cause", "is_anomalous", "anomaly_type_l2", "severity", "annotator_rationale")
    assert waiting.select(pl.col(labels).is_null().all()).row(0) == (True,) * len(labels)
    assert records.filter(label_status="needs_review")["review_cause"].to_list() == ["no_agent_action"]
    judged = pl.read_parquet(small.data / "release/fulltax_prod_v1/*/master_table_all-*.parquet")
    known = ["trajectory_id", "steps", "risk_score", "risk_breakdown", "onset_candidates", "oracle", "slice_label"]
    in_common = waiting.join(judged, on="trajectory_id", how="semi").select(known).sort("trajectory_id")
    assert in_common.equals(judged.select(known).sort("trajectory_id"))


def test_summary_card_and_description_say_that_nobody_judged(unjudged: Ran) -> None:
    release = unjudged.data / "release"
    summary = json.loads((release / "dataset_summary.json").read_text())
    assert summary["notice"] == UNJUDGED_NOTICE
    assert summary["label_status"][UNJUDGED] == summary["totals"]["trajectories"] - 1
    card = (release / "README.md").read_text()
    assert f"**{UNJUDGED_NOTICE}**" in card
    assert "gap: not measured: nobody has judged" in card
    assert "silver" not in card.lower().partition("## columns")[0]
    assert "{#" not in card and "{/}" not in card
    named = [
        line.split("`")[1] for line in card.splitlines() if line.startswith("| `") and ".json" in line.split("`")[1]
    ]
    missing = [name for name in named if not any(release.glob(name.replace("<model>", "*")))]
    assert missing == []
    assert UNJUDGED_NOTICE in json.loads((release / "croissant.json").read_text())["rai:dataLimitations"]
    facts = json.loads((release / "statistics.json").read_text())["sections"]["corrected_gap"]["facts"]
    assert (facts["state"], facts["silver_share"]) == ("not measured: nobody judged", None)


def test_it_is_valid_and_what_does_not_fit_is_named(unjudged: Ran, small: Ran, tmp_path: Path) -> None:
    release = Path(shutil.copytree(unjudged.data / "release", tmp_path / "release"))
    assert validate(release).kept == []
    shutil.copy(small.data / "release" / "silver_test_labels.jsonl", release)
    table = release / "fulltax_prod_v1" / "scripted-b" / "master_table_all.jsonl"
    first, *others = table.read_text().splitlines()
    changed = first.replace('"severity":null', '"severity":"high"')
    assert changed != first
    table.write_text("".join(f"{line}\n" for line in [changed, *others]))
    messages = {(finding.check, finding.file): finding.message for finding in validate(release).kept}
    assert "nobody judged" in messages["file_unknown", "silver_test_labels.jsonl"]
    assert "severity is 'high'" in messages["label", table.relative_to(release).as_posix()]


def test_it_says_what_judging_costs_and_how(unjudged: Ran, tmp_path: Path) -> None:
    cost = unjudged.ended.json["judging"]
    assert cost["records"] == 12
    assert cost["calls"] >= 12
    assert cost["prompt_tokens"] > 12 * 1000
    assert cost["usd"] is None
    data = Path(shutil.copytree(unjudged.data, tmp_path / "data"))
    again = call("run", "--data", data, "--jsonl", "gz", "--price-in", "1", "--price-out", "2", env=NOBODY)
    assert again.status == 0, again.err
    assert validate(data / "release").kept == []
    expected = (cost["prompt_tokens"] + 2 * cost["completion_tokens"]) / 1e6
    assert f"about {expected:.2f} USD" in again.text
    for way in ("--base-url", "--batch-files"):
        assert f"annotate --judge openai --model MODEL {way}" in again.text
    estimate = call("annotate", "--data", unjudged.data, "--model", "m", "--price-in", "1", "--price-out", "2",
                    "--dry-run", "--json", env=NOBODY)  # fmt: skip
    assert estimate.status == 0, estimate.err
    assert estimate.json["calls"] == cost["calls"]
    assert estimate.json["usd"] == pytest.approx(expected)


def test_what_needs_a_judge_asks_for_one(unjudged: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = call("annotate", "--data", unjudged.data, env=NOBODY)
    assert ended.status == 2
    assert "which judge? Name a language model with --judge openai --model NAME" in ended.err
    second = call("annotate", "--data", unjudged.data, "--pass", "2", "--model", "m", env=NOBODY)
    assert second.status == 2
    assert "a second pass needs a first" in second.err
    monkeypatch.setenv(TEST_JUDGE, "none")
    with pytest.raises(UsageError, match="which judge"):
        run(unjudged.data, to="annotate")
    view = open_data(unjudged.data).trajectory("2026.4.15-unicode")
    assert view.label is not None
    assert (view.label.quality_tier, view.label.is_anomalous) == (None, None)


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "2026.4.15-unicode"],
        ["explain", "2026.4.15-unicode"],
        ["trace", "2026.4.15-unicode", "1"],
        ["status"],
        ["export", "labels", "-o", "OUT"],
        ["export", "merge", "--format", "parquet", "-o", "OUT"],
        ["export", "--to", "atif", "-o", "OUT"],
        ["report", "evidence"],
        ["report", "models"],
        ["report", "statistics", "RELEASE"],
        ["report", "gap", "RELEASE"],
        ["diff", "RELEASE", "JUDGED"],
        ["diff", "JUDGED", "RELEASE"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_every_command_copes(unjudged: Ran, small: Ran, tmp_path: Path, arguments: list[str]) -> None:
    places = {"RELEASE": unjudged.data / "release", "JUDGED": small.data / "release", "OUT": tmp_path / "out"}
    data = [] if "RELEASE" in arguments else ["--data", unjudged.data]
    ended = call(*(places.get(word, word) for word in arguments), *data, env=NOBODY)
    assert ended.status == 0, ended.err
    assert "Traceback" not in ended.err


def test_what_needs_labels_says_that_nobody_judged(unjudged: Ran) -> None:
    release = unjudged.data / "release"
    for command in (
        ["audit", "sample-calibration", "--data", unjudged.data, "--pool", "labelled"],
        ["detect", "baseline", "majority", "--release", release],
    ):
        ended = call(*command, env=NOBODY)
        assert ended.status == 2
        assert f"{release}: nobody has judged these records, so there are no labels. Name a judge" in ended.err
    opened = open_release(release)
    assert opened.table().collect().height == 13
    for read in (lambda: opened.labels("test"), lambda: opened.splits):
        with pytest.raises(UsageError, match="nobody has judged"):
            read()


def test_a_judged_release_is_not_replaced_by_one_without_labels(tmp_path: Path) -> None:
    former = tmp_path / "release"
    former.mkdir(parents=True)
    judges = [{"annotation_pass": 1, "judge": "openai", "judge_model": "m"}]
    (former / "rules.json").write_text("{}")
    (former / "datapackage.json").write_text(json.dumps({"provenance": {"judges": judges, "commands": []}}))
    ended = call("release", "--data", tmp_path, "--raw", EXAMPLE / "raw", env=NOBODY)
    assert ended.status == 2
    assert "labels of m would be gone (--judge none)" in ended.err


def test_labels_come_when_a_judge_is_named(unjudged: Ran, tmp_path: Path) -> None:
    data = Path(shutil.copytree(unjudged.data, tmp_path / "data"))
    ended = call("run", "--data", data, "--judge", "rules", "--json", env=NOBODY)
    assert ended.status == 0, ended.err
    assert "judging" not in ended.json
    assert (data / "release" / "silver_test_labels.jsonl").is_file()
    assert UNJUDGED not in json.loads((data / "release" / "dataset_summary.json").read_text())["label_status"]
