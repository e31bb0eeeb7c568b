"""Three tasks a category."""

from typing import Any

from bfcl_eval.constants.category_mapping import ALL_CATEGORIES

ADD = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}}


def load_dataset_entry(category: str) -> list[dict[str, Any]]:
    if category not in ALL_CATEGORIES:
        raise ValueError(category)
    turns = [[{"role": "user", "content": "Add 1 and 2."}]]
    return [
        {"id": f"{category}_{number}", "question": turns, "function": [ADD], "involved_classes": ["Adder"]}
        for number in range(3)
    ]


def load_ground_truth_entry(category: str) -> list[dict[str, Any]]:
    answer: list[Any] = [["add(a=1, b=2)"]] if category.startswith("multi_turn") else [{"add": {"a": [1], "b": [2]}}]
    return [{"id": entry["id"], "ground_truth": answer} for entry in load_dataset_entry(category)]
