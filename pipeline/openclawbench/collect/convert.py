"""Collected sessions as inputs of the pipeline: a raw folder, its run manifest, and a BFCL result tree an attempt."""

import contextlib
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclawbench.collect.collection import CollectedSession, Collection, last_rows
from openclawbench.collect.plan import Plan, PlannedSession, secret_of
from openclawbench.collect.recorded_session import bfcl_result, read_session
from openclawbench.collect.serve import CALLS
from openclawbench.errors import UnreadableInput
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import texts_of
from openclawbench.storage.data_folder import write_atomic

MANIFEST = "run_manifest.jsonl"
PROVENANCE = "provenance.jsonl"  # in the collection's folder
GROUPS = ("multi_turn", "live")  # of a result tree; everything else here is non_live


@dataclass
class Converted:
    """What was written. `notes`: sentences about faulty sessions."""

    sessions: int = 0
    infra_errors: int = 0
    left: int = 0  # planned, and not made yet
    left_out: int = 0  # because they hold the key of their endpoint
    removed: int = 0  # sessions that were in the raw folder, and that the plan no longer has or that were made again
    trees: dict[Path, dict[str, list[str]]] = field(default_factory=dict)  # root -> source model -> subsets
    not_run: Counter[tuple[Path, str, str]] = field(
        default_factory=Counter
    )  # (root, source model, subset): infra errors
    notes: list[str] = field(default_factory=list)


def convert(collection: Collection, plan: Plan, raw: Path, oracle: Path, keys: Mapping[str, str | None]) -> Converted:
    """Write RAW/<source_model>/<session>.jsonl, RAW/run_manifest.jsonl and ORACLE/attempt-<n>/result/….

    A session that the infrastructure ended is an inference error in the result tree, so that it never counts as failed;
    one that was not made is nowhere. What an earlier plan or try left there is removed; the collection's folder keeps
    it. Sessions, results and lines of the run manifest that were not collected here stay. `keys`: source model -> the
    key of its endpoint; a session in which it stands is left out. What looks like another key is noted: the raw session
    keeps it, and a release that holds it is refused unless privacy.toml says otherwise.
    """
    rows = list(collection.rows())
    ended = last_rows(rows)
    converted, privacy_finder = Converted(), PrivacyFinder(PrivacyRules.load())
    manifest: list[dict[str, Any]] = []
    provenance: list[dict[str, Any]] = []
    results: dict[tuple[Path, str, str], list[dict[str, Any]]] = defaultdict(list)
    for planned in plan.sessions():
        row = ended.get((planned.source_model.name, planned.name))
        if row is None or row.digest != planned.digest:
            converted.left += 1
            continue
        content = None if row.session is None else content_of(collection, row)
        calls = calls_of(collection, row)
        secret = secret_of(keys.get(row.source_model))
        if content is not None and (secret.are_in(content) or secret.are_in(calls)):
            converted.left_out += 1
            converted.notes.append(
                f"{row.source_model}/{row.session}: holds the key of its endpoint and is left out. Take its line out "
                f"of {collection.log}, and the next `collect run` makes it again."
            )
            continue
        if content is not None:
            assert row.session is not None
            converted.notes += key_notes(row, content + b"\n" + calls, privacy_finder)
            write_atomic(raw / row.source_model / f"{row.session}.jsonl", [content])
            manifest.append(manifest_row(row))
            provenance.append(row.model_dump())
        root = oracle / f"attempt-{row.attempt}"
        if row.status == "collected":
            converted.sessions += 1
        else:
            converted.infra_errors += 1
            converted.not_run[root, row.source_model, row.subset] += 1
        results[root, row.source_model, row.subset].append(result_row(planned, row, content, calls, converted.notes))
    for (root, source_model, subset), lines in results.items():
        write_atomic(tree_file(root, source_model, subset, "result"), [lines_of(lines)])
        converted.trees.setdefault(root, {}).setdefault(source_model, []).append(subset)
    collected = {(row.source_model, row.session) for row in rows if row.session}
    others = other_lines(raw / MANIFEST, collected)
    write_atomic(raw / MANIFEST, [lines_of([*others, *manifest])])
    present = {(row["source_model"], row["native_session_basename"]) for row in manifest}
    remove_stale(rows, present, set(results), raw, oracle, converted)
    write_atomic(collection.folder / PROVENANCE, [lines_of(provenance)])
    return converted


