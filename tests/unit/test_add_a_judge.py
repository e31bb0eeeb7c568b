"""docs/develop/add_a_judge.md: the judge that the page shows answers Stage A, and the files that it names exist."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from openclawbench.judge.protocol import Judge, Question
from openclawbench.records.fulltax import StageA

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "develop" / "add_a_judge.md").read_text(encoding="utf-8")


def test_the_judge_of_the_page_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("normal_judge")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    exec(compile(code[1], "add_a_judge.md", "exec"), module.__dict__)
    judge: Judge = module.NormalJudge()
    reply = judge.ask(Question("a", "{}", None, "stage_a", "v2", "", trajectory_id="t-1"))
    answer = StageA.model_validate_json(reply.text)
    assert (answer.trajectory_id, answer.route_label) == ("t-1", "no_anomaly_evidence")
    assert judge.describe()["name"] == judge.name


def test_the_files_of_the_page_exist() -> None:
    named = re.findall(r"`((?:judge|fulltax|workspace|records|rules|tests|docs)/[\w/.]+\.(?:py|toml|md))`", PAGE)
    assert len(named) > 12
    missing = [
        name
        for name in named
        if not ((ROOT / name).is_file() or (ROOT / "pipeline" / "openclawbench" / name).is_file())
    ]
    assert missing == []
