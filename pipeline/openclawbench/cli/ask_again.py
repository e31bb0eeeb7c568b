"""`annotate --ask-again truncated,empty`: ask once more what is settled with these outcomes."""

from typing import Annotated

import typer

from openclawbench.base.terminal import errors, pluralize
from openclawbench.cli.session import judge_of, second_judge_of
from openclawbench.cli.settings import Settings
from openclawbench.cli.shard_budget import Purse
from openclawbench.errors import UsageError
from openclawbench.fulltax.answers.parsing import OUTCOMES
from openclawbench.judge.ledger.ask_again import ask_again
from openclawbench.judge.ledger.merge_shards import merge
from openclawbench.rules.loading.validation import none_of
from openclawbench.storage.data_folder import DataFolder

AskAgain = Annotated[
    str | None,
    typer.Option("--ask-again", help=f"Ask again what ended so, divided by commas: {', '.join(OUTCOMES)}."),
]


def begin_rounds(data: DataFolder, chosen: Settings, annotation_pass: int, text: str) -> None:
    """Note in the ledger what is to be asked again; the run that follows asks it. UsageError for an unknown outcome, a
    judge that is no language model, and a share."""
    outcomes = list(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    unknown = next((one for one in outcomes if one not in OUTCOMES), None)
    if unknown is not None or not outcomes:
        raise UsageError(f"--ask-again: {none_of(unknown or text, OUTCOMES)}. Name outcomes, divided by commas.")
    if chosen.shard is not None:
        raise UsageError("--ask-again: the ledgers of all shares have to be merged. Leave --shard out.")
    from openclawbench.judge.language_model import LanguageModelJudge  # with asyncio and more: not before it is needed

    with data.locked():
        merge(data.ledger)
        own = Purse(data.ledger, None, chosen.asking)
        judge = judge_of(own, chosen) if annotation_pass == 1 else second_judge_of(own, chosen)
        if not isinstance(judge, LanguageModelJudge):
            raise UsageError(
                "--ask-again: this judge always answers the same. Use it with --judge openai --model NAME."
            )
        count = ask_again(data.ledger, judge.model, judge.reads_as, outcomes)
    errors().print(f"{pluralize(count, 'question')} that ended as {', '.join(outcomes)} to be asked again")