def key_notes(row: CollectedSession, content: bytes, privacy_finder: PrivacyFinder) -> Iterator[str]:
    """A sentence for the first text of a session that looks like a key."""
    for number, line in enumerate(content.splitlines(), 1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = {"line": line.decode("utf-8", "replace")}
        for _, _, text in texts_of(value):
            for hit in privacy_finder.hits(text):
                if hit.group == "key":
                    yield (
                        f"{row.source_model}/{row.session}: line {number}: holds what looks like a key ({hit.kind}). "
                        "Look at it before the raw folder leaves this machine; a release refuses it (privacy.toml)."
                    )
                    return


def content_of(collection: Collection, row: CollectedSession) -> bytes:
    """The records of a session. UnreadableInput where they are not what was collected."""
    assert row.session is not None
    path = collection.session_file(row.source_model, row.session)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableInput(
            f"{path}: cannot be read: {error.strerror}. Take its line out of {collection.log}."
        ) from error
    if hashlib.sha256(content).hexdigest() != row.sha256:
        raise UnreadableInput(f"{path}: was changed since it was collected. Take its line out of {collection.log}.")
    return content


def calls_of(collection: Collection, row: CollectedSession) -> bytes:
    """The calls that reached the MCP server of a session."""
    path = collection.session_file(row.source_model, row.session or "", CALLS)
    return path.read_bytes() if path.is_file() else b""


def manifest_row(row: CollectedSession) -> dict[str, Any]:
    """A line of the run manifest."""
    return {
        "source_model": row.source_model,
        "native_session_basename": row.session,
        "task_id": row.task_id,
        "subset": row.subset,
        "run_id": f"attempt-{row.attempt}",
        "attempt": row.attempt,
        "mode": row.mode,
        "collection": {
            "plan": row.plan,
            "openclaw": row.openclaw,
            "evaluator": row.evaluator,
            "model": row.model,
            "endpoint_host": row.endpoint_host,
            "parameters": json.dumps(row.parameters, ensure_ascii=False, sort_keys=True),
            "network": row.network,
        },
    }


def result_row(
    planned: PlannedSession, row: CollectedSession, content: bytes | None, calls: bytes, notes: list[str]
) -> dict[str, Any]:
    """A line of a result tree."""
    result: Any = f"Error during inference: {row.error}"
    latency = 0.0
    if content is not None:
        read = read_session(content, planned.task, calls)
        latency = read.seconds
        notes += [
            f"{row.source_model}/{row.session}: a call of {tool}, which does not exist, has no arguments on record."
            for tool in read.lost_arguments
        ]
        if row.status == "collected":
            result = bfcl_result(read, planned.task)
    return {
        "id": row.task_id,
        "result": result,
        "input_token_count": row.tokens_in,
        "output_token_count": row.tokens_out,
        "latency": latency,
    }


def group_of(subset: str) -> str:
    """The folder of a category in BFCL's trees."""
    return next((group for group in GROUPS if subset.startswith(f"{group}_")), "non_live")


def tree_file(root: Path, source_model: str, subset: str, kind: str) -> Path:
    """A file of a result tree or (`kind`: score) a score tree, where BFCL looks for it."""
    return root / kind / source_model / group_of(subset) / f"BFCL_v4_{subset}_{kind}.json"


def remove_stale(
    rows: list[CollectedSession],
    present: set[tuple[str, str]],
    results: set[tuple[Path, str, str]],
    raw: Path,
    oracle: Path,
    converted: Converted,
) -> None:
    """Remove what an earlier conversion wrote and this one did not. `rows`: whatever was ever collected here;
    `present`: (source model, session) that is in the raw folder now; `results`: (root, source model, subset) likewise.
    A file that differs from what was collected is someone's work: it stays, and is noted."""
    digests: defaultdict[tuple[str, str], set[str | None]] = defaultdict(set)
    for row in rows:
        if row.session is not None and (row.source_model, row.session) not in present:
            digests[row.source_model, row.session].add(row.sha256)
    for (source_model, session), of_session in digests.items():
        path = raw / source_model / f"{session}.jsonl"
        if not path.is_file():
            continue
        if hashlib.sha256(path.read_bytes()).hexdigest() in of_session:
            path.unlink()
            converted.removed += 1
        else:
            converted.notes.append(f"{path}: is not in the plan and was changed since it was collected; it stays.")
    for root, source_model, subset in {
        (oracle / f"attempt-{row.attempt}", row.source_model, row.subset) for row in rows
    } - results:
        for kind in ("result", "score"):
            path = tree_file(root, source_model, subset, kind)
            path.unlink(missing_ok=True)
            for folder in path.parents[:4]:  # group, source model, kind, root
                with contextlib.suppress(OSError):  # not empty, or never made
                    folder.rmdir()


def other_lines(path: Path, collected: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Lines of a run manifest about sessions that were not collected here. UnreadableInput for a broken one."""
    if not path.exists():
        return []
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if (row["source_model"], row.get("native_session_basename")) not in collected:
                lines.append(row)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise UnreadableInput(
                f"{path}: line {number}: is not a run manifest line. Correct or remove it."
            ) from error
    return lines


def lines_of(rows: list[dict[str, Any]]) -> bytes:
    """Rows as JSONL."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
