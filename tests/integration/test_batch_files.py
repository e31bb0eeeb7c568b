"""Batch files: the same questions, answers and release as with an endpoint, for whoever answers a folder of files."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from asking import KEY, Endpoint, fresh, ledger
from batch_folder import FORMS, answer, output_of, requests
from child import EXAMPLE, Ended, call, lines, table

pytestmark = pytest.mark.slow

STAGES = ("a", "b1", "b2", "c")


def run(data: Path, raw: Path, folder: Path, *more: str | Path, verb: str = "run", model: str = "test-model") -> Ended:
    judge = ["--judge", "openai", "--model", model, "--batch-files", folder]
    inputs = ["--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle"]
    return call(verb, *inputs, *judge, *more, env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})


def answered(data: Path, raw: Path, folder: Path, form: str = "openai", **script: Any) -> tuple[Ended, list[Ended]]:
    """The run that ends, and those before it that stopped for answers."""
    stopped = []
    while (ended := run(data, raw, folder)).status == 3:
        stopped.append(ended)
        assert len(stopped) < 12 and answer(folder, form, **script), ended.err
    return ended, stopped


@pytest.fixture(scope="module")
def recorded(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files in which everything is answered, beside the data folder `data`."""
    base = tmp_path_factory.mktemp("recorded")
    ended, _ = answered(fresh(base), raw, base / "files")
    assert ended.status == 0, ended.err
    return base / "files"


def answers(data: Path) -> list[list[dict[str, Any]]]:
    """The answers of each stage, without ids and costs."""
    left_out = {"request_id", "cost_usd", "former"}
    return [
        [{k: v for k, v in row.items() if k not in left_out} for row in table(data, f"answer_{stage}")]
        for stage in STAGES
    ]


@pytest.mark.parametrize("form", FORMS)
def test_every_stage_is_asked_through_files(
    form: str, raw: Path, recorded: Path, endpoint: Endpoint, tmp_path: Path
) -> None:
    data, folder = fresh(tmp_path), tmp_path / "files of mine"
    ended, stopped = answered(data, raw, folder, form)
    assert ended.status == 0, ended.err
    assert [path.name for path in requests(folder)] == [f"{stage}-001.jsonl" for stage in STAGES]
    assert answers(data) == answers(recorded.parent / "data")
    assert [
        row["stages"] for row in lines(data / "release" / "fulltax_prod_v1" / "scripted-a" / "master_table_all.jsonl")
    ]
    for stage, stop in zip(STAGES, stopped, strict=True):
        assert f"stage {stage}: " in stop.err and f"--batch-files '{folder}'" in stop.err
        assert stop.err.rstrip().splitlines()[-1].count("openclawbench run --data") == 1
    for path in requests(folder):  # the same files on any machine, and no key in them
        assert path.read_bytes() == (recorded / path.name).read_bytes()
        assert KEY.encode() not in path.read_bytes()
        row = json.loads(path.read_bytes().splitlines()[0])
        assert list(row) == ["custom_id", "method", "url", "body"]
        assert (row["method"], row["url"]) == ("POST", "/v1/chat/completions") and row["body"]["model"] == "test-model"
    assert [way for (way,) in ledger(data, "select base_url from endpoints")] == ["batch files"]


