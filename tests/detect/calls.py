"""The command in this process: what it prints, and the exit status that its error stands for."""

from collections.abc import Mapping
from pathlib import Path

from child import Ended
from typer.testing import CliRunner

from openclawbench.cli.app import app
from openclawbench.errors import OpenClawBenchError


def call(*arguments: str | Path, env: Mapping[str, str] | None = None) -> Ended:
    """Run `openclawbench ARGUMENTS`. An error that the program does not mean to show is raised."""
    ended = CliRunner().invoke(app, [*map(str, arguments)], env=dict(env or {}))
    if isinstance(ended.exception, OpenClawBenchError):
        return Ended(ended.exception.exit_status, ended.stdout_bytes, f"{ended.stderr}error: {ended.exception}\n")
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return Ended(ended.exit_code, ended.stdout_bytes, ended.stderr)


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
