"""The rules of the house that a machine can check: imports, forbidden constructs, file length, hosts, make targets."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from openclawbench import api
from openclawbench.sources.registry import FORMATS

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "pipeline" / "openclawbench").rglob("*.py"))
LONGEST_FILE = 400  # lines
MOST_MODULES = 17  # of a folder
# The rooms in the order in which they may be imported. `validate` carries out the stages of flow.py over a release.
ORDER = [
    *("version", "errors", "base", "tables", "records", "protocol", "storage", "rules", "judge", "sources"),
    *("intake", "runtime", "construct", "fulltax", "reports", "release", "audit", "flow", "release.validate"),
    *("workspace", "inspect", "exam", "collect", "detect", "api", "workbench", "cli", "__main__"),
]
# Functions of inner rooms -> what the library offers for them. Commands and the workbench call the library.
LIBRARY = {
    "workspace.update.update": "run",
    "workspace.update.open_run": "open_data",
    "workspace.run_summary.complaints": "RunResult.needs_a_person",
    "workspace.run_summary.reasons_for_a_person": "RunResult.ok",
    "workspace.run_summary.warnings": "RunResult.warnings",
    "inspect.find.find": "Data.trajectory",
    "inspect.find.left_out": "Data.stale",
    "inspect.export.tables.read_table": "Data.table",
    "inspect.raw_records.raw_records": "TrajectoryView.raw",
    "inspect.explain.explain.explain": "TrajectoryView.explain",
    "inspect.whatif.whatif.what_if_by_shard": "Data.what_if_by_shard",
    "release.files.parquet.rows_of": "Release.records",
    "release.validate.validate.validate": "validate",
}
# Names that do not say what a variable, attribute, function or class holds.
VAGUE_NAMES = {"one", "found", "told", "said", "thing", "got", "ours", "theirs", "made", "given", "whole"}
NAMED_NODES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
# Keys of files that people write or read. Renaming one changes a file format.
VAGUE_FIELDS = {"CertifiedShare.whole", "Rule.whole", "StatusGroups.said", "LanguageRules.told"}
# Joined here, so that this file does not name them either.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("deb", "debian", "org"),
        ("proxy", "golang", "org"),
    ]
]
# Target -> what it asks `openclawbench`, with every variable given.
WHERE = "--data D"
INPUT = f"{WHERE} --raw R --oracle O"
ASK = f"{INPUT} --judge J --model M"
CALLS = {
    "demo": f"demo {WHERE}",
    "status": f"status {WHERE}",
    "audit": f"audit sample-events {WHERE}",
    "view": f"view {WHERE}",
    **{stage: f"{stage} {INPUT}" for stage in ("normalize", "enrich", "fuse", "slice", "onset", "packet")},
    **{verb: f"{verb} {ASK}" for verb in ("annotate", "merge", "release", "run")},
    **{f"stage-{stage}": f"annotate --stage {stage} {ASK}" for stage in ("a", "b1", "b2", "c")},
}


def imports(tree: ast.Module, package: str) -> set[str]:
    """Dotted names a module imports, relative ones resolved against `package`."""
    result = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            result |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return result


def offences(tree: ast.Module) -> list[str]:
    """Constructs that do not occur in pipeline/, as "line: what"."""
    result = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else {"bare"}
            result += [f"{node.lineno}: except {name}" for name in caught & {"bare", "Exception", "BaseException"}]
        elif isinstance(node, ast.Attribute) and node.attr in {"map_elements", "map_rows"}:
            result.append(f"{node.lineno}: {node.attr}")
        elif isinstance(node, ast.Name) and node.id == "NotImplementedError":
            result.append(f"{node.lineno}: {node.id}")
    return result


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of every variable, parameter, attribute, function and class that a module binds. A field of a class
    is Class.name."""
    fields: dict[int, str] = {}  # id of a field's node -> its class; a class is walked before what it holds
    for node in ast.walk(tree):
        name: str | None = None
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.id if isinstance(node, ast.Name) else node.attr
            name = f"{fields[id(node)]}.{name}" if id(node) in fields else name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.alias):
            name = node.asname
        elif isinstance(node, NAMED_NODES):
            name = node.name
        if isinstance(node, ast.ClassDef):
            fields |= {id(field.target): node.name for field in node.body if isinstance(field, ast.AnnAssign)}
        if name:
            yield getattr(node, "lineno", 0), name


