"""The paragraph of a release's README on the second pass."""

import json
from pathlib import Path
from typing import NamedTuple

from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.files.jsonl_files import open_lines, released
from openclawbench.release.files.names import BOTH_FILE, REFERENCE_FILE

SECOND_ROWS = f"""\
| `fulltax_prod_v1/<model>/stage_*_raw_pass2.jsonl` | every answer of the second pass's judge, verbatim |
| `{REFERENCE_FILE}` | every trajectory's label by the second pass, and whether both passes are sure of the same |
| `{BOTH_FILE}`, `both_high_confidence.parquet` | label rows of the records of which both passes are sure |
| `both_high_confidence_{{train,test}}.parquet` (in both cuts) | the same, by side of the cut |
"""
SECOND_NOTICE = """\
Second pass: every packet was judged once more, without sight of the first pass's answers, by {judges}. A record is in
`{both}` where both passes have it as high_confidence_accepted with the same `is_anomalous` and `anomaly_type_l2`; the
configuration `both_high_confidence` has its rows by side of the default cut. Labels everywhere else are the first
pass's alone.{warning}

"""
SAME_WARNING = " **Both passes have the same judge: that they agree says nothing.**"
RULES_WARNING = " The rules judge is a baseline, not annotation: agreement with it does not measure reliability."


class Guide(NamedTuple):
    """The paragraph of a release's README on the second pass; empty without one."""

    rows: str = ""
    notice: str = ""


def guide(root: Path, first_models: set[str]) -> Guide:
    """The paragraph for the release in `root`. `first_models`: judge_model of the first pass's records."""
    if not released(root / REFERENCE_FILE):
        return Guide()
    with open_lines(root / REFERENCE_FILE) as file:
        judges = {(row["judge"], row["judge_model"]) for row in map(json.loads, file) if row["judge"] is not None}
    return Guide(SECOND_ROWS, notice(sorted(judges), first_models))


def notice(who: list[tuple[str, str]], first_models: set[str]) -> str:
    """The notice on the judges of the second pass, with warnings."""
    judges = ", ".join(f"`{model}` (judge: {name})" for name, model in who)
    warning = RULES_WARNING if BASELINE_JUDGES & {name for name, _ in who} else ""
    warning += SAME_WARNING if first_models & {model for _, model in who} else ""
    return SECOND_NOTICE.format(judges=judges or "nobody", both=BOTH_FILE, warning=warning)
