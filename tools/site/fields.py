"""docs/reference/fields.md: every field of every public record, with its type and meaning."""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from openclawbench.records.fields import description, reachable
from openclawbench.records.json_schema import PUBLIC
from tools.site.markdown import cell, table

RELEASE, INPUTS, WORK = "Files of a release", "Inputs", "Work tables and packets"
JUDGE, REVIEW, DETECT = "Answers of the judge", "Human review", "Detectors"
GROUPS: dict[str, tuple[str, ...]] = {
    RELEASE: (
        *("master", "positive_structured", "label_row", "reference_label", "human_audited", "pool_row"),
        *("record_index_row", "input_file", "stage_raw", "statistics", "datapackage"),
    ),
    INPUTS: ("run_manifest_row", "oracle_record", "file_outcome"),
    WORK: (
        *("trajectory", "step", "user_turn", "trace_summary_row", "aligned_descriptor", "event_descriptor", "fused"),
        *("coverage", "unmatched_row", "risk", "onset", "evidence", "packet", "packet_cut", "annotation"),
        "label_assignment",
    ),
    JUDGE: (
        *("stage_a", "stage_b1", "stage_b2", "stage_c"),
        *("decision_a", "decision_b1", "decision_b2", "decision_c"),
    ),
    REVIEW: ("event_sample_row", "event_review", "calibration_sheet_row", "calibration_review"),
    DETECT: ("detector_packet", "prediction", "prediction_provenance"),
}
INTRODUCTION = """# Fields

Every field of every public record. The descriptions come from `pipeline/openclawbench/records/fields.toml`, which also
feeds the [JSON Schemas](schemas.md), the dataset card and the Croissant file. "Null" is explained where it means more
than "not known". The key of every file is `(source_model, trajectory_id)`.

"""
SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", Any: "any"}


def type_name(hint: Any) -> str:
    """A type as words; a record as a link to its section."""
    arguments = get_args(hint)
    origin = get_origin(hint)
    if origin is Annotated:
        return type_name(arguments[0])
    if origin is Literal:
        return " \\| ".join(f"`{value}`" for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(type_name(argument) for argument in arguments)
    if origin is list:
        return f"list of {type_name(arguments[0])}"
    if origin is dict:
        return f"map of {type_name(arguments[1])}"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return SIMPLE.get(hint) or str(getattr(hint, "__name__", hint))


def record_section(record: type[BaseModel], title: str) -> str:
    """A heading, what the record is, and a table of its fields."""
    rows = (
        (f"`{name}`", type_name(field.annotation), cell(description(record, name)))
        for name, field in record.model_fields.items()
    )
    about = cell((record.__doc__ or "").split("\n\n")[0])
    return f"### {title} {{ #{record.__name__.lower()} }}\n\n{about}\n\n{table(('field', 'type', 'meaning'), rows)}\n"


def fields_page() -> str:
    """The whole page. Raises KeyError where a public record stands in no group."""
    groups = dict(GROUPS)
    if others := tuple(name for name in PUBLIC if not any(name in names for names in GROUPS.values())):
        groups["Other records"] = others
    text, shown = INTRODUCTION, set()
    for title, names in groups.items():
        text += f"## {title}\n\n"
        for name in names:
            shown.add(PUBLIC[name].__name__)
            text += record_section(PUBLIC[name], f"`{name}`")
    parts = {part.__name__: part for record in PUBLIC.values() for part in reachable(record).values()}
    text += "## Parts of records\n\n"
    return text + "".join(record_section(parts[name], name) for name in sorted(parts.keys() - shown))


def schemas_page() -> str:
    """docs/reference/schemas.md: the schema files and what each describes."""
    rows = (
        (f"`schemas/{name}.schema.json`", f"[{name}](fields.md#{record.__name__.lower()})", cell(first_line(record)))
        for name, record in PUBLIC.items()
    )
    return (
        "# JSON Schemas\n\nThe folder `schemas/` holds a JSON Schema for each public record. `make schemas` generates "
        "them from the records;\nthe tests fail where they differ. Objects are closed and every field is required: a "
        "value that is absent is `null`.\n\n" + table(("schema", "fields", "what it describes"), rows)
    )


def first_line(record: type[BaseModel]) -> str:
    """The first line of the record's docstring."""
    return (record.__doc__ or "").splitlines()[0]
