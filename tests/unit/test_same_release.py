"""tools/same_release: what two releases may differ in, and that everything else is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tools.same_release.compare import different_releases

ROWS = [{"trajectory_id": "a", "tier": "main", "oracle": {"score": 1}}, {"trajectory_id": "b", "tier": "main"}]
PACKAGE = {
    "provenance": {"program_sha256": "0", "rules_version": "r"},
    "resources": [{"path": "table.parquet", "hash": "1", "bytes": 5}],
}


def write(folder: Path, rows: list[dict[str, Any]] = ROWS, package: dict[str, Any] = PACKAGE, **parquet: Any) -> Path:
    """A release with a table in both forms, a text, and what lists digests."""
    release = folder / "release"
    release.mkdir(parents=True)
    (release / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pl.DataFrame({"n": [1, 2, 3]}).write_parquet(release / "table.parquet", **parquet)
    (release / "README.md").write_text("one\ntwo\n")
    (release / "datapackage.json").write_text(json.dumps(package))
    (release / "CHECKSUMS.sha256").write_text(str(folder))
    return folder


def package(**changed: Any) -> dict[str, Any]:
    return PACKAGE | {"provenance": PACKAGE["provenance"] | changed}  # type: ignore[operator]


def test_digests_and_the_making_of_parquet_are_no_difference(tmp_path: Path) -> None:
    first = write(tmp_path / "a")
    resources = [{"path": "table.parquet", "hash": "2", "bytes": 6}]
    second = write(tmp_path / "b", package=package(program_sha256="9") | {"resources": resources}, compression="zstd")
    assert different_releases(first, second) == []
    assert different_releases(first / "release", second) == []
    assert different_releases(tmp_path, tmp_path) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda release: (release / "README.md").write_text("one\n2\n"), ["README.md: -two", "README.md: +2"]),
        (lambda release: (release / "README.md").unlink(), ["README.md: only in {first}/release"]),
        (
            lambda release: pl.DataFrame({"n": [1, 2, 4]}).write_parquet(release / "table.parquet"),
            ["table.parquet: n in 1 of 3 rows; row 3: 3 -> 4"],
        ),
        (
            lambda release: (release / "datapackage.json").write_text(json.dumps(package(rules_version="s"))),
            ['datapackage.json: provenance.rules_version in 1 of 1 rows; row 1: "r" -> "s"'],
        ),
    ],
)
def test_what_differs_is_named(tmp_path: Path, change: Callable[[Path], object], expected: list[str]) -> None:
    first, second = write(tmp_path / "a"), write(tmp_path / "b")
    change(second / "release")
    assert different_releases(first, second) == [line.format(first=first) for line in expected]


def test_a_column_of_another_type_differs_though_its_values_are_equal(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a"), write(tmp_path / "b")
    pl.DataFrame({"n": [1, 2, 3]}, schema={"n": pl.Int32}).write_parquet(second / "release" / "table.parquet")
    assert different_releases(first, second) == ["table.parquet: -n: int64", "table.parquet: +n: int32"]


def test_fields_are_counted_over_rows_and_can_be_left_out(tmp_path: Path) -> None:
    first = write(tmp_path / "a")
    second = write(tmp_path / "b", [row | {"tier": "review"} for row in ROWS])
    assert different_releases(first, second) == ['rows.jsonl: tier in 2 of 2 rows; row 1 (a): "main" -> "review"']
    assert different_releases(first, second, frozenset({"tier"})) == []
    other = write(tmp_path / "c", [ROWS[0] | {"oracle": {"score": None}}])
    assert different_releases(first, other) == [
        "rows.jsonl: 2 and 1 rows",
        "rows.jsonl: oracle.score in 1 of 2 rows; row 1 (a): 1 -> null",
    ]


def test_a_folder_without_a_release_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no release there"):
        different_releases(write(tmp_path / "a"), tmp_path / "nothing")
