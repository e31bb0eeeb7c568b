"""Write the generated files that are committed, or with --check say which are stale (exit 1)."""

import sys

from tools.site.pages import ROOT, committed, stale


def main(arguments: list[str]) -> int:
    """Write or compare."""
    if "--check" in arguments:
        differ = stale()
        print("\n".join([*differ, "run `python -m tools.site`"]) if differ else "generated documents are up to date")
        return int(bool(differ))
    for path, text in committed().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)} is written")
    return 0


sys.exit(main(sys.argv[1:]))
