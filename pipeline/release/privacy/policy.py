"""What becomes of finds: a report of all of them, and no release where one of them must not be released."""

from typing import Any

from pipeline.canonical import canonical_json
from pipeline.errors import ReleaseBlocked
from pipeline.release.labels import as_json
from pipeline.release.privacy.rules import PrivacyRules
from pipeline.release.privacy.scan import TextFind, TextScan

REPORT = "privacy"  # folder below the reports
RULES_FILE = "privacy.json"  # in a release: what was searched for, and what became of it
NAMED = 5  # records that the sentence names, each with its first find


def report(scan: TextScan, rules: PrivacyRules) -> dict[str, bytes]:
    """File name -> content: finds by kind with what becomes of them, and every find."""
    done: dict[str, Any] = {"key": rules.on_key, "email": rules.on_email, "phone": rules.on_phone}
    table = [row | {"action": done.get(row["group"])} for row in scan.table()]
    return {
        "summary.json": as_json({"rules_version": rules.version, "rules": rules.digest, "kinds": table}),
        "finds.jsonl": b"".join(canonical_json(one._asdict()).encode() + b"\n" for one in sorted(scan.kept, key=order)),
    }


def order(find: TextFind) -> tuple[str, str, str, str]:
    """By record, then by file and place."""
    return find.source_model, find.trajectory_id, find.file, find.place


def refuse_blocked(scan: TextScan, rules: PrivacyRules, where: str) -> None:
    """Raise ReleaseBlocked where a find is of a group that must not be released. `where`: the report's folder."""
    groups = rules.groups("block")
    keys = scan.keys(groups)
    if not keys:
        return
    finds = [one for one in sorted(scan.kept, key=order) if one.group in groups]
    first = {(one.source_model, one.trajectory_id): one for one in reversed(finds)}
    named = "; ".join(sentence(first[key]) for key in sorted(first)[:NAMED])
    more = f"; and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    flags = " ".join(sorted({"--on-keys redact" if one == "key" else "--on-personal redact" for one in groups}))
    raise ReleaseBlocked(
        f"nothing is released: {len(keys)} records hold what must not be ({named}{more}). All finds are in {where}. "
        f"`openclawbench release {flags}` puts a marker in their place, in text and in quotes; what is none can be "
        f"named under `allow` in {PrivacyRules.FILE}."
    )


def sentence(find: TextFind) -> str:
    """One find, masked."""
    step = "" if find.step_id is None else f" step {find.step_id}"
    return f'{find.source_model}/{find.trajectory_id}{step}, {find.place}: {find.kind} "{find.excerpt}"'