def vague_names(tree: ast.AST) -> list[str]:
    """Names of VAGUE_NAMES that a module binds, as "line: name"."""
    return [
        f"{line}: {name}"
        for line, name in bound_names(tree)
        if name.rpartition(".")[2] in VAGUE_NAMES and name not in VAGUE_FIELDS
    ]


def read(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


class Module(NamedTuple):
    """What the rules ask of a module. Trees are not kept: of the whole package they are 400 MB."""

    imports: frozenset[str]
    offences: list[str]
    vague_names: list[str]


@cache
def module(path: Path) -> Module:
    """A module of the package."""
    tree = read(path)
    return Module(frozenset(imports(tree, package_of(path))), offences(tree), vague_names(tree))


def package_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "pipeline").parent.parts)


def test_the_checks_find_what_they_look_for() -> None:
    bad = "try:\n    f.map_elements(g)\nexcept:\n    raise NotImplementedError\n"
    assert len(offences(ast.parse(bad))) == 3
    assert len(offences(ast.parse("try:\n    f()\nexcept (ValueError, Exception):\n    pass\n"))) == 1
    assert offences(ast.parse("try:\n    f()\nexcept ValueError:\n    pass\n")) == []
    assert "openclawbench.construct.slice" in imports(
        ast.parse("from ..construct import slice"), "openclawbench.fulltax"
    )
    assert "openclawbench.construct" in imports(
        ast.parse("from openclawbench import construct"), "openclawbench.fulltax"
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("made = 1", ["1: made"]),
        ("for one in x:\n    pass", ["1: one"]),
        ("[one for one in x]", ["1: one"]),
        ("def found(given, *, whole): ...", ["1: found", "1: given", "1: whole"]),
        ("class Rule:\n    whole: int\n    told: int", ["3: Rule.told"]),
        ("self.said = 1", ["1: said"]),
        ("try:\n    f()\nexcept ValueError as found:\n    pass", ["3: found"]),
        ("from x import y as got", ["1: got"]),
        ("match x:\n    case [thing, *ours]: ...", ["2: thing", "2: ours"]),
        ("remaining = x.whole + f(made=1)", []),
    ],
)
def test_a_name_that_does_not_say_what_it_holds_is_found(code: str, expected: list[str]) -> None:
    assert sorted(vague_names(ast.parse(code))) == sorted(expected)


def test_names_say_what_they_hold() -> None:
    """See docs/develop/naming.md."""
    names = {path: module(path).vague_names for path in MODULES}
    names |= {path: vague_names(read(path)) for path in sorted((ROOT / "tests").rglob("*.py"))}
    assert {str(path.relative_to(ROOT)): vague for path, vague in names.items() if vague} == {}


def test_names_in_the_documents_say_what_they_hold() -> None:
    offenders = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        code = "\n".join(
            re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        )
        if names := vague_names(ast.parse(code)):
            offenders[page.name] = names
    assert offenders == {}


def test_no_module_is_too_long() -> None:
    lines = {str(path.relative_to(ROOT)): path.read_bytes().count(b"\n") for path in MODULES}
    assert {path: number for path, number in lines.items() if number > LONGEST_FILE} == {}


def test_modules_keep_the_rules() -> None:
    assert {str(path.relative_to(ROOT)): lines for path in MODULES if (lines := module(path).offences)} == {}


@pytest.mark.parametrize(("room", "other"), [("fulltax", "construct"), ("judge", "fulltax"), ("judge", "construct")])
def test_rooms_that_do_not_know_each_other(room: str, other: str) -> None:
    modules = sorted((ROOT / "pipeline" / "openclawbench" / room).rglob("*.py"))
    assert modules, f"pipeline/{room} has no module"
    forbidden = f"openclawbench.{other}"
    for path in modules:
        named = module(path).imports
        assert not [name for name in named if name == forbidden or name.startswith(f"{forbidden}.")], path.name


