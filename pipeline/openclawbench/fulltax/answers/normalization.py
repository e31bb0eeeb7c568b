"""How an answer is repaired before it is validated: field names, label formats, types, missing optional fields (T29).

Every change is recorded. What a value means must be certain; nothing else is invented.
"""

import json
import re
from typing import Any

from pydantic import BaseModel, ValidationError

from openclawbench.records.fulltax import Repair
from openclawbench.rules.fulltax.repairs import RepairRules

INTEGER = re.compile(r"-?[0-9]{1,18}")
UNKNOWN = object()  # the meaning of a value is not certain


def normalize(value: Any, rules: RepairRules, repairs: list[Repair], known_fields: frozenset[str]) -> Any:
    """The value with known aliases of fields replaced by the paper's names, and labels in their format."""
    if isinstance(value, list):
        return [normalize(entry, rules, repairs, known_fields) for entry in value]
    if not isinstance(value, dict):
        return value
    normalized: dict[str, Any] = {}
    for name, entry in value.items():
        proper = name if name in known_fields else rules.field_names.get(str(name), str(name))
        if proper != name and proper in value:
            proper = name  # the answer has the proper field as well
        if proper != name:
            repairs.append(change("field_name", proper, name, proper))
        normalized[proper] = format_label(proper, normalize(entry, rules, repairs, known_fields), rules, repairs)
    return normalized


def format_label(name: str, value: Any, rules: RepairRules, repairs: list[Repair]) -> Any:
    """A label in lower case with underscores; null for a word that means nothing, where null is allowed."""
    if name not in rules.label_format.fields:
        return value
    if isinstance(value, list):
        return [format_label(name, entry, rules, repairs) if isinstance(entry, str) else entry for entry in value]
    if not isinstance(value, str):
        return value
    words = "_".join(value.strip().lower().replace("-", " ").split())
    is_null = name in rules.label_format.nullable and words in rules.label_format.nulls
    formatted = None if is_null else words
    if formatted != value:
        repairs.append(change("label_format", name, value, formatted))
    return formatted


def fill_optional(
    value: dict[str, Any], model: type[BaseModel], rules: RepairRules, b1: dict[str, Any] | None, repairs: list[Repair]
) -> None:
    """Fill optional B2 fields that are missing, as repairs.toml says."""
    optional = rules.optional_b2
    fillings: dict[str, Any] = dict.fromkeys(optional.fill_null) | {name: [] for name in optional.fill_empty}
    if b1 is not None:
        fillings |= dict.fromkeys(optional.fill_from_b1, b1.get("annotator_rationale"))
    for name, filling in fillings.items():
        if name in model.model_fields and name not in value:
            value[name] = filling
            repairs.append(Repair(rule_id="missing_b2_field", field=name, before=None, after=json.dumps(filling)))


def convert_types(value: dict[str, Any], error: ValidationError, rules: RepairRules, repairs: list[Repair]) -> None:
    """Convert values of a wrong type in place, where they can mean one thing only: `true` and 1.5 are not steps."""
    for fault in error.errors():
        before, after = fault["input"], converted(fault["type"], fault["input"], rules)
        if after is UNKNOWN:
            continue
        *path, last = fault["loc"]
        container: Any = value
        for part in path:
            container = container[part]
        container[last] = after
        name = next((part for part in reversed(fault["loc"]) if isinstance(part, str)), "")
        repairs.append(change("type_format", name, before, after))


def converted(fault: str, value: Any, rules: RepairRules) -> Any:
    """The meaning of a value of a wrong type; UNKNOWN where it is not certain."""
    words = value.strip().casefold() if isinstance(value, str) else None
    if fault == "int_type" and words is not None and INTEGER.fullmatch(words):
        return int(words)
    if fault == "int_type" and isinstance(value, float) and value.is_integer():
        return int(value)
    if fault == "bool_type" and words in rules.type_format.true:
        return True
    if fault == "bool_type" and words in rules.type_format.false:
        return False
    return None if fault in ("int_type", "bool_type") and words in rules.type_format.nulls else UNKNOWN


def change(rule_id: str, field: str, before: Any, after: Any) -> Repair:
    """A repair from one JSON value to another."""
    return Repair(rule_id=rule_id, field=field, before=json.dumps(before), after=json.dumps(after))
