"""Event-evidence audit: which steps are drawn, how sheets come back from editors, what becomes a review record."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from work_tables import step, with_texts

from openclawbench.audit.events.form import ANSWERS, EVENTS
from openclawbench.audit.events.report import event_audit
from openclawbench.audit.events.sample import draw
from openclawbench.audit.review_folder import add_reviews, drawn_rows, reviews, save_sample
from openclawbench.audit.reviewer_agreement import similar_names
from openclawbench.audit.sampling import allocate
from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.cells import Cells
from openclawbench.audit.sheets.check import CheckedSheet, Signature, check
from openclawbench.audit.sheets.open_quotes import open_quote
from openclawbench.audit.sheets.review_sheet import as_csv, as_jsonl, read_sheet
from openclawbench.errors import ReleaseBlocked, UnreadableInput, UsageError
from openclawbench.records.review import EventReview, EventSample, EventSampleRow
from openclawbench.storage.data_folder import DataFolder

RULES = AuditRules.load()
CELLS = Cells(RULES, RULES.events)
SIGNED = Signature("rev", "2026-11-21")
HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-rf /",
    "@SUM(A1)",
    "'quoted",
    "\ttab",
    "12",
    "007",
    "1e5",
    "2026-11-21",
    "1/2",
    "TRUE",
    "a\nb\r\nc",
    'say "x"; then, y',
    "\x1b[31m\x00",
    "x" * 9000,
    "  blanks  ",
    "emoji 🙂 中文 \u202e",
    "",
]
PAPER_T34 = {
    "agent_coordination": (6, 6), "code_execution": (7, 7), "communication": (1, 1), "environment_check": (2, 2),
    "external_write": (12, 11), "inspect": (11, 11), "other": (2, 2), "query": (7, 7), "read": (29, 29),
    "reply": (11, 11), "state_write": (1, 1), "system_control": (2, 2), "web_interaction": (9, 9),
}  # fmt: skip


def corpus() -> list[dict[str, Any]]:
    """60 reads and one message of two models, and texts that try everything."""
    steps = [
        step(
            number,
            source_model=model,
            event_type="communication" if (model, number) == ("n", 30) else "read",
            action_text=HOSTILE[number % len(HOSTILE)],
            artifact_target=HOSTILE[(number + 7) % len(HOSTILE)],
            reflection_text="seen",
            side_effect=number % 2 == 0,
        )
        for model in ("m", "n")
        for number in range(1, 31)
    ]
    evidence = {"flag": "hedge", "rule_id": "hedge.x", "field": "reflection_text", "start": 1, "end": 3, "cause": None}
    steps[0] |= {"auto_flags": ["hedge"], "flag_evidence": [evidence]}
    return steps


def drawn(wanted: int = 40, seed: int = 1, steps: list[dict[str, Any]] | None = None) -> list[EventSampleRow]:
    return draw(with_texts(*(steps or corpus())), wanted, seed, RULES.events)[0]


def filled(content: bytes, fill: Callable[[dict[str, str], int], None], **style: Any) -> bytes:
    """A CSV sheet after an editor had it: read and written by a spreadsheet, `fill` changing its rows."""
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    for number, row in enumerate(rows):
        fill(row, number)
    columns = style.pop("columns", list(rows[0]))
    ends = style.pop("ends", "\r\n")
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator=ends, **style)
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode()


def taken(
    content: bytes, rows: list[EventSampleRow], folder: Path, signed: Signature = SIGNED
) -> CheckedSheet[EventReview]:
    """What importing a sheet comes to."""
    path = folder / "sheet"
    path.write_bytes(content)
    _, result = read_sheet(path, ["row"])
    return check(EVENTS, result, {rows[0].sample: {row.row: row for row in rows}}, signed, "digest", RULES)


def say_yes(row: dict[str, str], _number: int = 0) -> None:
    row["is_supported"] = "yes"


# ---- drawing


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 400), max_size=14), st.integers(1, 300), st.integers(1, 9))
def test_an_allocation_fits_and_leaves_no_stratum_out(available: dict[str, int], wanted: int, least: int) -> None:
    occurring = {name for name, number in available.items() if number}
    if wanted < len(occurring):
        with pytest.raises(UsageError, match="each must be there"):
            allocate(available, wanted, least)
        return
    result = allocate(available, wanted, least)
    assert set(result) == occurring
    assert sum(result.values()) == min(wanted, sum(available.values()))
    assert all(1 <= number <= available[name] for name, number in result.items())


def test_rare_strata_get_the_least_and_the_rest_is_proportional() -> None:
    assert allocate({"common": 800, "middle": 198, "rare": 2}, 100, 2) == {"common": 77, "middle": 21, "rare": 2}


def test_a_sample_has_every_category_and_both_models_whatever_the_order_of_rows() -> None:
    rows = drawn(10)
    assert Counter(row.event_type for row in rows) == {"read": 9, "communication": 1}
    assert {row.source_model for row in rows if row.event_type == "read"} == {"m", "n"}
    assert drawn(10, steps=corpus()[::-1]) == rows
    assert drawn(10, seed=2) != rows
    assert len({row.row for row in rows}) == 10


def test_a_row_shows_the_step_its_neighbours_and_what_fired() -> None:
    row = next(row for row in drawn(60) if row.flag_evidence)
    assert row.flag_evidence == ["hedge (hedge.x, reflection_text): ee"]
    assert row.before is None
    assert row.after == f"{HOSTILE[2]} -> seen"
    assert row.trace == "openclawbench trace m/t 1"


# ---- sheets


@given(st.text())
def test_a_cell_comes_back_and_is_never_a_formula(text: str) -> None:
    cell = CELLS.written(text)
    assert cell[:1] not in {"=", "+", "-", "@", "\t", "\r"}
    assert CELLS.same(cell, text)
    assert CELLS.same(cell.replace("\n", "\r\n") + " ", text)


@pytest.mark.parametrize("text", ["007", "1e5", "2026-11-21", "1/2", "TRUE", "12.50", "1,000", "12345678901234567890"])
def test_what_a_spreadsheet_would_change_is_text(text: str) -> None:
    assert CELLS.written(text) == f"'{text}"


def test_a_changed_text_is_not_the_same() -> None:
    assert not CELLS.same("reads", "read")
    assert not CELLS.same("", "read")
    assert CELLS.same("", None)
    assert CELLS.written(12) == "12"


STYLES: dict[str, dict[str, Any]] = {
    "as it was": {},
    "other line ends": {"ends": "\n"},
    "semicolons": {"delimiter": ";"},
    "tabs": {"delimiter": "\t"},
    "columns in another order": {"columns": [*ANSWERS[::-1], *list(EventSampleRow.model_fields)[::-1]]},
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_sheet_comes_back_whole_from_any_editor(style: str, coding: str, tmp_path: Path) -> None:
    rows = drawn(60)
    content = filled(as_csv(rows, ANSWERS, CELLS), say_yes, **STYLES[style]).decode().encode(coding)
    imported = taken(content, rows, tmp_path)
    assert (len(imported.reviews), imported.faults, imported.not_reviewed) == (60, [], 0)
    assert {entry.event_type for entry in imported.reviews} == {"read", "communication"}


def test_the_jsonl_sheet_has_whole_texts_and_comes_back(tmp_path: Path) -> None:
    rows = drawn(60)
    content = as_jsonl(rows, ANSWERS)
    assert content.isascii()
    assert any(json.loads(line)["action_text"] == "x" * 9000 for line in content.splitlines())
    answered = content.replace(b'"is_supported": null', b'"is_supported": true')
    assert len(taken(answered, rows, tmp_path).reviews) == 60


def test_a_broken_sheet_is_refused_with_its_line(tmp_path: Path) -> None:
    content = as_csv(drawn(5), ANSWERS, CELLS)
    cases = {
        b"": ":1: no column row",
        b"sample,row\n\n": "has no rows",
        b'{"sample": "x"}\n': ":1: no column row",
        b"{broken\n{also\n": ":1: is not valid JSON",
        b"sample,other\n1,2\n": ":1: no column row",
        content.replace(b"seen", b"\xff"): "is not UTF-8. Save the sheet as CSV in UTF-8",
        content.split(b"\r\n", 1)[0] + b'\r\n"open': r":2: the quote that opens the cell is_supported \(column 1\)",
        b'"open,row\n1,2\n': r":1: the quote that opens the cell column 1 is not closed; lines 1 to 2 are not read",
    }
    for broken, case in cases.items():
        with pytest.raises(UnreadableInput, match=case):
            taken(broken, drawn(5), tmp_path)
    with pytest.raises(UnreadableInput, match="cannot read the sheet"):
        read_sheet(tmp_path / "nowhere.csv", [])


# ---- checking


def test_a_broken_line_of_a_jsonl_sheet_costs_its_row_alone(tmp_path: Path) -> None:
    rows = drawn(8)
    lines = as_jsonl(rows, ANSWERS).replace(b'"is_supported": null', b'"is_supported": "yes"').splitlines()
    lines[2], lines[4] = lines[2][:-9], b"[1]"
    lines[5] = lines[5].replace(b'"error_type": null, ', b"")
    imported = taken(b"\n".join(lines), rows, tmp_path)
    assert len(imported.reviews) == 5
    named = [(fault.line, fault.reason) for fault in imported.faults if fault.line is not None]
    assert named == [(3, "broken_row"), (5, "broken_row"), (6, "no_column")]
    assert imported.faults[0].message.startswith("is not valid JSON: ")
    assert (imported.rows, imported.at_fault, imported.missing) == (8, 3, 2)


@pytest.mark.parametrize("style", [{"quoting": csv.QUOTE_ALL}, {"quoting": csv.QUOTE_MINIMAL, "ends": "\n"}])
def test_an_open_quote_costs_the_rows_from_there_on_and_each_is_named(style: dict[str, Any], tmp_path: Path) -> None:
    """The rows before it are whole. Texts of several lines stand in the sheet, so that lines are not rows."""
    rows = drawn(60)

    def fill(row: dict[str, str], number: int) -> None:
        row.update(is_supported="yes", review_comment='"OPEN, he said' if number == 40 else "")

    content = filled(as_csv(rows, ANSWERS, CELLS), fill, **style).replace(b'"""OPEN', b'"OPEN')
    assert content.count(b"OPEN") == 1
    content = content.replace(b'OPEN, he said"', b"OPEN, he said")
    imported = taken(content, rows, tmp_path)
    assert [entry.row for entry in imported.reviews] == [row.row for row in rows[:40]]
    broken, *missing = imported.faults
    lines = len(io.StringIO(content.decode(), newline="").readlines())
    assert broken.line == len(io.StringIO(content.split(b"OPEN")[0].decode(), newline="").readlines())
    assert (broken.reason, broken.spreadsheet_row) == ("broken_row", 42)
    assert f"review_comment (column 3) is not closed; lines {broken.line} to {lines} are not read" in broken.message
    assert [item.row for item in missing] == [row.row for row in rows[40:]]
    assert missing[0].message.endswith(f"is not in the sheet; the sheet is not read from line {broken.line} on")
    assert imported.rows == len(imported.reviews) + imported.not_reviewed + imported.at_fault