def dotted(path: Path) -> str:
    """The name under which a module is imported."""
    return ".".join(path.relative_to(ROOT / "pipeline").with_suffix("").parts).removesuffix(".__init__")


NAMES = frozenset(map(dotted, MODULES))


def room_of(module: str) -> str:
    """The room of ORDER that a module is in."""
    parts = module.split(".")[1:3]
    return ".".join(parts) if ".".join(parts) in ORDER else parts[0] if parts else "errors"


def imported(path: Path) -> frozenset[str]:
    """The package's modules that a module imports."""
    return module(path).imports & NAMES


def test_imports_go_one_way() -> None:
    """A room imports what stands before it in ORDER, and itself."""
    rooms = {path: room_of(dotted(path)) for path in MODULES[1:]}  # the first is __init__.py, which opens the library
    later = {
        dotted(path): name
        for path, own in rooms.items()
        for name in imported(path)
        if ORDER.index(room_of(name)) > ORDER.index(own)
    }
    assert later == {}


@pytest.mark.parametrize("room", ["cli", "workbench"])
def test_commands_and_pages_call_the_library(room: str) -> None:
    """One code path for what the library offers: see LIBRARY."""
    inner = {f"openclawbench.{name}" for name in LIBRARY}
    modules = [path for path in MODULES if room_of(dotted(path)) == room]
    assert len(modules) > 10
    assert {dotted(path): used for path in modules if (used := module(path).imports & inner)} == {}


@pytest.mark.parametrize(("inner", "offered"), sorted(LIBRARY.items()))
def test_the_library_offers_what_it_is_said_to(inner: str, offered: str) -> None:
    module, _, function = inner.rpartition(".")
    assert callable(getattr(importlib.import_module(f"openclawbench.{module}"), function))
    name, _, attribute = offered.partition(".")
    assert name in api.__all__
    value: Any = getattr(api, name)
    assert not attribute or hasattr(value, attribute) or attribute in value.__dataclass_fields__


def test_no_two_folders_import_each_other() -> None:
    """Also not below the rooms; a folder and one that it holds may."""
    folder_of = {dotted(path): package_of(path) for path in MODULES}
    pairs = {(folder_of[dotted(path)], folder_of.get(name, name)) for path in MODULES for name in imported(path)}
    apart = {(own, other) for own, other in pairs if not f"{own}.".startswith(f"{other}.")}
    assert len(apart) > 100
    mutual = {pair for pair in apart if pair[::-1] in apart and not f"{pair[1]}.".startswith(f"{pair[0]}.")}
    assert mutual == set()


def test_no_adapter_imports_another() -> None:
    """What adapters share lies in the root of sources/, in sources/io/ and in sources/sidecars/."""
    sources = "openclawbench.sources"
    adapters = {".".join(type(source).__module__.split(".")[:3]) for source in FORMATS}
    assert len(adapters) > 3
    for path in sorted((ROOT / "pipeline" / "openclawbench" / "sources").rglob("*.py")):
        own = ".".join(dotted(path).split(".")[:3])
        reached = {".".join(name.split(".")[:3]) for name in module(path).imports}
        if own in adapters:
            assert reached & adapters <= {own}, path
        elif own not in {f"{sources}.registry", f"{sources}.identification"}:
            assert not reached & adapters, path


def test_no_room_is_a_crowd() -> None:
    """A folder holds as many modules as can be looked over; the package's root holds the map and little else."""
    sizes = {folder: len(list(folder.glob("*.py"))) - 1 for folder in {path.parent for path in MODULES}}
    crowded = {str(folder.relative_to(ROOT)): size for folder, size in sizes.items() if size > MOST_MODULES}
    assert crowded == {}


