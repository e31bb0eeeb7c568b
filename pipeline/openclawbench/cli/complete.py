"""Shell completion of trajectory ids. It reads the part files as they are and never fails."""

import os
from pathlib import Path
from typing import Any

import typer

MOST_IDS = 200


def complete_trajectory(context: typer.Context, incomplete: str) -> list[str]:
    """Ids of trajectories, or MODEL/ID where a slash was typed, that begin so. Empty if nothing can be read."""
    import polars as pl

    from openclawbench.records.session import Trajectory
    from openclawbench.storage.data_folder import DataFolder

    data: Any = context.params.get("data") or os.environ.get("OPENCLAWBENCH_DATA", "data")
    try:
        files = sorted(DataFolder(Path(data)).table(Trajectory).glob("*.parquet"))
        frames = [pl.scan_parquet(file, glob=False).select("source_model", "trajectory_id") for file in files]
        rows = pl.concat(frames).unique().sort("trajectory_id", "source_model").collect().rows() if frames else []
    except (OSError, pl.exceptions.PolarsError):
        return []
    ids = [f"{model}/{name}" if "/" in incomplete else name for model, name in rows]
    return list(dict.fromkeys(name for name in ids if name.startswith(incomplete)))[:MOST_IDS]
