"""A release whose files were changed and whose checksums were made anew: what is compared byte for byte is named, what
a clone, the Hub or a file manager lays beside it is passed over, and what cannot be compared is said in a note."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from planted import Opened, Row
from sealing import seal

from openclawbench.records.datapackage import INPUTS_FILE
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.provenance import shipped_certificate
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.validate import validate

pytestmark = pytest.mark.slow

MODEL = "fulltax_prod_v1/scripted-a"
MASTER_PARQUET = f"{MODEL}/master_table_all-00000-of-00001.parquet"
LABELS_PARQUET = "silver_train_labels.parquet"
ZEROS = "0" * 64


def text(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        before = (root / name).read_text()
        (root / name).write_text(change(before))
        assert change(before) != before

    return damage


def first_name_twice(content: str) -> str:
    """The first name of a JSON object, once more before it, with another value."""
    name = next(iter(json.loads(content)))
    return content.replace("{", f'{{ "{name}": null,', 1)


def more_metadata(name: str) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        table = pq.read_table(root / name)
        metadata = (table.schema.metadata or {}) | {b"huggingface": b'{"info": {"features": {}}}'}
        pq.write_table(table.replace_schema_metadata(metadata), root / name)

    return damage


def metadata_of_a_column(name: str) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        table = pq.read_table(root / name)
        field = table.schema.field(0).with_metadata({b"note": b"mine"})
        pq.write_table(table.cast(table.schema.set(0, field)), root / name)

    return damage


def behind_the_picture(root: Path) -> None:
    path = sorted((root / "statistics").glob("*.png"))[0]
    path.write_bytes(path.read_bytes() + b"more")


def record_set_twice(root: Path) -> None:
    document = json.loads((root / "croissant.json").read_text())
    copy = json.loads(json.dumps(document["recordSet"][0]))
    copy["field"] = copy["field"][:1]
    document["recordSet"].insert(0, copy)
    (root / "croissant.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def ghost(root: Path) -> None:
    (root / "hold_out" / "ghost").mkdir(parents=True)


# What is changed -> how, the file, and a part of the sentence about it.
BYTES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a name twice in the statistics": (text("statistics.json", first_name_twice), "statistics.json", "twice"),
    "a name twice in the search rules": (text("privacy.json", first_name_twice), "privacy.json", "twice"),
    "a number in another form": (
        text("splits.json", lambda content: content.replace('"size": 1', '"size": 1e0', 1)),
        "splits.json",
        "size is 1",
    ),
    "a number that is said to be true": (
        text("dataset_summary.json", lambda content: content.replace(": 1,", ": true,", 1)),
        "dataset_summary.json",
        "is True, the files give 1",
    ),
    "an object more": (
        text(f"{MODEL}/dataset_summary_all.json", lambda content: content.replace("{", '{"more": {},', 1)),
        f"{MODEL}/dataset_summary_all.json",
        "not in the form",
    ),
    "a blank more": (
        text("rules.json", lambda content: content.replace(": ", ":  ", 1)),
        "rules.json",
        "not in the form",
    ),
    "a set of records with one name": (record_set_twice, "croissant.json", ""),
    "metadata of a Parquet file of labels": (more_metadata(LABELS_PARQUET), LABELS_PARQUET, "huggingface"),
    "metadata of a column": (metadata_of_a_column(MASTER_PARQUET), MASTER_PARQUET, "note"),
    "bytes behind a picture": (behind_the_picture, "statistics/", "holds more than the picture"),
    "an empty folder": (ghost, "hold_out/ghost", "empty folder"),
}


def test_changed_bytes_are_named(copy: Path) -> None:
    for damage, _, _ in BYTES.values():
        damage(copy)
    seal(copy)
    sums = copy / "CHECKSUMS.sha256"
    sums.write_bytes(sums.read_bytes().replace(b"\n", b"\r\n"))
    findings = validate(copy)
    for name, (_, file, words) in BYTES.items():
        assert spoken(findings, file, words), (name, findings.kept)
    assert spoken(findings, "CHECKSUMS.sha256", "is not a sha256 and a path")


def spoken(findings: Findings, file: str, words: str) -> bool:
    return any(finding.file.startswith(file) and words in finding.message for finding in findings.kept)


def named(root: Path, changes: dict[str, Callable[[Opened], object]]) -> Findings:
    """What validate says of a release with all of these changes, closed again as whoever makes them would."""
    opened = Opened(root)
    for change in changes.values():
        change(opened)
    opened.close()
    return validate(root)


def record(number: int, change: Callable[[Row], object]) -> Callable[[Opened], object]:
    return lambda opened: change(opened.records[number])


def summary(number: int, **values: Any) -> Callable[[Opened], object]:
    return record(number, lambda row: row["trace_summary"].update(values))


def oracle(number: int, **values: Any) -> Callable[[Opened], object]:
    return lambda opened: [row for row in opened.records if row["oracle"]][number]["oracle"].update(values)


# A part of the sentence -> the change.
RECORDS: dict[str, Callable[[Opened], object]] = {
    "parent_trajectory_id is the record itself": record(
        0, lambda row: row.update(parent_trajectory_id=row["trajectory_id"])
    ),
    "continues_trajectory_id is the record itself": record(
        1, lambda row: row.update(continues_trajectory_id=row["trajectory_id"])
    ),
    "source_format 'cursor' is not a format": record(2, lambda row: row.update(source_format="cursor")),
    "trace_summary.cost_usd is -1": summary(3, cost_usd=-1.0),
    "trace_summary.output_tokens is -5": summary(4, output_tokens=-5),
    "trace_summary.tool_errors is 70": summary(5, tool_errors=70),
    "trace_summary.first_error_step is 99": summary(6, first_error_step=99),
    "trace_summary.end 'won' is not in": summary(7, end="won"),
    "trace_summary.behaviour is looping": summary(8, behaviour="looping"),
    "negative cost": record(9, lambda row: row["provenance"].update(cost_usd=-0.5)),
    "oracle.task_id is simple_python_1": oracle(0, task_id="simple_python_1"),
    "oracle.task_id_canonical is simple_python_2": oracle(
        1, task_id="simple_python_2", task_id_canonical="simple_python_2"
    ),
    "oracle.attempt is 7": oracle(1, attempt=7),
    "and oracle.score is 1": record(10, lambda row: row["oracle"].update(success=False, status="scored", score=1.0)),
    "before started_at": summary(
        9, started_at="2026-11-21T12:00:00.000Z", ended_at="2026-11-20T12:00:00.000Z", wall_time_s=1.0
    ),
    "trace_summary.wall_time_s is 9000": summary(10, wall_time_s=9000.0),
    "oracle.source_model is nobody": oracle(2, source_model="nobody"),
    "oracle names the session another": oracle(3, native_session_basename="another", session_id="another"),
}


def test_what_contradicts_itself_in_a_record_is_named(copy: Path) -> None:
    findings = named(copy, RECORDS)
    messages = [finding.message for finding in findings.kept]
    for words in RECORDS:
        assert any(words in message for message in messages), (words, messages)


def package(change: Callable[[Any], object]) -> Callable[[Opened], object]:
    return lambda opened: opened.json(PACKAGE, lambda document: change(document["provenance"]))


def quoted(provenance: Any) -> Any:
    """The certificate of the judge; where the release quotes none, the one that comes with the program."""
    used = provenance["judges"][0]
    used["certificate"] = used["certificate"] or shipped_certificate().model_dump()
    return used["certificate"]


def all_right(provenance: Any) -> None:
    right = {"share": 1.0, "low": 0.98544, "high": 1.0, "part": 260, "whole": 260}
    quoted(provenance).update(both_right=right, anomalous_right=right, innocent_right=right)


def table(number: int, **values: Any) -> Callable[[Opened], object]:
    return package(lambda provenance: provenance["input_tables"][number].update(values))


def certified(**values: Any) -> Callable[[Opened], object]:
    return package(lambda provenance: quoted(provenance).update(values))


def first_input(number: int, **values: Any) -> Callable[[Opened], object]:
    return lambda opened: opened.rows(INPUTS_FILE)[number].update(values)


PROVENANCE: dict[str, Callable[[Opened], object]] = {
    "is no command that makes a release": package(lambda provenance: provenance.update(commands=["rm -rf /"])),
    "program_version is 99": package(lambda provenance: provenance.update(program_version="99")),
    f"lock_sha256 is '{ZEROS}', which is no digest": package(lambda provenance: provenance.update(lock_sha256=ZEROS)),
    "the digest of outcomes is": table(0, rows=1, sha256=ZEROS),
    "run_manifest has 5 rows, which its digest": package(
        lambda provenance: provenance["input_tables"][1].update(rows=5)
    ),
    "human_verdicts has 3 rows": package(
        lambda provenance: provenance["input_tables"][2].update(rows=3, sha256="ab" * 32)
    ),
    "blind is True for the judge": package(lambda provenance: provenance["judges"][0].update(blind=True)),
    "context_sha256 is": first_input(3, context_sha256=ZEROS),
    "and its reason is no_session": first_input(4, disposition="quarantined", reason="no_session"),
    "is no version of Python": package(lambda provenance: provenance.update(python="2.7")),
    "dependencies names": package(lambda provenance: provenance["dependencies"].pop()),
    "both_right is not that of the same exam": package(all_right),
    "date is not that of the same exam": package(
        lambda provenance: provenance["judges"][0]["certificate"].update(date="2026-01-01")
    ),
    "names the endpoint": package(
        lambda provenance: provenance["judges"][0]["certificate"].update(endpoint="http://x/v1")
    ),
    "path leads out of the raw folder": first_input(0, path="../secret.jsonl"),
    "source_model is nobody": first_input(1, source_model="nobody"),
    "and its reason is copy_of": first_input(2, reason="copy_of"),
}


def test_what_is_wrong_in_the_provenance_and_the_inputs_is_named(copy: Path) -> None:
    findings = named(copy, PROVENANCE)
    messages = [*(finding.message for finding in findings.kept), *findings.notes]
    for words in PROVENANCE:
        assert any(words in message for message in messages), (words, messages)


def test_another_program_is_said_in_a_note_and_nothing_is_left_out_silently(copy: Path) -> None:
    opened = Opened(copy)
    package(lambda provenance: provenance.update(program_sha256="1a" * 32))(opened)
    opened.close()
    findings = validate(copy)
    assert findings.ok, findings.kept
    assert any("another program made this release" in note for note in findings.notes)
    assert findings.as_data()["notes"] == findings.notes


def test_what_lies_beside_a_copy_is_passed_over(copy: Path) -> None:
    (copy / ".gitattributes").write_text("*.parquet filter=lfs\n")
    (copy / ".git" / "refs").mkdir(parents=True)
    (copy / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (copy / ".cache" / "huggingface").mkdir(parents=True)
    (copy / ".cache" / "huggingface" / ".gitignore").write_text("*")
    for folder in (copy, copy / "prompts"):
        (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    findings = validate(copy)
    assert findings.ok, findings.kept
    shutil.copytree(copy / ".git", copy / "paper_cut" / "git")
    assert {finding.check for finding in validate(copy).kept} == {"file_not_listed", "file_unknown", "links"}
