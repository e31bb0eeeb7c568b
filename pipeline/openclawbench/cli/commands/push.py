"""`openclawbench push REPO`: a release on the Hugging Face Hub."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import errors, output, safe
from openclawbench.cli.commands.validate import print_findings
from openclawbench.cli.options import DATA
from openclawbench.errors import NEEDS_A_PERSON, UsageError

Repo = Annotated[str, typer.Argument(metavar="REPO", help="Dataset repository, owner/name; made if missing.")]
Data = Annotated[Path, typer.Option("--data", envvar="OPENCLAWBENCH_DATA", help="Whose release; see --release.")]
Release = Annotated[Path | None, typer.Option("--release", help="A release folder, or any copy of one.")]
Public = Annotated[bool, typer.Option("--public", help="For everyone to see; private without it.")]
Yes = Annotated[bool, typer.Option("--yes", help="What was found in released text has been looked at.")]


def push(
    repo: Repo,
    data: Data = DATA,
    release: Release = None,
    public: Public = False,
    yes: Yes = False,
) -> None:
    """Upload a release to the Hugging Face Hub, if `validate` finds nothing wrong with it."""
    from openclawbench.api import validate
    from openclawbench.release.hub import push as upload
    from openclawbench.storage.data_folder import DataFolder

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
    refuse_missing_credits(folder, public)
    if public and not yes:
        confirm_finds(folder)
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    uploaded = upload(folder, repo, public)
    visibility = "private" if uploaded.private else "public"
    counts = f"{uploaded.added} files, {uploaded.removed} of a former release removed"
    output().print(f"{safe(repo)} ({visibility}): {counts}")
    output().print(safe(uploaded.commit))


def confirm_finds(folder: Path) -> None:
    """Show what everyone would see, masked and the strictest first, and ask. Raises UsageError if there are finds and
    stdin is not a terminal."""
    from openclawbench.release.files.names import models_of
    from openclawbench.release.privacy.finder import PrivacyFinder
    from openclawbench.release.privacy.policy import look_first, sentence
    from openclawbench.release.validate.files.released_text import rules_of, scan_release
    from openclawbench.release.validate.findings import Findings

    privacy_finder = PrivacyFinder(rules_of(folder, Findings()))
    text, paths = scan_release(folder, models_of(folder), privacy_finder)
    finds = [find for find in (*text.kept, *paths.kept) if find.group != "redacted"]
    if not finds:
        return
    shown = look_first(finds, privacy_finder.rules)
    errors().print(f"push: everyone will see what was found in released text. Look at these {len(shown)}:")
    for find in shown:
        errors().print(safe(f"  {sentence(find.masked(privacy_finder))}"))
    if not sys.stdin.isatty():
        raise UsageError(
            "push: nothing was uploaded. Look at the finds above, then say --yes; or release with redaction."
        )
    if not typer.confirm("Upload it for everyone to see?"):
        output().print("nothing was uploaded")
        raise typer.Exit(NEEDS_A_PERSON)


def refuse_missing_credits(folder: Path, public: bool) -> None:
    """Raise UsageError if a public release does not say who made it or under which licence; warn of a private one."""
    from openclawbench.release.validate.recompute.card import settings

    if not (lacking := settings(folder).dataset.lacking):
        return
    keys = " and ".join(f"[dataset] {name}" for name in lacking)
    problem = (
        f"{folder}: publish.toml gives no {keys}. Give it in your own (OPENCLAWBENCH_RULES) and run `release` again."
    )
    if public:
        raise UsageError(f"push: {problem}")
    errors().print(f"warning: {safe(problem)} It must be there before the repository is made public.")
