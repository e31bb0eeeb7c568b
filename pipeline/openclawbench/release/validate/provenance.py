"""The provenance of a release, as far as it follows from the release, this program or the certificate with it."""

import hashlib
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from openclawbench.errors import InvalidRules
from openclawbench.records.calibration import HumanVerdict
from openclawbench.records.certificate import CONFIDENCE, JudgeCertificate
from openclawbench.records.datapackage import JudgeUsed, MadeFrom
from openclawbench.records.json_schema import SCHEMA_VERSION
from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.provenance import (
    NAME,
    PACKAGES,
    input_table,
    installed_version,
    lock_digest,
    program_digest,
    shipped_certificate,
)
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce
from openclawbench.reports.measures import NO_INTERVAL, proportion
from openclawbench.rules.construct.packet import PacketRules
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.version import __version__

SHA256 = re.compile(r"(?!(.)\1{63})[0-9a-f]{64}")  # one digit 64 times is no digest of anything
NOTHING = hashlib.sha256().hexdigest()
EXAM = ("size", "seed", "families_sha256", "pairs")  # that decide the result of the rules judge


def check_provenance(in_force: RulesInForce, verdicts: Sequence[HumanVerdict], findings: Findings) -> None:
    """A finding for each statement that is wrong, and a note for each that cannot be compared."""
    provenance = in_force.provenance
    for message in (*program(provenance, findings), *inputs(provenance, verdicts), *commands(in_force)):
        findings.add("datapackage", NAME, message)
    for used in provenance.judges:
        for message in (*judge(used, in_force, findings), *certificate(used, provenance)):
            findings.add("datapackage", NAME, message)


def program(provenance: MadeFrom, findings: Findings) -> Iterator[str]:
    """The program, its version, and the libraries that it ran with."""
    if provenance.schema_version != SCHEMA_VERSION:
        yield f"schema_version is {provenance.schema_version}, the records are of schema {SCHEMA_VERSION}"
    if not re.fullmatch(r"3\.\d+", provenance.python):
        yield f"python is {provenance.python!r}, which is no version of Python 3"
    for name, digest in (("program_sha256", provenance.program_sha256), ("lock_sha256", provenance.lock_sha256)):
        if digest is not None and not SHA256.fullmatch(digest):
            yield f"{name} is {digest!r}, which is no digest"
    if provenance.program_sha256 != program_digest():
        findings.notes.append(
            f"{NAME}: another program made this release ({provenance.program_version}, digest "
            f"{provenance.program_sha256[:12]}…). Not compared: which rule files are as shipped, its version, its "
            "locked packages, the answers of its rules judge if that has other rules. Validate it with that program."
        )
        return
    if provenance.program_version != __version__:
        yield f"program_version is {provenance.program_version}; the program with this digest is {__version__}"
    if None not in (lock := lock_digest(), provenance.lock_sha256) and lock != provenance.lock_sha256:
        yield "lock_sha256 is not the digest of this program's requirements.lock"
    versions = {entry.name: entry.version for entry in provenance.dependencies}
    if [*versions] != [*PACKAGES]:
        yield f"dependencies names {', '.join(versions)}; the program with this digest names {', '.join(PACKAGES)}"
    others = [f"{name} {version}" for name, version in versions.items() if version != installed_version(name)]
    if others:
        findings.notes.append(f"{NAME}: made with other versions than are installed here: {', '.join(others)}")


def inputs(provenance: MadeFrom, verdicts: Sequence[HumanVerdict]) -> Iterator[str]:
    """The tables that were read beside the sessions. Of them the human verdicts are released."""
    for table in provenance.input_tables:
        if not SHA256.fullmatch(table.sha256):
            yield f"input_tables: the digest of {table.name} is {table.sha256!r}, which is no digest"
        elif (table.rows == 0) != (table.sha256 == NOTHING):
            yield f"input_tables: {table.name} has {table.rows} rows, which its digest contradicts"
        if table.name != "human_verdicts":
            continue
        expected = input_table(table.name, [[verdict.model_dump() for verdict in verdicts]])
        if table != expected:
            yield (
                f"input_tables: human_verdicts has {table.rows} rows with the digest {table.sha256[:12]}…; "
                f"human_audited.jsonl gives {expected.rows} with {expected.sha256[:12]}…"
            )