def test_a_quote_within_a_plain_cell_is_a_sign_like_any_other(tmp_path: Path) -> None:
    rows = drawn(5)
    content = filled(
        as_csv(rows, ANSWERS, CELLS), lambda row, _: row.update(is_supported="yes", review_comment="COMMENT")
    )
    assert len(taken(content.replace(b"COMMENT", b'5" or so'), rows, tmp_path).reviews) == 5


def test_a_row_with_more_cells_than_columns_is_broken_alone(tmp_path: Path) -> None:
    rows = drawn(5)
    content = filled(
        as_csv(rows, ANSWERS, CELLS), lambda row, _: row.update(is_supported="yes", review_comment="COMMENT")
    )
    imported = taken(content.replace(b"COMMENT", b"no, not so", 1), rows, tmp_path)
    assert len(imported.reviews) == 4
    assert [(fault.reason, fault.spreadsheet_row) for fault in imported.faults if fault.line] == [("broken_row", 2)]
    assert "cells for" in imported.faults[0].message


def test_a_column_or_an_answer_that_is_there_twice_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sheet"
    path.write_text("row,is_supported,review_comment,Is_Supported \nr-1,yes,,no\n")
    with pytest.raises(UnreadableInput, match=r"sheet:1: has the column is_supported more than once"):
        read_sheet(path, ["row"])
    path.write_text('{"row": "r-1", "is_supported": "yes", "is_supported": "no"}\n{"row": "r-2"}\n')
    assert [row.broken for row in read_sheet(path, ["row"])[1]] == ["has 'is_supported' more than once", None]


