"""All six formats in one corpus, from raw files to a release that holds together, in one call of make."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from child import ROOT

pytestmark = pytest.mark.slow

RAW = ROOT / "tests" / "golden" / "cases" / "mixed-formats" / "raw"
FORMATS = {"openclaw", "openclaw_sqlite", "run_artifact", "aec_trajectory", "llm_benchmark", "atif"}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release that `make run` makes of the mixed corpus."""
    folder = tmp_path_factory.mktemp("mixed")
    program = folder / "venv" / "bin" / "openclawbench"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m openclawbench.cli.app "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    (folder / "venv" / ".ready").touch()
    raw = folder / "raw"
    shutil.copytree(RAW, raw, ignore=shutil.ignore_patterns("case_lost"))  # it is quarantined: status 1
    call = ["make", "run", f"VENV={folder / 'venv'}", f"DATA={folder / 'data'}", f"RAW={raw}", "JUDGE=rules"]
    env = {
        name: value for name, value in os.environ.items() if name != "MAKEFLAGS"
    }  # not what `make test-slow` was given
    done = subprocess.run(call, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "data" / "release"


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def test_every_format_is_in_the_release(release: Path) -> None:
    actual_rows = [row for path in release.glob("fulltax_prod_v1/*/master_table_all.jsonl") for row in rows(path)]
    assert {row["source_format"] for row in actual_rows} == FORMATS
    assert {row["source_model"] for row in actual_rows} == {path.name for path in RAW.iterdir()}
    assert all(row["quality_tier"] for row in actual_rows)
    assert all(len(row["steps"]) == row["num_steps"] for row in actual_rows)


def test_every_record_has_a_label_or_a_reason(release: Path) -> None:
    actual_rows = [row for path in release.glob("fulltax_prod_v1/*/master_table_all.jsonl") for row in rows(path)]
    every = Counter((row["source_model"], row["trajectory_id"]) for row in actual_rows)
    placed: Counter[tuple[str, str]] = Counter()
    reasons = {}
    for name in ("silver_train_labels.jsonl", "silver_test_labels.jsonl", "label_exclusions.jsonl"):
        for row in rows(release / name):
            placed[row["source_model"], row["trajectory_id"]] += 1
            reasons[row["source_model"], row["trajectory_id"]] = row.get("reason")
    assert placed == every
    cut = [key for key, reason in reasons.items() if reason == "partial_trial_record"]
    assert [key[0] for key in cut] == ["model-aec"]


def test_an_outcome_in_the_source_is_no_label(release: Path) -> None:
    bench = rows(release / "fulltax_prod_v1" / "model-bench" / "master_table_all.jsonl")
    assert Counter(row["oracle_outcome"] for row in bench) == {"pass": 1, "fail": 1, None: 1}
    assert {row["is_anomalous"] for row in bench if row["oracle_outcome"]} == {False}
