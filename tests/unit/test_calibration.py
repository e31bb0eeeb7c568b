"""Calibration audit (T35, T36): the paper's own figures, sheets and their faults, several reviewers, stages."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from openclawbench.audit.calibration.attribution import errors
from openclawbench.audit.calibration.form import ANSWERS, CALIBRATION
from openclawbench.audit.calibration.guide import TEMPLATE, guide
from openclawbench.audit.calibration.released_verdicts import human_verdicts
from openclawbench.audit.calibration.report import calibration_audit
from openclawbench.audit.calibration.summary import without_pool
from openclawbench.audit.calibration.verdicts import Verdict, latest_reviews, verdict
from openclawbench.audit.forms import form_of
from openclawbench.audit.review_folder import add_reviews, drawn_rows, drawn_samples, reviews, save_sample
from openclawbench.audit.sampling import draw_in_turns
from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.cells import Cells
from openclawbench.audit.sheets.check import CheckedSheet, Signature, check
from openclawbench.audit.sheets.review_sheet import as_csv, as_jsonl, read_sheet
from openclawbench.errors import UnreadableInput
from openclawbench.protocol.sections import documents
from openclawbench.records.calibration import (
    CalibrationReview,
    CalibrationSample,
    CalibrationSampleRow,
    CalibrationSheetRow,
    CalibrationStratum,
)
from openclawbench.records.vocabulary import Subtype
from openclawbench.release.baseline_notice import RULES_NOTICE
from openclawbench.reports.markdown import render
from openclawbench.reports.section import Section
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.storage.data_folder import DataFolder

RULES = AuditRules.load()
GAP, WEAK = "capability_gap_overcommitment", "weak_evidence_commitment"
SLICES = ("pass_low_risk", "pass_medium_risk", "pass_high_risk")
SIGNED = Signature("ann", "2026-11-21")


def row(number: int, anomalous: bool = False, **values: Any) -> CalibrationSampleRow:
    input_row: dict[str, Any] = {
        "sample": "c-1", "row": f"r{number}", "source_model": "m", "trajectory_id": f"t{number}", "blind": True,
        "guide": "calibration-c-1.guide.md", "num_steps": 5, "user_turns": "[1] do", "trajectory": "step 1: reply",
        "show": "openclawbench show m/t", "slice_label": SLICES[number % 3], "quality_tier": "high_confidence_accepted",
        "silver_anomaly_label": anomalous, "silver_subtype": GAP if anomalous else None,
        "silver_onset": 2 if anomalous else None, "silver_evidence": ["step 2"] if anomalous else [],
        "silver_severity": "low" if anomalous else None, "silver_recoverability": "recoverable" if anomalous else None,
        "route_label": "structured_annotation" if anomalous else "no_anomaly_evidence",
        "b1_is_anomalous": True if anomalous else None, "c_verdict": "accept" if anomalous else None,
    }  # fmt: skip
    return CalibrationSampleRow.model_validate(input_row | values)


def sample(rows: list[CalibrationSampleRow], **values: Any) -> CalibrationSample:
    counts = {name: sum(record.slice_label == name for record in rows) for name in SLICES}
    input_row: dict[str, Any] = {
        "sample": "c-1", "seed": 1, "asked": None, "blind": True, "drawn": counts, "pool": counts, "judges": ["openai"],
        "population": {"pass_low_risk": 8_500, "pass_medium_risk": 900, "pass_high_risk": 600},
        "failing_in_pool": 0, "release": "0", "rules": {},
    }  # fmt: skip
    return CalibrationSample.model_validate(input_row | values)


def filled(content: bytes, fill: Callable[[dict[str, str], int], object]) -> bytes:
    """A CSV sheet after an editor had it."""
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    for number, record in enumerate(rows):
        fill(record, number)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode()


def sheet(rows: list[CalibrationSampleRow]) -> bytes:
    return as_csv([CALIBRATION.shown(record) for record in rows], ANSWERS, Cells(RULES, RULES.calibration))


def taken(
    content: bytes, rows: list[CalibrationSampleRow], folder: Path, signed: Signature = SIGNED
) -> CheckedSheet[CalibrationReview]:
    path = folder / "sheet"
    path.write_bytes(content)
    _, result = read_sheet(path, ["sample", "row"])
    assert form_of(path, result) is CALIBRATION
    return check(CALIBRATION, result, {"c-1": {record.row: record for record in rows}}, signed, "digest", RULES)


def fill_reviews(
    rows: list[CalibrationSampleRow], folder: Path, *verdicts: dict[str, str], by: str = "ann"
) -> list[CalibrationReview]:
    """Reviews of the first rows, as a sheet gives them."""
    content = filled(sheet(rows), lambda sheet_row, n: sheet_row.update(verdicts[n] if n < len(verdicts) else {}))
    imported = taken(content, rows, folder, Signature(by, "2026-11-21"))
    assert imported.faults == []
    return imported.reviews


def audit(rows: list[CalibrationSampleRow], collected: list[CalibrationReview], **values: Any) -> dict[str, Section]:
    report = calibration_audit(
        collected, {"c-1": sample(rows, **values)}, {"c-1": {record.row: record for record in rows}}
    )
    return {section.name.removesuffix("_1").removeprefix("calibration_"): section for section in report.sections}


def by(section: Section) -> dict[Any, dict[str, Any]]:
    return {record[next(iter(section.columns))]: record for record in section.rows}


def test_the_papers_verdicts_give_the_papers_table(tmp_path: Path) -> None:
    """T36: 300 audited, 37 anomalous, 288 agreed, 10 over-flags, 2 misses; kappa 0.831."""
    silver = [True] * 45 + [False] * 255
    human = [True] * 35 + [False] * 10 + [True] * 2 + [False] * 253
    rows = [row(number, anomalous) for number, anomalous in enumerate(silver)]
    words = [{"human_anomaly_label": "anomalous" if entry else "normal"} for entry in human]
    sections = audit(rows, fill_reviews(rows, tmp_path, *words))
    table = {record["quantity"]: record for record in sections["calibration"].rows}
    assert (table["calibration pool"]["count"], table["audited records"]["count"]) == (300, 300)
    assert [table[f"sample, {name}"]["count"] for name in SLICES] == [100, 100, 100]
    assert table["oracle-fail records in the pool"]["count"] == 0
    assert table["human-verdict anomalous"]["count"] == 37
    assert table["human-verdict non-anomalous"]["count"] == 263
    agreement = table["silver-human binary agreement"]
    assert (agreement["count"], agreement["of"], agreement["share"]) == (288, 300, 0.96)
    assert agreement["low_share"] < 0.96 < agreement["high_share"]
    assert (table["silver over-flags"]["count"], table["silver misses"]["count"]) == (10, 2)
    facts = sections["calibration"].facts
    assert round(facts["kappa"], 3) == 0.831
    assert facts["kappa_low"] < 0.831 < facts["kappa_high"] < 0.95
    assert table["major disagreement"]["count"] == 12
    stages = by(sections["stages"])
    assert (stages["a"]["miss"], stages["b1"]["over_flag"]) == (2, 10)
    assert sections["stages"].facts == {"let_through_by_c": 10}
    assert len(sections["disagreements"].rows) == 12


def test_agreement_is_reweighted_to_the_corpus(tmp_path: Path) -> None:
    rows = [row(number) for number in range(6)]  # slices low, medium, high, low, medium, high
    verdicts = [{"human_anomaly_label": "yes" if number == 2 else "no"} for number in range(6)]
    sections = audit(rows, fill_reviews(rows, tmp_path, *verdicts))
    assert sections["calibration"].facts["agreement_share"] == pytest.approx(5 / 6, abs=1e-6)
    assert sections["calibration"].facts["corpus_agreement_share"] == pytest.approx((8_500 + 900 + 300) / 10_000)
    assert audit(rows, fill_reviews(rows, tmp_path, *verdicts[:1]))["calibration"].facts["corpus_agreement_share"] == 1


def test_a_sample_by_silver_label_is_reweighted_by_it(tmp_path: Path) -> None:
    """Silver anomalies are 1 % of the corpus and half of the sample: an error in them weighs 1 %."""
    rows = [row(3 * number, number < 2) for number in range(4)]
    verdicts = [{"human_anomaly_label": "no"} for _ in rows]
    values = {"slice_label": "pass_low_risk", "drawn": 2, "expected_share": 0.5}
    strata = [
        CalibrationStratum(silver_anomalous=True, pool=2, population=10, **values),
        CalibrationStratum(silver_anomalous=False, pool=2, population=990, **values),
        CalibrationStratum(silver_anomalous=True, pool=0, population=7, **values | {"slice_label": "pass_high_risk"}),
    ]
    facts = audit(rows, fill_reviews(rows, tmp_path, *verdicts), allocation="neyman", strata=strata)[
        "calibration"
    ].facts
    assert facts["agreement_share"] == 0.5
    assert facts["corpus_agreement_share"] == 0.99
    assert facts["corpus_agreement_leaves_out"] == "pass_high_risk, silver anomalous (7)"
    assert without_pool(sample(rows, strata=strata)) == {"pass_high_risk, silver anomalous": 7}


def test_a_blind_sheet_hides_the_label_and_another_shows_it() -> None:
    hidden = sheet([row(1, True)]).decode("utf-8-sig")
    assert GAP not in hidden
    assert "pass_" not in hidden  # nor the slice, which hints at it
    seen = sheet([row(1, True, blind=False)]).decode("utf-8-sig")
    assert GAP in seen
    line = json.loads(as_jsonl([CALIBRATION.shown(row(1, True))], ANSWERS))
    assert {name: line[name] for name in CalibrationSheetRow.model_fields if name.startswith("silver")} == {
        "silver_anomaly_label": None, "silver_subtype": None, "silver_onset": None, "silver_evidence": None,
    }  # fmt: skip


ANOMALOUS = {"human_anomaly_label": "Anomalous "}
FAULTS: dict[str, tuple[dict[str, str], str]] = {
    "an unknown verdict": ({"human_anomaly_label": "perhaps"}, "wrong_verdict"),
    "a comment without a verdict": ({"audit_comment": "hm"}, "wrong_verdict"),
    "a subtype outside the set": (ANOMALOUS | {"human_subtype": "laziness"}, "wrong_human_subtype"),
    "a candidate that is not released": (ANOMALOUS | {"human_subtype": "state_contamination"}, "wrong_human_subtype"),
    "an onset behind the end": (ANOMALOUS | {"human_onset": "6"}, "wrong_onset"),
    "an onset before the beginning": (ANOMALOUS | {"human_onset": "0"}, "wrong_onset"),
    "an onset that is no number": (ANOMALOUS | {"human_onset": "1.5"}, "wrong_onset"),
    "an onset in other digits": (ANOMALOUS | {"human_onset": "²"}, "wrong_onset"),
    "an onset of a normal one": ({"human_anomaly_label": "normal", "human_onset": "1"}, "not_anomalous"),
    "a severity outside the set": (ANOMALOUS | {"human_severity": "fatal"}, "wrong_human_severity"),
    "a stage that is none": (ANOMALOUS | {"error_stage": "d"}, "wrong_error_stage"),
    "an adjudication that is neither": (ANOMALOUS | {"adjudication": "maybe"}, "wrong_adjudication"),
    "edited text": (ANOMALOUS | {"trajectory": "step 1: nothing"}, "edited_evidence"),
    "a label filled in": (ANOMALOUS | {"silver_subtype": GAP}, "edited_evidence"),
    "another row": (ANOMALOUS | {"row": "r9"}, "unknown_row"),
    "another sample": (ANOMALOUS | {"sample": "c-9"}, "unknown_sample"),
    "a date that is none": (ANOMALOUS | {"reviewed_at": "yesterday"}, "no_date"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_bad_row_is_named_with_its_line_and_the_others_are_kept(fault: str, tmp_path: Path) -> None:
    change, reason = FAULTS[fault]
    rows = [row(0), row(1, True)]
    content = filled(
        sheet(rows), lambda sheet_row, n: sheet_row.update(change if n else {"human_anomaly_label": "normal"})
    )
    imported = taken(content, rows, tmp_path)
    assert [review.row for review in imported.reviews] == ["r0"]
    (first, *_) = imported.faults
    assert (first.reason, first.line) == (reason, 3)
    assert first.message


def test_a_sheet_of_neither_kind_and_one_without_its_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("sample,row,other\nc-1,r1,x\n")
    with pytest.raises(UnreadableInput, match=r"sheet\.csv:1: no column is_supported nor human_anomaly_label"):
        form_of(path, read_sheet(path, ["sample", "row"])[1])
    path.write_text("sample,row,is_supported\nc-1,r1,x\n")
    with pytest.raises(UnreadableInput, match=r"sheet\.csv:1: no column error_type, review_comment"):
        form_of(path, read_sheet(path, ["sample", "row"])[1])


def test_agreement_status_is_t35s(tmp_path: Path) -> None:
    cases: list[tuple[bool, dict[str, str], str]] = [
        (True, {"human_anomaly_label": "yes"}, "agreement"),
        (True, {"human_anomaly_label": "yes", "human_subtype": GAP, "human_onset": "2"}, "agreement"),
        (True, {"human_anomaly_label": "yes", "human_subtype": WEAK}, "minor_correction"),
        (True, {"human_anomaly_label": "yes", "human_onset": "3"}, "minor_correction"),
        (True, {"human_anomaly_label": "yes", "human_onset": "none"}, "minor_correction"),
        (True, {"human_anomaly_label": "no"}, "major_disagreement"),
        (False, {"human_anomaly_label": "yes", "human_subtype": WEAK}, "major_disagreement"),
        (False, {"human_anomaly_label": "normal"}, "agreement"),
        (False, {"human_anomaly_label": "unsure"}, "unresolved"),
    ]
    rows = [row(number, silver) for number, (silver, _, _) in enumerate(cases)]
    calibration_reviews = fill_reviews(rows, tmp_path, *(words for _, words, _ in cases))
    assert [calibration_review.agreement_status for calibration_review in calibration_reviews] == [
        status for _, _, status in cases
    ]
    settled = [verdict(record, [review]) for record, review in zip(rows, calibration_reviews, strict=True)]
    assert [entry.status for entry in settled] == [status for _, _, status in cases]


def test_two_reviewers_settle_what_they_agree_on_and_an_adjudication_settles_the_rest(tmp_path: Path) -> None:
    rows = [row(number, number == 0) for number in range(4)]
    yes, no, unsure = ({"human_anomaly_label": word} for word in ("yes", "no", "unsure"))
    ann = fill_reviews(rows, tmp_path, yes | {"human_subtype": GAP}, no, yes, unsure)
    bob = fill_reviews(rows, tmp_path, yes | {"human_subtype": WEAK}, yes, no, no, by="bob")
    chair = fill_reviews(rows, tmp_path, {}, no | {"adjudication": "yes", "audit_comment": "seen by both"}, by="chair")
    sections = audit(rows, [*ann, *bob, *chair])
    assert sections["calibration"].facts["agreement_share"] == 1  # rows 0 and 1; 2 and 3 are open
    people = sections["reviewers"]
    assert people.facts == {
        "reviewers": 3, "reviewed_by_several": 4, "settled_by_adjudication": 1, "to_be_adjudicated": 2,
    }  # fmt: skip
    (pair,) = people.rows
    assert (pair["first"], pair["second"], pair["both"], pair["agree"]) == ("ann", "bob", 4, 1)
    assert {record["trajectory_id"] for record in sections["disagreements"].rows} == {"t2", "t3"}
    entry = verdict(rows[0], [ann[0], bob[0]])
    assert (entry.settled_by, entry.label, entry.answers["human_subtype"]) == ("agreeing reviewers", True, None)


def test_the_last_word_of_a_reviewer_counts(tmp_path: Path) -> None:
    rows = [row(0)]
    first = fill_reviews(rows, tmp_path, {"human_anomaly_label": "yes"})
    second = fill_reviews(rows, tmp_path, {"human_anomaly_label": "no"})
    assert latest_reviews([*first, *second]) == second
    calibration = audit(rows, [*first, *second])["calibration"]
    assert calibration.facts["misses"] == 0
    replaced = by(calibration)["replaced verdicts"]
    assert (replaced["count"], replaced["of"], replaced["low_share"]) == (1, 2, None)
    assert by(audit(rows, second)["calibration"])["replaced verdicts"]["count"] == 0


def test_a_later_verdict_of_the_same_reviewer_is_counted_as_replacing(tmp_path: Path) -> None:
    data, rows = DataFolder(tmp_path), [row(0), row(1)]
    yes, no = {"human_anomaly_label": "yes"}, {"human_anomaly_label": "no"}
    assert add_reviews(data, CALIBRATION, fill_reviews(rows, tmp_path, yes, yes)) == (2, 0)
    assert add_reviews(data, CALIBRATION, fill_reviews(rows, tmp_path, yes, no)) == (1, 1)
    assert add_reviews(data, CALIBRATION, fill_reviews(rows, tmp_path, no, by="bob")) == (1, 0)
    assert add_reviews(data, CALIBRATION, fill_reviews(rows, tmp_path, no | {"adjudication": "yes"})) == (1, 0)


def test_a_sheet_of_adjudications_alone_may_leave_the_other_rows_out(tmp_path: Path) -> None:
    rows = [row(number) for number in range(4)]
    settling = {"human_anomaly_label": "no", "adjudication": "Yes"}

    def disputed(*answers: dict[str, str]) -> CheckedSheet[CalibrationReview]:
        part = sheet(rows[: len(answers)])
        return taken(filled(part, lambda sheet_row, n: sheet_row.update(answers[n])), rows, tmp_path)

    result = disputed(settling, settling)
    assert ([review.row for review in result.reviews], result.faults) == (["r0", "r1"], [])
    assert disputed(settling, {}).faults == []
    assert {fault.reason for fault in disputed(settling, settling | {"human_anomaly_label": "x"}).faults} == {
        "wrong_verdict"
    }
    for others in ({"human_anomaly_label": "no"}, settling | {"adjudication": "no"}):
        assert [fault.reason for fault in disputed(settling, others).faults] == ["missing_row", "missing_row"]
    assert [fault.reason for fault in disputed({}, {}).faults] == ["missing_row", "missing_row"]


def test_no_two_rows_of_the_table_have_one_name(tmp_path: Path) -> None:
    names = [
        record["quantity"]
        for record in audit([row(0)], fill_reviews([row(0)], tmp_path, ANOMALOUS))["calibration"].rows
    ]
    assert len(names) == len(set(names))


def test_slices_that_nothing_is_said_of_are_named(tmp_path: Path) -> None:
    rows = [row(0), row(1)]  # none of pass_high_risk
    sections = audit(
        rows, fill_reviews(rows, tmp_path, {"human_anomaly_label": "no"}, {"human_anomaly_label": "unsure"})
    )
    assert (
        sections["calibration"].facts["corpus_agreement_leaves_out"] == "pass_medium_risk (900), pass_high_risk (600)"
    )
    all_said = [row(number) for number in range(3)]
    complete_sections = audit(all_said, fill_reviews(all_said, tmp_path, *[{"human_anomaly_label": "no"}] * 3))
    assert complete_sections["calibration"].facts["corpus_agreement_leaves_out"] is None
    assert without_pool(sample(rows)) == {"pass_high_risk": 600}
    assert without_pool(sample(rows, population=dict.fromkeys(SLICES, 0))) == {}


def test_an_anomalous_verdict_may_name_neither_subtype_nor_onset_and_the_guide_says_so(tmp_path: Path) -> None:
    rows = [row(0, True)]
    (entry,) = fill_reviews(rows, tmp_path, ANOMALOUS)
    assert (entry.human_subtype, entry.human_onset, entry.onset_reviewed) == (None, None, False)
    table = by(audit(rows, [entry])["calibration"])
    assert (table["same subtype"]["of"], table["same onset"]["of"]) == (0, 0)
    text = guide(sample(rows), RULES).decode()
    assert "empty: you name none, and no subtype is compared" in text
    assert "empty: not reviewed, and no onset is compared" in text


def settled(silver: CalibrationSampleRow, folder: Path, **words: str) -> Verdict:
    return verdict(silver, fill_reviews([silver], folder, {"human_anomaly_label": "yes", **words}))


def test_errors_go_back_to_the_stage_that_decided(tmp_path: Path) -> None:
    asked = {"route_label": "structured_annotation", "b1_is_anomalous": False}
    unknown = {"route_label": None}
    assert [error[:2] for error in errors(settled(row(0), tmp_path))] == [("miss", "a")]
    assert [error[:2] for error in errors(settled(row(0, **asked), tmp_path))] == [("miss", "b1")]
    assert [error[:2] for error in errors(settled(row(0, **unknown), tmp_path))] == [("miss", None)]
    other = settled(
        row(0, True), tmp_path, human_subtype=WEAK, human_onset="4", human_severity="high",
        human_recoverability="unrecoverable", evidence_supported="no",
    )  # fmt: skip
    assert [error[:2] for error in errors(other)] == [
        ("subtype", "b1"), ("onset", "b2"), ("severity", "b2"), ("recoverability", "b2"), ("evidence", "b1"),
    ]  # fmt: skip
    named = errors(settled(row(0, True), tmp_path, human_onset="4", error_stage="C"))
    assert [tuple(entry) for entry in named] == [("onset", "c", True)]
    assert errors(settled(row(0, True), tmp_path, human_onset="2", human_severity="low")) == []


def test_what_nobody_reviewed_is_not_counted_and_empty_bases_have_no_share(tmp_path: Path) -> None:
    rows = [row(number) for number in range(5)]
    sections = audit(rows, fill_reviews(rows, tmp_path, {"human_anomaly_label": "unsure"}))
    table = {record["quantity"]: record for record in sections["calibration"].rows}
    assert (table["audited records"]["count"], table["audited records"]["of"]) == (1, 5)
    assert table["silver-human binary agreement"]["share"] is None
    assert sections["calibration"].facts["kappa"] is None
    assert sections["calibration"].facts["corpus_agreement_share"] is None
    assert sections["reviewers"].rows == []
    assert by(sections["by"])["all"]["settled"] == 0


def test_the_report_says_who_judged_where_it_must(tmp_path: Path) -> None:
    rows = [row(0, True)]
    calibration_reviews = fill_reviews(rows, tmp_path, {"human_anomaly_label": "no", "audit_comment": "[x](y) | `z`"})
    kept = {"c-1": {record.row: record for record in rows}}
    for judges, loud in ((["rules"], True), (["openai"], False)):
        page = render(calibration_audit(calibration_reviews, {"c-1": sample(rows, judges=judges)}, kept), {})
        assert (RULES_NOTICE in page) == loud
        assert "`[x](y) \\x7c \\x60z\\x60`" in page


def test_the_guide_names_every_subtype_answer_and_word() -> None:
    text = guide(sample([row(0)]), RULES).decode()
    assert all(f"`{name}`" in text for name in ANSWERS)
    assert all(name in text for name in get_args(Subtype))
    assert documents()["guide"].render(Taxonomy.load().tables()) in text
    assert "does not show the silver label" in text
    assert "`--no-label`" in text
    assert "`--no-label`" not in guide(sample([row(0)], blind=False), RULES).decode()
    assert "shows the silver label" in guide(sample([row(0)], blind=False), RULES).decode()
    assert "never change" in TEMPLATE


def test_records_and_samples_come_back_as_they_were_written(tmp_path: Path) -> None:
    data, rows = DataFolder(tmp_path), [row(0), row(1, True)]
    files = save_sample(data, CALIBRATION, "c-1", sample(rows), rows, b"how")
    assert [path.name for path in files] == [f"calibration-c-1.{end}" for end in ("csv", "jsonl", "guide.md")]
    assert drawn_rows(data, CALIBRATION) == {"c-1": {record.row: record for record in rows}}
    assert drawn_samples(data, CALIBRATION, CalibrationSample) == {"c-1": sample(rows)}
    calibration_reviews = fill_reviews(rows, tmp_path, {"human_anomaly_label": "no"})
    assert (
        add_reviews(data, CALIBRATION, calibration_reviews),
        add_reviews(data, CALIBRATION, calibration_reviews),
    ) == ((1, 0), (0, 0))
    assert reviews(data, CALIBRATION) == calibration_reviews


def test_source_models_take_turns_within_a_stratum() -> None:
    entries = [("low", (model, f"t{number}")) for model, many in (("m", 9), ("n", 2)) for number in range(many)]
    chosen = draw_in_turns(entries, {"low": 4}, 7)
    assert Counter(model for model, _ in chosen) == {"m": 2, "n": 2}
    assert draw_in_turns(entries[::-1], {"low": 4}, 7) == chosen
    assert draw_in_turns(entries, {"low": 4}, 8) != chosen


def reviewed(
    rows: list[CalibrationSampleRow], folder: Path, day: str, answer: str, by: str, **values: str
) -> list[CalibrationReview]:
    """One verdict on the first row, of a day."""
    content = filled(sheet(rows), lambda line, _: line.update({"human_anomaly_label": answer} | values))
    checked = taken(content, rows, folder, Signature(by, day))
    assert checked.faults == []
    return checked.reviews


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_released_verdict_is_the_latest_by_day_over_all_samples(newest_first: bool, tmp_path: Path) -> None:
    """Reviewed in sample c-2 first, in c-1 later; whichever was imported first, the later day counts."""
    data, rows = DataFolder(tmp_path), [row(0)]
    for name in ("c-1", "c-2"):
        drawn = [each.model_copy(update={"sample": name}) for each in rows]
        save_sample(data, CALIBRATION, name, sample(rows, sample=name), drawn, b"guide")
    older = [
        review.model_copy(update={"sample": "c-2"}) for review in reviewed(rows, tmp_path, "2026-11-20", "yes", "ann")
    ]
    newer = reviewed(rows, tmp_path, "2026-11-22", "no", "ann")
    for reviews_of_a_day in (newer, older) if newest_first else (older, newer):
        add_reviews(data, CALIBRATION, reviews_of_a_day)
    (released,) = human_verdicts(data)
    assert released.human_anomaly_label is False
    assert (released.reviewers, released.settled_by) == (1, "one reviewer")


def test_of_two_adjudications_the_later_one_by_day_counts(tmp_path: Path) -> None:
    """Chair settles on day 20 and again on day 23, judge on day 22: the chair's second word is the last."""
    data, rows = DataFolder(tmp_path), [row(0)]
    save_sample(data, CALIBRATION, "c-1", sample(rows), rows, b"guide")
    for day, answer, by in (("20", "yes", "chair"), ("22", "yes", "judge"), ("23", "no", "chair")):
        add_reviews(data, CALIBRATION, reviewed(rows, tmp_path, f"2026-11-{day}", answer, by, adjudication="yes"))
    (released,) = human_verdicts(data)
    assert (released.human_anomaly_label, released.settled_by) == (False, "adjudication")
