"""The steps that write a release folder, in rounds, each with the values that it reads and the files that it writes.

A step is a function; its parameters name what it reads: values that `publish` provides, or that a step of an earlier
round returned (`returns`). `files` are the files that it writes in the release folder (`*` stands for any characters).
The steps of a round are carried out side by side by the run's engine, in processes of their own if it has any, so that
this process does not hold what they read. Those that are carried out once come first: they read the whole corpus, and a
round that began its longest step last would end with one process at work.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from openclawbench.base.free_memory import give_back_memory
from openclawbench.judge.prompts import file_of, prompt_files
from openclawbench.records.calibration import HumanVerdict
from openclawbench.records.datapackage import INPUTS_FILE, MadeFrom
from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.card.croissant import NAME as CROISSANT
from openclawbench.release.card.described import README, describe_release
from openclawbench.release.files.jsonl_files import LISTING, compress_all
from openclawbench.release.files.names import BOTH_FILE, MASTER_FILE, MODEL_SUMMARY, REFERENCE_FILE, ROOT, SUMMARY
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.human_audited import HUMAN_FILE, write_human
from openclawbench.release.input_files import INPUTS_TABLE, write_input_files
from openclawbench.release.labels.labels import POOL_FILE, SPLITS_FILE, as_json, write_labels
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.policy import RULES_FILE
from openclawbench.release.privacy.publishing import Scanned
from openclawbench.release.privacy.released_bytes import refuse_keys
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.provenance import RULES, data_package, rule_contents
from openclawbench.release.record_index import INDEX_FILE, write_index
from openclawbench.release.release_folder import CHECKSUMS
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.files import DATA, FOLDER, TEXT, statistics_files, statistics_of
from openclawbench.release.unjudged import NOT_ASKED
from openclawbench.release.writer.pieces import WrittenPiece, listings, name_files, write_piece
from openclawbench.release.writer.second_pass import write_second_pass
from openclawbench.release.writer.side_by_side import Call, MakeEngine, side_by_side
from openclawbench.release.writer.summarize import summary_files
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.rules.loading.rule_file import Overrides, rule_path
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.tables.record import TRAJECTORY_KEY


class Step(NamedTuple):
    """One step. `returns`: the name under which later steps read its result; empty if it returns nothing. `each`: the
    name of a list; the step is then carried out for each member, which its first parameter takes. `in_this_process`:
    not in a worker, and after the others of its round."""

    function: Callable[..., Any]
    files: tuple[str, ...] = ()
    returns: str = ""
    each: str = ""
    in_this_process: bool = False

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    def writes(self, path: str) -> bool:
        """True for a file that this step writes."""
        return any(fnmatchcase(path, pattern) for pattern in self.files)

    def calls(self, values: Mapping[str, Any]) -> list[Call]:
        """The function with its arguments, once for each member. Raises KeyError with the name of a missing value."""
        names = list(inspect.signature(self.function).parameters)
        arguments = {name: values[name] for name in (names[1:] if self.each else names)}
        if not self.each:
            return [Call(self.function, arguments)]
        return [Call(self.function, {names[0]: member, **arguments}) for member in values[self.each]]


def carry_out(
    rounds: Sequence[Sequence[Step]], values: dict[str, Any], staging: StagingFolder, make: MakeEngine
) -> dict[str, Any]:
    """Carry out the steps of each round, side by side, with the values that they read. Returns the values, with those
    of the steps."""
    for steps in rounds:
        in_workers = [(step, step.calls(values)) for step in steps if not step.in_this_process]
        results = iter(side_by_side(make, [call for _, calls in in_workers for call in calls]))
        for step, calls in in_workers:
            result = [next(results) for _ in calls]
            if step.returns:
                values = values | {step.returns: result if step.each else result[0]}
        for step in steps:
            if step.in_this_process:
                (call,) = step.calls(values)
                result = step.function(**call.arguments)
                staging.close_files()
                if step.returns:
                    values = values | {step.returns: result}
        give_back_memory()
    return values


class WrittenRecords(NamedTuple):
    """The written records."""

    models: list[str]  # sorted
    text: list[dict[str, Any]]  # finds in the written lines, one row per kind


def finish_records(staging: StagingFolder, scanned: Scanned, written: list[WrittenPiece]) -> WrittenRecords:
    """Name and list the files that were written piece by piece, and count the finds that are left in them."""
    name_files(staging, written)
    for model, tables in listings(written).items():
        staging.write(f"{ROOT}/{model}/{LISTING}", as_json(tables))
    for of_piece in written:
        scanned.kinds.update(of_piece.change)
    return WrittenRecords(sorted({of_piece.piece.model for of_piece in written}), scanned.kinds.table())


def master_tables(written: list[WrittenPiece]) -> list[str]:
    """The JSONL files of the master tables."""
    return [of_piece.piece.name(MASTER_FILE) for of_piece in written]


def write_label_files(
    staging: StagingFolder,
    assignments: list[Path],
    certificates: pl.LazyFrame,
    release_rules: ReleaseRules,
    is_unjudged: bool,
) -> None:
    """The label files of every cut; none where nobody judged."""
    if not is_unjudged:
        write_labels(assignments, certificates.collect(), staging, release_rules)


def write_human_rows(staging: StagingFolder, verdicts: Sequence[HumanVerdict], assignments: list[Path]) -> None:
    """Human verdicts, next to the labels."""
    if verdicts:
        write_human(verdicts, pl.scan_parquet(assignments, glob=False), staging)


def write_second_labels(staging: StagingFolder, references: list[Path], assignments: list[Path]) -> None:
    """The labels of the second pass, if there is one."""
    if references:
        write_second_pass([*zip(references, assignments, strict=True)], staging)


def write_record_index(
    staging: StagingFolder, written: list[WrittenPiece], inputs_of_split: list[tuple[Path, Path]]
) -> None:
    """The digest of each record's line, and the inputs of its split."""
    write_index([of_piece.digests for of_piece in written], inputs_of_split, staging)


