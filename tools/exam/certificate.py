"""Write the certificate of the rules judge that comes with the program: `python -m tools.exam.certificate`.

It has to be made anew when the rules judge, its rules or the families change; `make certificate` does it. What the
documentation says of the result is changed with it.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from openclawbench.exam.sitting import CERTIFICATE, Exam, sit
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.certificates import OF_RULES_JUDGE
from openclawbench.workspace.progress import Progress

ROOT = Path(__file__).parents[2]
SEED = 1  # the public seed: everyone can draw this paper


def replace(path: Path, pattern: str, text: str) -> None:
    """Replace the only place of a pattern in a file."""
    content, places = re.subn(pattern, lambda _: text, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert places == 1, path
    path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        sitting = sit(Exam(DataFolder(Path(folder)), "full", SEED), {"judge": "rules"}, Progress())
        OF_RULES_JUDGE.write_bytes((sitting.folder / CERTIFICATE).read_bytes())
    certificate = sitting.certificate
    replace(ROOT / "docs" / "why" / "rules_judge.md", r"^> Judge rules .*$", f"> {certificate.sentence}")
    right = f"it gets {certificate.both_right.part} of {certificate.both_right.whole} pairs right"
    replace(ROOT / "README.md", r"it gets \d+ of \d+ pairs right", right)
    print(certificate.sentence)
