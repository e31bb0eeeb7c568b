"""Checks of a RunArtifact's URIs: each must point next to its file. Paths are compared as text; no file is opened."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from openclawbench.sources.io.jsonl import Fault

SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")
ARTIFACTS = ".artifacts"  # a run's own folder is run_<N>.artifacts
FORBIDDEN = re.compile(r"[\\:\x00-\x1f]")


def relative(uri: str) -> str | None:
    """The path that a URI names, relative to the folder of the artifact; None if it may not be followed.

    An absolute path was written on another machine: what stands from `run_<N>.artifacts/` on is looked for here.
    """
    scheme = SCHEME.match(uri)
    if scheme and scheme[1].lower() != "file":
        return None
    path = unquote(uri[scheme.end() :] if scheme else uri).removeprefix("//")
    parts = path.split("/")
    if is_absolute(uri):
        own = next((place for place, part in enumerate(parts) if part.endswith(ARTIFACTS)), len(parts))
        parts = parts[own:]
    if not parts or FORBIDDEN.search("/".join(parts)) or any(part in ("", ".", "..") for part in parts):
        return None
    return "/".join(parts)


def is_absolute(uri: str) -> bool:
    """True for `file:///…` and for `/…`."""
    scheme = SCHEME.match(uri)
    path = unquote(uri[scheme.end() :] if scheme else uri)
    return path.removeprefix("//").startswith("/")


def resolve(uri: str, path: str) -> str | None:
    """The raw file that a URI of the artifact at `path` names; None if it names no file next to it."""
    relative_path = relative(uri)
    folder = path.rpartition("/")[0]
    return None if relative_path is None else f"{folder}/{relative_path}" if folder else relative_path


def artifact_uris(value: Any) -> Iterator[str]:
    """Every `uri` in a JSON value, at any depth."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if isinstance(item.get("uri"), str):
                yield item["uri"]
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def uri_faults(document: dict[str, Any]) -> list[Fault]:
    """A warning for each distinct URI of the artifact's files that leaves its folder or is absolute."""
    places = (document.get("output_artifacts"), document.get("runner_metadata"))
    faults = []
    for uri in sorted({uri for place in places for uri in artifact_uris(place)}):
        if relative(uri) is None:
            faults.append(
                Fault("artifact_uri_refused", 1, f"an artifact's URI does not stay next to the file: {uri!r}")
            )
        elif is_absolute(uri):
            faults.append(Fault("artifact_uri_absolute", 1, f"an artifact's URI is absolute: {uri!r}"))
    return faults
