"""The release of the example: every file of paper T37, valid lines, numbers that add up, quotes that stand."""

import hashlib
import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from child import EXAMPLE, ROOT, Ran, files, lines, table
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from benchmarks.rules_judge import measure, plan_of, put_into
from openclawbench.records.release import LabelRow, Master, PositiveStructured, StageRaw
from openclawbench.release.baseline_notice import RULES_NOTICE
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.rules.loading.own_folder import PACKAGE, shipped_path

pytestmark = pytest.mark.slow

MODELS = ["scripted-a", "scripted-b"]
TIERS = {
    "high_confidence_accepted": "accepted_main_all.jsonl",
    "accepted_repaired": "accepted_repaired_all.jsonl",
    "baseline_accepted": "accepted_baseline_all.jsonl",
    "review_or_unresolved": "review_or_unresolved_all.jsonl",
}
MASTER, POSITIVES, SUMMARY = "master_table_all.jsonl", "positives_structured_all.jsonl", "dataset_summary_all.json"
BASELINE_POSITIVES = "positives_baseline_all.jsonl"
STAGE_FILES = {name: f"stage_{name}_raw_pass1.jsonl" for name in ("a", "b1", "b2", "c")}
TYPED = {
    f"{name.removesuffix('.jsonl')}-00000-of-00001.parquet"
    for name in (MASTER, *TIERS.values(), POSITIVES, BASELINE_POSITIVES)
}
T37 = {MASTER, *TIERS.values(), POSITIVES, BASELINE_POSITIVES, SUMMARY, *STAGE_FILES.values()}
CUTS = ["", "paper_cut"]
REVIEW = "review_or_unresolved"
ONSETS = ["earliest_recoverable_onset", "earliest_harmful_onset", "earliest_state_contamination_onset"]
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def release(example: Ran) -> Path:
    return example.data / "release"


@pytest.fixture(scope="module")
def master(release: Path) -> dict[str, Rows]:
    """Source model -> its master table."""
    return {model: lines(release / "fulltax_prod_v1" / model / MASTER) for model in MODELS}


def every(master: dict[str, Rows]) -> Rows:
    return [row for rows in master.values() for row in rows]


def key(row: dict[str, Any]) -> tuple[str, str]:
    return row["source_model"], row["trajectory_id"]


def settled(row: dict[str, Any]) -> bool:
    """Not in review: all of these are baseline, for the rules judge made them."""
    return bool(row["quality_tier"] != REVIEW)


def test_every_file_of_t37_is_there_and_nothing_unexpected(release: Path) -> None:
    assert sorted(path.name for path in (release / "fulltax_prod_v1").iterdir()) == MODELS
    for model in MODELS:
        assert {path.name for path in (release / "fulltax_prod_v1" / model).iterdir()} == T37 | TYPED
    endings = (".jsonl", ".parquet", "_accepted.parquet", "_baseline.parquet")
    labels = {f"silver_{side}_labels{ending}" for side in ("train", "test") for ending in endings}
    cut = labels | {"label_exclusions.jsonl"}
    top = {path.name for path in release.iterdir()}
    folders = {"fulltax_prod_v1", "hold_out", "paper_cut", "prompts", "statistics"}
    assert top == cut | folders | {
        "calibration_pool.jsonl",
        "calibration_pool.parquet",
        "croissant.json",
        "datapackage.json",
        "dataset_summary.json",
        "privacy.json",
        "publish.toml",
        "splits.json",
        "input_files.jsonl",
        "input_files.parquet",
        "record_index.jsonl",
        "rules.json",
        "statistics.json",
        "STATISTICS.md",
        "README.md",
        "taxonomy.toml",
        "CHECKSUMS.sha256",
    }
    assert {path.name for path in (release / "paper_cut").iterdir()} == cut


def schema_of(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text()))


@pytest.mark.parametrize(
    ("pattern", "schema", "record"),
    [
        (f"fulltax_prod_v1/*/{MASTER}", "master", Master),
        ("fulltax_prod_v1/*/accepted_*.jsonl", "master", Master),
        ("fulltax_prod_v1/*/review_*.jsonl", "master", Master),
        (f"fulltax_prod_v1/*/{BASELINE_POSITIVES}", "positive_structured", PositiveStructured),
        ("fulltax_prod_v1/*/stage_*_raw_pass1.jsonl", "stage_raw", StageRaw),
        ("**/silver_*_labels.jsonl", "label_row", LabelRow),
    ],
)
def test_every_line_is_valid(release: Path, pattern: str, schema: str, record: type[BaseModel]) -> None:
    validator = schema_of(schema)
    rows = [row for path in sorted(release.glob(pattern)) for row in lines(path)]
    assert rows
    for row in rows:
        assert [error.message for error in validator.iter_errors(row)] == []
        assert record.model_validate(row).model_dump() == row
        assert list(row) == list(record.model_fields)


