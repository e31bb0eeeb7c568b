"""Makes tree/ anew with the real evaluator: answers written here, ids and checkers of the package `bfcl-eval`.

    python -m venv /tmp/bfcl && /tmp/bfcl/bin/pip install --no-deps bfcl-eval
    /tmp/bfcl/bin/pip install numpy pandas tqdm filelock python-dotenv openai tenacity overrides mpmath networkx \
        requests beautifulsoup4 html2text rank_bm25 tree_sitter==0.21.3 tree-sitter-java==0.21.0 \
        tree-sitter-javascript==0.21.4
    /tmp/bfcl/bin/python tests/golden/bfcl/make_tree.py tests/golden/bfcl/tree

The evaluator asks no model: its table of models, which would load the clients of all providers, is replaced by two
entries, one that answers in calls and one that answers in text. Of the score files, questions, expected answers and
inference logs are left out afterwards (README.md says why); headers, ids, errors and model results are untouched.
"""

import ast
import json
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

os.environ["BFCL_PROJECT_ROOT"] = tempfile.mkdtemp()
os.environ["OPENAI_API_KEY"] = "none is needed"
CALLS, TEXT = "lab/scripted-calls-FC", "lab/scripted-text"
CONFIG = types.ModuleType("bfcl_eval.constants.model_config")
CONFIG.MODEL_CONFIG_MAPPING = {}
sys.modules["bfcl_eval.constants.model_config"] = CONFIG

from bfcl_eval.eval_checker import eval_runner  # noqa: E402
from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler  # noqa: E402
from bfcl_eval.utils import (  # noqa: E402
    get_directory_structure_by_category,
    load_dataset_entry,
    load_ground_truth_entry,
)

LEFT_OUT = ("prompt", "possible_answer", "inference_log", "details")
ERROR = "Error during inference: the connection was closed"
WRONG: list[dict[str, str]] = [{"do_something_else": "{}"}]

# category -> (ids, which of them are answered rightly, which met an inference error), by position
PLAN: dict[str, dict[str, tuple[int, set[int], set[int]]]] = {
    CALLS: {
        "simple_python": (24, set(range(24)) - {3, 7, 20}, {20}),
        "multiple": (6, {0, 1, 2, 3, 5}, set()),
        "live_simple": (20, set(range(20)) - {0, 11}, set()),
        "live_parallel": (16, set(), set()),
        "live_relevance": (16, set(range(16)), set()),
        "irrelevance": (12, set(range(12)) - {4, 5, 9}, {4, 5}),
        "multi_turn_base": (8, {0, 1, 2, 4, 5}, {7}),
        "memory_kv": (6, {0, 2, 5}, set()),
        "web_search_base": (5, {1, 2}, {4}),
    },
    TEXT: {
        "simple_python": (10, set(range(10)) - {9}, set()),
        "irrelevance": (8, set(range(8)) - {2}, set()),
        "format_sensitivity": (6, {0, 1, 3, 4}, set()),
    },
}


def main(target: Path) -> None:
    """Write result/ by hand, let the evaluator write score/, take out what is not needed."""
    for name in PLAN:
        CONFIG.MODEL_CONFIG_MAPPING[name] = types.SimpleNamespace(
            model_name=name,
            model_handler=OpenAICompletionsHandler,
            is_fc_model=name == CALLS,
            underscore_to_dot=False,
            input_price=None,
            output_price=None,
        )
    shutil.rmtree(target, ignore_errors=True)
    for name, categories in PLAN.items():
        for category, (count, right, lost) in categories.items():
            evaluate(target, name, category, results(name, category, count, right, lost))


def results(name: str, category: str, count: int, right: set[int], lost: set[int]) -> list[dict[str, Any]]:
    """The result lines of a category."""
    questions = load_dataset_entry(category, include_prereq=False, include_language_specific_hint=False)
    answers = [None] * len(questions) if "relevance" in category else load_ground_truth_entry(category)
    pairs = [pair for pair in zip(questions, answers, strict=True) if is_usable(category, *pair)][:count]
    usage = {"input_token_count": 100, "output_token_count": 10, "latency": 0.5}
    lines = []
    for place, (question, answer) in enumerate(pairs):
        if place in lost:
            lines.append({"id": question["id"], "result": ERROR, "traceback": "ConnectionError"})
        else:
            result = answered(name, category, answer, place in right, question)
            lines.append({"id": question["id"], "result": result, **usage})
    return lines


