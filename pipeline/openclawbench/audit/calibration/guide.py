"""The guide that lies beside a calibration sheet: what to fill in, and by which taxonomy (paper T17, T20, T21, D.8)."""

from importlib.resources import files

from openclawbench.audit.settings import AuditRules
from openclawbench.records.calibration import CalibrationSample

TEMPLATE = (files("openclawbench.audit.calibration") / "guide.md").read_text(encoding="utf-8")
BLIND = (
    "The sheet does not show the silver label. Please do not look it up before you have decided: a verdict is worth "
    "most where it was reached without it. (`samples/` holds it, for the program.)"
)
HIDDEN = ", and hides label, flags, risk and outcome as long as `--no-label` stands in it"
SEEN = "The sheet shows the silver label; a verdict reached beside it is recorded and reported as such."


def guide(sample: CalibrationSample, rules: AuditRules) -> bytes:
    """Markdown."""
    words = rules.answers
    return TEMPLATE.format(
        sample=sample.sample,
        number=sum(sample.drawn.values()),
        blind=BLIND if sample.blind else SEEN,
        hidden=HIDDEN if sample.blind else "",
        anomalous=words.anomalous[0],
        normal=words.normal[0],
        unresolved=words.unresolved[0],
        nowhere=words.nowhere[0],
    ).encode()