def write_summaries(staging: StagingFolder, records: WrittenRecords, counts: pl.DataFrame) -> None:
    """The summary of each source model and of the corpus."""
    for name, content in summary_files(counts, records.models).items():
        staging.write(name, as_json(content))


def write_guides(
    staging: StagingFolder,
    privacy: PrivacyRules,
    counts: pl.DataFrame,
    references: list[Path],
    overrides: Overrides,
) -> None:
    """Taxonomy, settings, rules and the prompts in force: those of the rules judge only where it alone judged."""
    judges = set(counts.filter(pl.col("group") == "judge")["name"]) - {NOT_ASKED}
    if references:
        second = pl.scan_parquet(references, glob=False).select(pl.col("judge").drop_nulls().unique())
        judges |= set(second.collect(engine="streaming")["judge"])
    staging.write(PublishRules.FILE, rule_path(PublishRules.FILE).read_bytes())
    staging.write(Taxonomy.FILE, rule_path(Taxonomy.FILE).read_bytes())
    for prompt in prompt_files(own=not judges <= BASELINE_JUDGES):
        staging.write(f"prompts/{prompt.stage}/{prompt.version}.md", file_of(prompt).read_bytes())
    staging.write(RULES_FILE, as_json(privacy.model_dump(mode="json")))
    staging.write(RULES, as_json(rule_contents(overrides)))


def write_statistics(staging: StagingFolder, settings: PublishRules) -> None:
    """Tables and pictures, computed from the files that are written by now."""
    for name, content in statistics_files(statistics_of(staging.root, settings), settings).items():
        staging.write(name, content)


class Checks(NamedTuple):
    """The checks of a new release. `of_file`: checks a master table, or a file of one; `of_release`: the whole, with
    what that gave; it raises InvalidRelease."""

    of_file: Callable[[Path, str, pl.DataFrame, Path], Any]
    of_release: Callable[[Path, Sequence[Any]], None]


def partial_trials(inputs_of_split: list[tuple[Path, Path]]) -> pl.DataFrame:
    """Keys of records of partial trials."""
    basis = pl.scan_parquet([path for path, _ in inputs_of_split], glob=False).filter("partial_trial")
    return basis.select(TRAJECTORY_KEY).collect(engine="streaming")


def check_records(name: str, staging: StagingFolder, checks: Checks, partial_trials: pl.DataFrame) -> Any:
    """Check the records of a master table, or of a file of one."""
    return checks.of_file(staging.root, name, partial_trials, staging.scratch)