def test_an_array_is_no_sheet(tmp_path: Path) -> None:
    path = tmp_path / "sheet.jsonl"
    path.write_text('[{"row": "r-1"}]\n')
    with pytest.raises(UnreadableInput, match=r"sheet\.jsonl:1: is a JSON array\. Write one object per line"):
        read_sheet(path, ["row"])


def test_a_row_of_an_unknown_sample_is_at_fault_and_not_missing_too(tmp_path: Path) -> None:
    rows = drawn(5)

    def spoil(row: dict[str, str], number: int) -> None:
        row["is_supported"] = "yes"
        row["sample"] = "s-nowhere" if number == 2 else row["sample"]

    imported = taken(filled(as_csv(rows, ANSWERS, CELLS), spoil), rows, tmp_path)
    assert (len(imported.reviews), imported.at_fault, imported.missing) == (4, 1, 0)


@given(st.text(alphabet='a,"\n\r', max_size=12))
def test_a_quote_is_open_where_the_library_refuses_the_text(text: str) -> None:
    lines = io.StringIO(text, newline="").readlines()
    try:
        refused = not list(csv.reader(lines, strict=True)) and False
    except csv.Error:
        refused = True
    quote = open_quote(text, ",")
    assert (quote is not None) == refused
    assert quote is None or '"' in lines[quote.line]


