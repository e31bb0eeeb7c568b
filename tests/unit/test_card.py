"""The card's parts: declared columns, what can be loaded, text of the data in its tables."""

import json
from pathlib import Path

import polars as pl
import pytest

from pipeline.records.release import LabelRow, Master
from pipeline.release.card.card import code, size, table
from pipeline.release.card.configs import configs
from pipeline.release.card.croissant import field
from pipeline.release.card.features import feature_lines, features
from pipeline.release.labels import part_file
from pipeline.release.settings import PublishRules
from pipeline.tables import empty, schema


def test_a_column_is_declared_by_its_type() -> None:
    assert features(LabelRow)[:4] == [
        {"name": "source_model", "dtype": "string"},
        {"name": "trajectory_id", "dtype": "string"},
        {"name": "task_id", "dtype": "string"},
        {"name": "is_anomalous", "dtype": "bool"},
    ]
    by_name = {feature["name"]: feature for feature in features(Master)}
    assert by_name["models"] == {"name": "models", "list": "string"}
    assert by_name["steps"]["list"][0] == {"name": "step_id", "dtype": "int64"}
    assert by_name["risk_score"]["dtype"] == "float64"
    assert {"name": "route_label", "dtype": "string"} in by_name["stages"]["struct"][0]["struct"]
    assert list(by_name) == list(Master.model_fields)
    assert [json.loads(line.removeprefix("  - ")) for line in feature_lines(Master)] == features(Master)


@pytest.mark.parametrize(
    ("text", "shown"), [("a|b", "`a¦b`"), ("a`b", "`a'b`"), ("a\nb\x1b[31m", "`a?b?[31m`"), ("<b>", "`<b>`")]
)
def test_text_of_the_data_stays_inside_its_cell(text: str, shown: str) -> None:
    assert code(text) == shown


def test_the_hubs_word_for_a_size() -> None:
    assert [size(n) for n in (0, 999, 1_000, 31_264, 1_000_000)] == [
        "n<1K",
        "n<1K",
        "1K<n<10K",
        "10K<n<100K",
        "n>1M",
    ]


def test_a_table_without_a_line_says_so() -> None:
    assert table(["a"], []) == "None."


def test_what_has_no_row_is_not_offered_and_odd_names_are_no_patterns(tmp_path: Path) -> None:
    model = "a model [x]*"
    (tmp_path / "fulltax_prod_v1" / model).mkdir(parents=True)
    folder = tmp_path / "hold_out" / model
    folder.mkdir(parents=True)
    row = empty(LabelRow).clear(1)
    row.write_parquet(folder / part_file("silver_test_labels.jsonl"))
    empty(LabelRow).write_parquet(folder / part_file("silver_train_labels.jsonl"))
    (one,) = configs(tmp_path)
    assert one.name == "hold_out_a_model__x__"
    assert list(one.splits) == ["test"]
    assert [path.parent.name for path in tmp_path.glob(one.splits["test"])] == [model]


def test_a_list_of_structs_inside_another_value_is_left_to_the_files() -> None:
    stages = field("t/stages", schema(Master)["stages"], {}, "stages", [])
    b2 = next(one for one in stages["subField"] if one["name"] == "t/stages/b2")
    names = {one["name"].rpartition("/")[2] for one in b2["subField"]}
    assert "earliest_harmful_onset" in names
    assert "segment_spans" not in names
    steps = field("t/steps", pl.List(pl.Struct({"step_id": pl.Int64()})), {}, "steps", [])
    assert steps["repeated"]
    assert steps["subField"][0]["source"] == {
        "extract": {"column": "steps"},
        "transform": {"jsonPath": "$.step_id"},
    }


def test_no_date_is_made_up() -> None:
    assert PublishRules.load().dataset.date_published == ""
