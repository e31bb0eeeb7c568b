"""Plans for the tests."""

from typing import Any

from openclawbench.collect.plan import Plan, SourceModel, planned_task

FUNCTION = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}}
LATE = {"name": "multiply", "description": "Multiplies.", "parameters": {"type": "object", "properties": {}}}


def found_task(task_id: str, **changes: Any) -> dict[str, Any]:
    """A task as programs/bfcl_tasks.py prints it."""
    return {
        "task_id": task_id,
        "subset": task_id.rpartition("_")[0],
        "turns": [[{"role": "user", "content": f"Add 1 and 2 ({task_id})."}]],
        "parameter_names": {"add": ["a", "b"], "multiply": ["a", "b"]},
        "functions": [FUNCTION],
        "held_back": {},
        "simulator": None,
        "answer": [{"add": {"a": [1], "b": [2, ""]}}],
    } | changes


def plan_of_models(*names: str, **models: dict[str, Any]) -> Plan:
    """A plan with these tasks for several source models: name -> what differs from a scripted one."""
    plans = [plan_of(*names, name=name, **source) for name, source in models.items()]
    return plans[0].model_copy(update={"source_models": [plan.source_models[0] for plan in plans]})


def plan_of(*names: str, **source: Any) -> Plan:
    """A plan with these tasks for one scripted source model."""
    model = {"name": "m", "base_url": "scripted", "model": "scripted-model"} | source
    return Plan(
        evaluator="bfcl-eval 0",
        source_models=[SourceModel.model_validate(model)],
        tasks=[planned_task(found_task(name), "right") for name in names],
    )
