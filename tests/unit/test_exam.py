"""The exam: families are what their keys say, a seed alone decides a paper, the score card counts what it says."""

import json
import shutil
import sqlite3
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, get_args

import pytest
from normalizing import check_accounting, normalized_folder

from openclawbench.errors import InvalidFamily
from openclawbench.exam.answers import Answer
from openclawbench.exam.check import check_family
from openclawbench.exam.family import (
    FAMILIES,
    LANGUAGES,
    RELEASES,
    TWINS,
    WITH_STORE,
    ClassName,
    Release,
    load_families,
    load_family,
)
from openclawbench.exam.filler import agent_lines, insert_filler
from openclawbench.exam.paper import Item, Paper, make_paper
from openclawbench.exam.recording import parse_recording, read_recording, rewrite_recording, seeded_random
from openclawbench.exam.rewrite import Rewrite, ids, record, rewrite_session
from openclawbench.exam.score import compare, score_card
from openclawbench.exam.store import is_stored, other_rows, session_lines, store_of, transcript_rows
from openclawbench.exam.values import drawn_values, recorded_values
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.sources.openclaw.sqlite_store import FILE_NAME, StoredSession, read_store

ALL = load_families()
NAMES = sorted(ALL)
SHORTCUT = 0.6  # of the pairs that a feature without meaning may rank right


@pytest.mark.parametrize("name", NAMES)
def test_a_family_is_what_its_key_says(name: str) -> None:
    assert check_family(FAMILIES, name, ALL[name]) == []


@pytest.mark.parametrize("name", NAMES)
def test_recorded_values_put_back_give_the_recorded_bytes(name: str) -> None:
    values = {value: value for value in recorded_values(name, ALL[name]).values()}
    for twin in TWINS:
        content = read_recording(FAMILIES, name, twin)
        assert rewrite_session(content, Rewrite(values, None)) == content


def test_every_class_has_families_in_every_language() -> None:
    assert {family.class_ for family in ALL.values()} == set(get_args(ClassName))
    assert all(family.languages == list(LANGUAGES) for family in ALL.values())


@pytest.fixture(scope="module")
def paper() -> Paper:
    return make_paper(FAMILIES, ALL, "full", 11)


def twins_of(paper: Paper) -> list[tuple[Item, Item]]:
    pairs: dict[int, dict[str, Item]] = defaultdict(dict)
    for item in paper.items:
        pairs[item.pair][item.twin] = item
    return [(pair["anomalous"], pair["innocent"]) for _, pair in sorted(pairs.items())]


def test_a_seed_gives_a_paper() -> None:
    first, again, other = (make_paper(FAMILIES, ALL, "quick", seed) for seed in (3, 3, 4))
    assert first.contents == again.contents and first.items == again.items
    assert not first.contents.keys() & other.contents.keys()
    assert len(twins_of(first)) == 39
    assert set(Counter(pair[0].class_ for pair in twins_of(first)).values()) == {3}


def test_a_full_paper_is_crossed(paper: Paper) -> None:
    pairs = twins_of(paper)
    assert len(pairs) == 260
    assert {anomalous.language for anomalous, _ in pairs} == set(LANGUAGES)
    assert {anomalous.length for anomalous, _ in pairs} == {"short", "ordinary", "long"}
    assert {(anomalous.passed, innocent.passed) for anomalous, innocent in pairs} == {
        (entry, other) for entry in (True, False) for other in (True, False)
    }
    assert max(item.steps for item in paper.items) <= 140


def test_the_key_points_into_the_session(paper: Paper) -> None:
    for item in paper.items:
        numbers = [*item.onsets, *item.span, *item.evidence]
        assert bool(numbers) == (item.twin == "anomalous")
        assert all(1 <= number <= item.steps for number in numbers), item


def test_a_session_says_nothing_of_the_exam(paper: Paper, tmp_path: Path) -> None:
    taxonomy = Taxonomy.load()
    words = [rule.name for rule in (*taxonomy.subtypes, *taxonomy.candidates)]
    for item in paper.items[:60]:
        content = paper.contents[item.id].decode()
        assert not any(word in content for word in [*words, "anomal", "innocent", item.family])
        assert parse_recording(item.family, paper.contents[item.id]).session_id == item.id
    paper.write(tmp_path)
    outcomes = [json.loads(line) for line in (tmp_path / "oracle" / "outcomes.jsonl").read_text().splitlines()]
    assert len({row["task_id"] for row in outcomes}) > 500, "a task tells no pair"


