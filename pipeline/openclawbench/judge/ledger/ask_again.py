"""Asking settled questions again: the questions with certain outcomes get another round, and no other question does.

Answers are never changed: the new round of a request has a key of its own, and the former answer stays where it is.
The start of a round is durable before anything is asked, so that a killed run can continue it.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from openclawbench.errors import UsageError
from openclawbench.judge.ledger.sqlite_file import NAME, as_ledger_error, locked, open_for_writing


def ask_again(ledger: Path, model: str, judge: bytes, outcomes: Sequence[str]) -> int:
    """Begin another round of every question that this judge has settled with one of these outcomes. Returns their
    number.

    Raises UsageError if the ledger has answers of the model that this judge has not read yet, and LedgerLocked."""
    if not (ledger / NAME).exists():
        raise UsageError(f"--ask-again: {ledger} holds no answers yet. Leave it out.")
    places = ", ".join("?" * len(outcomes))
    which = f"judge = ? and base is not null and outcome in ({places})"
    with locked(ledger), closing(open_for_writing(ledger)) as connection:
        try:
            connection.execute("begin immediate")
            if not connection.execute("select 1 from settled where judge = ? limit 1", (judge,)).fetchone():
                raise UsageError(
                    f"--ask-again: the answers of {model} in {ledger} were not read yet with the prompts, rules and "
                    "settings of now. Run the same command without --ask-again first: what has an answer is not asked."
                )
            count = connection.execute(
                "insert into rounds(base, round, asked, model) "
                f"select base, 1, 1, ? from settled where {which} "
                "on conflict(base) do update set round = round + 1, asked = asked + 1",
                (model, judge, *outcomes),
            ).rowcount
            connection.execute(f"delete from settled where {which}", (judge, *outcomes))
            connection.execute("commit")
        except sqlite3.Error as error:
            raise as_ledger_error(ledger / NAME, error) from error
    return int(count)
