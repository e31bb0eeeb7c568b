"""The storage layout of RunArtifacts: which files of the raw folder belong to a run. Paths only, nothing is opened.

runs/suit_<suite>/run_profile_<fp6>/<model>/<case>/run_<N>.json, with run_<N>.artifacts/ beside it, and
evaluations/suit_<suite>/evaluation_profile_<fp6>/<evaluation>/<model>/<case>/raw_outputs/final_result_<N>.json, where
older versions of the runner leave `raw_outputs/` out.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from openclawbench.sources.io.listing_cache import cached_by_listing

RUN = re.compile(
    r"^(?P<root>.*?)(?:^|(?<=/))runs/suit_(?P<suite>[^/]+)/run_profile_(?P<profile>[^/]+)/(?P<model>[^/]+)/(?P<case>[^/]+)"
    r"/run_(?P<number>[0-9]+)\.json$"
)
EVALUATION = re.compile(
    r"^(?P<root>.*?)(?:^|(?<=/))evaluations/suit_(?P<suite>[^/]+)/evaluation_profile_(?P<profile>[^/]+)/[^/]+"
    r"/(?P<model>[^/]+)/(?P<case>[^/]+)/(?:raw_outputs/)?final_result_(?P<number>[0-9]+)\.json$"
)
RUN_FILE = re.compile(r"^run_([0-9]+)\.json$")
OWN_FOLDER = re.compile(r"^(.*?run_[0-9]+)\.artifacts/")
RAW_TRACE = re.compile(r"raw_session_trace[^/]*\.json$")


@dataclass
class Layout:
    """The raw files that concern RunArtifacts, by what they belong to."""

    evaluations: dict[tuple[str, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    sessions: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # by folder or own folder
    traces: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # by own folder
    runs: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # by folder


@cached_by_listing
def layout(paths: frozenset[str]) -> Layout:
    """Sort all raw files once."""
    folder_layout = Layout()
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        own = own_folder(path)
        evaluation = EVALUATION.match(path) if "/final_result_" in path else None
        if evaluation:
            folder_layout.evaluations[evaluation.groups()].append(path)
        elif RUN_FILE.match(name):
            folder_layout.runs[folder].append(path)
        elif ".jsonl" in name and ".trajectory." not in name:
            folder_layout.sessions[own[1] if own else folder].append(path)
        elif own and RAW_TRACE.search(name):
            folder_layout.traces[own[1]].append(path)
    return folder_layout


def own_folder(path: str) -> re.Match[str] | None:
    """The folder of the run in whose own folder a path is, as group 1."""
    return OWN_FOLDER.match(path) if ".artifacts/" in path else None


def repetition(path: str) -> int | None:
    """N of run_<N>.json, else None."""
    match = RUN_FILE.match(path.rpartition("/")[2])
    return int(match[1]) if match else None


def evaluations_of(path: str, paths: frozenset[str]) -> list[str]:
    """Evaluation results of the run at `path`: same root, suite, run profile, model, case and repetition."""
    run = RUN.match(path)
    return layout(paths).evaluations.get(run.groups(), []) if run else []


def is_evaluation_of(path: str, run: str) -> bool:
    """True if a file is an evaluation result of the run at `run`: its repetition, not another's beside it."""
    own, evaluated = RUN.match(run), EVALUATION.match(path)
    return own is not None and evaluated is not None and own.groups() == evaluated.groups()


def sessions_of(path: str, paths: frozenset[str]) -> list[str]:
    """Native session files that may be the run's: in its own folder, and next to the artifact."""
    sessions = layout(paths).sessions
    return sessions.get(path.removesuffix(".json"), []) + sessions.get(path.rpartition("/")[0], [])


def traces_of(path: str, paths: frozenset[str]) -> list[str]:
    """What the agent's command line printed in the run at `path`."""
    return layout(paths).traces.get(path.removesuffix(".json"), [])


def runs_of(session_path: str, paths: frozenset[str]) -> list[str]:
    """RunArtifacts that a native session may belong to: the one whose own folder it lies in, else those next to it."""
    own = own_folder(session_path)
    if own:
        return [f"{own[1]}.json"] if f"{own[1]}.json" in paths else []
    return layout(paths).runs.get(session_path.rpartition("/")[0], [])


def in_own_folder(session_path: str, path: str) -> bool:
    """True for a file in the run's own folder."""
    return session_path.startswith(path.removesuffix(".json") + ".artifacts/")