@pytest.mark.parametrize("stage", STAGE_FILES)
def test_parsed_answers_meet_their_stages_schema(release: Path, stage: str) -> None:
    validator = schema_of(f"stage_{stage}")
    rows = [row for model in MODELS for row in lines(release / "fulltax_prod_v1" / model / STAGE_FILES[stage])]
    assert rows
    for row in rows:
        assert row["stage"] == stage
        assert [error.message for error in validator.iter_errors(json.loads(row["parsed"]))] == []
        assert json.loads(row["response_text"])["trajectory_id"] == row["trajectory_id"]


@pytest.mark.parametrize("model", MODELS)
def test_the_tiers_are_a_partition_of_the_master_table(release: Path, model: str, master: dict[str, Rows]) -> None:
    folder = release / "fulltax_prod_v1" / model
    complete_lines = [line for line in (folder / MASTER).read_bytes().split(b"\n") if line]
    parts = {tier: [text for text in (folder / name).read_bytes().split(b"\n") if text] for tier, name in TIERS.items()}
    assert sorted(complete_lines) == sorted(line for part in parts.values() for line in part)
    assert len({key(row) for row in master[model]}) == len(complete_lines) > 0
    for tier, part in parts.items():
        assert {json.loads(line)["quality_tier"] for line in part} <= {tier}
    assert lines(folder / POSITIVES) == []
    positives = lines(folder / BASELINE_POSITIVES)
    assert [key(row) for row in positives] == [
        key(row) for row in master[model] if settled(row) and row["is_anomalous"]
    ]
    by_key = {key(row): row for row in master[model]}
    for row in positives:
        assert row == {name: by_key[key(row)][name] for name in row}


def test_the_release_holds_every_trajectory_that_came_in(example: Ran, master: dict[str, Rows]) -> None:
    assert [key(row) for row in every(master)] == [key(row) for row in table(example.data, "trajectory")]
    assert len(every(master)) == 92


def named(rows: Rows, value: Any) -> dict[str, int]:
    """Counts of what `value` gives, nulls left out."""
    return dict(Counter(result for row in rows if (result := value(row)) is not None))


def recount(rows: Rows) -> dict[str, Any]:
    """dataset_summary from the master table, computed anew."""
    stated = {True: "anomalous", False: "normal", None: "undecided"}
    passing = [row for row in rows if row["oracle_outcome"] == "pass"]
    high = [row for row in rows if row["slice_label"] == "pass_high_risk"]
    gap: dict[str, Any] = {}
    for name, base in {"passing": passing, "pass_high_risk": high}.items():
        gap[name] = len(base)
        judged = [row for row in base if row["provenance"]["judge"] == "rules"]
        parts: dict[str, Rows] = {
            "measured": [row for row in base if row["provenance"]["judge"] != "rules"],
            "accepted": [],
            "baseline": judged,
        }
        for part, some in parts.items():
            anomalous = sum(bool(row["is_anomalous"]) for row in some)
            gap |= {f"{name}_{part}": len(some), f"{name}_{part}_anomalous": anomalous}
            gap[f"{name}_{part}_anomalous_rate"] = round(anomalous / len(some), 6) if some else None
        # Nobody but the rules judge judged: nothing is measured, so there are no bounds either.
        gap |= {f"{name}_in_review": 0, f"{name}_undecided": sum(row["is_anomalous"] is None for row in base)}
        gap |= {f"{name}_if_normal_rate": None, f"{name}_if_anomalous_rate": None}
    asked = {
        f"asked_{name}": sum(row["provenance"]["prompt_versions"][name] is not None for row in rows)
        for name in STAGE_FILES
    }
    events: Counter[str] = Counter()
    for row in rows:
        events.update(row["event_type_counts"])
    actual_row: dict[str, Any] = {
        "quality_tier": named(rows, lambda row: row["quality_tier"]),
        "tier_by_label": named(rows, lambda row: f"{row['quality_tier']}/{stated[row['is_anomalous']]}"),
        "label_status": named(rows, lambda row: "baseline" if settled(row) else "needs_review"),
        "anomaly_type_l2": {},
        "anomaly_type_l2_baseline": named(rows, lambda row: row["anomaly_type_l2"] if settled(row) else None),
        "absorbed_from": named(rows, lambda row: row["absorbed_from"]),
        "review_cause": named(rows, lambda row: row["review_cause"]),
        "slice_label": named(rows, lambda row: row["slice_label"] or "no_outcome"),
        "risk_bucket": named(rows, lambda row: row["risk_bucket"]),
        "oracle_outcome": named(rows, lambda row: row["oracle_outcome"] or "no_outcome"),
        "route_label": named(rows, lambda row: (row["stages"]["a"] or {"route_label": "not_asked"})["route_label"]),
        "judge": named(rows, lambda row: row["provenance"]["judge"] or "not_asked"),
        "judge_model": named(rows, lambda row: row["provenance"]["judge_model"] or "not_asked"),
        "repairs": dict(Counter(repair["rule_id"] for row in rows for repair in row["repairs"])),
        "event_type": dict(events),
        "totals": {
            "trajectories": len(rows),
            "accepted": 0,
            "anomalous_accepted": 0,
            "baseline": sum(map(settled, rows)),
            "anomalous_baseline": sum(settled(row) and bool(row["is_anomalous"]) for row in rows),
        },
        "stage_funnel": asked
        | {
            "routed_to_b1": sum(
                bool(row["stages"]["a"]) and row["stages"]["a"]["route_label"] == "structured_annotation"
                for row in rows
            )
        },
        "outcome_process_gap": gap,
        "notice": RULES_NOTICE,
    }
    return actual_row


