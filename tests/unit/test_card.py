"""The card's parts: declared columns, what can be loaded, text of the data in its tables."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from openclawbench.records.calibration import HumanAudited
from openclawbench.records.fields import description
from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.release import LabelRow, Master, PoolRow, PositiveStructured
from openclawbench.release.card.card import (
    code,
    describe_missing_settings,
    licences,
    license_lines,
    repository,
    size,
    table,
)
from openclawbench.release.card.columns import column_tables
from openclawbench.release.card.configs import configs
from openclawbench.release.card.croissant import Place, field, publisher_fields
from openclawbench.release.card.example import CHARACTERS, shorten_texts
from openclawbench.release.card.features import feature_lines, features
from openclawbench.release.labels.labels import part_file
from openclawbench.release.provenance import licenses
from openclawbench.release.settings import Dataset, PublishRules, known_licenses
from openclawbench.release.statistics.pictures import severity, short, subtypes
from openclawbench.tables.schema import empty, schema


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
    (entry,) = configs(tmp_path)
    assert entry.name == "hold_out_a_model__x__"
    assert list(entry.splits) == ["test"]
    assert [path.parent.name for path in tmp_path.glob(entry.splits["test"])] == [model]


def test_a_list_of_structs_inside_another_value_is_left_to_the_files() -> None:
    stages = field("t/stages", schema(Master)["stages"], {}, Place(Master, "stages"))
    b2 = next(entry for entry in stages["subField"] if entry["name"] == "t/stages/b2")
    names = {entry["name"].rpartition("/")[2] for entry in b2["subField"]}
    assert "earliest_harmful_onset" in names
    assert "segment_spans" not in names
    steps = field("t/steps", pl.List(pl.Struct({"step_id": pl.Int64()})), {}, Place(Master, "steps"))
    assert steps["repeated"]
    assert steps["subField"][0]["source"] == {
        "extract": {"column": "steps"},
        "transform": {"jsonPath": "$.step_id"},
    }


def described(node: dict[str, Any]) -> Iterator[str | None]:
    """Descriptions of a field and of the fields inside it."""
    yield node.get("description")
    for entry in node.get("subField", []):
        yield from described(entry)


def test_every_field_of_croissant_says_what_it_is() -> None:
    for record in (Master, LabelRow, PoolRow, PositiveStructured, HumanAudited):
        for name, kind in schema(record).items():
            texts = list(described(field(f"t/{name}", kind, {}, Place(record, name))))
            assert all(texts), name
    quote = field("t/evidence_steps", schema(Master)["evidence_steps"], {}, Place(Master, "evidence_steps"))
    assert quote["subField"][2]["description"] == description(EvidenceQuote, "quote")


def test_every_column_of_a_record_stands_in_the_card() -> None:
    text = column_tables()
    for record in (Master, LabelRow, PoolRow):
        for name in record.model_fields:
            assert f"| `{name}` |" in text
    assert "#### Inside a record: `steps`" in text and "#### Inside a record: `stages.b1`" in text


def test_nothing_of_the_publisher_is_assumed() -> None:
    stated_dataset = PublishRules.load().dataset
    assert stated_dataset.lacking == ["creator", "license"]
    blank = ("version", "creator", "contact", "url", "date_published", "citation", "license", "license_name")
    assert not any(getattr(stated_dataset, name) for name in blank) and stated_dataset.based_on == []
    assert publisher_fields(stated_dataset) == dict.fromkeys(publisher_fields(stated_dataset)) | {
        "url": "",
        "version": "",
        "citeAs": "",
        "isBasedOn": [],
    } | {"datePublished": ""}
    assert "names no creator and no licence" in describe_missing_settings(stated_dataset)
    assert licences(stated_dataset).startswith("Data: no licence is given.")
    assert [entry.name for entry in licenses(stated_dataset)] == ["MIT"]


def dataset(**dataset_settings: Any) -> Dataset:
    return Dataset.model_validate(PublishRules.load().dataset.model_dump() | dataset_settings)


@pytest.mark.parametrize(
    ("dataset_settings", "name", "address", "front"),
    [
        ({"license": "mit"}, "MIT", "https://opensource.org/license/mit", [("license", "mit")]),
        (
            {"license": "other", "license_name": "House licence", "license_url": "https://example.org/l"},
            "House licence",
            "https://example.org/l",
            [("license", "other"), ("license_name", "House licence"), ("license_link", "https://example.org/l")],
        ),
    ],
)
def test_a_licence_is_the_same_everywhere(
    dataset_settings: dict[str, str], name: str, address: str, front: Any
) -> None:
    entry = dataset(**dataset_settings, creator="Ada")
    assert license_lines(entry) == front
    assert f"Data: {name} ({address})." in licences(entry)
    assert publisher_fields(entry)["license"] == address
    assert licenses(entry)[0].name == name
    assert describe_missing_settings(entry) == ""


def test_a_licence_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="license_name and license_url"):
        dataset(license="cc-by-40")
    assert all(terms.url.startswith("https://") for terms in known_licenses().values())


def test_the_repository_in_the_code_is_the_address() -> None:
    assert repository(dataset()) == "PATH_OR_REPO"
    assert repository(dataset(url="https://example.org/datasets/ada/set")) == "ada/set"


def test_pictures_end_at_a_hundred_and_cut_no_name() -> None:
    row = {"anomaly_type_l2": "write_under_unresolved_ambiguity", "trajectories": 9, "share": 1.0}
    axes = subtypes([row | {"low_share": 0.7, "high_share": 1.0}], "accepted").axes[0]
    assert axes.get_xlim() == (0, 100)
    counts = {"severity": "low", "trajectories": 1, "partially_recoverable": 1}
    heat = severity([counts], ["partially_recoverable"], "accepted").axes[0]
    assert [tick_label.get_text() for tick_label in heat.get_xticklabels()] == ["partially_recoverable"]
    name = "a-source-model-with-a-long-name"
    assert short({"name": name, "scope": "source_model, pass_high_risk"}) == f"{name}, high risk"


def test_no_text_of_an_example_ends_its_block() -> None:
    cut = shorten_texts({"text": "`" * 400, "steps": [{"thinking": "x" * 400}]})
    assert len(cut["text"]) == len(cut["steps"][0]["thinking"]) == CHARACTERS + 1
