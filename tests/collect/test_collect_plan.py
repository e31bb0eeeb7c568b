"""The plan of a collection: tasks as the agent gets them, scripts, source models."""

from pathlib import Path
from typing import Any

import pytest
from planned import FUNCTION, LATE, found_task, plan_of
from pydantic import ValidationError

from openclawbench.collect.plan import (
    ADDED,
    LONGEST_NAME,
    PREFIX,
    Plan,
    SourceModel,
    planned_task,
    read_plan,
    sample_tasks,
    source_models,
    tool_name,
    write_plan,
)
from openclawbench.errors import UnreadableInput, UsageError


def test_a_name_that_openclaw_would_cut_is_cut_here_with_a_digest() -> None:
    long = "get_the_current_temperature_of_every_city_in_a_country_and_convert_it"
    assert len(PREFIX + tool_name(long)) == LONGEST_NAME
    assert tool_name(long) != tool_name(long + "_again")
    assert tool_name("math.factorial") == "math_factorial"
    assert tool_name("math.factorial", ["math_factorial"]) != "math_factorial"


def test_the_agent_gets_bfcls_turns_and_the_system_message_before_them() -> None:
    turns = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add."}], []]
    task = planned_task(found_task("t_0", turns=turns, held_back={"1": [LATE]}), None)
    assert task.turns == ["Be brief.\n\nAdd.", ADDED]
    assert [function.name for function in task.held_back[1]] == ["multiply"]
    assert task.script is None


@pytest.mark.parametrize(
    ("answers", "calls"),
    [("right", [("b__add", {"a": 1, "b": 2})]), ("wrong", [("b__add", {"a": 424242, "b": 2})]), ("none", [])],
)
def test_a_script_says_what_bfcl_accepts_or_not(answers: str, calls: list[Any]) -> None:
    script = planned_task(found_task("t_0"), answers).script
    assert script is not None
    assert script.steps[0].calls == calls
    assert script.steps[-1].text


def test_a_multi_turn_script_makes_the_calls_that_bfcl_writes_as_python() -> None:
    task = found_task(
        "multi_turn_base_0",
        turns=[[{"role": "user", "content": "Add."}], [{"role": "user", "content": "Again."}]],
        simulator={"initial_config": {}, "involved_classes": ["Adder"], "long_context": False},
        answer=[["add(1, b=2)", "add(a=-3, b='x')"], []],
    )
    script = planned_task(task, "right").script
    assert script is not None
    assert [step.calls or step.text for step in script.steps] == [
        [("b__add", {"a": 1, "b": 2})],
        [("b__add", {"a": -3, "b": "x"})],
        "Turn 1 is done.",
        "Turn 2 is done.",
    ]


def test_where_no_call_is_right_any_call_is_wrong() -> None:
    task = found_task("irrelevance_0")
    del task["answer"]
    function = FUNCTION | {"parameters": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}
    right, wrong = (planned_task(task | {"functions": [function]}, which).script for which in ("right", "wrong"))
    assert right is not None and wrong is not None
    assert right.steps[0].calls == []
    assert wrong.steps[0].calls == [("b__add", {"a": 1})]


def test_an_unknown_kind_of_answer_is_named() -> None:
    with pytest.raises(UsageError, match="t_0=perfect: is not one of right, wrong, none"):
        planned_task(found_task("t_0"), "perfect")


def test_a_sample_is_even_over_the_categories_and_the_same_for_a_seed() -> None:
    tasks = [{"subset": subset, "n": n} for subset, count in (("a", 50), ("b", 3)) for n in range(count)]
    drawn = sample_tasks(tasks, 8, 1)
    assert [sum(task["subset"] == subset for task in drawn) for subset in "ab"] == [5, 3]
    assert drawn == sample_tasks(tasks, 8, 1) != sample_tasks(tasks, 8, 2)
    assert sample_tasks(tasks, None, 1) == sample_tasks(tasks, 99, 1) == tasks


def test_a_session_is_planned_anew_where_the_agent_could_do_otherwise() -> None:
    def digests(**source: Any) -> list[str]:
        return [planned.digest for planned in plan_of("t_0", **source).sessions()]

    assert digests(price_in=3.0, attempts=2)[:1] == digests()
    assert digests(mode="own_tools") != digests()
    assert digests(parameters={"temperature": 0.5}) != digests()
    assert [planned.name for planned in plan_of("t_0", "t_1", attempts=2).sessions()] == [
        "t_0-a1",
        "t_1-a1",
        "t_0-a2",
        "t_1-a2",
    ]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": "a/b"}, "names a folder"),
        ({"base_url": "localhost:8000"}, "is neither scripted nor an address"),
        ({"base_url": "https://me:secret@host/v1"}, "without a name or password"),
        ({"base_url": "https://sk-secret@host/v1"}, "without a name or password"),
        ({"attempts": 0}, "greater than or equal to 1"),
        ({"api_key": "sk-123"}, "Extra inputs are not permitted"),
    ],
)
def test_a_wrong_source_model_is_named(changed: dict[str, Any], sentence: str) -> None:
    entry = {"name": "m", "base_url": "scripted", "model": "x"} | changed
    with pytest.raises(UsageError, match=sentence) as raised:
        source_models([entry], "models.toml")
    assert str(raised.value).startswith("models.toml: source model 1: ")
    assert "sk-123" not in str(raised.value)


def test_two_source_models_of_one_folder_are_refused() -> None:
    plan = plan_of("t_0")
    other = plan.source_models[0].model_copy(update={"name": "M"})
    with pytest.raises(ValidationError, match="source model m occurs twice"):
        Plan(evaluator="x", source_models=[*plan.source_models, other], tasks=plan.tasks)


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = plan_of("t_0", "t_1")
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(UnreadableInput, match="is not a plan"):
        read_plan(tmp_path)
    with pytest.raises(UnreadableInput, match="collect plan"):
        read_plan(tmp_path / "nowhere")


def test_the_host_of_an_endpoint_has_no_path() -> None:
    source = SourceModel(name="m", base_url="https://host.example:8443/v1?key=1", model="x")
    assert source.endpoint_host == "host.example:8443"


def test_a_pasted_key_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="is not the name of an environment variable"):
        SourceModel(name="m", base_url="http://h/v1", model="m", api_key_env="sk-abc-123")
