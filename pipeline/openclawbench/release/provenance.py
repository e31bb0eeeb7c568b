"""Provenance of a release: every input, rule, prompt, judge and version that decides its bytes (datapackage.json).

It holds no clock, folder, host, processor count or limit: the same inputs give the same bytes on any machine.
"""

import hashlib
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.base.canonical_json import canonical_bytes, canonical_json
from openclawbench.base.resources import INSIDE
from openclawbench.base.terminal import pluralize
from openclawbench.intake.intake import Intake
from openclawbench.judge.prompts import prompt_files
from openclawbench.judge.protocol import Judge
from openclawbench.records.calibration import HumanVerdict
from openclawbench.records.certificate import JudgeCertificate
from openclawbench.records.datapackage import (
    DataPackage,
    Dependency,
    InputTable,
    JudgeUsed,
    License,
    MadeFrom,
    PromptFile,
    Resource,
    RuleFile,
)
from openclawbench.records.json_schema import SCHEMA_VERSION
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.settings import Dataset, PublishRules
from openclawbench.rules.construct.packet import is_blind
from openclawbench.rules.loading.rule_book import RuleBook, label_rule_files
from openclawbench.rules.loading.rule_file import Overrides, Rules, canonical_digest, read_rules, shipped
from openclawbench.storage.temporary_folder import temporary_folder
from openclawbench.tables.sorted_merge import ORDER, merge_sorted, write_sorted
from openclawbench.version import __version__

NAME = "datapackage.json"
PROGRAM = Path(__file__).parents[1]  # the package
PROGRAM_SUFFIXES = (".py", ".toml", ".md", ".json")
LOCK = "requirements.lock"
# Installed packages that decide bytes of a release.
PACKAGES = (
    "datasketch",
    "detect-secrets",
    "matplotlib",
    "msgspec",
    "numpy",
    "polars",
    "pyarrow",
    "pydantic",
    "scikit-learn",
)
CODE_LICENSE = License(name="MIT", title="code, rules, schemas and prompts")
AS_STATED = ", as their source states it"  # end of the title of a licence that sessions came with
POSITION_COLUMNS = ("row_id",)  # columns of input rows that give the position of a row
RULES = "rules.json"  # of a release: the content of every rule file in force
OWN_RULES: tuple[type[Rules], ...] = (PublishRules, PrivacyRules)  # no label follows from them
Certificates = Mapping[int, JudgeCertificate | None]  # annotation pass -> what its judge did on the exam
OF_RULES_JUDGE = Path(__file__).parent / "rules_judge_certificate.json"
NOT_IN_NAME = re.compile(r"[^a-z0-9._/-]+")


def made_from(
    intake: Intake,
    judges: Mapping[int, Judge | None],
    commands: list[str],
    verdicts: Sequence[HumanVerdict],
    overrides: Overrides,
    certificates: Certificates,
) -> MadeFrom:
    """The origin of the release, in an order that does not depend on shards."""
    return MadeFrom(
        commands=commands,
        program_version=__version__,
        program_sha256=program_digest(),
        python=".".join(platform.python_version_tuple()[:2]),
        lock_sha256=lock_digest(),
        dependencies=[Dependency(name=name, version=installed_version(name)) for name in PACKAGES],
        schema_version=SCHEMA_VERSION,
        rules_version=RuleBook.load(overrides=overrides).version,
        rules=rule_files(overrides),
        prompts=[
            PromptFile(stage=prompt.stage, version=prompt.version, sha256=prompt.sha256) for prompt in prompt_files()
        ],
        judges=[
            judge_used(number, judge, is_blind(judge.reads, overrides), certificates.get(number))
            for number, judge in sorted(judges.items())
            if judge is not None
        ],
        input_tables=[
            input_table("outcomes", intake.oracle_rows.values()),
            input_table("run_manifest", intake.manifest_rows.values()),
            input_table("human_verdicts", [[verdict.model_dump() for verdict in verdicts]]),
        ],
    )


def input_table(name: str, shards: Iterable[list[dict[str, Any]]]) -> InputTable:
    """Rows of every shard; a row that may join sessions of several shards counts once. The digest covers the content of
    a row, not its file and line: renaming, dividing or sorting a file does not change it."""
    sha256, number = hashlib.sha256(), 0
    for line in sorted_rows(shards):
        sha256.update(b"\n" + line if number else line)
        number += 1
    return InputTable(name=name, rows=number, sha256=sha256.hexdigest())


