"""Effect of other rules for splits (release.toml): the split is made again in memory, from the present records."""

from typing import Any

import polars as pl

from openclawbench.inspect.find import rows_of
from openclawbench.inspect.whatif.change import AFTER, CHANGE, change
from openclawbench.records.release import Fingerprint, LabelAssignment, LabelBasis
from openclawbench.release.labels.places import CUTS
from openclawbench.release.labels.split import split_corpus
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.runtime.run import Run
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workspace.split_counts import count_splits

FILE = ReleaseRules.FILE
WHATS = [*CUTS, "in_calibration_pool"]
REASONS = {"default_cut": "default_reason", "paper_cut": "paper_reason"}


def split_again(run: Run, rules: Rules) -> tuple[pl.DataFrame, dict[str, Any]]:
    """(changes in the columns of CHANGE, sides before and after). Raises NotFound if the splits are not up to date."""
    before = rows_of(run, LabelAssignment).sort(TRAJECTORY_KEY).collect()
    assert isinstance(rules, ReleaseRules)
    (assigned,), _ = split_corpus([(rows_of(run, LabelBasis), rows_of(run, Fingerprint))], rules)
    after = assigned.collect()
    pairs = before.lazy().join(after.lazy(), on=TRAJECTORY_KEY, suffix=AFTER, maintain_order="left")
    moved = [change(pairs, name, place(name, ""), place(name, AFTER)) for name in WHATS]
    return pl.concat(pl.collect_all(moved)).match_to_schema(CHANGE), {
        "before": count_splits(before.lazy()),
        "after": count_splits(after.lazy()),
    }


def place(name: str, suffix: str) -> pl.Expr:
    """A side, or the reason why the record has no side."""
    value = pl.col(f"{name}{suffix}").cast(pl.String)
    return pl.coalesce(value, pl.col(f"{REASONS[name]}{suffix}")) if name in REASONS else value
