"""`openclawbench bench`: make the benchmark corpus, measure on it."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.corpus import write_corpus
from benchmarks.end_to_end import print_end_to_end, run_end_to_end, sizes_of
from benchmarks.ingest import DEFAULT_SCALE, Job, big_bytes_at, print_results, run_benchmark, sessions_at
from benchmarks.privacy import print_alarms
from benchmarks.release import print_release, run_release
from benchmarks.rules_judge import as_markdown, measure, put_into
from benchmarks.size import print_size, run_size
from benchmarks.stages import print_stages, run_stages
from openclawbench.base.resources import how_to_install, resource
from openclawbench.base.terminal import output
from openclawbench.errors import UsageError
from openclawbench.storage.data_folder import write_json

app = typer.Typer(
    help="Benchmarks: a made-up corpus of any size, and what it costs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Seed = Annotated[int, typer.Option("--seed", help="The same seed makes the same bytes.")]
Scratch = Annotated[Path | None, typer.Option("--scratch", help="Where the corpus lies while it is needed.")]


def create_scratch(scratch: Path | None) -> Path | None:
    """Create the folder for temporary files. Raises UsageError where that fails."""
    if scratch is not None:
        try:
            scratch.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--scratch {scratch}: {error.strerror}. Name a folder that can be made.") from error
    return scratch


def save(folder: Path | None, name: str, results: dict[str, Any]) -> None:
    """Write the results into the folder, if one is named."""
    if folder is not None:
        write_json(folder / name, json.loads(json.dumps(results)))


def need_orjson() -> None:
    """Raise UsageError where orjson, the reference, is not installed."""
    if find_spec("orjson") is None:
        raise UsageError(f"orjson, the yardstick, is not installed. {how_to_install('bench')}.")


@app.command()
def corpus(
    sessions: Annotated[int, typer.Option("--sessions", min=1, help="How many; 31264 are about 1 GB.")],
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder to make: raw/ and oracle/ are put in it.")],
    seed: Seed = 1,
) -> None:
    """Write made-up sessions with a run manifest and outcomes."""
    if (out / "raw").exists():
        raise UsageError(f"{out}: has a raw/ already. Name another folder.")
    written = write_corpus(out, sessions, seed)
    output().print(f"{out}: {written.sessions} sessions, {written.bytes / 1e6:.1f} MB")


@app.command()
def ingest(
    scale: Annotated[
        float,
        typer.Option(
            "--scale", min=0.0, help="1 is 31264 sessions, about 1 GB; below 0.1 the session of 200 MB shrinks."
        ),
    ] = DEFAULT_SCALE,
    seed: Seed = 1,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for ingest.json.")] = None,
    scratch: Scratch = None,
) -> None:
    """Measure scan and normalize beside reading and parsing alone."""
    need_orjson()
    results = run_benchmark(Job(sessions_at(scale), seed, big_bytes_at(scale)), create_scratch(scratch))
    print_results(output(), results)
    save(out, "ingest.json", results)


@app.command()
def privacy(
    folders: Annotated[list[Path], typer.Argument(help="Folders of JSON and JSONL files.", exists=True)],
    shown: Annotated[int, typer.Option("--show", min=0, help="Masked excerpts to show of each kind.")] = 0,
) -> None:
    """Count what the privacy rules find in files as they are."""
    for folder in folders:
        print_alarms(output(), folder, shown)


@app.command()
def stages(
    scale: Annotated[float, typer.Option("--scale", min=0.0, help="1 is 31264 sessions, about 1 GB.")] = 0.1,
    seed: Seed = 1,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for stages.json.")] = None,
    scratch: Scratch = None,
) -> None:
    """Measure every stage from describe to packet beside normalize."""
    results = run_stages(sessions_at(scale), seed, create_scratch(scratch))
    print_stages(output(), results)
    save(out, "stages.json", results)


@app.command("end-to-end")
def end_to_end(
    scale: Annotated[float, typer.Option("--scale", min=0.0, help="Of the largest size; 1 is 31264 sessions.")] = 0.1,
    seed: Seed = 1,
    with_ray: Annotated[bool, typer.Option("--ray", help="The engine `ray` too, with one and two workers.")] = False,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for end_to_end.json.")] = None,
    scratch: Scratch = None,
) -> None:
    """Measure raw sessions to a release at three sizes beside references, a line through cost, the engine."""
    need_orjson()
    results = run_end_to_end(sizes_of(sessions_at(scale)), seed, with_ray, create_scratch(scratch))
    print_end_to_end(output(), results)
    save(out, "end_to_end.json", results)


@app.command()
def release(
    scale: Annotated[float, typer.Option("--scale", min=0.0, help="1 is 31264 sessions, about 1 GB.")] = 0.1,
    seed: Seed = 1,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for release.json.")] = None,
    scratch: Scratch = None,
) -> None:
    """Measure a release from merged records, and checking it."""
    results = run_release(sessions_at(scale), seed, create_scratch(scratch))
    print_release(output(), results)
    save(out, "release.json", results)


@app.command()
def size(
    records: Annotated[list[int], typer.Option("--records", min=1, help="How many; repeat it for several sizes.")],
    seed: Seed = 1,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for size.json.")] = None,
    scratch: Scratch = None,
) -> None:
    """Measure corpus stages and release of made-up merged records: memory, and one process beside two."""
    results = run_size(records, seed, create_scratch(scratch))
    print_size(output(), results)
    save(out, "size.json", results)


@app.command()
def workbench(
    scale: Annotated[float, typer.Option("--scale", min=0.0, help="1 is 31264 sessions, about 1 GB.")] = 0.1,
    seed: Seed = 1,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for workbench.json.")] = None,
    scratch: Scratch = None,
    scout: Annotated[
        Path | None,
        typer.Option(
            "--scout",
            help="Compare with `scout view`: a Python with inspect-scout and playwright, as .venv/scout/bin/python.",
        ),
    ] = None,
) -> None:
    """Measure the pages of the workbench beside reading what they show, and a verdict beside a synced append."""
    from benchmarks.workbench import print_workbench, run_workbench  # serves pages: not before it is needed

    results = run_workbench(sessions_at(scale), seed, create_scratch(scratch), scout and scout.absolute())
    print_workbench(output(), results)
    save(out, "workbench.json", results)


@app.command("rules-judge")
def rules_judge(
    release: Annotated[Path, typer.Option("--release", help="A release of data/example.")] = Path("data/demo/release"),
    plan: Annotated[
        Path | None, typer.Option("--plan", help="What each session was made to show; the example's without it.")
    ] = None,
    into: Annotated[Path | None, typer.Option("--into", help="A document to write the table into.")] = None,
) -> None:
    """Print how the example sessions that misbehave were labelled, and their innocent twins."""
    results = measure(release, plan or resource("example") / "misbehaving.json")
    if into is None:
        output().print(as_markdown(results), soft_wrap=True, markup=False)
    else:
        into.write_text(put_into(into.read_text(encoding="utf-8"), results), encoding="utf-8")


@app.command()
def judge(
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Each measure so often; medians count.")] = 1,
    scale: Annotated[
        float, typer.Option("--scale", min=0.0, help="1: 120 calls for each one in flight; at least 4 are made.")
    ] = 0.1,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for judge.json.")] = None,
    scratch: Annotated[Path | None, typer.Option("--scratch", help="Where ledgers lie while they are needed.")] = None,
) -> None:
    """Measure the asking engine beside bare loops, over an endpoint of 200 ms in another process."""
    from benchmarks import judge as judge_  # asks over the network: not before it is needed

    results = judge_.run_benchmark(judge_.Job(rounds, create_scratch(scratch), scale))
    judge_.print_results(output(), results)
    save(out, "judge.json", results)


@app.command()
def peers(
    only: Annotated[list[str] | None, typer.Option("--only", help="This neighbour; may be given again.")] = None,
    calls: Annotated[int, typer.Option("--calls", min=2, help="Prompts that each is given.")] = 640,
    in_flight: Annotated[int, typer.Option("--in-flight", min=1, help="At once.")] = 64,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for peers.json.")] = None,
    scratch: Annotated[
        Path | None, typer.Option("--scratch", help="Where the environments lie; kept, to be used again.")
    ] = None,
) -> None:
    """Measure the asking engine beside tools that do the same: installs each in an environment of its own."""
    from benchmarks import peers as peers_  # asks over the network: not before it is needed

    results = peers_.run_benchmark(peers_.job(only or [], calls, in_flight, create_scratch(scratch)), output())
    peers_.print_results(output(), results)
    save(out, "peers.json", results)