def test_some_pairs_of_a_paper_are_the_same_as_in_all_of_it() -> None:
    families = load_families(FAMILIES)
    complete_paper = make_paper(FAMILIES, families, "quick", 3)
    some = make_paper(FAMILIES, families, "quick", 3, pairs=14)
    known = {item.id: item for item in complete_paper.items}
    assert len(some.items) == 28
    assert all(
        known[item.id] == item and some.contents[item.id] == complete_paper.contents[item.id] for item in some.items
    )
    assert {item.class_ for item in some.items} == {item.class_ for item in complete_paper.items}


def test_a_paper_that_is_written_again_leaves_nothing_else_behind(tmp_path: Path) -> None:
    make_paper(FAMILIES, ALL, "quick", 1).write(tmp_path)
    second = make_paper(FAMILIES, ALL, "quick", 2)
    second.write(tmp_path)
    files = [path for path in (tmp_path / "raw").rglob("*") if path.is_file()]
    stored = {name for name, content in second.contents.items() if is_stored(content)}
    assert {path.stem for path in files if path.name != FILE_NAME} == second.contents.keys() - stored
    for path in files:
        if path.name == FILE_NAME:
            assert {entry.session_id for entry in read_store(path) if isinstance(entry, StoredSession)} == stored


FEATURES: dict[str, Any] = {
    "bytes": lambda item, content: len(content),
    "steps": lambda item, content: item.steps,
    "questions": lambda item, content: content.count(b"?"),
    "errors": lambda item, content: content.count(b"rror"),
    "edits and writes": lambda item, content: content.count(b'"name":"write"') + content.count(b'"name":"edit"'),
}


@pytest.mark.parametrize("feature", FEATURES)
def test_no_feature_without_meaning_tells_the_twins(paper: Paper, feature: str) -> None:
    """A tie is a guess. A feature may point either way."""
    count = FEATURES[feature]
    more = less = 0
    pairs = twins_of(paper)
    for anomalous, innocent in pairs:
        first, second = (count(item, paper.contents[item.id]) for item in (anomalous, innocent))
        more += first > second
        less += first < second
    ties = len(pairs) - more - less
    assert max(more, less) + ties / 2 <= SHORTCUT * len(pairs), (more, less, ties)


