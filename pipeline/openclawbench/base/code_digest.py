"""Digests of code: of a module with all modules of this program that it reaches by imports."""

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

PROJECT = "openclawbench"
Parsed = tuple[str, list[tuple[str, str | None]]]


class ParseCache:
    """Caches the parsed modules of the program by the digest of their bytes; parsing all of them takes a second.

    A changed module has another digest, so an entry is never stale. A data folder keeps the cache between runs (`load`,
    `rows`).
    """

    def __init__(self) -> None:
        self.known: dict[str, Parsed] = {}

    def load(self, rows: Mapping[str, Any]) -> None:
        """Add what `rows` returned in an earlier process."""
        for key, (tree, imports) in rows.items():
            self.known[key] = tree, [(module, name) for module, name in imports]

    def rows(self) -> dict[str, Parsed]:
        """Digest of a module's bytes -> digest of its AST, its imports; as JSON can hold it."""
        return dict(self.known)

    def parsed(self, content: bytes) -> Parsed:
        """What `parsed` returns, parsed once."""
        key = hashlib.sha256(sys.version.encode() + content).hexdigest()
        if key not in self.known:
            self.known[key] = parsed(content)
        return self.known[key]


PARSING = Lock()  # CPython 3.11 fails where several threads make syntax trees at once
parse_cache = ParseCache()


@cache
def module_source(name: str) -> tuple[str, tuple[str, ...]]:
    """Digest of a project module's AST (comments and layout do not count) and the project modules it imports."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return "", ()
    tree, imports = parse_cache.parsed(Path(spec.origin).read_bytes())
    modules = {module for module, _ in imports}
    modules.update(f"{module}.{name}" for module, name in imports if name is not None and is_module(module, name))
    return tree, tuple(sorted(modules))


def parsed(content: bytes) -> Parsed:
    """Digest of the AST of a module's bytes, and (module, name or null) of each import of this project in it."""
    with PARSING:
        tree = ast.parse(content)
    imports: list[tuple[str, str | None]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports += [(node.module, alias.name) for alias in node.names]
    own_imports = [(module, name) for module, name in imports if module.split(".")[0] == PROJECT]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), own_imports


def is_module(package: str, name: str) -> bool:
    """True if `from package import name` names a submodule of this project."""
    if package.split(".", maxsplit=1)[0] != PROJECT:
        return False
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return False
    return importlib.util.find_spec(f"{package}.{name}") is not None


@cache
def code_digest(module: str) -> str:
    """sha256 over the module and all project modules it reaches by imports."""
    digests: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in digests:
            continue
        digests[name], imports = module_source(name)
        waiting.extend(imports)
    return hashlib.sha256("\n".join(f"{name}\n{digests[name]}" for name in sorted(digests)).encode()).hexdigest()
