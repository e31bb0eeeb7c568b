"""BFCL's evaluator over a result tree, each source model under its own name. Runs with the Python that has bfcl-eval.

stdin: {"root", "models": {folder: [categories]}}. Writes root/score beside root/result. stdout: {"version"}.
The table of BFCL's own models loads the client of every provider; the evaluator needs only a decoder, so the table is
replaced by the models of this tree. bfcl-eval needs some text in OPENAI_API_KEY; nothing is sent.
"""

import contextlib
import importlib.metadata
import json
import os
import pathlib
import statistics
import sys
import tempfile
import types


def main() -> None:
    """Evaluate, print the version."""
    request = json.load(sys.stdin)
    root = pathlib.Path(request["root"])
    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(sys.stderr):
        os.environ["BFCL_PROJECT_ROOT"] = scratch
        os.environ["OPENAI_API_KEY"] = "unused"
        table = types.ModuleType("bfcl_eval.constants.model_config")
        models: dict[str, types.SimpleNamespace] = {}
        vars(table)["MODEL_CONFIG_MAPPING"] = models
        sys.modules[table.__name__] = table
        from bfcl_eval.eval_checker import eval_runner, eval_runner_helper
        from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler

        for model in request["models"]:
            models[model] = types.SimpleNamespace(
                model_name=model,
                display_name=model,
                url="",
                org="",
                license="",
                model_handler=OpenAICompletionsHandler,
                input_price=None,
                output_price=None,
                is_fc_model=True,
                underscore_to_dot=True,
            )
        eval_runner.MODEL_CONFIG_MAPPING = models
        # Its overview fails with one latency, after every score was written.
        vars(eval_runner_helper)["statistics"] = types.SimpleNamespace(
            mean=statistics.mean, stdev=lambda values: statistics.stdev(values) if len(values) > 1 else 0.0
        )
        for model, categories in request["models"].items():
            eval_runner.runner([model], categories, root / "result", root / "score", allow_missing=True)
        version = importlib.metadata.version("bfcl-eval")
    json.dump({"version": version}, sys.stdout)


if __name__ == "__main__":
    main()