def test_the_rows_of_a_sheet_add_up_and_missing_ones_stand_apart(tmp_path: Path) -> None:
    rows = drawn(10)
    texts = ["yes", "perhaps", "", "yes", "no", "yes", "yes"]
    content = as_csv(rows[:7], ANSWERS, CELLS)
    imported = taken(filled(content, lambda row, number: row.update(is_supported=texts[number])), rows, tmp_path)
    assert (imported.rows, len(imported.reviews), imported.not_reviewed) == (7, 4, 1)
    assert (imported.at_fault, imported.missing, len(imported.faults)) == (2, 3, 5)


def test_a_sheet_may_be_cut_down_to_its_rows_and_their_verdicts(tmp_path: Path) -> None:
    rows = drawn(6)
    few = ["row", "is_supported", "error_type", "review_comment"]
    content = filled(as_csv(rows, ANSWERS, CELLS), say_yes, columns=few, extrasaction="ignore")
    imported = taken(content, rows, tmp_path)
    assert ([entry.row for entry in imported.reviews], imported.faults) == ([row.row for row in rows], [])
    assert {entry.sample for entry in imported.reviews} == {rows[0].sample}
    path = tmp_path / "sheet"
    both = {name: {row.row: row for row in rows} for name in (rows[0].sample, "s-other")}
    reported = check(EVENTS, read_sheet(path, ["row"])[1], both, SIGNED, "digest", RULES)
    assert ({fault.reason for fault in reported.faults}, reported.at_fault) == ({"no_sample"}, 6)
    with pytest.raises(UnreadableInput, match=r":1: no column row\. Keep this column"):
        taken(content.replace(b"row,", b"line,", 1), rows, tmp_path)


def test_names_that_may_be_one_person_are_found() -> None:
    names = ["anna", "Anna", "bob", " anna ", "Bo b", "\uff42ob", "anna"]
    assert similar_names(names) == [["anna", "Anna", " anna "], ["bob", "\uff42ob"]]


