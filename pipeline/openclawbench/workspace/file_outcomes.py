"""The outcome of each input: counts, and the files that a person may want to check."""

from typing import Any

import polars as pl

from openclawbench.construct.normalize.messages import ARCHIVE
from openclawbench.sources.openclaw.session_index import REASON as BROKEN_CONTEXT

UNUSED = (BROKEN_CONTEXT, ARCHIVE)  # reasons of files beside sessions that a person should look at


def count_inputs(files: pl.LazyFrame) -> list[dict[str, Any]]:
    """Per source model: sessions_in = trajectories + copies + quarantined; other files are counted separately.
    `files`: FileOutcome."""
    kind = pl.col("disposition")
    counted = files.group_by("source_model").agg(
        sessions_in=(kind != "sidecar").sum(),
        trajectories=(kind == "trajectory").sum(),
        copies=(kind == "copy").sum(),
        quarantined=(kind == "quarantined").sum(),
        no_sessions=(kind == "sidecar").sum(),
        records_in=pl.col("records_in").sum(),
    )
    return counted.sort("source_model").collect().to_dicts()


def noted_files(files: pl.LazyFrame) -> pl.DataFrame:
    """Rows of FileOutcome that say what is wrong: quarantined, unused next to a session, or kept with a warning."""
    quarantined, unused = pl.col("disposition") == "quarantined", pl.col("reason").is_in(UNUSED)
    return files.filter(quarantined | unused.fill_null(False) | (pl.col("warnings").list.len() > 0)).collect()
