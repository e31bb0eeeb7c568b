"""One trajectory as one HTML file that opens anywhere: its style and script inside, nothing fetched, keys masked."""

import base64
import hashlib
from typing import Any

from markupsafe import Markup

from openclawbench.inspect.blind import blind_trajectory
from openclawbench.release.privacy.gate import Gate
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.version import __version__
from openclawbench.workbench.readers.reader import Reader
from openclawbench.workbench.site import HERE, TEMPLATES
from openclawbench.workbench.view.page_model import page_of

Row = dict[str, Any]
POLICY = "default-src 'none'; img-src data:"


def export_page(
    reader: Reader,
    model: str,
    trajectory_id: str,
    *,
    blind: bool = False,
    raw: bool = False,
    rules: PrivacyRules | None = None,
) -> str:
    """The file. `blind`: without label, outcome, risk and flags. `raw`: with the raw records of each step. `rules`: of
    the search, privacy.toml by default.

    What the rules redact in a release is redacted here. NotFound; ReleaseBlocked for what they block.
    """
    trajectory = reader.trajectory(model, trajectory_id)
    trajectory = blind_trajectory(trajectory) if blind else trajectory
    records: dict[str, list[Row]] = {}
    if raw:
        for step in trajectory["steps"]:
            raw_rows = reader.raw(model, trajectory_id, step["step_id"])
            texts = [row | {"content": row["content"].decode("utf-8", "backslashreplace")} for row in raw_rows]
            records[str(step["step_id"])] = texts
    gate = Gate(PrivacyRules.load() if rules is None else rules, f"export of {model}/{trajectory_id}")
    names = {"source_model": model, "trajectory_id": trajectory_id}
    (value,) = gate.let_out([names | {"trajectory": trajectory, "records": records}])
    style = (HERE / "static" / "style.css").read_text(encoding="utf-8")
    script = (HERE / "static" / "page.js").read_text(encoding="utf-8")
    return TEMPLATES.get_template("export.html").render(
        page=page_of(value["trajectory"]),
        blind=blind,
        records=value["records"],
        style=Markup(style),
        script=Markup(script),
        policy=f"{POLICY}; style-src 'sha256-{sha256(style)}'; script-src 'sha256-{sha256(script)}'",
        source=f"{reader.KIND} {reader.path.resolve().name}, state {reader.digest}",
        made_by=f"openclawbench {__version__}",
    )


def sha256(text: str) -> str:
    """The digest of an inline style or script, as a policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
