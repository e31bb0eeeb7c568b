"""croissant.json: Croissant 1.0 with the Responsible AI fields of paper F.2, made from the released files."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import polars as pl
from pydantic import BaseModel

from openclawbench.records.certificate import JudgeCertificate
from openclawbench.records.fields import description, inner_record
from openclawbench.release.card.configs import TABLES, WHOLE, Config, files_of
from openclawbench.release.card.facts import Facts
from openclawbench.release.files.parquet import type_instance
from openclawbench.release.settings import Dataset, PublishRules
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import schema

NAME = "croissant.json"
CONFORMS = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
CONTEXT = json.loads((Path(__file__).parent / "croissant_context.json").read_text(encoding="utf-8"))
FORMATS = {".jsonl": "application/jsonlines", ".parquet": "application/x-parquet", ".json": "application/json"}
FORMATS |= {".gz": "application/gzip", ".zst": "application/zstd"}
FOLDER = "release"  # the id of the folder as a whole
SCALARS = {pl.String: "sc:Text", pl.Int64: "sc:Integer", pl.Float64: "sc:Float", pl.Boolean: "sc:Boolean"}
Node = dict[str, Any]


def croissant(
    root: Path, facts: Facts, loadable: list[Config], digests: Mapping[str, str], rules: PublishRules
) -> Node:
    """The description of the release in `root`; `digests`: path -> sha256 of its files."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        **about(facts, rules),
        **responsible(facts, rules),
        "distribution": [folder(), *file_sets(loadable), *file_objects(digests)],
        "recordSet": [record_set(root, config, split) for config in loadable for split in config.splits],
    }


def about(facts: Facts, rules: PublishRules) -> Node:
    """The dataset as a whole. All dates come from the data and the settings, because a build reads no clock."""
    dataset = rules.dataset
    first, last = facts["collected"]["first"], facts["collected"]["last"]
    covered = {"temporalCoverage": f"{first}/{last}"} if first and last else {}
    totals = facts["corpus"]["totals"]
    counts = (
        f"{totals['trajectories']} trajectories of {len(facts['models'])} source models, {facts['steps']} steps, "
        f"{totals['accepted']} accepted labels, {totals['anomalous_accepted']} of them anomalous; "
        f"{totals['baseline']} baseline labels, {totals['anomalous_baseline']} of them anomalous."
    )
    if facts["is_unjudged"]:
        counts = (
            f"{totals['trajectories']} trajectories of {len(facts['models'])} source models, {facts['steps']} steps, "
            "no label."
        )
    return {
        "name": dataset.name,
        "description": " ".join(part for part in (facts["corpus"].get("notice"), dataset.description, counts) if part),
        "conformsTo": CONFORMS,
        "keywords": rules.card.tags,
        **{name: value for name, value in publisher_fields(dataset).items() if value},
        **covered,
    }


def publisher_fields(dataset: Dataset) -> Node:
    """The publisher's statements about the dataset; empty values are left out."""
    return {
        "license": dataset.terms.url if dataset.terms else None,
        "url": dataset.url,
        "version": dataset.version,
        "creator": {"@type": "sc:Organization", "name": dataset.creator} if dataset.creator else None,
        "citeAs": dataset.citation,
        "isBasedOn": dataset.based_on,
        "datePublished": dataset.date_published,
    }


def responsible(facts: Facts, rules: PublishRules) -> Node:
    """The fields of the Responsible AI vocabulary; the first limitation names the judges."""
    made_by = facts["made_by"]
    judges = ", ".join(
        f"{name} ({model})" for name, model in zip(made_by["judge"], made_by["judge_model"], strict=False)
    )
    texts: dict[str, Any] = dict(rules.rai)
    notice = facts["corpus"].get("notice")
    texts["dataLimitations"] = " ".join(part for part in (notice, texts["dataLimitations"]) if part)
    texts["annotationsPerItem"] = "0" if facts["is_unjudged"] else f"1 silver label of a judge: {judges or 'none'}"
    texts["dataAnnotationAnalysis"] = [certificate_text(judge) for judge in facts["judges"]]
    times = [time for time in (facts["collected"]["first"], facts["collected"]["last"]) if time]
    if times:
        texts["dataCollectionTimeFrame"] = times
    return {f"rai:{name}": text for name, text in texts.items()}