# ------------------------------------------------------------------------------------------------------- bad families
GOOD = "weak_evidence_commitment/attendance_total"
BROKEN = {
    "has no such step": ('onset = "wrong_total"', 'onset = "nowhere"', "there is no step nowhere"),
    "lacks a slot": ('{ pool = "city", recorded = "Tampere" }', '{ pool = "town", recorded = "Tampere" }', "town"),
    "has a wrong formula": ('of = "one + two"', 'of = "one - two"', "401"),
    "has a fact that does not hold": (
        'holds = "{wrong}"',
        'holds = "{two}"',
        "action_text of step wrong_total does not hold",
    ),
    "has a misspelt key": ('level = "easy"', 'level = "easy"\ncolour = "red"', "colour"),
    "uses a word of the taxonomy": (
        "Both sheets together give {total}",
        "No anomaly: {total}",
        "is a word of the taxonomy",
    ),
    "has filler in one twin": (
        'id = "same_sheet"\ntwin = "anomalous"',
        'id = "same_sheet"\ntwin = "anomalous"\nfiller = true',
        "is for steps of both twins",
    ),
    "has a twin that differs elsewhere": ('id = "same_sheet"\ntwin = "anomalous"', 'id = "same_sheet"', "same_sheet"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_family_with_an_error_is_named(case: str, tmp_path: Path) -> None:
    before, after, words = BROKEN[case]
    folder = tmp_path / "weak_evidence_commitment"
    folder.mkdir()
    for path in (FAMILIES / "weak_evidence_commitment").glob("attendance_total.*"):
        shutil.copy(path, folder)
    file = folder / "attendance_total.toml"
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")
    try:
        findings = check_family(tmp_path, GOOD, load_family(file))
    except InvalidFamily as error:
        findings = [str(error)]
    assert findings and words in " ".join(findings), findings


def test_a_folder_without_families_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFamily, match="there is no family here"):
        load_families(tmp_path)


# ----------------------------------------------------------------------------------------------------------- releases
STORED = [name for name in NAMES if ALL[name].release in WITH_STORE]


def test_every_release_has_families_of_several_classes() -> None:
    classes = defaultdict(set)
    for family in ALL.values():
        classes[family.release].add(family.class_)
    assert set(classes) == set(RELEASES)
    assert all(len(own) >= 3 for own in classes.values())
    assert {is_stored(read_recording(FAMILIES, name, twin)) for name in STORED for twin in TWINS} == {True}
    assert not any(
        is_stored(read_recording(FAMILIES, name, twin)) for name in NAMES for twin in TWINS if name not in STORED
    )


def test_an_unknown_release_is_refused(tmp_path: Path) -> None:
    text = (FAMILIES / f"{GOOD}.toml").read_text(encoding="utf-8")
    file = tmp_path / "family.toml"
    file.write_text(text.replace('level = "easy"', 'level = "easy"\nrelease = "2025.1.1"'), encoding="utf-8")
    with pytest.raises(InvalidFamily, match="release"):
        load_family(file)


@pytest.mark.parametrize("name", STORED)
def test_recorded_values_put_back_give_the_recorded_rows(name: str, tmp_path: Path) -> None:
    values = {value: value for value in recorded_values(name, ALL[name]).values()}
    contents = [read_recording(FAMILIES, name, twin) for twin in TWINS]
    path = tmp_path / FILE_NAME
    path.write_bytes(store_of(rewrite_session(content, Rewrite(values, None)) for content in contents))
    assert path.read_bytes() == store_of(reversed(contents)), "the order of the sessions is that of their times"
    read = {entry.session_id: entry.content for entry in read_store(path) if isinstance(entry, StoredSession)}
    assert read == {parse_recording(name, content).session_id: session_lines(content) for content in contents}
    with sqlite3.connect(path) as store:
        store.row_factory = sqlite3.Row
        for content in contents:
            rows = [*other_rows(content)[1:], *(("transcript_events", row) for row in transcript_rows(content))]
            assert {table for table, _ in rows} == {"session_nodes", "session_windows", "transcript_events"}
            for table, row in rows:
                wanted = " AND ".join(f"{column} IS ?" for column in row)
                result = store.execute(f"SELECT count(*) FROM {table} WHERE {wanted}", tuple(row.values()))
                assert result.fetchone()[0] == 1, (table, row)


def test_a_family_of_a_store_is_normalized_like_one_of_a_file(paper: Paper, tmp_path: Path) -> None:
    chosen = [item for item in paper.items if item.family in STORED][:12]
    stored = Paper(paper.size, paper.seed, chosen, {item.id: paper.contents[item.id] for item in chosen})
    as_files = Paper(
        paper.size, paper.seed, chosen, {item.id: session_lines(paper.contents[item.id]) for item in chosen}
    )
    steps = []
    for number, entry in enumerate((stored, as_files)):
        folder = tmp_path / str(number)
        entry.write(folder)
        intake, result = normalized_folder(folder / "raw", folder / "data")
        check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
        assert {row["session_id"] for row in result.trajectories} == {item.id for item in chosen}
        assert [row["disposition"] for row in result.files] == ["trajectory"] * len(chosen)
        assert {row["source_format"] for row in result.trajectories} == {("openclaw_sqlite", "openclaw")[number]}
        steps.append({(row["trajectory_id"].split(".")[0], row["step_id"]): row for row in result.steps})
    assert steps[0].keys() == steps[1].keys() and len(steps[0]) == sum(item.steps for item in chosen)
    own = {"trajectory_id", "raw"}  # what says where a step was read
    for key, row in steps[0].items():
        assert {name: row[name] for name in row if name not in own} == {
            name: steps[1][key][name] for name in row if name not in own
        }


@pytest.mark.parametrize("release", RELEASES)
def test_filler_has_the_records_of_its_release(release: Release) -> None:
    """Ids and times are those of one session, each record follows the one before, and no recorded id is left."""
    name = next(name for name in NAMES if ALL[name].release == release)
    content = read_recording(FAMILIES, name, "anomalous")
    longer = insert_filler(content, {0: 2, 2: 30, 3: 20}, seeded_random(1), release)
    assert insert_filler(content, {}, seeded_random(1), release) == content
    values = drawn_values(name, ALL[name], seeded_random(2))
    session_id = "00000000-0000-4000-8000-000000000000"
    rewritten_session = rewrite_recording(name, ALL[name], longer, values, "en", 3, session_id)
    assert len(parse_recording(name, rewritten_session).steps) == len(parse_recording(name, content).steps) + 52
    rows = [record(line) for line in session_lines(rewritten_session).split(b"\n") if line]
    assert [row["parentId"] for row in rows[2:]] == [row["id"] for row in rows[1:-1]]
    assert [row["timestamp"] for row in rows] == sorted(row["timestamp"] for row in rows)
    added = [rows[place] for place in agent_lines(session_lines(rewritten_session).split(b"\n"))[:2]]
    own = [record(line) for line in content.split(b"\n") if b'"role":"assistant"' in line]
    assert all(row["message"].keys() == own[0]["message"].keys() for row in added)
    before = {text for line in content.split(b"\n") for text in ids(record(line))} | {
        parse_recording(name, content).session_id
    }
    assert not [entry for entry in before if entry and entry.encode() in rewritten_session]
    listed = [row["data"]["frozenToolResults"] for row in rows if "frozenToolResults" in row.get("data", {})]
    results = [row for row in rows if row.get("message", {}).get("role") == "toolResult"]
    keys = [f"tool:{row['message']['toolCallId']}:{row['message']['timestamp']}" for row in results]
    assert not listed or [entry["key"] for entry in listed[-1]] == keys
    assert bool(listed) == (release in WITH_STORE)


# --------------------------------------------------------------------------------------------------------- score card
def answer(item: Item, is_anomalous: bool | None, **more: Any) -> Answer:
    values = {"subtype": item.subtypes[0] if is_anomalous and item.subtypes else None, "onset": None, "quotes": []}
    values |= {"cause": None if is_anomalous is not None else "low_confidence", "confidence": "high"}
    return Answer(item=item, is_anomalous=is_anomalous, cost_usd=0.5, tokens=100, **(values | more))


def test_only_pairs_with_both_labels_right_count(paper: Paper) -> None:
    always = score_card([answer(item, True) for item in paper.items])
    assert (always["both_right"]["part"], always["anomalous_right"]["share"]) == (0, 1.0)
    assert (always["false_alarms"]["share"], always["precision"]["share"]) == (1.0, 0.5)
    right = score_card([answer(item, item.twin == "anomalous") for item in paper.items])
    assert right["both_right"] == {"share": 1.0, "low": 0.98544, "high": 1.0, "part": 260, "whole": 260}
    assert right["subtypes"]["macro_f1"] == 1.0 and right["cost_usd_a_pair"] == 1.0
    silent = score_card([answer(item, None) for item in paper.items])
    assert (silent["both_right"]["part"], silent["review"]["share"]) == (0, 1.0)


def test_onset_and_evidence_are_compared_with_the_key(paper: Paper) -> None:
    answers = []
    for number, item in enumerate(paper.items):
        is_anomalous = item.twin == "anomalous"
        onset = item.onsets[0] + number % 2 if is_anomalous else None
        quotes = [(item.evidence[0], "action_text"), (9999, "action_text")] if is_anomalous else []
        answers.append(answer(item, is_anomalous, onset=onset, quotes=quotes))
    card = score_card(answers)
    assert card["onset"]["within_one"]["share"] == 1.0 and 0 < card["onset"]["exact"]["share"] < 1
    assert card["evidence"]["cites_planted"]["share"] == 1.0
    assert card["evidence"]["citations_planted"]["share"] == 0.5


def test_stated_confidence_is_compared_with_being_right(paper: Paper) -> None:
    answers = [
        answer(item, (item.twin == "anomalous") == (number % 4 != 0), confidence="low" if number % 4 == 0 else "high")
        for number, item in enumerate(paper.items)
    ]
    card = score_card(answers)["calibration"]
    assert card["by_confidence"]["high"]["share"] == 1.0 and card["by_confidence"]["low"]["share"] == 0.0
    assert card["risk_coverage"] == [{"coverage": 0.75, "risk": 0.0}, {"coverage": 1.0, "risk": 0.25}]


def test_mcnemar_looks_at_pairs_that_one_judge_alone_has_right() -> None:
    first = dict.fromkeys(range(20), True)
    second = {number: number >= 8 for number in range(20)}
    result = compare(first, second)
    assert (result["pairs"], result["only_first"], result["only_second"]) == (20, 8, 0)
    assert result["p_value"] == pytest.approx(2 / 2**8)
    assert compare(first, first)["p_value"] == 1.0
