"""The stress kit: a judge is asked about every variant of a paper, with the prompts, limits and budget of the exam.

Each variant has a folder of its own, stress/VARIANT/ in the exam's folder. What was paid for is never asked again.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openclawbench.errors import BudgetReached
from openclawbench.exam.answers import Answer
from openclawbench.exam.paper import Paper
from openclawbench.exam.sitting import STOP_AFTER, Exam, ReplaceJudge, Sitting, ask
from openclawbench.exam.stress.flips import stress_card
from openclawbench.exam.stress.packets import AlteredJudge
from openclawbench.exam.stress.page import stress_page
from openclawbench.exam.stress.variants import Variant
from openclawbench.judge.ledger.merge_shards import spent_in
from openclawbench.judge.protocol import Judge
from openclawbench.reports.files import as_files, as_json
from openclawbench.storage.data_folder import DataFolder, write_atomic
from openclawbench.workspace.dry_run import DryRun, dry_run
from openclawbench.workspace.progress import Progress

FOLDER = "stress"  # in the folder of a paper
LEAST_USD = 1e-6  # a budget that is spent: too little for any question, and enough where none is open


def run_kit(
    exam: Exam,
    sitting: Sitting,
    variants: Sequence[Variant],
    flags: Mapping[str, Any],
    progress: Progress,
    replace_judge: ReplaceJudge = lambda judge: judge,
) -> dict[str, Any]:
    """Ask the judge of a finished exam about each variant, and write stress_score.json and the page beside its result.

    Raises what `annotate` raises; what was answered by then is kept, and a second call goes on.
    """
    stressed = [(variant, answers_to(exam, variant, flags, progress, replace_judge)) for variant in variants]
    card = stress_card(sitting.answers, stressed)
    page = as_files(stress_page(card, sitting.certificate))
    for name, content in {"stress_score.json": as_json(card).encode(), **page}.items():
        write_atomic(sitting.folder / name, [content])
    return card


def prepare_variant(exam: Exam, variant: Variant) -> tuple[Path, Paper]:
    """The folder of a variant and its paper, written."""
    folder = exam.folder / FOLDER / variant.name
    return folder, exam.prepare(variant.alteration, folder)


def answers_to(
    exam: Exam, variant: Variant, flags: Mapping[str, Any], progress: Progress, replace_judge: ReplaceJudge
) -> list[Answer]:
    """A judge's answers to a variant."""
    folder, paper = prepare_variant(exam, variant)

    def altered(judge: Judge | None) -> Judge | None:
        replaced = replace_judge(judge)
        if replaced is None or variant.change is None:
            return replaced
        return AlteredJudge(replaced, variant.change, paper.items)

    own = {**flags, **variant.settings}
    data, chosen = exam.settings({**own, **remaining_budgets(exam, folder, own)}, folder)
    try:
        return ask(paper, data, chosen, progress, altered)[1]
    except BudgetReached as error:
        raise BudgetReached(f"{variant.name}: the budget is that of the exam and all its variants. {error}") from error


def remaining_budgets(exam: Exam, folder: Path, flags: Mapping[str, Any]) -> dict[str, Any]:
    """The budgets of a variant: those of the exam less what the ledgers of all other variants have spent."""
    asking = exam.settings(flags)[1].asking
    ledgers = [exam.folder / "data", *sorted((exam.folder / FOLDER).glob("*/data"))]
    spent = [spent_in(DataFolder(data).ledger) for data in ledgers if data.parent != folder]
    usd, tokens = (sum(amounts) for amounts in zip(*spent, strict=True))
    remaining: dict[str, Any] = {}
    if asking.budget_usd is not None:
        remaining["budget_usd"] = max(asking.budget_usd - usd, LEAST_USD)
    if asking.budget_tokens is not None:
        remaining["budget_tokens"] = max(asking.budget_tokens - int(tokens), 1)
    return remaining


def price_kit(
    exam: Exam, variants: Sequence[Variant], flags: Mapping[str, Any], progress: Progress
) -> dict[str, DryRun]:
    """What each variant would still ask, by its name. Nothing is sent."""
    estimates = {}
    for variant in variants:
        folder, _ = prepare_variant(exam, variant)
        data, chosen = exam.settings({**flags, **variant.settings}, folder)
        estimates[variant.name] = dry_run(data, chosen, STOP_AFTER, progress, 1)
    return estimates
