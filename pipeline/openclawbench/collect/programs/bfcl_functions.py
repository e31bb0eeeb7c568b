"""BFCL's own classes behind the functions of multi-turn tasks. Runs with the Python that has bfcl-eval.

First line of stdin: {"task_id", "initial_config", "involved_classes", "long_context"}; each further line one call
{"name", "arguments"}, answered by a line {"text"}. The classes keep their state as long as the process lives.
"""

import contextlib
import json
import sys


def main() -> None:
    """Answer calls until stdin ends."""
    task = json.loads(sys.stdin.readline())
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call

        for line in sys.stdin:
            call = json.loads(line)
            arguments = ",".join(f"{name}={value!r}" for name, value in call["arguments"].items())
            results, _ = execute_multi_turn_func_call(
                [f"{call['name']}({arguments})"],
                task["initial_config"],
                task["involved_classes"],
                "openclaw",
                task["task_id"],
                long_context=task["long_context"],
            )
            out.write(json.dumps({"text": str(results[0])}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
