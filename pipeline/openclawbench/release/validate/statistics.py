"""statistics.json, STATISTICS.md and the pictures: computed again from the released files; their identities hold."""

import io
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from openclawbench.errors import OpenClawBenchError
from openclawbench.records.json_schema import json_schema
from openclawbench.records.statistics import StatisticsFile
from openclawbench.release.card.facts import SUMMARY
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.consistency import check
from openclawbench.release.statistics.files import DATA, FOLDER, TEXT, drawn, picture_name, stamp, statistics_of
from openclawbench.release.statistics.files import text as as_text
from openclawbench.release.statistics.own import own_book
from openclawbench.release.validate.card import BROKEN, check_text, settings
from openclawbench.release.validate.compare import compare, read_json, too_large
from openclawbench.release.validate.findings import Findings
from openclawbench.reports import plots
from openclawbench.reports.section import Report, Section


def check_statistics(root: Path, findings: Findings) -> None:
    """Every number, line and picture, beside what the files give."""
    import pyarrow as pa

    said = read_statistics(root, findings)
    if said is not None:
        check_identities(root, said, findings)
    try:
        rules = settings(root)
        want = statistics_of(root, rules)
    except (*BROKEN, OpenClawBenchError, pa.ArrowException) as error:
        message = str(error).partition("\n")[0] or type(error).__name__
        findings.add("statistics", DATA, f"cannot be computed from the files of the release: {message}")
        return
    if said is not None:
        compare(said, want.data(), DATA, "statistics", findings, counted="statistics")
    check_text(root, TEXT, "statistics", as_text(want, rules).decode(), findings)
    check_pictures(root, want, rules, findings)


def read_statistics(root: Path, findings: Findings) -> dict[str, Any] | None:
    """statistics.json, or null with a finding. The JSON Schema and the record must say the same of it."""
    said: dict[str, Any] | None = read_json(root, DATA, "statistics", findings)
    if said is None:
        return None
    refused = next(Draft202012Validator(json_schema(StatisticsFile)).iter_errors(said), None)
    try:
        StatisticsFile.model_validate_json((root / DATA).read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        findings.add("schema", DATA, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        return None
    if refused is not None:
        findings.add("schemas_disagree", DATA, f"{refused.message}: only the JSON Schema refuses it")
        return None
    return said


def check_identities(root: Path, said: dict[str, Any], findings: Findings) -> None:
    """What its tables and the summary say of one another."""
    try:
        summary = json.loads((root / SUMMARY).read_text(encoding="utf-8"))
        if too_large(summary) is not None:
            return  # named by the check of the summaries
        book = own_book(said["sections"], summary)
        contradictions = check(book)
    except (*BROKEN, AttributeError, StopIteration) as error:
        findings.add("identities", DATA, f"cannot be compared with {SUMMARY}: {type(error).__name__}: {error}")
        return
    findings.checked["identities"] += sum(len(list(group)) for group in (book.sums, book.shares, book.same))
    for one in contradictions:
        findings.add("identities", DATA, str(one))


def check_pictures(root: Path, want: Report, rules: PublishRules, findings: Findings) -> None:
    """Each picture says which numbers it shows; drawn again by the same version of the same library, it is the same."""
    owed = {}
    for section in drawn(want):
        for kind in rules.statistics.pictures:
            owed[picture_name(section, kind)] = (section, kind)
    for path in sorted((root / FOLDER).glob("*")):
        if path.relative_to(root).as_posix() not in owed:
            findings.add("pictures", path.relative_to(root).as_posix(), "belongs to no table of the statistics")
    for name, (section, kind) in owed.items():
        if not (root / name).is_file():
            findings.add("file_missing", name, "a release owes this file")
            continue
        findings.checked["pictures"] += 1
        said = stamp(section, want)
        if wrong := picture_is_wrong((root / name).read_bytes(), section, kind, said, findings):
            findings.add("pictures", name, wrong)


def picture_is_wrong(content: bytes, section: Section, kind: str, said: str, findings: Findings) -> str | None:
    """What is wrong with a picture, else null. `said`: what it must say of itself."""
    if said.encode() not in content:
        return "was not drawn from the numbers that the files give"
    if plots.drawn_by().encode() not in content:
        findings.checked["pictures_of_another_version"] += 1  # their pixels cannot be compared; what they show is said
        return None
    assert section.plot is not None
    again = plots.pictures(section.plot, [kind], said)[kind]
    same = again == content or (kind != "svg" and pixels(again) == pixels(content))
    return None if same else "differs from what is drawn from the same numbers"


def pixels(content: bytes) -> tuple[Any, ...] | None:
    """Size and colours of a PNG, however it is compressed; null where it is none."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as picture:
            return picture.size, picture.convert("RGBA").tobytes()
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return None
