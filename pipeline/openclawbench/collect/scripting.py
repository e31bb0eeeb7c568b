"""The scripted model's answers: BFCL's own answer to a task, a wrong one, or none. For a collection without a model."""

import ast
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from openclawbench.errors import UsageError

ANSWERS = ("right", "wrong", "none")
NO_CALL = "None of the functions that I have fits this request, so I did not call any."


class ScriptedStep(BaseModel):
    """One answer of the scripted model: words, or calls as [name, arguments]."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = []


class Script(BaseModel):
    """The answers of the scripted model to one task, in their order."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: Literal["right", "wrong", "none"]
    steps: list[ScriptedStep]


def script_of(bfcl_task: Mapping[str, Any], answers: str, names: Mapping[str, str]) -> Script:
    """The script of a task as programs/bfcl_tasks.py prints it, with its answer.

    `names`: a function's name at BFCL -> its name as the agent calls it. UsageError for an unknown kind of answer.
    """
    if answers not in ANSWERS:
        raise UsageError(f"{bfcl_task['task_id']}={answers}: is not one of {', '.join(ANSWERS)}.")
    answer, steps = bfcl_task.get("answer"), []
    for number, _ in enumerate(bfcl_task["turns"]):
        if bfcl_task["simulator"]:
            if answers == "right" and answer:
                steps += [
                    ScriptedStep(calls=[call_in(text, bfcl_task["parameter_names"], names)]) for text in answer[number]
                ]
            elif answers == "wrong" and number == 0:
                steps.append(ScriptedStep(calls=[(names[bfcl_task["functions"][0]["name"]], {})]))
            steps.append(ScriptedStep(text=f"Turn {number + 1} is done."))
        elif answers == "none" or (answer is None and answers == "right"):
            steps.append(ScriptedStep(text=NO_CALL))
        else:
            steps += [ScriptedStep(calls=single_turn_calls(bfcl_task, answers, names)), ScriptedStep(text="Done.")]
    return Script.model_validate({"answers": answers, "steps": steps})


def single_turn_calls(
    bfcl_task: Mapping[str, Any], answers: str, names: Mapping[str, str]
) -> list[tuple[str, dict[str, Any]]]:
    """The calls that BFCL accepts; wrong: the first with another value. Where none is accepted, wrong is any call."""
    if bfcl_task.get("answer") is None:
        function = bfcl_task["functions"][0]
        return [(names[function["name"]], dict.fromkeys(function["parameters"].get("required", []), 1))]
    calls = []
    for call in bfcl_task["answer"]:
        ((name, arguments),) = call.items()
        chosen = {key: accepted(values) for key, values in arguments.items() if any(value != "" for value in values)}
        calls.append((names[name.replace(".", "_")], chosen))
    if answers == "wrong":
        name, chosen = calls[0]
        key = next(iter(chosen), "nothing")
        chosen[key] = 424242 if isinstance(chosen.get(key), int | float) else "something else entirely"
    return calls


def accepted(values: Any) -> Any:
    """One value of those that BFCL accepts for a parameter; "" among them means that it may be left out."""
    if isinstance(values, list):
        stated = [value for value in values if value != ""]
        return plain(stated[0]) if stated else None
    return values


def plain(value: Any) -> Any:
    """A value that may hold lists of accepted values of its own."""
    if isinstance(value, dict):
        return {key: accepted(values) for key, values in value.items() if values != [""]}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def call_in(
    text: str, parameter_names: Mapping[str, list[str]], names: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """A call that BFCL writes as Python: `cd(folder='document')` -> (name, arguments by name)."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    name = call.func.id if isinstance(call.func, ast.Name) else ast.unparse(call.func).rpartition(".")[2]
    by_place = zip(parameter_names[name], call.args, strict=False)
    arguments = {key: ast.literal_eval(value) for key, value in by_place}
    arguments |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return names[name], arguments
