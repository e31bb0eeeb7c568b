"""The token report: what a trajectory costs in tokens, by stage, and how much of it is the same in every question.

The fixed part of a question is its system message: the shared and the stage's own instructions. The own part is the
packet with the answers of earlier stages.
"""

import polars as pl

from openclawbench.judge.prompts import FILE_NAME, SHARED, STAGES, prompts_folder, read_prompt
from openclawbench.records import fulltax
from openclawbench.records.packet import PacketIndex
from openclawbench.reports.section import Report, Row, Section, Tables
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.tables.record import TRAJECTORY_KEY, Record

NAME = "tokens"
BY_STAGE: dict[str, tuple[type[Record], type[Record]]] = {
    "a": (fulltax.RequestA, fulltax.AnswerA),
    "b1": (fulltax.RequestB1, fulltax.AnswerB1),
    "b2": (fulltax.RequestB2, fulltax.AnswerB2),
    "c": (fulltax.RequestC, fulltax.AnswerC),
}
READS: list[type[Record]] = [PacketIndex, *(record for records in BY_STAGE.values() for record in records)]
ALL = "all"
STAGE_COLUMNS = {
    "stage": "stage, or all",
    "questions": "questions that are sent",
    "questions_a_trajectory": "of these, for each trajectory that stage A is asked about",
    "calls": "requests: corrective questions included, where answers are there",
    "fixed_tokens": "prompt tokens of an average call that are the same in every question of the stage, estimated",
    "own_tokens": "its other prompt tokens: the packet and the answers of earlier stages",
    "cached_share": "share of the prompt tokens that came from the provider's cache",
    "answer_tokens": "tokens of an average answer, reasoning included",
    "prompt_tokens_a_trajectory": "prompt tokens for each trajectory that stage A is asked about",
    "answer_tokens_a_trajectory": "the same of answers",
    "is_measured": "the tokens are those of a language model's answers; else they are estimated from texts",
}
VERSION_COLUMNS = {
    "stage": "stage, or all: the sum over the stages",
    "version": "version of the stage's prompt",
    "is_used": "the questions of this folder have it",
    "characters": "characters of shared and own instructions",
    "fixed_tokens": "their tokens, estimated",
    "fixed_tokens_a_trajectory": "the same for each trajectory, with this folder's questions",
}


def tokens_report(tables: Tables) -> Report:
    """The report, from the tables of READS. Raises NotFound (from `tables`) if one is stale."""
    asking = AskingRules.load()
    per_token = asking.estimate.bytes_per_token
    judged = tables(PacketIndex).filter("to_judge", "fits").select(pl.len()).collect().item()
    by_stage = {stage: stage_row(tables, stage, judged, per_token) for stage in STAGES}
    return Report(
        name=NAME,
        title="Token report",
        about="Tokens of the first pass's questions and answers. The fixed part is estimated at "
        f"{per_token:g} bytes a token (asking.toml); the schema, which some servers add to the prompt, is in the own "
        "part. Where no language model has answered, the own part is estimated from the packets' texts.",
        sections=[stages_section(by_stage, judged), versions_section(by_stage, judged, per_token)],
        rules={asking.FILE: asking.digest},
    )


def stage_row(tables: Tables, stage: str, judged: int, per_token: float) -> Row:
    """A row of STAGE_COLUMNS, with the version of the prompt and sums of tokens beside them."""
    request, answer = BY_STAGE[stage]
    sent = tables(request).filter("fits").select(*TRAJECTORY_KEY, "purpose", "previous", "prompt_version").collect()
    usage = pl.col("usage").struct
    answers = (
        tables(answer)
        .select(
            calls=1 + pl.col("former").is_not_null().cast(pl.Int64),
            prompt=usage.field("prompt_tokens"),
            cached=usage.field("cached_tokens"),
            completion=usage.field("completion_tokens"),
        )
        .filter(pl.col("prompt") > 0)
        .sum()
        .collect()
        .row(0, named=True)
    )
    versions = sorted(name.rpartition("/")[2] for name in sent["prompt_version"].unique())
    version = versions[-1] if versions else read_prompt(stage).version
    fixed = characters_of(stage, version)[1] / per_token
    is_measured = bool(answers["calls"])
    calls = answers["calls"] if is_measured else sent.height
    prompt = answers["prompt"] if is_measured else calls * fixed + own_tokens(tables, sent, per_token)
    return {
        "stage": stage,
        "questions": sent.height,
        "questions_a_trajectory": ratio(sent.height, judged, 3),
        "calls": calls,
        "fixed_tokens": round(fixed),
        "own_tokens": ratio(max(prompt - calls * fixed, 0), calls),
        "cached_share": ratio(answers["cached"], answers["prompt"], 3),
        "answer_tokens": ratio(answers["completion"], answers["calls"]),
        "prompt_tokens_a_trajectory": ratio(prompt, judged),
        "answer_tokens_a_trajectory": ratio(answers["completion"], judged) if is_measured else None,
        "is_measured": is_measured,
        "version": version,
        "sums": answers | {"prompt": prompt, "fixed": fixed},
    }