def test_the_summaries_are_what_a_recount_gives(release: Path, master: dict[str, Rows]) -> None:
    for model, rows in master.items():
        document = json.loads((release / "fulltax_prod_v1" / model / SUMMARY).read_text())
        assert document == recount(rows) | {"source_model": model}
    complete_document = json.loads((release / "dataset_summary.json").read_text())
    assert complete_document == recount(every(master)) | {"source_models": MODELS}


def test_steps_are_numbered_and_counted(master: dict[str, Rows]) -> None:
    for row in every(master):
        assert [step["step_id"] for step in row["steps"]] == list(range(1, row["num_steps"] + 1))
        counts = Counter(step["event_type"] for step in row["steps"])
        assert {name: count for name, count in row["event_type_counts"].items() if count} == counts


def even(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


def cited_text(row: dict[str, Any], quote: dict[str, Any]) -> str:
    """The field that a quote cites; a descriptor as name=value."""
    if quote["field"] == "user_turn":
        return next(str(turn["text"]) for turn in row["user_turns"] if turn["user_turn"] == quote["step_id"])
    step = row["steps"][quote["step_id"] - 1]
    if quote["field"] != "descriptor":
        return str(step[quote["field"]])
    name = quote["quote"].partition("=")[0]
    values = step[name] if isinstance(step[name], list) else [step[name]]
    return " ".join(f"{name}={value if isinstance(value, str) else json.dumps(value)}" for value in values)


def test_evidence_of_settled_anomalies_stands_in_the_released_steps(master: dict[str, Rows]) -> None:
    anomalous = [row for row in every(master) if row["is_anomalous"] and settled(row)]
    assert len(anomalous) >= 3
    for row in anomalous:
        assert row["evidence_steps"]
        for quote in row["evidence_steps"]:
            assert even(quote["quote"]) in even(cited_text(row, quote)), (key(row), quote)


def test_spans_and_onsets_lie_inside_the_trajectory(master: dict[str, Rows]) -> None:
    for row in every(master):
        inside = range(1, row["num_steps"] + 1)
        assert all(row[name] is None or row[name] in inside for name in ONSETS)
        for span in row["segment_spans"]:
            assert span["start_step"] in inside and span["end_step"] in inside
            assert span["start_step"] <= span["end_step"]
        if settled(row) and row["is_anomalous"]:
            assert any(span["label"] == "anomalous" for span in row["segment_spans"])
            assert row["anomaly_type_l1"] and row["anomaly_type_l2"] and row["severity"] and row["recoverability"]
            if row["earliest_recoverable_onset"] and row["earliest_harmful_onset"]:
                assert row["earliest_recoverable_onset"] <= row["earliest_harmful_onset"]
        if row["is_anomalous"] is False:
            assert not row["segment_spans"] and not any(row[name] for name in [*ONSETS, "severity", "anomaly_type_l2"])
        assert (row["review_cause"] is None) == settled(row)


@pytest.mark.parametrize("cut", [*CUTS, *(f"hold_out/{model}" for model in MODELS)])
def test_a_trajectory_is_on_one_side_or_excluded_with_a_reason(
    release: Path, cut: str, master: dict[str, Rows]
) -> None:
    folder = release / cut
    sides = {side: lines(folder / f"silver_{side}_labels.jsonl") for side in ("train", "test")}
    excluded = lines(folder / "label_exclusions.jsonl")
    assert all(row["reason"] for row in excluded)
    counts = Counter(key(row) for rows in (*sides.values(), excluded) for row in rows)
    assert counts == Counter(key(row) for row in every(master))
    by_key = {key(row): row for row in every(master)}
    for row in [*sides["train"], *sides["test"]]:
        origin = by_key[key(row)]
        shared = ("task_id", "is_anomalous", "anomaly_type_l2", "quality_tier")
        assert {name: row[name] for name in shared} == {name: origin[name] for name in shared}
        assert row["label_status"] == ("baseline" if settled(origin) else "needs_review")
        assert row["label_status"] == origin["label_status"]
        assert row["scoreable"] == (not origin["compacted"] and not origin["truncated"] and origin["num_steps"] > 0)
        assert row["is_anomalous"] is not None
    if cut == "paper_cut":
        assert len(sides["test"]) == -(-sum(map(settled, every(master))) // 10)
        assert {row["reason"] for row in excluded} == {"no_decision", "calibration_pool"}
    elif not cut:
        assert not {row["task_id"] for row in sides["train"]} & {row["task_id"] for row in sides["test"]}
        assert not any(row["in_calibration_pool"] for rows in sides.values() for row in rows)
        assert {row["reason"] for row in excluded} <= {
            *("no_decision", "calibration_pool", "calibration_task"),
            *("near_duplicate_of_test", "near_duplicate_of_calibration_task"),
        }


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("side", ["train", "test"])
def test_label_files_say_the_same_as_jsonl_and_as_parquet(release: Path, cut: str, side: str) -> None:
    name = f"silver_{side}_labels"
    frame = pl.read_parquet(release / cut / f"{name}.parquet")
    assert frame.to_dicts() == lines(release / cut / f"{name}.jsonl")
    assert frame.columns == list(LabelRow.model_fields)


def test_the_checksums_are_right_and_complete(release: Path) -> None:
    actual_files = files(release)
    listed = dict(line.split("  ", 1)[::-1] for line in actual_files.pop("CHECKSUMS.sha256").decode().splitlines())
    assert listed == {path: hashlib.sha256(content).hexdigest() for path, content in actual_files.items()}


def test_every_label_says_who_judged_and_the_release_says_so_loudly(release: Path, master: dict[str, Rows]) -> None:
    for row in every(master):
        asked = row["stages"]["a"] is not None
        assert row["provenance"]["judge"] == ("rules" if asked else None)
        assert asked or (row["quality_tier"], row["is_anomalous"]) == (REVIEW, None)
    for model in MODELS:
        for name in STAGE_FILES.values():
            assert {row["judge"] for row in lines(release / "fulltax_prod_v1" / model / name)} <= {"rules"}
        assert json.loads((release / "fulltax_prod_v1" / model / SUMMARY).read_text())["notice"] == RULES_NOTICE
    assert f"**{RULES_NOTICE}**" in (release / "README.md").read_text()


def names(value: Any) -> set[str]:
    """Every key in a value, however deep."""
    if isinstance(value, dict):
        return set(value).union(*map(names, value.values()))
    return set().union(*map(names, value)) if isinstance(value, list) else set()


def test_nothing_of_this_machine_and_no_construction_pointer_is_released(
    release: Path, master: dict[str, Rows]
) -> None:
    places = [str(place).encode() for place in (ROOT, EXAMPLE, release.parent)]
    for path, content in files(release).items():
        assert not [place for place in places if place in content], path
    pointers = {"source_file", "source_sha256", "raw", "offset", "line"}
    for row in every(master):
        shown = {name: value for name, value in row.items() if name not in ("oracle", "abandoned_steps")}
        assert not names(shown) & pointers


def test_prompts_and_taxonomy_are_the_ones_in_force(release: Path) -> None:
    for path in (release / "prompts").rglob("*.md"):
        assert path.read_bytes() == (ROOT / "prompts" / path.relative_to(release / "prompts")).read_bytes()
    assert len(list((release / "prompts").rglob("*.md"))) == 5  # of each stage, and what they share
    assert (release / "taxonomy.toml").read_bytes() == shipped_path("taxonomy.toml").read_bytes()


def test_the_document_on_the_rules_judge_says_what_the_release_says(release: Path) -> None:
    measured = measure(release, EXAMPLE / "misbehaving.json")
    text = (ROOT / "docs" / "why" / "rules_judge.md").read_text(encoding="utf-8")
    remake = "openclawbench demo && openclawbench bench rules-judge --into docs/why/rules_judge.md"
    assert put_into(text, measured) == text, f"docs/why/rules_judge.md is stale: {remake}"


def test_every_misbehaving_session_has_a_twin_and_every_kind_is_shown() -> None:
    planned = plan_of(EXAMPLE / "misbehaving.json")
    taxonomy = Taxonomy.load()
    kinds = {rule.name for rule in (*taxonomy.subtypes, *taxonomy.candidates)}
    assert {entry.intended for entry in planned if not entry.innocent} == kinds
    for pair in {entry.pair for entry in planned}:
        assert sorted(entry.innocent for entry in planned if entry.pair == pair) == [False, True], pair


def test_no_label_of_the_rules_judge_is_accepted_anywhere(release: Path, master: dict[str, Rows]) -> None:
    """Neither as a tier, nor in a file of accepted records or rows."""
    assert {row["quality_tier"] for row in every(master)} == {"baseline_accepted", REVIEW}
    for path in release.rglob("*accepted*.jsonl"):
        assert lines(path) == [] or path.name == TIERS["baseline_accepted"]
    for path in release.rglob("*_accepted.parquet"):
        assert pl.read_parquet(path).height == 0
    rows = [row for path in release.rglob("*_baseline.parquet") for row in pl.read_parquet(path).to_dicts()]
    assert {row["label_status"] for row in rows} == {"baseline"}


def test_certificates_say_what_the_label_files_show(release: Path) -> None:
    document = json.loads((release / "splits.json").read_text())
    assert document["calibration_pool"]["size"] == len(lines(release / "calibration_pool.jsonl")) > 0
    for cut, folder in {
        "default_cut": "",
        "paper_cut": "paper_cut",
        **{f"hold_out/{m}": f"hold_out/{m}" for m in MODELS},
    }.items():
        actual_cut = document["cuts"][cut]
        for side in ("train", "test"):
            rows = lines(release / folder / f"silver_{side}_labels.jsonl")
            assert actual_cut[side] == sum(row["label_status"] == "baseline" for row in rows)
    for leak in ("shared_tasks", "near_duplicates", "pool_tasks_in_train", "near_duplicates_of_pool"):
        assert document["cuts"]["default_cut"][leak] == 0
    reserved = {row["task_id"] for row in lines(release / "calibration_pool.jsonl")}
    assert not reserved & {row["task_id"] for row in lines(release / "silver_train_labels.jsonl")}
    for model in MODELS:
        test = lines(release / "hold_out" / model / "silver_test_labels.jsonl")
        train = lines(release / "hold_out" / model / "silver_train_labels.jsonl")
        assert {row["source_model"] for row in test} == {model}
        assert model not in {row["source_model"] for row in train}


def test_the_data_package_names_what_it_was_made_from_and_nothing_of_this_machine(release: Path, example: Ran) -> None:
    document = json.loads((release / "datapackage.json").read_text())
    assert [error.message for error in schema_of("datapackage").iter_errors(document)] == []
    provenance = document["provenance"]
    sessions = [path for model in MODELS for path in (example.raw / model).rglob("*") if path.is_file()]
    want = {str(path.relative_to(example.raw)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sessions}
    assert {record["path"]: record["sha256"] for record in lines(release / "input_files.jsonl")} == want
    assert provenance["commands"] == ["openclawbench release --judge rules"]
    assert provenance["lock_sha256"] == hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest()
    rules = {path.name for path in (PACKAGE / "rules").rglob("*.toml")} - {
        "asking.toml",
        "prices.toml",
    }
    assert {rule["file"] for rule in provenance["rules"]} == rules | {"publish.toml", "privacy.toml"}
    paths = {resource["path"] for resource in document["resources"]}
    later = {"README.md", "croissant.json", "datapackage.json", "CHECKSUMS.sha256"}
    assert paths == files(release).keys() - later
    assert len({resource["name"] for resource in document["resources"]}) == len(paths)
    records = lines(release / "fulltax_prod_v1" / "scripted-a" / MASTER)
    assert {row["provenance"]["rules_version"] for row in records} == {provenance["rules_version"]}
