"""Which certificate a release quotes: that of its own judge, asked with its own prompts, or none."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from openclawbench.base.terminal import safe
from openclawbench.judge.prompts import prompt_files
from openclawbench.judge.protocol import Judge
from openclawbench.records.certificate import JudgeCertificate
from openclawbench.release.provenance import OF_RULES_JUDGE, Certificates
from openclawbench.rules.construct.packet import is_blind
from openclawbench.rules.loading.rule_file import Overrides
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import DataFolder

PATTERN = "exam/*/results/*/certificate.json"  # in a data folder


def quoted_certificates(data: DataFolder, run: Run) -> Certificates:
    """Annotation pass -> the certificate to quote, without its endpoint; null for a judge that has none."""
    return {number: best(data, judge, run.overrides) for number, judge in run.judges.items() if judge is not None}


def best(data: DataFolder, judge: Judge, overrides: Overrides) -> JudgeCertificate | None:
    """Of the certificates of this judge the one with the most pairs; of these the latest. One of the data folder is
    preferred to the one that comes with the program."""
    for paths in (sorted(data.root.glob(PATTERN)), [OF_RULES_JUDGE]):
        own = [certificate for certificate in read_certificates(paths) if is_about(certificate, judge, overrides)]
        if own:
            chosen = max(own, key=lambda certificate: (certificate.pairs, certificate.date or "", certificate.seed))
            return chosen.model_copy(update={"endpoint": None})  # an address may be private
    return None


def read_certificates(paths: list[Path]) -> Iterator[JudgeCertificate]:
    """The certificates that can be read; certificate_lines() names the others."""
    for path in paths:
        try:
            yield JudgeCertificate.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue


def is_about(certificate: JudgeCertificate, judge: Judge, overrides: Overrides) -> bool:
    """True if this judge, asked as it is now, sat the exam."""
    prompts = {prompt.stage: prompt.sha256 for prompt in prompt_files()}
    is_same = certificate.is_of(judge.name, judge.model, prompts, is_blind(judge.reads, overrides))
    return is_same and certificate.judge_digest == judge.method_digest


def certificate_lines(data: DataFolder, run: Run) -> list[str]:
    """What is said of the judges of a release, and why a certificate of the data folder is not quoted."""
    judges = [judge for judge in run.judges.values() if judge is not None]
    lines = []
    for judge in judges:
        certificate = best(data, judge, run.overrides)
        lines.append(certificate.sentence if certificate else describe_missing_certificate(judge))
    for path in sorted(data.root.glob(PATTERN)):
        certificate = next(read_certificates([path]), None)
        if certificate is None:
            lines.append(f"{path}: is not a certificate of this version of the program. Sit the exam again.")
        elif not any(is_about(certificate, judge, run.overrides) for judge in judges):
            lines.append(
                f"{path}: is not quoted. It certifies {certificate.judge} ({certificate.judge_model}) with the "
                "prompts, packets and rules of that time, and no judge of this release answers that way."
            )
    return [safe(line) for line in lines]


def describe_missing_certificate(judge: Judge) -> str:
    """The sentence of a judge without a certificate."""
    return f"uncertified judge: {judge.name} ({judge.model}) has not sat the exam. Measure it: openclawbench exam"
