"""`openclawbench push REPO`: a release on the Hugging Face Hub."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import errors, output, safe
from openclawbench.cli.commands.validate import NEEDS_A_PERSON, print_findings
from openclawbench.errors import UsageError
from openclawbench.storage.data_folder import DataFolder

Repo = Annotated[str, typer.Argument(metavar="REPO", help="Dataset repository, owner/name; made if missing.")]
Data = Annotated[Path, typer.Option("--data", envvar="OPENCLAWBENCH_DATA", help="Whose release; see --release.")]
Release = Annotated[Path | None, typer.Option("--release", help="A release folder, or any copy of one.")]
Public = Annotated[bool, typer.Option("--public", help="For everyone to see; private without it.")]
Yes = Annotated[bool, typer.Option("--yes", help="What was found in released text has been looked at.")]


def push(
    repo: Repo,
    data: Data = Path("data"),
    release: Release = None,
    public: Public = False,
    yes: Yes = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Upload a release to the Hugging Face Hub, where `validate` finds nothing wrong with it."""
    from openclawbench.release.hub import push as upload
    from openclawbench.release.validate.validate import validate

    folder = release or DataFolder(data).release
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no release. Build one with `openclawbench release`, or name --release.")
    findings = validate(folder)
    keys = sum(row["finds"] for row in findings.reported if row["group"] == "key")
    if not findings.ok:
        print_findings(findings)
        output().print("nothing was uploaded")
        raise typer.Exit(NEEDS_A_PERSON)
    if keys:
        raise UsageError(f"{folder}: holds {keys} texts that look like keys. Release it with --on-keys redact first.")
    refuse_unsaid(folder, public)
    if public and not yes:
        look_at_finds(folder)
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    done = upload(folder, repo, public)
    seen = "private" if done.private else "public"
    output().print(f"{safe(repo)} ({seen}): {done.added} files, {done.removed} of a former release removed")
    output().print(safe(done.commit))


def look_at_finds(folder: Path) -> None:
    """Show what everyone would see: the finds that the release reports, masked, the strictest first, and ask. Raises
    UsageError where there are any and nobody can be asked."""
    from openclawbench.release.card.configs import models_of
    from openclawbench.release.privacy.detect import Detector
    from openclawbench.release.privacy.policy import look_first, sentence
    from openclawbench.release.validate.files.released_text import rules_of, scan_release
    from openclawbench.release.validate.findings import Findings

    detector = Detector(rules_of(folder, Findings()))
    text, paths = scan_release(folder, models_of(folder), detector)
    finds = [find for find in (*text.kept, *paths.kept) if find.group != "redacted"]
    if not finds:
        return
    shown = look_first(finds, detector.rules)
    errors().print(f"push: everyone will see what was found in released text. Look at these {len(shown)}:")
    for find in shown:
        errors().print(safe(f"  {sentence(find.masked(detector))}"))
    if not sys.stdin.isatty():
        raise UsageError(
            "push: nothing was uploaded. Look at the finds above, then say --yes; or release with redaction."
        )
    if not typer.confirm("Upload it for everyone to see?"):
        output().print("nothing was uploaded")
        raise typer.Exit(NEEDS_A_PERSON)


def refuse_unsaid(folder: Path, public: bool) -> None:
    """UsageError where a release that everyone is to see does not say who made it or under which licence; a private one
    is warned of."""
    from openclawbench.release.validate.recompute.card import settings

    if not (lacking := settings(folder).dataset.lacking):
        return
    keys = " and ".join(f"[dataset] {name}" for name in lacking)
    said = f"{folder}: publish.toml gives no {keys}. Give it in your own (OPENCLAWBENCH_RULES) and run `release` again."
    if public:
        raise UsageError(f"push: {said}")
    errors().print(f"warning: {safe(said)} Before the repository is made public it must be there.")
