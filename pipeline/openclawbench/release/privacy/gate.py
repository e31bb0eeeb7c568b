"""The gate: rows that leave the data folder in another way than as a release are searched as a release is.

What blocks a release blocks them, what a release redacts is redacted in them.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from openclawbench.base.canonical_json import canonical_json
from openclawbench.errors import ReleaseBlocked
from openclawbench.records.release import Master
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.policy import flags_of, name_first_hits
from openclawbench.release.privacy.redact import RedactableLine, redact
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import TextFind, finds_of
from openclawbench.release.record_key import key_of

Row = dict[str, Any]
MASTER_FIELDS = Master.model_fields.keys()


class Gate:
    """The search of what one command writes. `what`: the command, as its messages name it."""

    def __init__(self, rules: PrivacyRules, what: str) -> None:
        self.rules, self.what = rules, what
        self.privacy_finder = PrivacyFinder(rules)
        self.redacted = rules.groups("redact")

    def let_out(self, rows: Sequence[Row]) -> list[Row]:
        """The same rows, those of a trajectory with finds to redact redacted: a find is replaced in every row of its
        trajectory, names are not changed. Raises ReleaseBlocked if one holds what a release must not hold."""
        lines = [canonical_json(row) for row in rows]
        table = pl.DataFrame(
            {"line": lines, "number": range(len(lines))}, schema={"line": pl.String, "number": pl.Int64}
        )
        finds = [*finds_of(table.with_columns(file=pl.lit("")), self.privacy_finder)]
        self.refuse(finds)
        to_redact = {find.line for find in finds if find.group in self.redacted and find.line is not None}
        if not to_redact:
            return [*rows]
        changed = [*rows]
        owners = {owner(rows[number], number) for number in to_redact}
        numbers_of: dict[object, list[int]] = {}
        for number, row in enumerate(rows):
            if (own := owner(row, number)) in owners:
                numbers_of.setdefault(own, []).append(number)
        for numbers in numbers_of.values():
            own_lines = [RedactableLine(rows[number], rows[number].keys() >= MASTER_FIELDS) for number in numbers]
            values = redact(own_lines, self.privacy_finder, self.redacted, self.rules.marker)
            for number, value in zip(numbers, values, strict=True):
                changed[number] = value
        return changed

    def refuse(self, finds: Sequence[TextFind]) -> None:
        """Raise ReleaseBlocked if a find must not leave."""
        in_texts, in_names = self.rules.groups("block"), self.rules.blocked_in_names()
        blocked = [find for find in finds if find.group in (in_names if find.in_name else in_texts)]
        if not blocked:
            return
        number = len({(find.source_model, find.trajectory_id) for find in blocked})
        named = name_first_hits(blocked, in_names, self.privacy_finder, number)
        rename = " A name cannot be redacted: rename the file." if any(find.in_name for find in blocked) else ""
        raise ReleaseBlocked(
            f"{self.what}: nothing is written: {number} records hold what must not leave ({named}). "
            f"{flags_of(in_texts)} puts a marker in its place.{rename} Add false finds to `allow` in {self.rules.FILE}."
        )


def owner(row: Row, number: int) -> object:
    """The trajectory of a row; a row of none stands for itself."""
    try:
        return key_of(row)
    except LookupError:
        return number