def test_files_and_an_endpoint_give_the_same_answers(
    endpoint: Endpoint, raw: Path, recorded: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script()
    base = ["--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle", "--judge", "openai", "--model", "test-model"]
    assert call("run", *base, "--base-url", f"{endpoint.url}/v1").status == 0
    assert answers(data) == answers(recorded.parent / "data")
    asked = {row[0] for row in ledger(data, "select hex(key) from answers")}
    assert asked == {row["custom_id"].upper() for rows in requests(recorded).values() for row in rows}


def test_recorded_answers_are_taken_in_by_anybody_and_nothing_is_written(
    raw: Path, recorded: Path, tmp_path: Path
) -> None:
    folder, data = tmp_path / "set", fresh(tmp_path)
    folder.mkdir()
    for path in requests(recorded):  # answers alone, in another order, in files of other names
        text = output_of(path).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / f"{path.stem}.z.output.jsonl").write_text("".join(text[:2]), encoding="utf-8")
        (folder / f"{path.stem}.b.output.jsonl").write_text("".join(reversed(text[1:])), encoding="utf-8")
    (folder / "recorded.toml").write_text('judge_model = "somebody"\n', encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    ended = run(data, raw, folder)
    assert ended.status == 0 and "another answer" not in ended.err, ended.err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert answers(data) == answers(recorded.parent / "data")


def test_open_questions_of_a_recorded_set_are_named_and_nothing_is_written(
    raw: Path, recorded: Path, tmp_path: Path
) -> None:
    folder, data = tmp_path / "set", fresh(tmp_path)
    folder.mkdir()
    rows = output_of(recorded / "a-001.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "a-001.output.jsonl").write_text("".join(rows[2:]), encoding="utf-8")
    (folder / "recorded.toml").touch()
    ended = run(data, raw, folder, "--json")
    assert ended.status == 1, ended.err
    assert "stage a: 2 questions of 12 have no answer" in ended.err and "recorded set" in ended.err
    assert sorted(path.name for path in folder.iterdir()) == ["a-001.output.jsonl", "recorded.toml"]
    assert len(ledger(data, "select key from answers")) == 10
    other = run(data, raw, tmp_path / "mine")
    assert other.status == 3 and "2 questions of 12" in other.err
    assert [len(rows) for rows in requests(tmp_path / "mine").values()] == [2]


def test_answers_of_another_version_are_said_and_not_used(raw: Path, recorded: Path, tmp_path: Path) -> None:
    folder, data = tmp_path / "files", fresh(tmp_path)
    shutil.copytree(recorded, folder)
    ended = run(data, raw, folder, model="another-model")
    assert ended.status == 3, ended.err
    foreign = [line for line in ended.err.splitlines() if "to no question of this run" in line]
    assert len(foreign) == 1 and "a-001.output.jsonl: 12 answers belong" in foreign[0]
    assert [path.name for path in requests(folder)][:2] == ["a-001.jsonl", "a-002.jsonl"]
    assert ledger(data, "select key from answers") == []


def test_partial_answers_are_taken_and_the_others_wait_in_their_file(raw: Path, tmp_path: Path) -> None:
    data, folder = fresh(tmp_path), tmp_path / "files"
    assert run(data, raw, folder).status == 3
    answer(folder, change=lambda place, line: line if place < 5 else None)
    for _ in range(2):  # taken in once, whatever is called how often
        ended = run(data, raw, folder)
        assert ended.status == 3 and "7 questions of 12 wait for an answer" in ended.err, ended.err
        assert [path.name for path in requests(folder)] == ["a-001.jsonl"]
        assert len(ledger(data, "select key from answers")) == 5
    output_of(folder / "a-001.jsonl").unlink()
    answer(folder)
    ended, _ = answered(data, raw, folder)
    assert ended.status == 0, ended.err


def test_what_cannot_be_used_is_named_and_asked_again(raw: Path, recorded: Path, tmp_path: Path) -> None:
    data, folder = fresh(tmp_path), tmp_path / "files"
    assert run(data, raw, folder).status == 3

    def spoil(place: int, line: dict[str, Any]) -> dict[str, Any] | None:
        response = line["response"]
        faults: dict[int, dict[str, Any]] = {
            0: {"response": {"status_code": 500, "request_id": "x", "body": {"error": {"message": "overloaded"}}}},
            1: {"response": None, "error": {"code": "batch_expired", "message": "it was not carried out in time"}},
            2: {"response": response | {"body": response["body"] | {"model": "a-third-model"}}},
            3: {"response": {"status_code": 400, "request_id": "y", "body": None}, "error": {"message": "seed: no"}},
        }
        return line | faults.get(place, {})

    answer(folder, change=spoil)
    path = output_of(folder / "a-001.jsonl")
    text = path.read_text(encoding="utf-8").splitlines()
    text[4] = text[4][:200]  # cut off, with its id
    text[5] = f"{text[5]},"  # of a list
    text.insert(0, "[")
    text.append('{"custom_id": "request-1", "response": null, "error": null}')
    text.append("somebody's remark")
    text.append(text[8].replace('"content": "{', '"content": " {', 1))
    path.write_text("\ufeff" + "\r\n".join(text) + "\r\n", encoding="utf-8")
    ended = run(data, raw, folder)
    assert ended.status == 3, ended.err
    for words in (
        "line 2: status_500",
        "line 3: status_503: it says: it was not carried out in time",
        "line 4: an answer of a-third-model; test-model was asked",
        "line 5: refused (400): seed: no",
        "line 6: is not valid JSON",
        "line 15: is not a line of answers",
        "line 16: another answer to a question that has one",
        "1 answer belongs to no question of this run",
    ):
        assert words in ended.err, words
    assert "5 questions of 12 wait" in ended.err and "5 written to a-002.jsonl" in ended.err
    again = requests(folder)[folder / "a-002.jsonl"]
    assert len(again) == 5 and not any("seed" in row["body"] for row in again)
    assert len(ledger(data, "select key from answers")) == 7
    waits = run(data, raw, folder)
    assert waits.status == 3 and "5 in files of former runs" in waits.err
    ended, _ = answered(data, raw, folder)
    assert ended.status == 0, ended.err
    assert answers(data) == answers(recorded.parent / "data")


def test_text_around_the_answer_and_thoughts_are_left_out(raw: Path, recorded: Path, tmp_path: Path) -> None:
    data, folder = fresh(tmp_path), tmp_path / "files"

    def talk(place: int, line: dict[str, Any]) -> dict[str, Any]:
        message = line["response"]["body"]["choices"][0]["message"]
        content = message["content"]
        message |= [
            {"content": f"Here is my answer:\n```json\n{content}\n```\nI hope it helps."},
            {"content": f"<think>It may be {{normal}}, or not.</think>\n\n{content}"},
            {"reasoning_content": "I look at step 1."},
            {"content": json.loads(content)},
        ][place % 4]
        return line

    while (ended := run(data, raw, folder)).status == 3:
        assert answer(folder, change=talk), ended.err
    assert ended.status == 0, ended.err
    assert all(path.name.endswith("-001.jsonl") for path in requests(folder)), "something was asked again"
    for here, there in zip(answers(data), answers(recorded.parent / "data"), strict=True):
        assert len(here) == len(there)
    assert [row["answer"] for row in table(data, "decision_c")] == [
        row["answer"] for row in table(recorded.parent / "data", "decision_c")
    ]


def test_an_answer_that_cannot_be_read_is_asked_once_more(raw: Path, recorded: Path, tmp_path: Path) -> None:
    data, folder = fresh(tmp_path), tmp_path / "files"
    ended, stopped = answered(data, raw, folder, odd={"not_json": 0.3})
    assert ended.status == 0, ended.err
    assert any("a-002.jsonl" in stop.err for stop in stopped)
    rows = table(data, "decision_a")
    assert {row["outcome"] for row in rows} == {"parsed"} and any(row["former"] for row in rows)
    assert [row["answer"] for row in rows] == [row["answer"] for row in table(recorded.parent / "data", "decision_a")]


def test_a_second_pass_has_files_of_its_own(raw: Path, recorded: Path, tmp_path: Path) -> None:
    """Of the same model: none of its answers is one of the first pass."""
    data, folder = tmp_path / "data", tmp_path / "files"
    shutil.copytree(recorded.parent / "data", data)
    shutil.copytree(recorded, folder)
    (folder / "pass2").mkdir()
    for path in folder.glob("*.output.jsonl"):  # as somebody may who thinks that both passes have the same questions
        shutil.copy(path, folder / "pass2")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    again = ["annotate", "--pass", "2", "--data", data, "--raw", raw, "--model", "test-model", "--batch-files", folder]
    first = call(*again)
    assert first.status == 3 and "12 answers belong to no question of this run" in first.err, first.err
    assert "same_judge_twice" not in first.err
    for path in (folder / "pass2").glob("*.output.jsonl"):
        path.unlink()
    ids = {row["custom_id"] for rows in requests(folder / "pass2").values() for row in rows}
    assert len(ids) == 12 and ids.isdisjoint(row["custom_id"] for rows in requests(folder).values() for row in rows)
    while (ended := call(*again)).status == 3:
        assert answer(folder / "pass2", blind=0.6), ended.err
    assert ended.status == 0 and "how steady it is" in ended.err, ended.err
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    labels = [
        [row["answer"]["route_label"] for row in table(data, name)] for name in ("decision_a", "decision_a_pass2")
    ]
    assert labels[0] != labels[1], "the second pass repeats the first"
    assert call("release", "--data", data).status == 0


def test_an_exam_is_sat_through_files(tmp_path: Path) -> None:
    folder, data = tmp_path / "files", tmp_path / "data"
    judge = ["--judge", "openai", "--model", "test-model", "--batch-files", folder]
    sit = ["exam", "--data", data, "--seed", "3", "--pairs", "2", "--json", *judge]
    while (ended := call(*sit)).status == 3:
        assert answer(folder, "vllm"), ended.err
    assert ended.status == 0, ended.err
    assert (ended.json["certificate"]["pairs"], ended.json["certificate"]["endpoint"]) == (2, "batch files")
    assert not list(folder.glob("*-002.jsonl"))
    (folder / "recorded.toml").touch()
    assert call(*sit[:2], tmp_path / "other", *sit[3:]).json["score"] == ended.json["score"]
    output_of(folder / "a-001.jsonl").unlink()
    (tmp_path / "third").mkdir()
    lacking = call(*sit[:2], tmp_path / "third", *sit[3:])
    assert lacking.status == 1 and "stage a: 4 questions of 4 have no answer" in lacking.err


def test_each_variant_of_the_stress_kit_has_files_of_its_own(tmp_path: Path) -> None:
    folder, judge = tmp_path / "files", ["--judge", "openai", "--model", "test-model"]
    sit = ["exam", "--data", tmp_path / "data", "--seed", "3", "--pairs", "1", "--stress", "oracle,repeat", *judge]
    for _ in range(20):
        if (ended := call(*sit, "--batch-files", folder)).status != 3:
            break
        assert "to no question" not in ended.err
        assert [path for part in (folder, *folder.glob("*/")) for path in answer(part)], ended.err
    assert ended.status == 0, ended.err
    assert "repeat" in ended.text and len(list(folder.glob("*/a-001.jsonl"))) >= 2


def test_shares_write_into_one_folder(raw: Path, recorded: Path, tmp_path: Path) -> None:
    data, folder = fresh(tmp_path), tmp_path / "files"
    assert call("run", "--data", data, "--raw", raw, "--to", "normalize").status == 0
    for share in ("0/2", "1/2", "0/2"):
        assert run(data, raw, folder, "--shard", share, verb="annotate").status == 3
    written = requests(folder)
    assert [path.name for path in written] == ["a-001.jsonl", "a-002.jsonl"]
    ids = sorted(row["custom_id"] for rows in written.values() for row in rows)
    assert ids == sorted(row["custom_id"] for row in requests(recorded)[recorded / "a-001.jsonl"])
    ended, _ = answered(data, raw, folder)
    assert ended.status == 0, ended.err
    assert answers(data) == answers(recorded.parent / "data")


def test_an_answer_that_came_later_and_says_something_else_is_named(raw: Path, recorded: Path, tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "files"
    shutil.copytree(recorded.parent / "data", data)
    shutil.copytree(recorded, folder)
    rows = [json.loads(line) for line in output_of(folder / "a-001.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[1]["response"]["body"]["choices"][0]["message"]["content"] = "{}"
    (folder / "a-001.z.output.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (folder / "all.output.jsonl").write_text('{"custom_id": "abcd", "response": null}\n', encoding="utf-8")
    shutil.rmtree(data / "ledger")  # as on another machine
    shutil.rmtree(data / "work")
    ended = run(data, raw, folder)
    assert ended.status == 0, ended.err
    assert "a-001.z.output.jsonl: line 2: another answer to a question that has one; the first is kept" in ended.err
    assert "all.output.jsonl: 1 answer belongs to no question of this run" in ended.err


def test_a_later_run_that_names_the_folder_alone_goes_on(raw: Path, tmp_path: Path) -> None:
    """The judge stands in openclawbench.toml by then; a plain run reads stored answers and takes none in."""
    data, folder = fresh(tmp_path), tmp_path / "files"
    nobody = call("run", "--data", data, "--raw", raw, "--batch-files", folder)
    assert nobody.status == 2 and "no language model is named" in nobody.err
    assert run(data, raw, folder).status == 3
    answer(folder)
    plain = call("run", "--data", data)
    assert plain.status == 1 and "not judged yet" in plain.err
    assert ledger(data, "select key from answers") == []
    ended = call("run", "--data", data, "--batch-files", folder)
    assert ended.status == 3 and "stage b1: " in ended.err, ended.err


def test_the_token_report_parts_what_was_paid_for(recorded: Path, tmp_path: Path) -> None:
    shutil.copytree(recorded.parent / "data", tmp_path / "data")
    ended = call("report", "tokens", "--data", tmp_path / "data", "--json")
    assert ended.status == 0, ended.err
    by_stage = {row["stage"]: row for row in ended.json["sections"]["stages"]["rows"]}
    judged = len(table(tmp_path / "data", "answer_a"))
    for stage in STAGES:
        row, rows = by_stage[stage], table(tmp_path / "data", f"answer_{stage}")
        prompt = sum(answer["usage"]["prompt_tokens"] for answer in rows)
        assert row["calls"] == len(rows) and row["is_measured"]
        assert (row["fixed_tokens"] + row["own_tokens"]) * row["calls"] == pytest.approx(prompt, rel=1e-3)
        assert row["cached_share"] == pytest.approx(0.5, abs=0.01) and row["answer_tokens"] == 100
        assert row["prompt_tokens_a_trajectory"] == pytest.approx(prompt / judged, abs=0.05)
    versions = [row for row in ended.json["sections"]["versions"]["rows"] if row["stage"] == "all"]
    assert [row["version"] for row in versions if row["is_used"]] == ["v3"] and versions[0]["version"] == "v2"
    assert versions[-1]["fixed_tokens"] < versions[0]["fixed_tokens"]
    assert "by version of the prompts" in call("report", "tokens", "--data", tmp_path / "data").text


def test_a_budget_bounds_what_is_written(raw: Path, tmp_path: Path) -> None:
    data, folder = fresh(tmp_path), tmp_path / "files"
    ended = run(data, raw, folder, "--budget-tokens", "80000")
    assert ended.status == 3 and "the budget allows no more" in ended.err, ended.err
    (rows,) = requests(folder).values()
    assert 0 < len(rows) < 12
    nothing = run(fresh(tmp_path / "b"), raw, tmp_path / "c", "--budget-tokens", "10")
    assert nothing.status == 3 and "budget of 10 tokens is reached" in nothing.err
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("value", "more", "words"),
    [
        ("s3://bucket/files", (), "is an address. Name a folder"),
        ("FILE", (), "Name a folder"),
        ("files", ("--batch",), "only one of them"),
    ],
)
def test_a_folder_that_cannot_be_used_is_said(
    value: str, more: tuple[str, ...], words: str, raw: Path, tmp_path: Path
) -> None:
    (tmp_path / "FILE").write_text("", encoding="utf-8")
    folder = value if "://" in value else str(tmp_path / value)
    ended = run(fresh(tmp_path), raw, Path(folder) if "://" not in value else value, *more)  # type: ignore[arg-type]
    assert ended.status == 2 and words in ended.err, ended.err


def test_a_data_folder_that_names_the_folder_must_be_trusted(raw: Path, tmp_path: Path) -> None:
    data = fresh(tmp_path)
    (data / "openclawbench.toml").write_text('judge = "openai"\nmodel = "test-model"\nbatch_files = "files"\n')
    base = ["annotate", "--data", data, "--raw", raw]
    home = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    refused = call(*base, env=home)
    assert refused.status == 2 and "batch_files" in refused.err, refused.err
    assert call("config", "trust", data, env=home).status == 0
    ended = call(*base, env=home)
    assert ended.status == 3 and requests(data / "files"), ended.err
