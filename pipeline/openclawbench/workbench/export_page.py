"""One trajectory as one HTML file that opens anywhere: its style and script inside, nothing fetched, keys masked."""

import base64
import hashlib
from typing import Any

from markupsafe import Markup

from openclawbench.errors import ReleaseBlocked
from openclawbench.inspect.blind import blind_trajectory
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.redact import RedactableLine, Redactor
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import texts_of
from openclawbench.version import __version__
from openclawbench.workbench.readers.reader import Reader
from openclawbench.workbench.site import HERE, TEMPLATES
from openclawbench.workbench.view.page_model import page_of

Row = dict[str, Any]
POLICY = "default-src 'none'; img-src data:"


def export_page(reader: Reader, model: str, trajectory_id: str, *, blind: bool = False, raw: bool = False) -> str:
    """The file. `blind`: without label, outcome, risk and flags. `raw`: with the raw records of each step.

    What privacy.toml redacts in a release is masked. NotFound; ReleaseBlocked for what it blocks.
    """
    trajectory = reader.trajectory(model, trajectory_id)
    trajectory = blind_trajectory(trajectory) if blind else trajectory
    records: dict[str, list[Row]] = {}
    if raw:
        for step in trajectory["steps"]:
            raw_rows = reader.raw(model, trajectory_id, step["step_id"])
            texts = [row | {"content": row["content"].decode("utf-8", "backslashreplace")} for row in raw_rows]
            records[str(step["step_id"])] = texts
    value = mask_value({"trajectory": trajectory, "records": records}, f"{model}/{trajectory_id}")
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


def mask_value(value: Row, name: str) -> Row:
    """The value with what a release would redact replaced by the marker. ReleaseBlocked for what a release refuses."""
    rules = PrivacyRules.load()
    privacy_finder = PrivacyFinder(rules)
    blocked = rules.groups("block")
    for place, _, text in texts_of(value):
        for hit in privacy_finder.hits(text):
            if hit.group in blocked:
                raise ReleaseBlocked(
                    f"{name}: {place} holds a {hit.kind}, which is not exported. Set on_{hit.group} in privacy.toml to "
                    "redact, or remove it from the raw session."
                )
    changed: Row = Redactor([RedactableLine(value, False)], privacy_finder, rules.groups("redact"), rules.marker).line(
        value
    )
    return changed