def commands(in_force: RulesInForce) -> Iterator[str]:
    """The commands are this program's, and name the judges and the settings of the release."""
    judges = {used.annotation_pass: used for used in in_force.provenance.judges}
    for command in in_force.provenance.commands:
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        if words[:2] not in (["openclawbench", "release"], ["openclawbench", "annotate"]):
            yield f"commands: {command[:80]!r} is no command that makes a release"
            continue
        flags = dict(pairwise(words))
        used = judges.get(2 if words[1] == "annotate" else 1)
        stated = flags.get("--judge")
        if used is not None and stated is not None and stated != used.judge:
            yield f"commands: {command[:80]!r} names the judge {stated}, the release was made by {used.judge}"
        model = flags.get("--model")
        if used is not None and model is not None and used.judge not in BASELINE_JUDGES and model != used.judge_model:
            yield f"commands: {command[:80]!r} names the model {model}, the release was made by {used.judge_model}"
        share = flags.get("--test-share")
        if share is not None and float(share) != in_force.rules(ReleaseRules).test_share:
            yield f"commands: {command[:80]!r} names a test share that release.toml does not have"


def judge(used: JudgeUsed, in_force: RulesInForce, findings: Findings) -> Iterator[str]:
    """The rules judge is that of the released rules. Another judge's answers are not asked for again."""
    blind = None if used.judge in BASELINE_JUDGES else in_force.rules(PacketRules).blind
    if used.blind != blind:
        yield f"blind is {used.blind} for the judge of pass {used.annotation_pass}; packet.toml gives {blind}"
    if not SHA256.fullmatch(used.digest):
        yield f"the digest of the judge of pass {used.annotation_pass} is {used.digest!r}, which is no digest"
    if used.judge not in BASELINE_JUDGES:
        findings.notes.append(
            f"{NAME}: {used.judge} ({used.judge_model}) was not asked again: a release holds no ledger. What follows "
            "from its answers was derived again."
        )
        return
    try:
        own = in_force.judge()
    except (InvalidRules, TypeError) as error:
        yield f"the rules of the embedded judge cannot be used: {error}"
        return
    if (own.digest, own.model) == (used.digest, used.judge_model):
        return
    if in_force.same_program:
        yield f"the embedded judge has the digest {own.digest[:12]}…, it says {used.digest[:12]}…"
    else:
        findings.notes.append(
            f"{NAME}: the rules judge of pass {used.annotation_pass} is another than this program's, so that its "
            "answers were not asked for again"
        )


def certificate(used: JudgeUsed, provenance: MadeFrom) -> Iterator[str]:
    """A certificate is of the judge that it stands with, its shares follow from its counts, and that of the rules judge
    is the one that comes with the program, if it is of the same exam."""
    quoted, shipped = used.certificate, shipped_certificate()
    place = f"the certificate of pass {used.annotation_pass}"
    if quoted is None:
        same_program = provenance.program_sha256 == program_digest()
        if same_program and used.judge in BASELINE_JUDGES and used.digest == shipped.judge_digest:
            yield f"{place} is missing: the program comes with one of this judge"
        return
    prompts = {prompt.stage: prompt.sha256 for prompt in provenance.prompts}
    if not quoted.is_of(used.judge, used.judge_model, prompts, used.blind):
        yield f"{place} is of another judge"
    if used.judge in BASELINE_JUDGES and quoted.judge_digest != used.digest:
        digests = f"{quoted.judge_digest[:12]}…, the release's has {used.digest[:12]}…"
        yield f"{place} is of a judge with the digest {digests}"
    if quoted.endpoint is not None:
        yield f"{place} names the endpoint {quoted.endpoint[:80]!r}: a released certificate names none"
    yield from (f"{place}: {message}" for message in counts(quoted))
    same_exam = all(getattr(quoted, name) == getattr(shipped, name) for name in EXAM)
    if same_exam and quoted.judge_digest == shipped.judge_digest:
        for name in type(quoted).model_fields:
            if getattr(quoted, name) != getattr(shipped, name) and name not in ("endpoint", "program_version"):
                yield f"{place}: {name} is not that of the same exam in the certificate that comes with the program"


def counts(quoted: JudgeCertificate) -> Iterator[str]:
    """Shares follow from their counts, and the counts fit each other."""
    for name, share in quoted.shares().items():
        interval = proportion(share.part, share.whole, CONFIDENCE) if 0 <= share.part <= share.whole else NO_INTERVAL
        if (share.share, share.low, share.high) != tuple(interval):
            yield f"{name} does not follow from its counts"
    both, anomalous, innocent = quoted.both_right, quoted.anomalous_right, quoted.innocent_right
    if both.part > min(anomalous.part, innocent.part):
        yield "both twins are right in more pairs than one of them is"
    if quoted.pairs > quoted.paper_pairs or {both.whole, anomalous.whole, innocent.whole} != {quoted.pairs}:
        yield f"its shares are not of its {quoted.pairs} pairs"
    if innocent.part + quoted.false_alarms.part > quoted.pairs:
        yield "more innocent twins are right or false alarms than there are"
