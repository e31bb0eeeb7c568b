"""A judge sits the exam: the very stages, prompts, ledger, budget and limits of `annotate`, in a folder of its own.

DATA/exam/SIZE-SEED-FAMILIES/ holds the paper (raw/, oracle/, key.jsonl) and data/, the data folder of the run. FAMILIES
is the beginning of the digest of the families. The result of a judge is in results/JUDGE/ beside them.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from openclawbench.errors import InvalidFamily, NotJudged
from openclawbench.exam.answers import Answer, read_answers
from openclawbench.exam.check import check_family
from openclawbench.exam.family import FAMILIES, TWINS, Family, load_families
from openclawbench.exam.paper import UNALTERED, Alteration, Paper, Size, make_paper, whole_paper
from openclawbench.exam.result_page import result_page
from openclawbench.exam.score import compare, pairs_of, score_card
from openclawbench.judge.client.batch_files import PLACE
from openclawbench.judge.prompts import prompt_files
from openclawbench.judge.protocol import Judge
from openclawbench.judge.transport.endpoint import printable_url
from openclawbench.records.certificate import CertifiedPrompt, CertifiedShare, JudgeCertificate
from openclawbench.reports.files import as_files, as_json
from openclawbench.rules.construct.packet import is_blind
from openclawbench.storage.data_folder import DataFolder, write_atomic
from openclawbench.version import __version__
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.release_settings import rule_overrides
from openclawbench.workspace.settings import Settings, for_folder_within, settings
from openclawbench.workspace.update import update

FOLDER = "exam"  # in the data folder
RESULTS = "results"  # in the folder of a paper
CERTIFICATE = "certificate.json"
ANSWERS = "answers.jsonl"
SCHEMA_VERSION = "3"
STOP_AFTER = "annotate"
DIGEST_SHOWN = 8
CERTIFIED = ("both_right", "anomalous_right", "innocent_right", "false_alarms", "review", "subtype_right")
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
ReplaceJudge = Callable[[Judge | None], Judge | None]


@dataclass(frozen=True)
class Exam:
    """A paper of a size and seed, drawn from the families of a folder, to be sat in a data folder."""

    data: DataFolder
    size: Size
    seed: int
    source: Path = FAMILIES  # the folder of the families
    pairs: int | None = None  # only so many of the paper; None: all

    @cached_property
    def families(self) -> dict[str, Family]:
        """The families by name. Raises InvalidFamily for one that is not valid. Those that come with the program are
        checked where they are made, and not again."""
        families = load_families(self.source)
        if self.source != FAMILIES:
            for name, family in families.items():
                for finding in check_family(self.source, name, family):
                    raise InvalidFamily(f"{self.source}: {finding}. Correct the family or take it out.")
        return families

    @cached_property
    def families_sha256(self) -> str:
        """Digest of the families and their recordings."""
        digest = hashlib.sha256()
        for name in sorted(self.families):
            for file in (f"{name}.toml", *(f"{name}.{twin}.jsonl" for twin in TWINS)):
                digest.update(f"{file}\n".encode() + hashlib.sha256((self.source / file).read_bytes()).digest())
        return digest.hexdigest()

    @property
    def folder(self) -> Path:
        """Where the paper and its results lie."""
        return self.data.root / FOLDER / f"{self.size}-{self.seed}-{self.families_sha256[:DIGEST_SHOWN]}"

    def prepare(self, alteration: Alteration = UNALTERED, folder: Path | None = None) -> Paper:
        """Draw the paper and write it, by default to `folder` of the exam. A paper that is there already is written
        again with the same bytes."""
        paper = make_paper(self.source, self.families, self.size, self.seed, alteration, self.pairs)
        paper.write(folder or self.folder)
        return paper

    def settings(self, flags: Mapping[str, Any], folder: Path | None = None) -> tuple[DataFolder, Settings]:
        """The data folder of the run, and its settings: judge, model, endpoint and limits of the user's data folder.
        `folder`: of the paper, by default that of the exam. Another paper has batch files of its own."""
        place = folder or self.folder
        chosen = settings(self.data, True, **flags)
        if folder is not None and (files := chosen.asking.batch_files) is not None:
            asking = chosen.asking.model_copy(update={"batch_files": files / folder.name})
            chosen = replace(chosen, asking=asking)
        return DataFolder(place / "data"), for_folder_within(chosen, self.data.root, place / "raw", place / "oracle")


@dataclass(frozen=True)
class Sitting:
    """A finished exam."""

    paper: Paper
    answers: list[Answer]
    card: dict[str, Any]
    certificate: JudgeCertificate
    folder: Path  # of the result


def sit(
    exam: Exam,
    flags: Mapping[str, Any],
    progress: Progress,
    date: str | None = None,
    replace_judge: ReplaceJudge = lambda judge: judge,
) -> Sitting:
    """Let the judge of the settings answer a paper, and write the result.

    A run that was stopped goes on with the same seed: its ledger has every answer that was paid for. Raises what
    `annotate` raises, and InvalidFamily.
    """
    paper = exam.prepare()
    exam_data, chosen = exam.settings(flags)
    judge, answers = ask(paper, exam_data, chosen, progress, replace_judge)
    results, own = exam.folder / RESULTS, result_name(judge)
    card = score_card(answers)
    card["compared"] = compare_with_others(paper, answers, results, own)
    asked_at = PLACE if chosen.asking.batch_files else printable_url(chosen.asking.base_url or "")
    endpoint = None if judge.embedded else asked_at
    blind = is_blind(judge.reads, rule_overrides(chosen))
    certificate = certify(exam, judge, blind, card, endpoint, date)
    sitting = Sitting(paper, answers, card, certificate, results / own)
    write(sitting)
    return sitting


def ask(
    paper: Paper, data: DataFolder, chosen: Settings, progress: Progress, replace_judge: ReplaceJudge
) -> tuple[Judge, list[Answer]]:
    """The judge, and its answers to a paper. Raises what `annotate` raises."""
    judges: list[Judge] = []

    def kept(judge: Judge | None) -> Judge | None:
        replaced = replace_judge(judge)
        judges.extend([] if replaced is None else [replaced])
        return replaced

    report = update(data, chosen, STOP_AFTER, progress, replace_judge=kept, notes=False)
    if report.unjudged is not None:
        raise NotJudged(report.unjudged)
    assert report.tables is not None
    return judges[0], read_answers(paper.items, report.tables)


def compare_with_others(paper: Paper, answers: list[Answer], results: Path, own: str) -> dict[str, Any]:
    """McNemar's test against every other judge that has sat this paper, by the name of its result folder."""
    right = {pair.anomalous.item.pair: pair.is_right for pair in pairs_of(answers)}
    others = sorted(path.parent for path in results.glob(f"*/{CERTIFICATE}") if path.parent.name != own)
    return {folder.name: compare(right, earlier_pairs(folder, paper)) for folder in others}


