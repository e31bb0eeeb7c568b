"""The policy for finds: a report of all finds, and an error if one of them must not be released."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from openclawbench.base.canonical_json import canonical_json
from openclawbench.errors import ReleaseBlocked
from openclawbench.release.labels.labels import as_json
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.publishing import Scanned
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import TextFind

REPORT = "privacy"  # folder below the reports
LOOK_FIRST = "look_first.md"  # in the report: finds for a person to look at before publication
RULES_FILE = "privacy.json"  # in a release: the rules of the search, and the actions
TO_LOOK_AT = 20  # finds in the list
NAMED = 5  # records that the sentence names, each with its first find


def report(scanned: Scanned) -> dict[str, bytes]:
    """File name -> content: finds by kind with the action on them, and every find."""
    rules = scanned.rules
    table = [row | {"action": rules.actions.get(row["group"])} for row in scanned.kinds.table()]
    ordered_finds = sorted((*scanned.kept, *scanned.paths.kept), key=order)
    finds = (find.masked(scanned.privacy_finder)._asdict() for find in ordered_finds)
    first = (f"- {sentence(find.masked(scanned.privacy_finder))}\n" for find in look_first(ordered_finds, rules))
    return {
        "summary.json": as_json({"rules_version": rules.version, "rules": rules.digest, "kinds": table}),
        "finds.jsonl": b"".join(canonical_json(hit).encode() + b"\n" for hit in finds),
        LOOK_FIRST: "".join(first).encode(),
    }


def look_first(finds: Iterable[TextFind], rules: PrivacyRules, number: int = TO_LOOK_AT) -> list[TextFind]:
    """Finds for a person to look at before a release becomes public: one of each kind in turn, the strictest kind
    first, different excerpts before repeated ones. Redacted text is not a find."""
    kinds: dict[tuple[Any, str], dict[str, TextFind]] = {}
    for find in sorted(finds, key=order):
        if find.group != "redacted":
            kinds.setdefault((rules.strictness(find.group), find.kind), {}).setdefault(find.excerpt, find)
    turns = zip_longest(*(own.values() for _, own in sorted(kinds.items())))
    return [find for turn in turns for find in turn if find is not None][:number]


def order(find: TextFind) -> tuple[str, str, str, str]:
    """By record, then by file and place."""
    return find.source_model, find.trajectory_id, find.file, find.place


def left_in(scanned: Scanned) -> list[dict[str, Any]]:
    """One row per kind of find in the written lines and the paths of inputs: where (text | paths), group, kind, finds,
    records. Redacted text is not a find."""
    tables = {"text": scanned.kinds.table(), "paths": scanned.paths.table()}
    return [{"where": where, **row} for where, rows in tables.items() for row in rows if row["group"] != "redacted"]


def refuse_blocked(scanned: Scanned, where: str) -> None:
    """Raise ReleaseBlocked if a find is of a group that must not be released, or if a key to be redacted is in a name.
    `where`: the report's folder."""
    sentences = [*blocked_names(scanned), *blocked_texts(scanned)]
    if sentences:
        raise ReleaseBlocked(
            f"nothing is released: {' And '.join(sentences)} All finds are in {where}. Add false "
            f"finds to `allow` in {PrivacyRules.FILE}."
        )


def blocked_names(scanned: Scanned) -> Iterator[str]:
    """The sentence on finds in names that block the release."""
    groups = scanned.rules.blocked_in_names()
    in_names = scanned.in_names + len(scanned.paths.in_names(groups))
    if in_names:
        name_finds = (find for find in (*scanned.kept, *scanned.paths.kept) if find.in_name)
        first_hits = name_first_hits(name_finds, groups, scanned.privacy_finder, in_names)
        yield (
            f"{in_names} names of records or files hold what must not be ({first_hits}). A name joins records with one "
            "another and with their inputs, and cannot be redacted: rename the file (or folder); a session_id or "
            "task_id is changed where the session or the oracle says it."
        )


def blocked_texts(scanned: Scanned) -> Iterator[str]:
    """The sentence on finds in texts that block the release."""
    groups = scanned.rules.groups("block")
    if number := scanned.in_texts:
        text_finds = (find for find in scanned.kept if not find.in_name)
        first_hits = name_first_hits(text_finds, groups, scanned.privacy_finder, number)
        yield (
            f"{number} records hold what must not be ({first_hits}). "
            f"`openclawbench release {flags_of(groups)}` puts a marker in their place, in text and in quotes."
        )


def flags_of(groups: set[str]) -> str:
    """The flags that redact what these groups block."""
    return " ".join(sorted({"--on-keys redact" if "key" in group else "--on-personal redact" for group in groups}))


def name_first_hits(finds: Iterable[TextFind], groups: set[str], privacy_finder: PrivacyFinder, number: int) -> str:
    """The first find of each of the first records."""
    chosen_finds = sorted((hit for hit in finds if hit.group in groups), key=order)
    first = {(find.source_model, find.trajectory_id): find for find in reversed(chosen_finds)}
    sentences = "; ".join(sentence(first[key].masked(privacy_finder)) for key in sorted(first)[:NAMED])
    return sentences + (f"; and {number - NAMED} more" if number > NAMED else "")


def sentence(find: TextFind) -> str:
    """One find, masked."""
    step = "" if find.step_id is None else f" step {find.step_id}"
    return f'{find.source_model}/{find.trajectory_id}{step}, {find.place}: {find.kind} "{find.excerpt}"'