def is_usable(category: str, question: dict[str, Any], answer: Any) -> bool:
    """Multi-turn tasks whose calls name every argument; text formats that need no parser of their own."""
    if category == "format_sensitivity":
        return "ret_fmt=python&tool_call_tag=False" in question["id"]
    if "multi_turn" in category:
        return all(not ast.parse(call).body[0].value.args for turn in answer["ground_truth"] for call in turn)
    return True


def answered(name: str, category: str, answer: Any, right: bool, question: dict[str, Any]) -> Any:
    """An answer of the wanted kind, in the shape that a handler gives for the category."""
    if "relevance" in category:
        calls = ("irrelevance" in category) != right
        words = "None of the functions does that." if name == CALLS else "I can't help with that."
        call = {question["function"][0]["name"]: "{}"}
        return ([call] if name == CALLS else spelt([call])) if calls else words
    if category.startswith(("memory", "web_search")):
        text = answer["ground_truth"][0] if right else "I have not found out."
        return [[f"{{'answer': '{text}', 'context': 'as noted'}}"]]
    if "multi_turn" in category:
        turns = [[[keyword_call(call)] for call in turn] for turn in answer["ground_truth"]]
        return turns if right else [[[WRONG[0]]] for _ in turns]
    calls = [first_choice(call) for call in answer["ground_truth"]] if right else WRONG
    return calls if name == CALLS else spelt(calls)


def first_choice(call: dict[str, dict[str, list[Any]]]) -> dict[str, str]:
    """{function: arguments as JSON text}: of every argument that must be given the first value that is accepted."""
    ((function, arguments),) = call.items()
    return {function: json.dumps({key: plain(values[0]) for key, values in arguments.items() if "" not in values})}


def plain(value: Any) -> Any:
    """An accepted value: inside objects every value is again a list of choices."""
    if isinstance(value, dict):
        return {key: plain(choices[0]) if isinstance(choices, list) else choices for key, choices in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, list) else value


def keyword_call(call: str) -> dict[str, str]:
    """`mv(source='a')` as {"mv": '{"source": "a"}'}."""
    node = ast.parse(call).body[0].value
    return {node.func.id: json.dumps({keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords})}


def spelt(calls: list[dict[str, str]]) -> str:
    """Calls as the text `[f(a=1)]`."""
    parts = []
    for call in calls:
        ((function, arguments),) = call.items()
        parts.append(f"{function}({', '.join(f'{k}={v!r}' for k, v in json.loads(arguments).items())})")
    return f"[{', '.join(parts)}]"


def evaluate(target: Path, name: str, category: str, lines: list[dict[str, Any]]) -> None:
    """Write the result file, score it, and slim the score file."""
    folder = name.replace("/", "_")
    path = target / "result" / folder / get_directory_structure_by_category(category)
    path.mkdir(parents=True, exist_ok=True)
    file = path / f"BFCL_v4_{category}_result.json"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    handler = eval_runner.get_handler(name)
    entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    eval_runner.evaluate_task(
        category, target / "result", target / "score", entries, folder, handler, {}, allow_missing=True
    )
    score = target / "score" / folder / get_directory_structure_by_category(category)
    file = score / f"BFCL_v4_{category}_score.json"
    header, *failures = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    kept = [header, *map(slim, failures)]
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept), encoding="utf-8")


def slim(failure: dict[str, Any]) -> dict[str, Any]:
    """A failing entry without the question, the expected answer and the log."""
    if isinstance(failure.get("error"), dict):
        failure["error"] = {key: value for key, value in failure["error"].items() if key not in LEFT_OUT}
    return {key: value for key, value in failure.items() if key not in LEFT_OUT}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