def sorted_rows(shards: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    """The rows of every shard as sorted lines without their places, each row once."""
    with temporary_folder("rows") as scratch:
        files = []
        for number, rows in enumerate(shards):
            files.append(scratch / f"{number}.parquet")
            write_sorted(pl.DataFrame({ORDER: [*map(content_and_digest, rows)]}, {ORDER: pl.String}), files[-1])
        former = None
        for table in merge_sorted(files, scratch):
            for entry in table[ORDER]:
                if entry != former:
                    yield entry.rpartition("\0")[0].encode()
                former = entry


def content_and_digest(row: dict[str, Any]) -> str:
    """A row's line without its place, followed by the digest of the whole row."""
    content = {name: value for name, value in row.items() if name not in POSITION_COLUMNS}
    return f"{canonical_json(content)}\0{hashlib.sha256(canonical_bytes(row)).hexdigest()}"


def rule_files(overrides: Overrides) -> list[RuleFile]:
    """Every rule file in force that decides labels or the release."""
    return [rule_file(name, overrides) for name in released_rule_names()]


def released_rule_names() -> list[str]:
    """Names of those rule files."""
    return sorted({*label_rule_files(), *(kind.FILE for kind in OWN_RULES)})


def rule_contents(overrides: Overrides) -> dict[str, Any]:
    """File name -> content of those rule files, as they are in force, with the keys that settings override."""
    return {name: read_rules(name, overrides) for name in released_rule_names()}


def rule_book(contents: Mapping[str, Any]) -> RuleBook:
    """The rule book whose version records name, of the contents of the rule files."""
    own = {kind.FILE for kind in OWN_RULES}
    return RuleBook.of({name: content for name, content in contents.items() if name not in own})


def rule_file(name: str, overrides: Overrides) -> RuleFile:
    """One rule file, with the keys that settings override."""
    content = read_rules(name, overrides)
    version_of, digest = str(content.get("version")), canonical_digest(content)
    return RuleFile(file=name, version=version_of, sha256=digest, as_shipped=digest == canonical_digest(shipped(name)))


def judge_used(number: int, judge: Judge, blind: bool | None, certificate: JudgeCertificate | None) -> JudgeUsed:
    """The judge of a pass."""
    return JudgeUsed(
        annotation_pass=number,
        judge=judge.name,
        judge_model=judge.model,
        digest=judge.digest,
        blind=blind,
        certificate=certificate,
    )


def shipped_certificate() -> JudgeCertificate:
    """The certificate of the rules judge that comes with the program."""
    return JudgeCertificate.model_validate_json(OF_RULES_JUDGE.read_bytes())


def program_digest() -> str:
    """sha256 over the names and bytes of every module, rule file and template of the program, without the prompts,
    which are in the folder that resources.py names."""
    sha256 = hashlib.sha256()
    names = {path.relative_to(PROGRAM).as_posix() for path in PROGRAM.rglob("*") if path.suffix in PROGRAM_SUFFIXES}
    for name in sorted(name for name in names if not name.startswith(f"{INSIDE}/")):
        sha256.update(f"{name}\0".encode())
        sha256.update(hashlib.sha256((PROGRAM / name).read_bytes()).digest())
    return sha256.hexdigest()


def lock_digest() -> str | None:
    """sha256 of the locked versions, if the program runs from its checkout."""
    path = PROGRAM.parents[1] / LOCK
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def installed_version(name: str) -> str:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def data_package(
    root: Path, digests: Mapping[str, str], origin: MadeFrom, rules: PublishRules, stated: Mapping[str, int]
) -> DataPackage:
    """The file's content, for the files of the release in `root` with these digests (path -> sha256). `stated`: licence
    -> trajectories that it is stated for."""
    return DataPackage(
        name=rules.dataset.name,
        version=rules.dataset.version,
        description=rules.dataset.description,
        licenses=licenses(rules.dataset) + stated_licenses(stated),
        resources=resources(root, digests),
        provenance=origin,
    )


def licenses(dataset: Dataset) -> list[License]:
    """The licence of the data, if given, and that of the code that made them."""
    data = [License(name=dataset.terms.name, title="data")] if dataset.terms else []
    return [*data, CODE_LICENSE]


def stated_licenses(counts: Mapping[str, int]) -> list[License]:
    """The licences that are stated for the sessions of a release, each with the number of its trajectories."""
    return [
        License(name=name, title=f"{pluralize(count, 'session')}{AS_STATED}") for name, count in sorted(counts.items())
    ]


def resources(root: Path, digests: Mapping[str, str]) -> list[Resource]:
    """Every file, by path. Names are unique: two paths that give the same name get a number."""
    entries: list[Resource] = []
    names: set[str] = set()
    for number, (path, sha256) in enumerate(sorted(digests.items())):
        name = NOT_IN_NAME.sub("-", path.lower()).replace("/", ".")
        name = f"{name}.{number}" if name in names else name
        names.add(name)
        form = path.rpartition(".")[2]
        size = (root / path).stat().st_size
        entries.append(Resource(name=name, path=path, format=form, bytes=size, hash=f"sha256:{sha256}"))
    return entries