def test_the_program_starts_without_the_libraries_that_take_long_to_import() -> None:
    started = "openclawbench.cli.commands.stages, openclawbench.flow"
    heavy = (
        "sklearn",
        "scipy",
        "pandas",
        "datasketch",
        "matplotlib",
        "numpy",
        "pyarrow",
        "openai",
        "aiohttp",
        "fsspec",
    )
    asked = f"import sys, {started}; print([one for one in {heavy} if one in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True, cwd=ROOT)
    assert ended.stdout.strip() == "[]"


def test_no_committed_file_names_a_registry_host() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    assert len(paths) > 50
    hosts = re.compile("|".join(map(re.escape, REGISTRY_HOSTS)).encode(), re.IGNORECASE)
    assert [path.name for path in paths if path.is_file() and hosts.search(path.read_bytes())] == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock", "requirements-setup.lock"])
def test_a_lock_file_pins_and_hashes_everything_and_names_no_index(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9][^\n]*\n(?: {4}[^\n]*\n)+", text, re.MULTILINE)
    assert pins
    for pin in pins:
        assert re.match(r"[a-z0-9._-]+==\S+ ", pin), pin
        assert "--hash=sha256:" in pin
    assert not re.search(r"--(extra-)?index-url|--find-links|://", text)


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in the project's root, untouched by the make that may be running these tests."""
    program = shutil.which("make")
    if program is None:
        pytest.skip("make is not installed")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = [program, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def asked(target: str, *variables: str) -> list[str]:
    """The commands a target would run on a machine that is set up, whitespace tidied."""
    run = make("-n", "-o", "V/.ready", "VENV=V", *variables, target)
    assert run.returncode == 0, run.stderr
    return [" ".join(line.replace('"', "").split()) for line in run.stdout.splitlines()]


@pytest.mark.parametrize("target", CALLS)
def test_a_pipeline_target_is_one_call_of_the_command(target: str) -> None:
    variables = ["DATA=D", "RAW=R", "ORACLE=O", "JUDGE=J", "MODEL=M"]
    assert asked(target, *variables) == [f"V/bin/openclawbench {CALLS[target]}"]


def test_a_variable_that_is_not_given_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL", "from the environment")
    assert asked("run") == ["V/bin/openclawbench run"]


def test_help_is_the_default_and_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    assert phony is not None
    targets = set(phony.group(1).replace("\\\n", " ").split())
    assert (
        set(CALLS)
        | {
            "help",
            "setup",
            "test",
            "test-slow",
            "test-all",
            "test-llm",
            "test-collect",
            "lint",
            "bench",
            "bench-peers",
            "clean",
            "schemas",
            "lock",
        }
        | {"test-wheel", "test-scout", "test-exports", "test-train", "docs", "certificate", "browser", "test-browser"}
        == targets
    )
    shown = set(re.findall(r"^  make (\S+)", make().stdout, re.MULTILINE))
    assert shown == targets


def test_setup_says_what_is_missing(tmp_path: Path) -> None:
    run = make(f"VENV={tmp_path / 'venv'}", "PYTHON=no-such-python", "setup")
    assert run.returncode != 0
    assert "Install Python 3.11 or newer" in run.stderr


def test_setup_mends_an_environment_in_which_a_copy_took_the_checkouts_place(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    packages = environment / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    in_place = packages / "__editable__.openclawbench-0.1.0.pth"
    in_place.touch()
    (environment / ".ready").touch()
    assert "install" not in make("-n", f"VENV={environment}", "setup").stdout
    in_place.unlink()  # what `pip install .` does
    assert "install --no-deps --no-build-isolation -e ." in make("-n", f"VENV={environment}", "setup").stdout


def test_the_tests_refuse_to_run_beside_another_copy_of_the_program(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, symlinks=True)
    packages = next((environment / "lib").glob("python*")) / "site-packages"
    (packages / "openclawbench").mkdir()
    (packages / "openclawbench" / "__init__.py").touch()
    (packages / "others.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    asked = [environment / "bin" / "python", "-m", "pytest", "-p", "no:xdist", "-o", "addopts=", "--co", "-q", __file__]
    run = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR, run.stdout + run.stderr
    assert "which is not this checkout" in run.stderr
    assert "Run `make setup`" in run.stderr
