"""Tasks of BFCL as JSON. Runs with the Python that has bfcl-eval and the standard library.

stdin: {"ids": [...], "categories": [...], "with_answers": bool}. A category may be one of BFCL's groups: multi_turn.
stdout: {"version", "tasks", "unknown", "unsupported", "categories": names of all that can be collected}.
A task: task_id, subset, turns (a list of messages each), functions, held_back (turn -> functions), simulator, answer.
"""

import contextlib
import importlib.metadata
import json
import re
import sys
from typing import Any

UNSUPPORTED = ("memory", "web_search", "format_sensitivity")  # need a backend, the network, or another prompt format


def category_of(task_id: str) -> str:
    """The category of an id: what stands before its last group of numbers."""
    return re.sub(r"_\d+(-\d+)*$", "", task_id)


def openai_functions(functions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """BFCL's own translation of its functions."""
    from bfcl_eval.constants.enums import ModelStyle
    from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI
    from bfcl_eval.model_handler.utils import convert_to_tool

    tools = convert_to_tool(functions, GORILLA_TO_OPENAPI, ModelStyle.OPENAI_COMPLETIONS)
    return [
        {
            "name": t["function"]["name"],
            "description": t["function"].get("description", ""),
            "parameters": t["function"]["parameters"],
        }
        for t in tools
    ]


def positions(functions: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Name of a function -> names of its parameters in their order (an answer may give values by place)."""
    return {function["name"]: list(function["parameters"]["properties"]) for function in functions}


def task_of(entry: dict[str, Any], category: str, answer: Any) -> dict[str, Any]:
    """A task in the form that the module's docstring describes."""
    held_back = dict(entry.get("missed_function", {}))
    simulator = None
    if category.startswith("multi_turn"):
        simulator = {
            "initial_config": entry.get("initial_config", {}),
            "involved_classes": entry["involved_classes"],
            "long_context": "long_context" in category,
        }
    every = entry["function"] + [function for functions in held_back.values() for function in functions]
    task = {
        "task_id": entry["id"],
        "subset": category,
        "turns": entry["question"],
        "parameter_names": positions(every),
        "functions": openai_functions(entry["function"]),
        "held_back": {turn: openai_functions(functions) for turn, functions in held_back.items()},
        "simulator": simulator,
    }
    return task | ({"answer": answer} if answer is not None else {})


def load(category: str) -> tuple[dict[str, dict[str, Any]] | None, dict[str, Any]]:
    """(tasks, answers) by id; no tasks if BFCL does not have the category."""
    from bfcl_eval.utils import load_dataset_entry, load_ground_truth_entry

    try:
        entries = load_dataset_entry(category)
    except (FileNotFoundError, KeyError, ValueError):
        return None, {}
    try:
        answers = {entry["id"]: entry["ground_truth"] for entry in load_ground_truth_entry(category)}
    except (FileNotFoundError, KeyError):
        answers = {}  # relevance and irrelevance have none
    return {entry["id"]: entry for entry in entries}, answers


def main() -> None:
    """Read the request, print the tasks."""
    request = json.load(sys.stdin)
    tasks, unknown, unsupported = [], [], []
    with contextlib.redirect_stdout(sys.stderr):
        from bfcl_eval.constants.category_mapping import ALL_CATEGORIES, TEST_COLLECTION_MAPPING

        wanted = [
            (category, None) for name in request["categories"] for category in TEST_COLLECTION_MAPPING.get(name, [name])
        ]
        wanted += [(category_of(task_id), task_id) for task_id in request["ids"]]
        loaded = {}
        for category, task_id in wanted:
            if category.startswith(UNSUPPORTED):
                unsupported.append(task_id or category)
                continue
            if category not in loaded:
                loaded[category] = load(category)
            entries, answers = loaded[category]
            if entries is None or (task_id is not None and task_id not in entries):
                unknown.append(task_id or category)
                continue
            for name in [task_id] if task_id else entries:
                answer = answers.get(name) if request["with_answers"] else None
                tasks.append(task_of(entries[name], category, answer))
        version = importlib.metadata.version("bfcl-eval")
    answered = {"version": version, "tasks": tasks, "unknown": unknown, "unsupported": unsupported}
    collectable = [category for category in ALL_CATEGORIES if not category.startswith(UNSUPPORTED)]
    json.dump(answered | {"categories": collectable}, sys.stdout)


if __name__ == "__main__":
    main()
