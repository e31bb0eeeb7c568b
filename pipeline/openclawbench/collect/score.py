"""BFCL's evaluator over the result trees of a collection, and what it says of each source model."""

import json
import shutil
from pathlib import Path
from typing import Any

from openclawbench.collect.bfcl import run_bfcl
from openclawbench.collect.convert import Converted

OVERVIEWS = "data_*.csv"  # of all models of a tree, which the evaluator writes beside their scores


def score(converted: Converted, bfcl: Path) -> tuple[str, list[dict[str, Any]]]:
    """Score the converted sessions again. Returns (version of bfcl-eval, one row per score file).

    Rows: attempt, source_model, subset, scored, passed, infra_errors. `passed` is null where the infrastructure ended a
    session: the evaluator's count is then wrong, and `fuse` counts anew. UsageError where the evaluator cannot run.
    """
    version, rows = "", []
    for root, models in sorted(converted.trees.items()):
        for model in models:
            shutil.rmtree(root / "score" / model, ignore_errors=True)
        tables_before = set((root / "score").glob(OVERVIEWS))
        version = run_bfcl(bfcl, "bfcl_score.py", {"root": str(root.absolute()), "models": models})["version"]
        paths = [path for model in models for path in (root / "score" / model).rglob("BFCL_v4_*_score.json")]
        for path in sorted(paths):
            with path.open(encoding="utf-8") as file:
                header = json.loads(file.readline())
            source_model = path.relative_to(root / "score").parts[0]
            subset = path.name.removeprefix("BFCL_v4_").removesuffix("_score.json")
            # The evaluator counts what the infrastructure ended as failed, or (irrelevance) as passed.
            not_run = converted.not_run[root, source_model, subset]
            rows.append(
                {
                    "attempt": root.name,
                    "source_model": source_model,
                    "subset": subset,
                    "scored": header["total_count"] - not_run,
                    "passed": header["correct_count"] if not not_run else None,
                    "infra_errors": not_run,
                }
            )
        shutil.rmtree(root / ".file_locks", ignore_errors=True)
        for table in set((root / "score").glob(OVERVIEWS)) - tables_before:
            table.unlink()
    return version, rows
