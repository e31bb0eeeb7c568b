"""Check families of the exam: `python -m tools.exam.check [NAME …]`. Exit status 1 where one is not valid."""

import sys

from openclawbench.exam.check import check_family
from openclawbench.exam.family import FAMILIES, load_families

if __name__ == "__main__":
    findings = []
    for name, family in load_families(FAMILIES).items():
        if not sys.argv[1:] or name in sys.argv[1:]:
            findings += check_family(FAMILIES, name, family)
    print("\n".join(findings) or "every family is valid")
    sys.exit(bool(findings))