def check_release(staging: StagingFolder, checks: Checks, checked: Sequence[Any]) -> None:
    """Refuse a release that `validate` would refuse. Raises InvalidRelease."""
    checks.of_release(staging.root, checked)


def compress_lines(staging: StagingFolder, settings: PublishRules) -> None:
    """Compress each JSONL file that is not compressed yet if the settings say so."""
    compress_all(sorted(path for path in staging.root.rglob("*.jsonl") if path.is_file()), settings.jsonl)


def write_data_package(
    staging: StagingFolder, settings: PublishRules, made_from: MadeFrom, licenses: Mapping[str, int]
) -> dict[str, str]:
    """Everything that decides the bytes of the release; returns path -> sha256 of every file up to this one."""
    digests = {path: sha256 for sha256, path in staging.checksums()}
    content = as_json(data_package(staging.root, digests, made_from, settings, licenses).model_dump())
    staging.write(PACKAGE, content)
    return {**digests, PACKAGE: hashlib.sha256(content).hexdigest()}


def write_card(
    staging: StagingFolder, settings: PublishRules, records: WrittenRecords, package_digests: Mapping[str, str]
) -> dict[str, str]:
    """Dataset card and Croissant description; returns the digests with theirs."""
    files = describe_release(staging.root, package_digests, records.text, settings)
    for name, content in files.items():
        staging.write(name, content)
    return {**package_digests, **{name: hashlib.sha256(content).hexdigest() for name, content in files.items()}}


def search_files(staging: StagingFolder, privacy: PrivacyRules) -> None:
    """Search every file for keys that stand outside the lines of records. Raises ReleaseBlocked."""
    refuse_keys(staging.root, PrivacyFinder(privacy))


def write_checksums(staging: StagingFolder, digests: Mapping[str, str]) -> None:
    """The list of all files with their digests."""
    staging.write(CHECKSUMS, "".join(f"{digests[path]}  {path}\n" for path in sorted(digests)).encode())


ROUNDS = (
    (
        Step(
            write_label_files,
            (
                *("silver_*_labels*", "label_exclusions.jsonl*", "paper_cut/silver_*"),
                *("paper_cut/label_exclusions.jsonl*", "hold_out/*", f"{POOL_FILE}*", typed_file(POOL_FILE)),
                SPLITS_FILE,
            ),
        ),
        Step(write_human_rows, (f"{HUMAN_FILE}*", typed_file(HUMAN_FILE))),
        Step(
            write_second_labels,
            (f"{REFERENCE_FILE}*", f"{BOTH_FILE}*", "both_high_confidence*.parquet", "paper_cut/both_*.parquet"),
        ),
        Step(write_input_files, (f"{INPUTS_FILE}*", INPUTS_TABLE), returns="licenses"),
        Step(write_guides, (PublishRules.FILE, Taxonomy.FILE, "prompts/*", RULES_FILE, RULES)),
        Step(write_piece, (f"{ROOT}/*.jsonl*", f"{ROOT}/*.parquet"), returns="written", each="pieces"),
    ),
    (
        Step(finish_records, (f"{ROOT}/*/{LISTING}",), returns="records", in_this_process=True),
        Step(master_tables, returns="master_tables", in_this_process=True),
        Step(partial_trials, returns="partial_trials", in_this_process=True),
        Step(write_summaries, (SUMMARY, f"{ROOT}/*/{MODEL_SUMMARY}"), in_this_process=True),
    ),
    (
        Step(write_statistics, (DATA, TEXT, f"{FOLDER}/*")),
        Step(write_record_index, (f"{INDEX_FILE}*",)),
        Step(check_records, returns="checked", each="master_tables"),
    ),
    (
        Step(compress_lines, in_this_process=True),
        Step(write_data_package, (PACKAGE,), returns="package_digests", in_this_process=True),
    ),
    (
        Step(check_release),
        Step(write_card, (README, CROISSANT), returns="digests"),
    ),
    (Step(search_files), Step(write_checksums, (CHECKSUMS,), in_this_process=True)),
)
STEPS = tuple(step for steps in ROUNDS for step in steps)
