"""docs/library.md is true: its examples run one after another, and what they show is what the command line says."""

import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from child import EXAMPLE, ROOT, Ran, call, environment, few_shards, files

from openclawbench import Progress, api, open_data, open_release, run, validate
from openclawbench.errors import OpenClawBenchError, UnreadableInput, UsageError

pytestmark = pytest.mark.slow


def examples() -> str:
    """All blocks of the document, in order."""
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def test_the_examples_of_the_document_run(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "data" / "example")
    few_shards(tmp_path / "data" / "mine")
    asked = [sys.executable, "-c", examples()]
    ended = subprocess.run(asked, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "parts were computed; the release is in data/mine/release" in ended.stdout
    assert ended.stderr == ""


def test_every_public_name_is_in_the_document() -> None:
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    shown = {name for name in api.__all__ if re.search(rf"\b{name}\b", text)}
    assert {"run", "open_data", "open_release", "explain", "validate"} <= shown


def test_a_run_gives_the_bytes_of_the_command_line(
    small: Ran, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = few_shards(tmp_path / "data")
    done = run(data, raw=small.raw, oracle=EXAMPLE / "oracle")
    assert capfd.readouterr() == ("", "")
    assert done.release == data / "release"
    assert files(data / "release") == files(small.data / "release")
    assert (done.splits, done.cautions, done.reasons) == (small.ended.json["splits"], small.ended.json["cautions"], [])
    again = run(data)
    assert again.redone == 0
    printed = call("run", "--data", data, "--json").json
    in_common = printed.keys() - {"stages"}  # which say how many seconds each took
    assert again.as_dict.keys() == printed.keys()
    assert {name: again.as_dict[name] for name in in_common} == {name: printed[name] for name in in_common}
    assert again.judges == printed["judges"] != []
    pickled = pickle.dumps(again)
    assert len(pickled) < 50_000
    assert pickle.loads(pickled).as_dict == again.as_dict


def test_a_run_tells_its_progress_and_has_a_second_pass(small: Ran, tmp_path: Path) -> None:
    data = Path(shutil.copytree(small.data, tmp_path / "data"))
    stages: list[str] = []

    class Shards(Progress):
        def shard(self, stage: str, done: int, total: int) -> None:
            stages.append(stage)

    result = run(data, to="annotate", annotation_pass=2, second_judge="rules", progress=Shards())
    assert result.redone > 0
    assert "repair_pass2" in stages
    assert [line.partition(":")[0] for line in result.independence] == ["same_judge_twice"]
    assert (result.to, result.release, result.judges) == ("annotate", None, [])


def test_what_is_opened_is_what_the_command_line_says(small: Ran) -> None:
    data, release = open_data(small.data), open_release(small.data / "release")
    printed = call("export", "labels", "--data", small.data, "--format", "csv")
    assert data.table("labels").height == len(printed.text.splitlines()) - 1
    key = release.table().select("source_model", "trajectory_id").collect().row(0)
    assert data.explain("/".join(key)).as_dict == call("explain", "/".join(key), "--data", small.data, "--json").json
    assert release.table().select(pl.len()).collect().item() == data.table("merge").height
    for cut in ("default", "paper", *release.source_models):
        folder = {"default": ".", "paper": "paper_cut"}.get(cut, f"hold_out/{cut}")
        for side in ("train", "test"):
            lines = (release.path / folder / f"silver_{side}_labels.jsonl").read_text().splitlines()
            assert release.labels(side, cut, review=True).height == len(lines)
            assert "needs_review" not in set(release.labels(side, cut)["label_status"])
    assert release.labels("train").height > 0
    assert validate(release.path).ok


def test_what_is_wrong_is_raised_with_its_sentence(small: Ran, tmp_path: Path) -> None:
    for wrong, kind, stated in [
        (lambda: run(tmp_path / "d", to="everything"), UsageError, "there is no such stage"),
        (lambda: run(tmp_path / "d", annotation_pass=3), UsageError, "there is no such pass"),
        (lambda: run(tmp_path / "d", annotation_pass=2), UsageError, "is not part of a second pass"),
        (lambda: validate(tmp_path), UsageError, "so it is not a release"),
        (lambda: run(tmp_path / "d", jugde="rules"), UsageError, "jugde: there is no such setting"),
        (lambda: run(tmp_path / "d", engine="cuda"), UsageError, "engine cuda: there is no such engine"),
        (lambda: open_data(tmp_path / "nowhere"), UnreadableInput, "is not a data folder"),
        (lambda: open_release(tmp_path), UnreadableInput, "is not a release"),
        (
            lambda: open_release(small.data / "release").labels("train", "nobody"),
            UsageError,
            "use one of default, paper",
        ),
        (lambda: open_data(small.data).table("nothing"), UsageError, "there is no such table"),
        (lambda: open_data(small.data).explain("nobody"), OpenClawBenchError, "no trajectory has this id"),
    ]:
        with pytest.raises(kind, match=stated):
            wrong()
    assert not os.path.lexists(tmp_path / "nowhere")


def test_findings_are_given_as_they_are(small: Ran, tmp_path: Path) -> None:
    root = tmp_path / "release"
    shutil.copytree(small.data / "release", root)
    (root / "splits.json").write_text("{}\n")
    findings = validate(root)
    assert not findings.ok
    assert "splits.json" in {entry.file for entry in findings.kept}