def test_every_kind_of_bad_row_is_named_and_the_good_ones_are_kept(tmp_path: Path) -> None:
    rows = drawn(12)
    changes: list[dict[str, str]] = [
        {"is_supported": "yes"},
        {"is_supported": "NO ", "error_type": "Wrong_Category", "review_comment": "=it writes"},
        {"is_supported": "perhaps"},
        {"is_supported": "no"},
        {"is_supported": "yes", "error_type": "missing"},
        {"is_supported": "no", "error_type": "bad"},
        {"is_supported": "yes", "event_type": "reply"},
        {"is_supported": "yes", "row": "r-none"},
        {"is_supported": "yes", "sample": "s-none"},
        {"is_supported": "yes", "reviewed_at": "21/11/2026"},
        {},
        {"error_type": "ambiguous"},
    ]
    content = filled(as_csv(rows, ANSWERS, CELLS), lambda row, number: row.update(changes[number]))
    imported = taken(content, rows, tmp_path)
    assert [entry.is_supported for entry in imported.reviews] == [True, False]
    assert (imported.reviews[1].error_type, imported.reviews[1].review_comment) == ("wrong_category", "=it writes")
    assert imported.not_reviewed == 1
    assert Counter(fault.reason for fault in imported.faults) == {
        "wrong_verdict": 2, "wrong_error_type": 3, "edited_evidence": 1, "unknown_row": 1, "unknown_sample": 1,
        "no_date": 1, "missing_row": 1,
    }  # fmt: skip
    lines = content.decode().split("\r\n")
    assert all(fault.line is None or 1 < fault.line <= len(lines) + 60 for fault in imported.faults)
    edited = next(fault for fault in imported.faults if fault.reason == "edited_evidence")
    assert edited.message.startswith("event_type is not what was sampled")
    assert "fill in only is_supported … reviewed_at" in edited.message


def test_a_fault_names_the_line_at_which_its_row_begins(tmp_path: Path) -> None:
    rows = [row.model_copy(update={"action_text": "one\ntwo\nthree", "artifact_target": None}) for row in drawn(3)]
    wrong = filled(
        as_csv(rows, ANSWERS, CELLS), lambda row, number: row.update(is_supported="yes" if number < 2 else "?")
    )
    (fault,) = taken(wrong, rows, tmp_path).faults
    assert fault.line is not None
    assert fault.line > 4  # some of the cells before it hold several lines
    assert wrong.decode().split("\n")[fault.line - 1].startswith("?,")
    assert fault.spreadsheet_row == 4  # the header is row 1
    assert fault.location == f" (row {rows[2].row}, spreadsheet row 4)"
    lines = as_jsonl(rows, ANSWERS).replace(b'"is_supported": null', b'"is_supported": "?"')
    assert taken(lines, rows, tmp_path).faults[1].location == f" (row {rows[1].row})"


def test_rows_twice_in_a_sheet_count_neither_time(tmp_path: Path) -> None:
    rows = drawn(3)
    content = filled(as_csv(rows, ANSWERS, CELLS), say_yes)
    doubled = content + content.split(b"\r\n", 1)[1]
    imported = taken(doubled, rows, tmp_path)
    assert (imported.reviews, {fault.reason for fault in imported.faults}) == ([], {"duplicate_row"})
    assert imported.rows == len(imported.faults) == 6


def test_who_and_when_come_from_the_row_or_else_from_whoever_imports(tmp_path: Path) -> None:
    rows = drawn(3)
    sheet = as_csv(rows, ANSWERS, CELLS)
    named = filled(
        sheet, lambda row, _: row.update(is_supported="yes", reviewer="ann", reviewed_at="2026-01-02T03:04:05Z")
    )
    assert {(entry.reviewer, entry.reviewed_at) for entry in taken(named, rows, tmp_path).reviews} == {
        ("ann", "2026-01-02T03:04:05Z")
    }
    unsigned = taken(filled(sheet, say_yes), rows, tmp_path, Signature(None, None))
    assert {fault.reason for fault in unsigned.faults} == {"no_reviewer"}


# ---- records and the table


def sample_of(rows: list[EventSampleRow], population: dict[str, int]) -> EventSample:
    return EventSample(
        sample=rows[0].sample, seed=1, asked=len(rows), drawn=dict(Counter(row.event_type for row in rows)),
        population=population, descriptors="d", rules={},
    )  # fmt: skip


def test_records_are_only_ever_added_and_a_filled_sheet_is_never_written_over(tmp_path: Path) -> None:
    data, rows = DataFolder(tmp_path), drawn(4)
    sheet, _ = save_sample(data, EVENTS, rows[0].sample, sample_of(rows, {"read": 3, "communication": 1}), rows)
    assert save_sample(data, EVENTS, rows[0].sample, sample_of(rows, {"read": 3, "communication": 1}), rows)[0] == sheet
    assert drawn_rows(data, EVENTS) == {rows[0].sample: {row.row: row for row in rows}}
    first = taken(filled(sheet.read_bytes(), say_yes), rows, tmp_path).reviews
    assert add_reviews(data, EVENTS, first[:3]) == (3, 0)
    before = data.review_file("event_reviews.jsonl").read_bytes()
    assert add_reviews(data, EVENTS, [entry.model_copy(update={"sheet_sha256": "other"}) for entry in first]) == (1, 0)
    assert add_reviews(data, EVENTS, first) == (0, 0)
    assert data.review_file("event_reviews.jsonl").read_bytes().startswith(before)
    assert reviews(data, EVENTS) == [*first[:3], first[3].model_copy(update={"sheet_sha256": "other"})]
    sheet.write_bytes(filled(sheet.read_bytes(), say_yes))
    with pytest.raises(UsageError, match="may be filled in"):
        save_sample(data, EVENTS, rows[0].sample, sample_of(rows, {"read": 3, "communication": 1}), rows)


