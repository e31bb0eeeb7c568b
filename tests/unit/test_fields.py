"""Every field of every record is described, once, and the schemas that are published contain the descriptions."""

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

import openclawbench.records
from openclawbench.inspect.export.tables import TABLES
from openclawbench.records.fields import allowed_values, described_in, description, descriptions, reachable
from openclawbench.records.json_schema import (
    PUBLIC,
    STAGE_RECORDS,
    described_schema,
    folder,
    json_schema,
    stage_schema,
)
from openclawbench.tables.record import Record

UNITS = {r"_usd$": "USD", r"_s$": "seconds", r"_tokens$": "tokens", r"sha256$": "sha256", r"_at$": "ISO 8601"}
FREE = {("any", "evaluated_at"), ("OracleRecord", "evaluated_at")}  # kept as the outcome's row writes it
# Part of the key of every stored answer of a language model: when one changes, every answer is asked for again.
STAGE_SCHEMAS = {
    "a": "130cc28a897aa1888ffb512d6c1d34adaba7f9848ce69e8430e44ca872aaef7e",
    "b1": "1f919eb86f78c4acfd089b4f427e61c0721baeda1aff03d4b08d08af4eabe788",
    "b2": "a7b6d6adac4b976a5b4a962b5af86f0b69e247eb68be48e09a218a47b45b3a73",
    "c": "d5189735f995c075c1b496dbf04182464abcb28fb27ad224e6f8686c3b41a69f",
}


def subclasses(record: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for derived in record.__subclasses__():
        yield derived
        yield from subclasses(derived)


def all_records() -> dict[str, type[BaseModel]]:
    """Every record that the room `records` defines, and those that they hold."""
    room = openclawbench.records
    for module in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"{room.__name__}.{module.name}")
    records = [record for record in subclasses(Record) if record.__module__.startswith(room.__name__)]
    return {name: record for outer in records for name, record in reachable(outer).items()}


RECORDS = all_records()
FIELDS = [(record, field) for record in RECORDS.values() for field in record.model_fields]


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_every_record_and_every_field_is_described(record: type[BaseModel]) -> None:
    assert record.__doc__
    assert record.__doc__ != BaseModel.__doc__
    for field in record.model_fields:
        text = description(record, field)
        assert text.endswith("."), f"{record.__name__}.{field}: {text!r} is not a sentence"
        assert text.strip() == text
        assert "\n" not in text


def test_a_description_says_when_a_field_is_null() -> None:
    """And does not where it never is."""
    wrong = [
        f"{record.__name__}.{field}"
        for record, field in FIELDS
        if (type(None) in get_args(record.model_fields[field].annotation))
        != bool(re.search(r"\bnull\b", description(record, field), re.IGNORECASE))
    ]
    assert wrong == []


def test_a_description_names_the_values_of_a_closed_set() -> None:
    lacking = {
        f"{record.__name__}.{field}": value
        for record, field in FIELDS
        for value in allowed_values(record.model_fields[field].annotation)
        if not re.search(rf"\b{re.escape(value)}\b", description(record, field))
    }
    assert lacking == {}


def test_a_description_names_the_unit() -> None:
    lacking = [
        f"{record.__name__}.{field}"
        for record, field in FIELDS
        for name, unit in UNITS.items()
        if re.search(name, field)
        and (described_in(record, field), field) not in FREE
        and unit.casefold() not in description(record, field).casefold()
    ]
    assert lacking == []


def test_no_description_is_of_a_field_that_does_not_exist() -> None:
    used = {(described_in(record, field), field) for record, field in FIELDS}
    written = {(table, field) for table, fields in descriptions().items() for field in fields}
    assert written == used


def test_a_field_without_description_is_an_error() -> None:
    class Undescribed(BaseModel):
        colour: str

    with pytest.raises(KeyError, match=r"Undescribed\.colour has no description"):
        description(Undescribed, "colour")


def test_every_exported_table_is_public() -> None:
    assert set(TABLES.values()) <= set(PUBLIC.values())


def described(value: Any) -> int:
    """Properties with a description, in a schema and its definitions."""
    parts = [value, *value.get("$defs", {}).values()]
    every = [field for part in parts for field in part.get("properties", {}).values()]
    assert all(field.get("description") for field in every)
    return len(every)


def test_every_property_of_the_published_schemas_is_described() -> None:
    assert sum(described(json.loads(path.read_text())) for path in folder().glob("*.json")) > 1200


@pytest.mark.parametrize("stage", STAGE_RECORDS)
def test_a_judge_is_sent_no_descriptions(stage: str) -> None:
    """They would be paid for with every call, and change the question's digest with every word."""
    sent = json_schema(STAGE_RECORDS[stage])
    assert not [field for field in sent["properties"].values() if "description" in field]
    assert described_schema(STAGE_RECORDS[stage]).keys() == sent.keys()


@pytest.mark.parametrize("stage", STAGE_RECORDS)
def test_the_schema_of_an_answer_is_what_stored_answers_were_asked_with(stage: str) -> None:
    assert stage_schema(stage)[1] == STAGE_SCHEMAS[stage]