def certify(
    exam: Exam, judge: Judge, blind: bool | None, card: Mapping[str, Any], endpoint: str | None, date: str | None
) -> JudgeCertificate:
    """The certificate of a judge. One that reads no prompt is certified without prompts. `blind`: its packets."""
    prompts = [] if judge.embedded else prompt_files()
    return JudgeCertificate(
        schema_version=SCHEMA_VERSION,
        date=date,
        judge=judge.name,
        judge_model=judge.model,
        judge_digest=judge.digest,
        endpoint=endpoint or None,
        prompts=[
            CertifiedPrompt(stage=prompt.stage, version=prompt.version, sha256=prompt.sha256) for prompt in prompts
        ],
        blind=blind,
        program_version=__version__,
        size=exam.size,
        seed=exam.seed,
        families=len(exam.families),
        families_sha256=exam.families_sha256,
        pairs=card["pairs"],
        paper_pairs=whole_paper(exam.families, exam.size),
        onset_within_one=CertifiedShare.model_validate(card["onset"]["within_one"]),
        cites_planted=CertifiedShare.model_validate(card["evidence"]["cites_planted"]),
        **{name: CertifiedShare.model_validate(card[name]) for name in CERTIFIED},
    )


def result_name(judge: Judge) -> str:
    """Folder name of a judge's result."""
    return UNSAFE.sub("-", judge.name if judge.embedded else f"{judge.name}-{judge.model}")


def write(sitting: Sitting) -> None:
    """Write answers.jsonl, score.json, the result page, and certificate.json last: with it the exam is finished."""
    rows = [{**asdict(answer), "item": answer.item.id, "is_right": answer.is_right} for answer in sitting.answers]
    files = {
        ANSWERS: "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "score.json": as_json(sitting.card).encode(),
        **as_files(result_page(sitting.answers, sitting.card, sitting.certificate)),
        CERTIFICATE: as_json(sitting.certificate.model_dump()).encode(),
    }
    for name, content in files.items():
        write_atomic(sitting.folder / name, [content])


def earlier_pairs(folder: Path, paper: Paper) -> dict[int, bool]:
    """Number of a pair -> both right, of a result folder of the same paper; without pairs that were not asked there."""
    lines = (folder / ANSWERS).read_text(encoding="utf-8").splitlines()
    right = {row["item"]: row["is_right"] for row in map(json.loads, lines)}
    pairs: dict[int, bool] = {}
    for item in paper.items:
        if item.id not in right:
            continue
        pairs[item.pair] = pairs.get(item.pair, True) and right[item.id]
    return pairs


def unfinished_seed(data: DataFolder, size: Size) -> int | None:
    """Seed of a paper of this size that no judge has finished, or None."""
    for folder in sorted((data.root / FOLDER).glob(f"{size}-*-*")):
        seed = folder.name.split("-")[1]
        if seed.isdigit() and (folder / "key.jsonl").is_file() and not any(folder.glob(f"{RESULTS}/*/{CERTIFICATE}")):
            return int(seed)
    return None
