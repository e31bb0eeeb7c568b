"""Write the certificate of the rules judge that comes with the program: `python -m tools.exam.certificate`.

It has to be made anew when the rules judge, its rules or the families change; `make certificate` does it. What the
documentation says of the result is changed with it.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from openclawbench.exam.sitting import CERTIFICATE, Exam, sit
from openclawbench.release.provenance import OF_RULES_JUDGE
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress
from tools.exam.mechanisms import BUILD, SET_ASIDE, counted, evidence_of, fired, markdown

ROOT = Path(__file__).parents[2]
START, END = "<!-- mechanisms:start -->", "<!-- mechanisms:end -->"
SEED = 1  # the public seed: everyone can draw this paper


def replace(path: Path, pattern: str, text: str) -> None:
    """Replace the only place of a pattern in a file."""
    content, places = re.subn(pattern, lambda _: text, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert places == 1, path
    path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        exam = Exam(DataFolder(Path(folder)), "full", SEED)
        sitting = sit(exam, {"judge": "rules"}, Progress())
        items, fired_mechanisms = sitting.paper.items, fired(evidence_of(exam))
        tables, parts = (
            markdown(items, fired_mechanisms),
            [counted(items, fired_mechanisms, part) for part in (BUILD, SET_ASIDE)],
        )
        OF_RULES_JUDGE.write_bytes((sitting.folder / CERTIFICATE).read_bytes())
    certificate = sitting.certificate
    page = ROOT / "docs" / "why" / "rules_judge.md"
    replace(page, r"^> Judge rules .*$", f"> {certificate.sentence}")
    replace(page, r"(?s)<!-- mechanisms:start -->.*<!-- mechanisms:end -->", f"{START}\n{tables}\n{END}")
    right = f"it gets {certificate.both_right.part} of {certificate.both_right.whole} pairs right"
    build, aside = (f"{100 * hits / pairs:.0f} %" for pairs, hits, _ in parts)
    replace(ROOT / "README.md", r"it gets \d+ of \d+ pairs right: \d+ % of", f"{right}: {build} of")
    replace(ROOT / "README.md", r"built with, \d+ % of", f"built with, {aside} of")
    print(certificate.sentence)