def certificate_text(judge: Mapping[str, Any]) -> str:
    """The exam result of a judge, or a sentence that it has not sat the exam."""
    if judge["certificate"] is None:
        return f"Uncertified judge: {judge['judge']} ({judge['judge_model']}) has not sat the exam."
    return JudgeCertificate.model_validate(judge["certificate"]).sentence


def folder() -> Node:
    """The release folder, which contains the file sets."""
    return {
        "@type": "cr:FileObject",
        "@id": FOLDER,
        "name": FOLDER,
        "description": "The folder in which this file lies.",
        "contentUrl": ".",
        "encodingFormat": "git+https",
        "sha256": "see CHECKSUMS.sha256",
    }


def file_sets(loadable: list[Config]) -> Iterator[Node]:
    """The Parquet files of each table that may have several."""
    for config in loadable:
        if config.name in TABLES:
            yield {
                "@type": "cr:FileSet",
                "@id": file_set(config),
                "name": file_set(config),
                "containedIn": {"@id": FOLDER},
                "encodingFormat": FORMATS[".parquet"],
                "includes": config.splits[WHOLE],
            }


def file_set(config: Config) -> str:
    """The id of a table's file set."""
    return f"{config.name}_files"


def file_objects(digests: Mapping[str, str]) -> Iterator[Node]:
    """Every data file, with its digest."""
    for path, sha256 in sorted(digests.items()):
        if (form := FORMATS.get(Path(path).suffix)) and path != NAME:
            yield {
                "@type": "cr:FileObject",
                "@id": quote(path),
                "name": path,
                "contentUrl": path,
                "encodingFormat": form,
                "sha256": sha256,
            }


def record_set(root: Path, config: Config, split: str) -> Node:
    """One split of a configuration, with one field per column."""
    name = config.name if split == WHOLE else f"{config.name}_{split}"
    pattern = config.splits[split]
    if config.name in TABLES:
        source = {"fileSet": {"@id": file_set(config)}}
    else:
        (path,) = files_of(root, pattern)
        source = {"fileObject": {"@id": quote(path.as_posix())}}
    kinds = schema(config.record).items()
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": config.about if split == WHOLE else f"{config.about}: {split}",
        "key": [{"@id": f"{name}/{column}"} for column in TRAJECTORY_KEY],
        "field": [field(f"{name}/{column}", kind, source, Place(config.record, column)) for column, kind in kinds],
    }


class Place(NamedTuple):
    """A field of a record; `column` and `path` lead to it from the record of the table."""

    record: type[BaseModel]
    name: str
    column: str | None = None  # None: the field is the column
    path: tuple[str, ...] = ()

    def within(self, name: str) -> "Place":
        """A field of the record that this field holds."""
        inner = inner_record(self.record, self.name)
        assert inner is not None, f"{self.name} holds no record"
        return Place(inner, name, self.column or self.name, (*self.path, name))


def field(place: str, kind: pl.DataType, source: Node, at: Place) -> Node:
    """One column, or one field inside it, with what it means. A struct has its fields below it; so has a list of
    structs, whose fields are then lists."""
    node: Node = {"@type": "cr:Field", "@id": place, "name": place, "description": description(at.record, at.name)}
    inner = type_instance(kind.inner) if isinstance(kind, pl.List) else kind
    if isinstance(kind, pl.List):
        node["repeated"] = True
    if isinstance(inner, pl.Struct):
        node["subField"] = [
            field(f"{place}/{part.name}", type_instance(part.dtype), source, at.within(part.name))
            for part in inner.fields
            if describable(type_instance(part.dtype))
        ]
        return node
    extract: Node = {"extract": {"column": at.column or at.name}}
    transform: Node = {"transform": {"jsonPath": "$." + ".".join(at.path)}} if at.path else {}
    return {**node, "dataType": SCALARS[type(inner)], "source": {**source, **extract, **transform}}


def describable(kind: pl.DataType) -> bool:
    """False for types that the vocabulary cannot express: a list of structs inside another value. The files and the
    card's columns still have them."""
    if isinstance(kind, pl.List):
        return not isinstance(type_instance(kind.inner), pl.Struct)
    return True
