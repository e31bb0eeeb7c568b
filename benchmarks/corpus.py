"""The benchmark corpus on disk: raw/<model>/*.jsonl, raw/run_manifest.jsonl, oracle/outcomes.jsonl; a stream."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from benchmarks.session import Corpus, Made, make_session
from benchmarks.shape import Size, Texts, load_shape
from openclawbench.records.oracle import Evaluator, OracleRecord

FULL = 31_264  # sessions of the whole corpus, about 1 GB
EVALUATED_AT = "2026-06-01T00:00:00Z"
ENCODE = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Written:
    """What was written."""

    sessions: int
    bytes: int


def write_corpus(folder: Path, sessions: int, seed: int, median: int | None = None) -> Written:
    """Write a corpus into a folder that has none: the same bytes for the same numbers. `median`: bytes of a session,
    where they are to be shorter or longer than real ones.

    Session k is task k // 6 run by model k % 6. Raises FileExistsError where the folder has a corpus already.
    """
    (folder / "raw").mkdir(parents=True)
    (folder / "oracle").mkdir()
    size = 0
    with (
        (folder / "raw" / "run_manifest.jsonl").open("wb") as manifest,
        (folder / "oracle" / "outcomes.jsonl").open("wb") as oracle,
    ):
        for run, session in sessions_of(sessions, seed, median=median):
            write_session(folder / "raw", run, session)
            size += len(session.content)
            manifest.write(ENCODE(run) + b"\n")
            if (outcome := outcome_of(run, session, seed)) is not None:
                oracle.write(ENCODE(outcome) + b"\n")
    return Written(sessions, size)


def write_session(raw: Path, run: dict[str, Any], session: Made) -> Path:
    """Write one session where its model's are."""
    path: Path = raw / run["source_model"] / f"{session.session_id}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(session.content)
    return path


def sessions_of(
    sessions: int, seed: int, first: int = 0, median: int | None = None
) -> Iterator[tuple[dict[str, Any], Made]]:
    """(run manifest row, session) from number `first` on; none needs the others."""
    shape = load_shape()
    if median is not None:
        shape = shape.model_copy(update={"size": shape.size.model_copy(update={"median": median})})
    corpus = Corpus(shape, Texts(shape, seed))
    for number in range(first, first + sessions):
        task, index = divmod(number, len(shape.model))
        model = shape.model[index]
        session = make_session(corpus, model, seed, number)
        subset = corpus.choices["subsets"].pick(Random(f"task:{seed}:{task}"))
        yield (
            {
                "source_model": model.folder,
                "native_session_basename": session.session_id,
                "task_id": f"{subset}_{task}",
                "subset": subset,
                "run_id": f"bench-{number:06d}",
                "attempt": 1,
            },
            session,
        )


def one_session_of(size: int, seed: int) -> tuple[dict[str, Any], Made]:
    """(run manifest row, session) of one session that is as long as asked for."""
    shape = load_shape()
    shape = shape.model_copy(update={"size": Size(median=size, sigma=0.0, maximum=size)})
    session = make_session(Corpus(shape, Texts(shape, seed)), shape.model[0], seed, 0)
    return {"source_model": shape.model[0].folder, "native_session_basename": session.session_id}, session


def outcome_of(run: dict[str, Any], session: Made, seed: int) -> dict[str, Any] | None:
    """Oracle record: mostly scored, three in five a success; a few infrastructure errors; null for one in fifty."""
    random = Random(f"outcome:{seed}:{run['run_id']}")
    kind = random.random()
    if kind < 0.02:
        return None
    scored = kind > 0.05
    success = random.random() < 0.6 if scored else None
    blank = dict.fromkeys(OracleRecord.model_fields)
    evaluator = dict.fromkeys(Evaluator.model_fields) | {"name": "bench", "version": "1", "mode": "made_up"}
    return {
        **blank,
        **{name: value for name, value in run.items() if name in blank},
        "schema_version": "1",
        "session_id": session.session_id,
        "task_id_canonical": run["task_id"],
        "success": success,
        "status": "scored" if scored else "infra_error",
        "score": None if success is None else float(success),
        "flags": [],
        "evaluator": evaluator,
        "evaluated_at": EVALUATED_AT,
    }
