"""`detect sft-export`: training rows as files that any trainer reads, with the draws of the epochs and a manifest.

A folder holds train.jsonl (or test.jsonl), rows.jsonl (what each of its lines is), epochs.jsonl (which lines an epoch
has, in order; a train side only) and manifest.json, which is written last.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.detect.labels import LabelSet, provenance_base, require_items
from openclawbench.detect.packet import detector_messages, detector_prompt, estimate
from openclawbench.detect.settings import DetectRules
from openclawbench.detect.training.epochs import EpochDraws, require_anomalous
from openclawbench.detect.training.recipe import Recipe
from openclawbench.detect.training.rows import Measure, RowsMade, fitted_rows, refuse_human, row_of
from openclawbench.errors import UsageError
from openclawbench.records.detection.packet import DetectorPacket
from openclawbench.records.detection.training import EpochRows, TrainingExport
from openclawbench.reports.files import as_json
from openclawbench.storage.data_folder import sha256_file, write_atomic

FORMS = ("chat", "completion", "messages")
ROWS_FILE, EPOCHS_FILE, MANIFEST_FILE = "rows.jsonl", "epochs.jsonl", "manifest.json"
SCHEMA_VERSION = "1"
ESTIMATED = "estimated from bytes (detect.toml)"


@dataclass(frozen=True)
class ExportOptions:
    """How rows are written. `max_tokens`: of a row, its label included. `tokenizer`: a tokenizer.json or a model's
    folder that counts tokens; without it they are estimated."""

    form: str
    max_tokens: int
    normal_per_anomalous: float
    seed: int
    epochs: int
    tokenizer: Path | None = None


def options_of(recipe: Recipe, form: str = "chat", tokenizer: Path | None = None) -> ExportOptions:
    """The options that a recipe gives."""
    balance = recipe.balance
    return ExportOptions(
        form, recipe.sequence.max_tokens, balance.normal_per_anomalous, balance.seed, recipe.epochs, tokenizer
    )


def export_rows(
    labels: LabelSet, folder: Path, options: ExportOptions, recipe: Recipe, rules: DetectRules
) -> TrainingExport:
    """Write the rows of a label set into a folder; the manifest. Raises UsageError for a form that does not exist, for
    the pool of people's verdicts, for a train side without an anomalous trajectory, and for a folder with other files.
    """
    if options.form not in FORMS:
        raise UsageError(f"--form {options.form}: there is no such form. Use one of: {', '.join(FORMS)}.")
    refuse_human(labels.choice.pool)
    require_items(labels)
    side = labels.choice.side
    prepare_export_folder(folder)
    rows_made, counter = RowsMade(), measure_of(options, recipe, rules)
    data = folder / f"{side}.jsonl"
    write_atomic(data, data_lines(labels, options, recipe, rules, counter, rows_made))
    write_atomic(folder / ROWS_FILE, rows_made.lines())
    draws = EpochDraws(
        [((row.source_model, row.trajectory_id), row.label) for row in rows_made.rows],
        options.normal_per_anomalous,
        options.seed,
    )
    written, epochs = [data.name, ROWS_FILE], 0
    if side == "train":
        require_anomalous(draws, f"{labels.root}: {labels.choice.sentence}")
        epochs = options.epochs
        drawn = (EpochRows(epoch=epoch, rows=draws.draw(epoch)) for epoch in range(1, epochs + 1))
        write_atomic(folder / EPOCHS_FILE, (canonical_bytes(line) + b"\n" for line in drawn))
        written.append(EPOCHS_FILE)
    manifest = manifest_of(labels, options, recipe, rules, rows_made, draws, epochs)
    digests = [{"name": name, "sha256": sha256_file(folder / name)} for name in written]
    record = TrainingExport.model_validate({**manifest, "files": digests})
    write_atomic(folder / MANIFEST_FILE, [as_json(record.model_dump()).encode()])
    return record


def data_lines(
    labels: LabelSet, options: ExportOptions, recipe: Recipe, rules: DetectRules, measure: Measure, rows_made: RowsMade
) -> Iterator[bytes]:
    """The lines of the training file, one trajectory after another."""
    prompt = detector_prompt("symbol")
    for fitted in fitted_rows(labels, rules, measure, options.max_tokens, rows_made):
        yield canonical_bytes(row_of(fitted, options.form, prompt, rows_made.rows[-1].symbol, recipe)) + b"\n"


def measure_of(options: ExportOptions, recipe: Recipe, rules: DetectRules) -> Measure:
    """A counter of a row's tokens without its label: its texts and the reserve for a chat template."""
    count = estimate(rules.packet)
    if options.tokenizer is not None:
        from openclawbench.detect.tokenizer import load_tokenizer, token_counter

        count = token_counter(load_tokenizer(options.tokenizer))
    prompt, template = detector_prompt("symbol"), recipe.sequence.template_tokens

    def measure(packet: DetectorPacket) -> int:
        return template + sum(count(message["content"]) for message in detector_messages(packet.text, prompt))

    return measure


def manifest_of(
    labels: LabelSet,
    options: ExportOptions,
    recipe: Recipe,
    rules: DetectRules,
    rows_made: RowsMade,
    draws: EpochDraws,
    epochs: int,
) -> dict[str, object]:
    """The manifest without its files."""
    prompt = detector_prompt("symbol")
    about = provenance_base(labels, rules)
    taken = ("release_sha256", "pool", "cut", "side", "label_judges", "label_statuses", "packet_rules_sha256")
    return {
        "schema_version": SCHEMA_VERSION,
        "form": options.form,
        **rows_made.counts(),
        "tokens": rows_made.tokens(options.tokenizer.name if options.tokenizer else ESTIMATED),
        "max_tokens": options.max_tokens,
        "normal_per_anomalous": options.normal_per_anomalous,
        "rows_of_an_epoch": draws.size if epochs else 0,
        "epochs": epochs,
        "seed": options.seed,
        "prompt": {"stage": prompt.stage, "version": prompt.version, "sha256": prompt.sha256},
        "recipe_sha256": recipe.digest,
        **{name: about[name] for name in (*taken, "program_version")},
    }


def prepare_export_folder(folder: Path) -> None:
    """Prepare the folder of an export. Removes the files of an earlier export; raises UsageError if there are
    others."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: this is a file. Name a folder for the training rows.")
    export_files = {"train.jsonl", "test.jsonl", ROWS_FILE, EPOCHS_FILE, MANIFEST_FILE}
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if others := sorted(there - export_files):
        raise UsageError(f"{folder}: holds {others[0]}, which is not a file of training rows. Name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (MANIFEST_FILE, *sorted(export_files & there)):
        (folder / name).unlink(missing_ok=True)