def own_tokens(tables: Tables, sent: pl.DataFrame, per_token: float) -> float:
    """Estimated tokens of the packets and earlier answers in these questions."""
    sizes = tables(PacketIndex).select(*TRAJECTORY_KEY, "estimated_tokens").collect()
    joined = sent.join(sizes, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    return float(joined["estimated_tokens"].sum() or 0) + int(joined["previous"].str.len_bytes().sum() or 0) / per_token


def characters_of(stage: str, version: str) -> tuple[int, int]:
    """Characters and bytes of a prompt's shared and own instructions."""
    prompt = read_prompt(stage, version)
    shared = f"{read_prompt(SHARED, prompt.shared).text}\n" if prompt.shared else ""
    text = shared + prompt.text
    return len(text), len(text.encode())


def stages_section(by_stage: dict[str, Row], judged: int) -> Section:
    """Tokens by stage, and of all stages together."""
    sums = [row["sums"] for row in by_stage.values()]
    prompt, cached, completion = (sum(row[name] for row in sums) for name in ("prompt", "cached", "completion"))
    measured = [row["is_measured"] for row in by_stage.values() if row["questions"]]
    total = {
        "stage": ALL,
        "questions": sum(row["questions"] for row in by_stage.values()),
        "questions_a_trajectory": ratio(sum(row["questions"] for row in by_stage.values()), judged, 3),
        "calls": sum(row["calls"] for row in by_stage.values()),
        "fixed_tokens": round(sum(row["sums"]["fixed"] for row in by_stage.values())),
        "own_tokens": None,
        "cached_share": ratio(cached, sum(row["sums"]["prompt"] for row in by_stage.values() if row["is_measured"]), 3),
        "answer_tokens": ratio(completion, sum(row["calls"] for row in by_stage.values() if row["is_measured"])),
        "prompt_tokens_a_trajectory": ratio(prompt, judged),
        "answer_tokens_a_trajectory": ratio(completion, judged) if any(measured) else None,
        "is_measured": bool(measured) and all(measured),
    }
    names = [name for name in STAGE_COLUMNS if name not in ("stage", "own_tokens")]
    return Section(
        name="stages",
        title="Tokens by stage",
        about=f"Over the {judged} trajectories that stage A is asked about.",
        columns=STAGE_COLUMNS,
        rows=[*({name: row[name] for name in STAGE_COLUMNS} for row in by_stage.values()), total],
        facts={name: total[name] for name in names},
        definitions={name: f"All stages: {STAGE_COLUMNS[name]}." for name in names},
    )


def versions_section(by_stage: dict[str, Row], judged: int, per_token: float) -> Section:
    """The fixed part of each version of the prompts that is there: what a change of prompts costs or saves."""
    versions = {stage: versions_of(stage) for stage in STAGES}
    rows: list[Row] = []
    for version in sorted(set.intersection(*map(set, versions.values())), key=lambda name: int(name[1:])):
        of_version = []
        for stage in STAGES:
            characters, size = characters_of(stage, version)
            fixed, questions = size / per_token, by_stage[stage]["questions"]
            of_version.append((characters, fixed, questions * fixed))
            is_used = version == by_stage[stage]["version"]
            rows.append(version_row(stage, version, is_used, *of_version[-1], judged))
        sums = [sum(values) for values in zip(*of_version, strict=True)]
        is_used = all(row["version"] == version for row in by_stage.values())
        rows.append(version_row(ALL, version, is_used, int(sums[0]), sums[1], sums[2], judged))
    return Section(
        name="versions",
        title="The fixed part, by version of the prompts",
        about="Versions that every stage has, with the questions of this folder.",
        columns=VERSION_COLUMNS,
        rows=rows,
    )


def version_row(
    stage: str, version: str, is_used: bool, characters: int, fixed: float, of_questions: float, judged: int
) -> Row:
    """A row of VERSION_COLUMNS."""
    return {
        "stage": stage,
        "version": version,
        "is_used": is_used,
        "characters": characters,
        "fixed_tokens": round(fixed),
        "fixed_tokens_a_trajectory": ratio(of_questions, judged),
    }


def versions_of(stage: str) -> list[str]:
    """The versions of a stage's prompt that are there."""
    return [path.stem for path in (prompts_folder() / stage).iterdir() if FILE_NAME.fullmatch(path.name)]


def ratio(part: float, total: float, places: int = 1) -> float | None:
    """part / total, rounded; None if the total is 0."""
    return round(part / total, places) if total else None
