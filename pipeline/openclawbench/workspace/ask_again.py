"""`annotate --ask-again truncated,empty`: ask questions again whose answers ended with these outcomes."""

from openclawbench.errors import UsageError
from openclawbench.fulltax.answers.parsing import OUTCOMES
from openclawbench.judge.ledger.ask_again import ask_again
from openclawbench.judge.ledger.merge_shards import merge
from openclawbench.rules.loading.validation import none_of
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.settings import Settings
from openclawbench.workspace.shares import AskingResources
from openclawbench.workspace.update import first_judge, second_judge


def reopen_questions(data: DataFolder, settings: Settings, annotation_pass: int, outcomes: list[str]) -> int:
    """Mark questions in the ledger to be asked again by the next run, and return their number. UsageError for an
    unknown outcome, a judge that is not a language model, and a run over a share."""
    unknown = next((name for name in outcomes if name not in OUTCOMES), None)
    if unknown is not None or not outcomes:
        problem = none_of(unknown or "", OUTCOMES)
        raise UsageError(f"--ask-again: {problem}. Name outcomes, separated by commas.")
    if settings.shard is not None:
        raise UsageError("--ask-again: the ledgers of all shares must be merged first. Leave --shard out.")
    from openclawbench.judge.language_model import LanguageModelJudge

    with data.locked():
        merge(data.ledger)
        budget = AskingResources(data.ledger, None, settings.asking)
        judge = first_judge(budget, settings) if annotation_pass == 1 else second_judge(budget, settings)
        if not isinstance(judge, LanguageModelJudge):
            raise UsageError("--ask-again: this judge always answers alike. Use it with --judge openai --model NAME.")
        return ask_again(data.ledger, judge.model, judge.reads_as, outcomes)
