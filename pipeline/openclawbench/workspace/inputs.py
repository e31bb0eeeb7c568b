"""Scan the inputs of a data folder; many files are scanned in a separate process.

The scan needs more memory than its result, and Python keeps most of that until the process ends.
"""

import pickle
import subprocess
import sys
from itertools import islice
from pathlib import Path

from openclawbench.base.code_digest import Parsed, parse_cache
from openclawbench.intake.intake import Intake, take_in
from openclawbench.intake.raw_folder import files_below
from openclawbench.storage.data_folder import DataFolder, read_json
from openclawbench.storage.temporary_folder import temporary_folder
from openclawbench.workspace.settings import Settings

WORTH_A_PROCESS = 5_000  # input files; starting the process takes a second


def take_in_inputs(data: DataFolder, settings: Settings, save: bool) -> Intake:
    """Scan the inputs."""
    if not has_many_files(data, settings):
        return scan_in_this_process(data, settings, save)
    command = [sys.executable, "-P", "-c", f"from {__name__} import answer; answer()"]
    with temporary_folder("inputs") as packed:
        question = pickle.dumps((data.root.absolute(), data.remote, settings, save, packed))
        # A process session of its own: this process handles Ctrl-C, and ends the other one.
        ended = subprocess.run(command, input=question, capture_output=True, start_new_session=True, check=False)
        if ended.returncode == 0:
            intake: Intake = pickle.loads(ended.stdout)  # opens the files in the folder, which then lose their names
            return intake
    return scan_in_this_process(data, settings, save)  # raises what went wrong there


def scan_in_this_process(data: DataFolder, settings: Settings, save: bool, packed: Path | None = None) -> Intake:
    """The inputs, scanned in this process."""
    models, noncommercial = settings.bfcl_models, settings.accepts_noncommercial
    return take_in(data, settings.raw, settings.oracle, save, models, noncommercial, packed)


def has_many_files(data: DataFolder, settings: Settings) -> bool:
    """True if the scan is worth a process: by the last run, else by counting the files."""
    last = read_json(data.manifest_file("intake"))
    if isinstance(last, dict) and isinstance(last.get("files"), int):
        return int(last["files"]) >= WORTH_A_PROCESS
    if not isinstance(settings.raw, Path):
        return False
    return next(islice(files_below(str(settings.raw)), WORTH_A_PROCESS - 1, None), None) is not None


def answer() -> None:
    """Scan the inputs of the data folder that standard input names; standard output gets the Intake."""
    root, remote, settings, save, packed = pickle.load(sys.stdin.buffer)
    data = DataFolder(root, remote)
    load_code_digests(data)
    sys.stdout.buffer.write(pickle.dumps(scan_in_this_process(data, settings, save, packed)))


def load_code_digests(data: DataFolder) -> dict[str, Parsed]:
    """Load the parsed modules of the program that the last run in this folder kept."""
    parse_cache.load(read_json(data.code_file) or {})
    return parse_cache.rows()
