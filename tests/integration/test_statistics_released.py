"""Statistics in a release: computed again from any copy, and each way of making them lie is named by validate."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from child import call
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from sealing import Damage, found_after
from thorough import every

pytestmark = pytest.mark.slow

DATA, TEXT, PICTURE = "statistics.json", "STATISTICS.md", "statistics/gap.png"


def data(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Change statistics.json."""

    def damage(root: Path) -> None:
        document = json.loads((root / DATA).read_text())
        change(document["sections"])
        (root / DATA).write_text(json.dumps(document, indent=1) + "\n")

    return damage


def repaint(change: Callable[[Image.Image], Image.Image], stamp: dict[str, str] | None = None) -> Damage:
    """Another picture that says the same of itself."""

    def damage(root: Path) -> None:
        with Image.open(root / PICTURE) as picture:
            kept = PngInfo()
            for name, value in (picture.text | (stamp or {})).items():
                kept.add_text(name, value)
            buffer = io.BytesIO()
            change(picture.convert("RGBA")).save(buffer, "png", pnginfo=kept)
        (root / PICTURE).write_bytes(buffer.getvalue())

    return damage


def blacked(picture: Image.Image) -> Image.Image:
    picture.putpixel((5, 5), (0, 0, 0, 255))
    return picture


def first_row(name: str, **values: Any) -> Damage:
    return data(lambda sections: sections[name]["rows"][0].update(values))


def in_both_texts(root: Path) -> None:
    """The same wrong number in data and text: only the records disagree."""
    first_row("source_models", trajectories=8)(root)
    text = (root / TEXT).read_text()
    assert "| `scripted-a` | 7 |" in text
    (root / TEXT).write_text(text.replace("| `scripted-a` | 7 |", "| `scripted-a` | 8 |"))


def line(before: str, after: str) -> Damage:
    def damage(root: Path) -> None:
        text = (root / TEXT).read_text()
        assert before in text
        (root / TEXT).write_text(text.replace(before, after, 1))

    return damage


WAYS: dict[str, tuple[Damage, set[str]]] = {
    "a count": (first_row("gap", anomalous=1_000), {"statistics", "identities"}),
    "a share": (first_row("gap", baseline_share=0.5), {"statistics", "identities"}),
    "an end of an interval": (first_row("gap", low_share=0.0), {"statistics"}),
    "a total": (first_row("onset_steps", trajectories=77), {"statistics", "identities"}),
    "a definition": (data(lambda s: s["gap"]["columns"].update(anomalous="all of them")), {"statistics"}),
    "a number without a definition": (data(lambda s: s["gap"]["definitions"].clear()), {"schema"}),
    "a table that is missing": (data(lambda s: s.pop("severity")), {"schema"}),
    "no numbers at all": (lambda root: (root / DATA).unlink(), {"statistics", "card"}),
    "numbers that are no JSON": (lambda root: (root / DATA).write_text("{"), {"statistics", "card"}),
    "a line of the text": (line("# Statistics", "# Achievements"), {"statistics"}),
    "text and data alike": (in_both_texts, {"statistics", "identities"}),
    "a text that hides who judged": (line("made by the rules judge", "made by experts"), {"statistics"}),
    "no text": (lambda root: (root / TEXT).unlink(), {"file_missing"}),
    "a picture of other numbers": (
        lambda root: shutil.copy(root / "statistics" / "severity.png", root / PICTURE),
        {"pictures"},
    ),
    "a pixel": (repaint(blacked), {"pictures"}),
    "a picture that is none": (
        lambda root: (root / PICTURE).write_bytes((root / PICTURE).read_bytes()[:600]),
        {"pictures"},
    ),
    "a picture too many": (
        lambda root: (root / "statistics" / "more.png").write_bytes(b"PNG"),
        {"file_unknown"},
    ),
    "a picture that is missing": (lambda root: (root / PICTURE).unlink(), {"file_missing"}),
}


@pytest.mark.parametrize("way", every(3, WAYS))
def test_each_way_of_making_statistics_lie_is_named(way: str, copy: Path) -> None:
    damage, expected = WAYS[way]
    findings = found_after(damage, copy)
    assert expected <= findings.counts.keys(), (way, findings.kept)


def test_a_picture_that_is_compressed_in_another_way_or_drawn_elsewhere_is_no_lie(copy: Path) -> None:
    actual_findings = found_after(repaint(lambda picture: picture), copy)
    assert "pictures" not in actual_findings.counts  # its digest is another matter
    findings = found_after(repaint(blacked, {"Software": "matplotlib 0.1"}), copy)
    assert "pictures" not in findings.counts
    assert findings.checked["pictures_of_another_version"] == 1


def test_the_command_computes_the_same_from_a_copy(copy: Path, tmp_path: Path) -> None:
    out = tmp_path / "computed"
    ended = call("report", "statistics", copy, "-o", out, "--json")
    assert ended.status == 0, ended.err
    assert ended.out == (copy / DATA).read_bytes()
    names = sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())
    assert len(names) == 2 + len([*(copy / "statistics").glob("*.png")]) > 2
    assert [name for name in names if (out / name).read_bytes() != (copy / name).read_bytes()] == []
    shown = call("report", "statistics", copy)
    assert "Outcome-process gap" in shown.text
    assert "made by the rules judge" in shown.text


def test_wrong_use_of_the_command_is_one_sentence(copy: Path, tmp_path: Path) -> None:
    nowhere = call("report", "statistics", tmp_path)
    assert (nowhere.status, "so it is not a release" in nowhere.err) == (2, True)
    inside = call("report", "statistics", copy, "-o", copy)
    assert (inside.status, "a release is not written to" in inside.err) == (2, True)
    (copy / "publish.toml").write_text("version = 1")
    broken = call("report", "statistics", copy)
    assert (broken.status, "publish.toml" in broken.err) == (2, True)
    (copy / "publish.toml").unlink()
    next((copy / "fulltax_prod_v1" / "scripted-a").glob("master_table*.parquet")).write_bytes(b"PAR1")
    torn = call("report", "statistics", copy)
    assert (torn.status, "cannot read the release" in torn.err) == (2, True)


def test_the_card_shows_them(copy: Path) -> None:
    card = (copy / "README.md").read_text()
    assert "![Outcome-process gap: not measured](statistics/gap.png)" in card  # the rules judge's baseline
    gap = json.loads((copy / DATA).read_text())["sections"]["gap"]["rows"][0]
    counts = " | ".join(str(gap[name]) for name in ("trajectories", "measured", "undecided", "in_review", "anomalous"))
    assert f"| `all` | `all` | {counts} |" in card
    assert "(STATISTICS.md)" in card
