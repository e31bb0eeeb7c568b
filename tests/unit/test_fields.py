"""Every field of every public record is described, once, and the schemas that are published say so."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from openclawbench.records.fields import ANY, meaning, meanings, reachable
from openclawbench.records.json_schema import PUBLIC, STAGE_RECORDS, described_schema, folder, json_schema

RECORDS = {name: one for public in PUBLIC.values() for name, one in reachable(public).items()}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_every_field_of_a_public_record_says_what_it_is(record: type[BaseModel]) -> None:
    for field in record.model_fields:
        said = meaning(record, field)
        assert said.endswith("."), f"{record.__name__}.{field}: {said!r} is not a sentence"
        assert said.strip() == said and "\n" not in said
    assert record.__doc__ and record.__doc__ != BaseModel.__doc__


def test_no_description_is_of_a_field_that_is_not_there() -> None:
    used = set()
    for record in RECORDS.values():
        for field in record.model_fields:
            tables = [one.__name__ for one in record.__mro__ if one.__name__ in meanings()]
            used.add(next((table, field) for table in (*tables, ANY) if field in meanings()[table]))
    written = {(table, field) for table, fields in meanings().items() for field in fields}
    assert written == used


def test_a_nullable_field_of_a_released_label_says_what_null_means() -> None:
    for name in ("is_anomalous", "anomaly_type_l2", "severity", "review_cause", "oracle_outcome", "slice_label"):
        assert "null" in meaning(PUBLIC["master"], name).lower()


def described(value: Any) -> int:
    """Properties with a description, in a schema and its definitions."""
    parts = [value, *value.get("$defs", {}).values()]
    every = [one for part in parts for one in part.get("properties", {}).values()]
    assert all(one.get("description") for one in every)
    return len(every)


def test_every_property_of_the_published_schemas_is_described() -> None:
    assert sum(described(json.loads(path.read_text())) for path in folder().glob("*.json")) > 800


@pytest.mark.parametrize("stage", STAGE_RECORDS)
def test_a_judge_is_sent_no_descriptions(stage: str) -> None:
    """They would be paid for with every call, and change the question's digest with every word."""
    sent = json_schema(STAGE_RECORDS[stage])
    assert not [one for one in sent["properties"].values() if "description" in one]
    assert described_schema(STAGE_RECORDS[stage]).keys() == sent.keys()
