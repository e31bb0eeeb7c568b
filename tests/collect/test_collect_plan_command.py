"""`collect plan`: which tasks are chosen, what is left out, and a plan that is there already."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def plan(tmp_path: Path, installed: dict[str, str]) -> Any:
    """Runs the command in a data folder."""

    def run(*more: str, verb: str = "plan") -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, "-P", "-m", "openclawbench", "collect", verb, "--data", str(tmp_path / "d"), *more]
        return subprocess.run(arguments, env=installed, capture_output=True, text=True, timeout=120)

    return run


def tasks_of(tmp_path: Path) -> list[str]:
    plan = json.loads((tmp_path / "d" / "collect" / "plan.json").read_text())
    return [task["task_id"] for task in plan["tasks"]]


def test_a_sample_alone_is_drawn_from_every_category_that_can_be_collected(plan: Any, tmp_path: Path) -> None:
    ended = plan("--sample", "6")
    assert ended.returncode == 0, ended.stderr
    assert sorted(task.rpartition("_")[0] for task in tasks_of(tmp_path)) == [
        *["multi_turn_base"] * 2,
        *["parallel"] * 2,
        *["simple_python"] * 2,
    ]


def test_a_group_of_bfcl_is_its_categories(plan: Any, tmp_path: Path) -> None:
    assert plan("--category", "single_turn").returncode == 0
    assert len(tasks_of(tmp_path)) == 6


def test_tasks_that_are_left_out_are_named_and_end_with_status_1(plan: Any, tmp_path: Path) -> None:
    ended = plan("simple_python_0", "simple_python_9", "--category", "memory_kv", "--category", "paralel")
    assert ended.returncode == 1
    assert "simple_python_9: BFCL has no such task" in ended.stderr
    assert "memory_kv: memory, web_search and format_sensitivity tasks cannot be collected" in ended.stderr
    assert "Its categories: simple_python, parallel, multi_turn_base." in " ".join(ended.stderr.split())
    assert tasks_of(tmp_path) == ["simple_python_0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name tasks, a --category or a --sample"),
        (["simple_python_0=maybe"], "simple_python_0=maybe: is not one of"),
        (["simple_python_0", "--name", "a b"], "name: may have letters, digits"),
        (["simple_python_0", "--model", "gpt"], "--model needs --base-url"),
        (["simple_python_0", "--key-env", "KEY"], "--key-env needs --base-url"),
        (["simple_python_0=wrong", "--base-url", "http://127.0.0.1:9/v1", "--model", "m"], "no source model"),
    ],
)
def test_wrong_use_is_one_sentence(plan: Any, arguments: list[str], message: str) -> None:
    ended = plan(*arguments)
    assert (ended.returncode, message in ended.stderr, "Value error" in ended.stderr) == (2, True, False)


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ('name = "a"\nbase_url = "scripted"\nmodel = "m"', ["--attempts", "2"], "--attempts: the source models are"),
        ('name = "a"\nmodel = "m"', [], "source model 1: base_url is missing"),
        ('name = "a"\nbase_url = "scripted"', [], "source model 1: model: Field required"),
    ],
)
def test_a_file_of_source_models_says_what_is_wrong(
    plan: Any, tmp_path: Path, text: str, more: list[str], message: str
) -> None:
    (tmp_path / "s.toml").write_text(f"[[source_model]]\n{text}\n")
    ended = plan("simple_python_0", "--sources", str(tmp_path / "s.toml"), *more)
    assert (ended.returncode, message in " ".join(ended.stderr.split())) == (2, True), ended.stderr


def test_two_source_models_of_one_name_are_refused(plan: Any, tmp_path: Path) -> None:
    table = '[[source_model]]\nname = "{}"\nbase_url = "scripted"\nmodel = "m"\n'
    (tmp_path / "s.toml").write_text(table.format("a") + table.format("A"))
    ended = plan("simple_python_0", "--sources", str(tmp_path / "s.toml"))
    assert (ended.returncode, "source model 2: name: A occurs twice" in ended.stderr) == (2, True)


def test_a_plan_that_was_begun_is_not_replaced_by_accident(plan: Any, tmp_path: Path) -> None:
    assert plan("simple_python_0").returncode == 0
    assert plan("simple_python_0", "parallel_0").returncode == 0  # nothing was collected yet
    assert plan("--allow-network", verb="run").returncode == 0
    assert plan("simple_python_0", "parallel_0").returncode == 0  # the same plan
    assert plan("simple_python_0", "parallel_0", "multi_turn_base_0").returncode == 0  # nothing of it is lost
    assert plan("simple_python_0", "parallel_0").returncode == 0
    ended = plan("parallel_0", "parallel_1")
    stderr = " ".join(ended.stderr.split())
    assert (ended.returncode, tasks_of(tmp_path)) == (2, ["simple_python_0", "parallel_0"])
    assert "is a plan of 2 sessions, of which 2 are collected; 1 of them are in the new plan" in stderr
    assert plan("parallel_0", "parallel_1", "--replace").returncode == 0
    forecast = json.loads(plan("--dry-run", "--json", verb="run").stdout)
    assert (forecast["left"], [row["basis"] for row in forecast["rows"]]) == (1, ["measured"])


def test_what_was_collected_for_another_plan_is_not_taken_for_the_same_number_here(plan: Any, tmp_path: Path) -> None:
    for task in ("simple_python_0", "parallel_0"):
        assert plan(task, "--replace").returncode == 0
        assert plan("--allow-network", verb="run").returncode == 0
    ended = plan("simple_python_0")
    assert (
        ended.returncode,
        "of which 1 are collected; 0 of them are in the new plan" in " ".join(ended.stderr.split()),
    ) == (2, True)


@pytest.mark.parametrize("text", ["source_model = 5", "source_model = [1]", '[source_model]\nname = "a"'])
def test_a_file_without_a_list_of_tables_is_named(plan: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    ended = plan("simple_python_0", "--sources", str(tmp_path / "s.toml"))
    assert (ended.returncode, "with two brackets" in " ".join(ended.stderr.split())) == (2, True), ended.stderr


def test_a_sample_is_priced_when_prices_are_named_later(plan: Any, tmp_path: Path) -> None:
    table = '[[source_model]]\nname = "a"\nbase_url = "scripted"\nmodel = "m"\n{}\n'
    for tasks, price in ((["simple_python_0"], ""), (["simple_python_0", "simple_python_1"], "price_in = 5.0")):
        (tmp_path / "s.toml").write_text(table.format(price))
        assert plan(*tasks, "--sources", str(tmp_path / "s.toml")).returncode == 0
        forecast = json.loads(plan("--dry-run", "--json", verb="run").stdout)
        if not price:
            assert plan("--allow-network", verb="run").returncode == 0
    assert (forecast["left"], forecast["rows"][0]["costs"]["usd"] > 0) == (1, True)