@pytest.mark.parametrize("text", ["token ghp_%s", "export GITHUB_TOKEN=ghp_%s"])
def test_a_sheet_passes_the_search_for_keys(text: str, tmp_path: Path) -> None:
    data, key = DataFolder(tmp_path), "Zk3fQ9vLx2Wm7Tn8Rb4Yc6Hd1Jg5Ps0AeUiO"
    rows = [row.model_copy(update={"action_text": text % key}) for row in drawn(2)]
    sample = sample_of(rows, {"read": 2})
    with pytest.raises(ReleaseBlocked, match="nothing is written"):
        save_sample(data, EVENTS, rows[0].sample, sample, rows)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "nothing is left half"
    overrides = {"privacy.toml": {"on_key": "redact"}}
    sheets = save_sample(data, EVENTS, rows[0].sample, sample, rows, overrides=overrides)
    assert all(key.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    redacted_rows = [*drawn_rows(data, EVENTS)[rows[0].sample].values()]
    assert taken(filled(sheets[0].read_bytes(), say_yes), redacted_rows, tmp_path).faults == []


def test_a_damaged_record_is_named_with_its_line(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.append_review("event_reviews.jsonl", [b'{"sample": "s"}\n'])
    with pytest.raises(UnreadableInput, match=r"event_reviews\.jsonl:1: is not a valid EventReview"):
        reviews(data, EVENTS)


def review(row: int, category: str, error: str | None = None, **values: Any) -> EventReview:
    input_row: dict[str, Any] = {
        "sample": "s", "row": f"r{row}", "source_model": "m", "trajectory_id": "t", "step_id": row, "reviewer": "ann",
        "event_type": category, "is_supported": error is None, "error_type": error, "review_comment": None,
        "reviewed_at": "2026-11-21", "sheet_sha256": "x",
    }  # fmt: skip
    return EventReview.model_validate(input_row | values)


def paper_sample(population: dict[str, int] | None = None) -> dict[str, EventSample]:
    sampled = {name: number for name, (number, _) in PAPER_T34.items()}
    event_sample = EventSample(
        sample="s", seed=1, asked=100, drawn=sampled, population=population or sampled, descriptors="d", rules={}
    )
    return {"s": event_sample}


def test_the_papers_reviews_give_the_papers_table() -> None:
    stated = []
    for category, (number, supported) in PAPER_T34.items():
        for place in range(number):
            stated.append(review(len(stated), category, None if place < supported else "wrong_category"))
    table, findings = event_audit(stated, paper_sample()).sections
    rows = {row["event_type"]: row for row in table.rows}
    for category, (number, supported) in PAPER_T34.items():
        assert (rows[category]["reviewed"], rows[category]["supported"]) == (number, supported)
    assert {name: rows["Total"][name] for name in ("reviewed", "supported", "ambiguous", "incorrect")} == {
        "reviewed": 100, "supported": 99, "ambiguous": 0, "incorrect": 1,
    }  # fmt: skip
    assert table.facts["supported_share"] == 0.99
    assert [row["event_type"] for row in findings.rows] == ["external_write"]


def test_ambiguous_is_ambiguous_and_every_other_unsupported_one_is_incorrect() -> None:
    errors = ["missing", "over_specific", "under_specific", "wrong_category", "ambiguous", None]
    table, _ = event_audit([review(n, "read", error) for n, error in enumerate(errors)], paper_sample()).sections
    row = next(row for row in table.rows if row["event_type"] == "read")
    assert (row["reviewed"], row["supported"], row["ambiguous"], row["incorrect"]) == (6, 1, 1, 4)
    assert table.facts["not_reviewed"] == 94


def test_the_last_word_of_a_reviewer_counts_and_reviewers_stand_apart() -> None:
    stated_reviews = [review(1, "read", "missing"), review(1, "read"), review(1, "read", "ambiguous", reviewer="bob")]
    ann, _, bob, _, _ = event_audit(stated_reviews, paper_sample()).sections
    assert (ann.facts["reviewer"], ann.facts["supported_share"]) == ("ann", 1)
    assert (bob.facts["reviewer"], bob.facts["supported_share"]) == ("bob", 0)


def test_one_person_under_two_names_agrees_with_nobody() -> None:
    event_reviews = [review(1, "read", reviewer=name) for name in ("ann", "Ann", "bob")]
    (people,) = [
        section for section in event_audit(event_reviews, paper_sample()).sections if section.name.startswith("people")
    ]
    assert {(row["first"], row["second"]) for row in people.rows} == {("ann", "bob"), ("Ann", "bob")}
    assert people.facts == {"reviewers": 3, "names_alike": 1}


def test_blanks_around_a_name_make_no_other_reviewer(tmp_path: Path) -> None:
    rows = drawn(3)
    sheet = filled(as_csv(rows, ANSWERS, CELLS), say_yes)
    imported = taken(sheet, rows, tmp_path, Signature(" Ann  Lee ", "2026-11-21"))
    assert {entry.reviewer for entry in imported.reviews} == {"Ann Lee"}


def test_the_later_day_counts_in_whatever_order_sheets_come(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    later = review(1, "read", reviewed_at="2026-11-20")
    same_day = review(1, "read", "missing", reviewed_at="2026-11-19T23:00:00-05:00")  # already the 20th in UTC
    before = review(1, "read", "missing", reviewed_at="2026-11-19")
    assert add_reviews(data, EVENTS, [later]).replaced == 0
    assert add_reviews(data, EVENTS, [before]).replaced == 0
    assert reviews(data, EVENTS)[-1] == later
    assert add_reviews(data, EVENTS, [same_day]).replaced == 1
    assert reviews(data, EVENTS)[-1] == same_day


def test_agreement_of_two_reviewers_is_cohens_kappa() -> None:
    ann = [None, None, None, None, "missing", "missing", "ambiguous", "ambiguous", None]
    bob = [None, None, None, "missing", "missing", "ambiguous", "ambiguous", None]  # the last row is ann's alone
    event_reviews = [review(row, "read", error) for row, error in enumerate(ann)]
    event_reviews += [review(row, "read", error, reviewer="bob") for row, error in enumerate(bob)]
    event_reviews.append(review(0, "read", "missing", reviewer="cem", sample="other"))
    samples = paper_sample() | {"other": paper_sample()["s"].model_copy(update={"sample": "other"})}
    (people,) = [
        section for section in event_audit(event_reviews, samples).sections if section.name.startswith("people")
    ]
    binary, complete = people.rows
    assert (binary["first"], binary["second"], binary["both"], binary["agree"]) == ("ann", "bob", 8, 6)
    assert (complete["verdict"], complete["agree"], complete["agree_share"]) == ("T34", 5, 0.625)
    assert binary["kappa"] == 0.5  # 6 of 8 agree, half of either is supported: (0.75 - 0.5) / (1 - 0.5)
    expected = (4 * 4 + 2 * 2 + 2 * 2) / 64
    assert complete["kappa"] == round((0.625 - expected) / (1 - expected), 6)
    assert people.facts == {"reviewers": 2, "names_alike": 0}


def test_one_reviewer_agrees_with_nobody() -> None:
    sections = event_audit([review(1, "read"), review(2, "read", "missing")], paper_sample()).sections
    assert [section.name for section in sections] == ["reviewed_1", "findings_1"]


def test_the_share_in_the_corpus_weights_categories_by_their_steps() -> None:
    stated_reviews = [review(1, "read"), review(2, "reply", "missing")]
    population = dict.fromkeys(PAPER_T34, 0) | {"read": 90, "reply": 10}
    table, _ = event_audit(stated_reviews, paper_sample(population)).sections
    assert table.facts["supported_share"] == 0.5
    assert table.facts["supported_in_the_corpus_share"] == 0.9
