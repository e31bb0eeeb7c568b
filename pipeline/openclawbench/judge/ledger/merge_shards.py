"""Ledgers of shares: each worker keeps its own, and a run over all shards merges them by key.

    ledger/ledger.sqlite                    the main ledger: answers of runs over all shards, and merged ones
    ledger/shares/<i>-of-<n>/ledger.sqlite  answers of the worker of share i; the next worker of the share continues it

One process at a time writes to a ledger, and answers are added, never changed. So a merge only adds missing rows.
"""

import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from openclawbench.base.shard_selection import ShardSelection
from openclawbench.errors import UsageError
from openclawbench.judge.ledger.ledger import SETTLED, UNREAD
from openclawbench.judge.ledger.sqlite_file import (
    ANSWER,
    NAME,
    as_ledger_error,
    is_current,
    key_groups,
    locked,
    open_for_writing,
    reading,
)

SHARES = "shares"
TABLES = {
    "answers": ", ".join(ANSWER),
    "settled": ", ".join(SETTLED),
    "endpoints": "base_url, model, accepts",
    "batches": "name, id, status, created_at",
    "batched": "key, batch, stage, model, trajectory_id, packet_sha256, request_bytes, way, corrects",
}
IN_FLIGHT = "key, stage, trajectory_id, 'killed', sent_at"  # of intents, as rows of lost


def share_ledger(ledger: Path, share: ShardSelection) -> Path:
    """Folder of a share's ledger."""
    return ledger / SHARES / f"{share.index}-of-{share.of}"


def share_ledgers(ledger: Path) -> list[Path]:
    """Folders of the ledgers of shares that are not merged yet."""
    return sorted(path.parent for path in (ledger / SHARES).glob(f"*/{NAME}"))


def refuse_other_shares(ledger: Path, share: ShardSelection) -> None:
    """Raise UsageError if there are ledgers of another number of shares: their questions would be asked again."""
    other_shares = {path.name for path in share_ledgers(ledger) if not path.name.endswith(f"-of-{share.of}")}
    if other_shares:
        raise UsageError(
            f"{ledger / SHARES}: answers of other shares ({', '.join(sorted(other_shares))}) are not merged yet. Go on "
            "with these shares, or run `openclawbench ledger merge` first."
        )


def merge(ledger: Path) -> int:
    """Merge the ledgers of shares into the main one and remove them. Returns their number. Calls that were in flight
    when a run ended may have been paid for, and are listed as lost. Raises LedgerLocked if one is in use."""
    ledgers = share_ledgers(ledger)
    if not ledgers:
        return 0
    with locked(ledger), closing(open_for_writing(ledger)) as connection:
        for folder in ledgers:
            with locked(folder):
                apply_write_ahead_log(folder)
                add_missing_rows(connection, folder / NAME)
            shutil.rmtree(folder)
    return len(ledgers)


def apply_write_ahead_log(folder: Path) -> None:
    """Apply the write-ahead log that a killed run left."""
    with closing(open_for_writing(folder)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")


def add_missing_rows(connection: sqlite3.Connection, file: Path) -> None:
    """Add every missing row of a ledger's file, in one transaction."""
    try:
        connection.execute("attach ? as other", (str(file),))
        connection.execute("begin immediate")
        for table, columns in TABLES.items():
            connection.execute(f"insert or ignore into {table}({columns}) select {columns} from other.{table}")
        connection.execute("insert into lost select key, stage, trajectory_id, reason, sent_at from other.lost")
        names = ", ".join(UNREAD)
        connection.execute(f"insert into unread({names}) select {names} from other.unread")
        connection.execute(rounds_statement("other"))
        connection.execute(f"insert into lost select {IN_FLIGHT} from other.intents")
        connection.execute("commit")
        connection.execute("detach other")
    except sqlite3.Error as error:
        raise as_ledger_error(file, error) from error


def rounds_statement(database: str) -> str:
    """SQL that copies the rounds of another ledger; the later round wins."""
    return (
        f"insert into rounds(base, round, asked, model) select base, round, asked, model from {database}.rounds "
        "where true on conflict(base) do update set round = max(round, excluded.round), "
        "asked = max(asked, excluded.asked)"
    )


def copy_known_answers(former: Path, ledger: Path, questions: Iterable[bytes]) -> None:
    """Copy the answers to these questions from the main ledger into a share's ledger, so that no question is asked
    again. Copies settled answers and, if the share's ledger is new, also those that are not settled yet."""
    if not (former / NAME).exists():
        return
    upgrade_former_ledger(former)
    is_new = not (ledger / NAME).exists()
    with locked(ledger), closing(open_for_writing(ledger)) as connection:
        try:
            connection.execute("attach ? as former", (str(former / NAME),))
            connection.execute("begin immediate")
            if is_new:
                unsettled = "select first from former.settled union select last from former.settled"
                copy_answers(connection, f"key not in ({unsettled})", [])
                names = TABLES["endpoints"]
                connection.execute(f"insert or ignore into endpoints({names}) select {names} from former.endpoints")
            connection.execute(rounds_statement("former"))
            for group in key_groups(list(questions)):
                wanted = f"question in ({', '.join('?' * len(group))})"
                for column in ("first", "last"):
                    copy_answers(connection, f"key in (select {column} from former.settled where {wanted})", group)
                names = TABLES["settled"]
                query = f"insert or ignore into settled({names}) select {names} from former.settled where {wanted}"
                connection.execute(query, group)
            connection.execute("commit")
            connection.execute("detach former")
        except sqlite3.Error as error:
            raise as_ledger_error(ledger / NAME, error) from error


def upgrade_former_ledger(folder: Path) -> None:
    """Add the columns of this version to a ledger of an earlier one. Raises LedgerLocked."""
    with reading(folder) as connection:
        current = is_current(connection)
    if not current:
        with locked(folder):
            open_for_writing(folder).close()


def copy_answers(connection: sqlite3.Connection, where: str, values: list[bytes]) -> None:
    """Copy answers of the main ledger."""
    names = TABLES["answers"]
    connection.execute(
        f"insert or ignore into answers({names}) select {names} from former.answers where {where}", values
    )


def spent_before(former: Path, ledger: Path) -> tuple[float, int]:
    """USD and tokens of those answers of a share's ledger that were copied and so were paid for before."""
    if not (former / NAME).exists() or not (ledger / NAME).exists():
        return 0.0, 0
    query = (
        "select total(cost_usd), coalesce(sum(prompt_tokens + completion_tokens), 0) from answers "
        "where key in (select key from former.answers)"
    )
    with closing(sqlite3.connect(ledger / NAME)) as connection:
        try:
            connection.execute("attach ? as former", (str(former / NAME),))
            usd, tokens = connection.execute(query).fetchone()
        except sqlite3.Error as error:
            raise as_ledger_error(former / NAME, error) from error
    return float(usd), int(tokens)


def spent_in(ledger: Path) -> tuple[float, int]:
    """USD and tokens of all answers in a ledger; zeros if it does not exist."""
    if not (ledger / NAME).exists():
        return 0.0, 0
    query = "select total(cost_usd), coalesce(sum(prompt_tokens + completion_tokens), 0) from answers"
    with closing(sqlite3.connect(ledger / NAME)) as connection:
        try:
            usd, tokens = connection.execute(query).fetchone()
        except sqlite3.Error as error:
            raise as_ledger_error(ledger / NAME, error) from error
    return float(usd), int(tokens)
