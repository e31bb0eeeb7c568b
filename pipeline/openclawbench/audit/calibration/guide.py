"""The guide for a calibration sheet: what to fill in, and the protocol that judges get, in the same words."""

from importlib.resources import files

from openclawbench.audit.settings import AuditRules
from openclawbench.protocol.sections import documents
from openclawbench.records.calibration import CalibrationSample
from openclawbench.rules.fulltax.taxonomy import Taxonomy

TEMPLATE = (files("openclawbench.audit.calibration") / "guide.md").read_text(encoding="utf-8")
BLIND = (
    "The sheet does not show the silver label. Please decide without looking it up, so that your verdict is "
    "independent. (The files in `samples/` contain it, for the program.)"
)
HIDDEN = "; with `--no-label` it hides label, flags, risk and outcome"
SEEN = "The sheet shows the silver label. Verdicts are recorded and reported as not blind."


def guide(sample: CalibrationSample, rules: AuditRules) -> bytes:
    """The guide of a sample, as Markdown."""
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
        protocol=documents()["guide"].render(Taxonomy.load().tables()),
    ).encode()
