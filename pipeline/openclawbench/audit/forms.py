"""Recognize which review form a sheet has, by the column of the form's first answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openclawbench.audit.calibration.form import CALIBRATION
from openclawbench.audit.events.form import EVENTS
from openclawbench.audit.sheets.check import Form
from openclawbench.audit.sheets.review_sheet import SheetRow, require_columns
from openclawbench.errors import UnreadableInput

FORMS: tuple[Form[Any, Any], ...] = (EVENTS, CALIBRATION)


def form_of(path: Path, rows: Sequence[SheetRow]) -> Form[Any, Any]:
    """The form of a sheet. Raises UnreadableInput if no form matches or a required column is missing."""
    for form in FORMS:
        if any(form.answers[0] in row.values for row in rows):
            require_columns(path, rows, form.needed)
            return form
    names = " nor ".join(form.answers[0] for form in FORMS)
    raise UnreadableInput(f"{path}:1: no column {names}. Import a sheet that `audit sample-…` wrote.")
