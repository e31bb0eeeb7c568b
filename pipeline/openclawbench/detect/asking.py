"""Ask a model for labels, with the judge's engine, ledger, budget and batches, and the detector's own questions."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.detect.labels import LabelledTrajectory, LabelSet, provenance_base, read_packets, reviewed_beside
from openclawbench.detect.packet import detector_messages, detector_prompt
from openclawbench.detect.predictions import prediction
from openclawbench.detect.protocols import (
    SCHEMA,
    SCHEMA_ID,
    SPLIT_SYMBOLS,
    DetectorReader,
    LabelReading,
    read_answer,
    read_probabilities,
)
from openclawbench.detect.settings import DetectRules, check_protocol
from openclawbench.detect.tokenizer import load_tokenizer, token_counter, tokenizer_file
from openclawbench.errors import MissingAnswer, UnreadableAnswers
from openclawbench.judge.client.batch_files import PLACE
from openclawbench.judge.client.client_options import ClientOptions
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.language_model import NO_SECOND, LanguageModelJudge, reply_of
from openclawbench.judge.ledger.stored_answer import StoredAnswer
from openclawbench.judge.protocol import AnswerProblem, Question
from openclawbench.judge.settings import AskingSettings
from openclawbench.judge.transport.chat_request import ChatRequest, chat_request
from openclawbench.judge.transport.endpoint import address_of, printable_url
from openclawbench.records.detection.packet import DetectorPacket
from openclawbench.records.detection.prediction import Prediction
from openclawbench.records.fulltax import Usage
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.storage.data_folder import DataFolder, sha256_file
from openclawbench.workspace.judges import make_asking, noting_files
from openclawbench.workspace.progress import Progress

STAGE = "detect"  # of the questions in the ledger
FOLDER = "detect"  # of a data folder
UNREADABLE_ADVICE = (
    "Nothing more is asked, and every answer is kept. A model that reasons first needs --protocol json. With "
    "--accept-unreadable the same command goes on; the predictions file then shows what the model writes."
)
NEVER = 10**9  # unreadable answers in a row that stop a run


@dataclass(frozen=True)
class DetectorRun:
    """A model to be asked about the trajectories of a label set. `name` is its name in tables."""

    name: str
    model: str
    protocol: str
    labels: LabelSet
    rules: DetectRules
    settings: AskingSettings
    reasoning_effort: str | None = None
    accept_unreadable: bool = False  # go on however many answers in a row cannot be read
    tokenizer: Path | None = None  # that counts the tokens of packets; None: they are estimated

    @cached_property
    def reviewed(self) -> list[LabelledTrajectory]:
        """Trajectories that people have reviewed, beside the labels: they are asked about too."""
        return reviewed_beside(self.labels)

    @property
    def more(self) -> dict[str, Any]:
        """Fields of the request beside model, messages and parameters."""
        top = self.rules.protocol_rules(self.protocol).top_logprobs
        logprobs = {"logprobs": True, "top_logprobs": top} if top else {}
        return logprobs | ({"reasoning_effort": self.reasoning_effort} if self.reasoning_effort else {})


class DetectorModel(LanguageModelJudge):
    """A model behind an OpenAI-compatible endpoint, asked once: an answer that cannot be read is a result (F.10)."""

    name: str = "detector"

    def __init__(self, run: DetectorRun, ledger: Path, rules: AskingRules, asking: ClientOptions | None) -> None:
        schema = {SCHEMA_ID: json.dumps(SCHEMA, separators=(",", ":")) if run.protocol == "json" else ""}
        parameters = run.rules.request_rules(run.protocol)
        super().__init__(run.model, ledger, schema, DetectorReader(run.protocol, run.rules), parameters, rules, asking)
        self.prompt, self.more = detector_prompt(run.protocol), run.more

    def messages(self, question: Question) -> list[dict[str, str]]:
        """Instructions, then the packet between fences."""
        return detector_messages(question.material, self.prompt)

    def request(self, question: Question, messages: list[dict[str, str]]) -> ChatRequest:
        """A request about a trajectory."""
        schema = self.schemas[question.schema_id]
        digest = question.packet_sha256
        return chat_request(self.model, self.parameters, messages, question.schema_id, schema, digest, self.more)

    def second(
        self, question: Question, messages: list[dict[str, str]], kept: StoredAnswer, complaint: AnswerProblem
    ) -> ChatRequest | None:
        """No question is asked twice."""
        return None

    def question(self, packet: DetectorPacket) -> Question:
        """The question about a packet."""
        meant = [self.prompt.sha256, packet.packet_sha256, dict(self.more)]
        return Question(
            stage=STAGE,
            material=packet.text,
            previous=None,
            schema_id=SCHEMA_ID,
            prompt_version=self.prompt.version,
            prompt=self.prompt.text,
            trajectory_id=packet.trajectory_id,
            packet_sha256=packet.packet_sha256,
            request_sha256=sha256_text(canonical_json(meant)),
        )

    def answer_to(self, packet: DetectorPacket) -> StoredAnswer:
        """The ledger's answer about a packet. Raises MissingAnswer."""
        kept = self.final_answers(self.question(packet))
        if kept is None:
            raise MissingAnswer(f"{packet.trajectory_id}: the ledger {self.ledger} has no answer of {self.model}.")
        return kept[1]


@dataclass(frozen=True)
class PacketQuestions:
    """The questions about some packets."""

    model: DetectorModel
    packets: Mapping[str, DetectorPacket]  # by request_sha256: packets with the same text are one question

    def rows(self) -> list[dict[str, Any]]:
        """What the engine needs of each question before it is made."""
        return [{"request_sha256": digest, "fits": True} for digest in self.packets]

    def questions(self, rows: list[dict[str, Any]]) -> Iterator[Question]:
        """The questions of these rows."""
        for row in rows:
            yield self.model.question(self.packets[row["request_sha256"]])


@dataclass(frozen=True)
class RunPlan:
    """What a run would ask and cost; nothing of it is sent."""

    trajectories: int  # labelled, and reviewed by people beside them
    reviewed: int  # of these, reviewed beside the labels
    questions: int
    answered: int
    prompt_tokens: int
    most_completion_tokens: int
    most_usd: float
    price: str
    endpoint: str
    shortened: int
    blocks_left_out: int
    characters_left_out: int


def run_packets(run: DetectorRun) -> list[DetectorPacket]:
    """The packets of the run's trajectories."""
    count = None if run.tokenizer is None else token_counter(load_tokenizer(run.tokenizer))
    keys = run.labels.by_key.keys() | {item.key for item in run.reviewed}
    return list(read_packets(run.labels.root, keys, run.rules.packet, count))


def ledger_folder(data: DataFolder) -> Path:
    """The ledger of detectors' answers."""
    return data.root / FOLDER / "ledger"


def open_model(run: DetectorRun, data: DataFolder, report: Callable[[JudgeProgress], None] | None) -> DetectorModel:
    """The model, to be asked if `report` is given; else it looks answers up. Raises UsageError for a protocol that does
    not exist."""
    check_protocol(run.protocol)
    asking_rules = AskingRules.load()
    if run.accept_unreadable:
        patient = asking_rules.retry.model_copy(update={"unreadable_in_a_row": NEVER})
        asking_rules = asking_rules.model_copy(update={"retry": patient})
    asking = make_asking(run.model, run.settings, asking_rules, report) if report is not None else None
    return DetectorModel(run, ledger_folder(data), asking_rules, asking)


def by_question(model: DetectorModel, packets_of_run: list[DetectorPacket]) -> dict[str, DetectorPacket]:
    """request_sha256 -> packet."""
    return {model.question(packet).request_sha256: packet for packet in packets_of_run}


def plan_run(run: DetectorRun, data: DataFolder) -> RunPlan:
    """Count what would be asked; nothing is sent. Raises UsageError where no price is known."""
    model = open_model(run, data, None)
    own = run_packets(run)
    asked = by_question(model, own)
    waiting = [question for question in map(model.question, asked.values()) if not model.has_answer(question)]
    estimate, longest = model.rules.estimate, model.parameters.max_output_tokens
    size = sum(model.request(question, model.messages(question)).bytes for question in waiting)
    prompt = round(size / estimate.bytes_per_token)
    asking = make_asking(run.model, run.settings, model.rules, lambda _: None)
    price = asking.price()
    return RunPlan(
        trajectories=len(own),
        reviewed=len(run.reviewed),
        questions=len(asked),
        answered=len(asked) - len(waiting),
        prompt_tokens=prompt,
        most_completion_tokens=longest * len(waiting),
        most_usd=price.of(prompt, 0, longest * len(waiting)),
        price=f"{price.input:g} and {price.output:g} USD for a million prompt and answer tokens: {price.source}",
        endpoint=asking.place(),
        shortened=sum(packet.characters_left_out > 0 for packet in own),
        blocks_left_out=sum(packet.blocks_left_out for packet in own),
        characters_left_out=sum(packet.characters_left_out for packet in own),
    )


def run_detector(run: DetectorRun, data: DataFolder, progress: Progress) -> tuple[list[Prediction], dict[str, Any]]:
    """Ask the model about every trajectory, each at most once; its predictions and their provenance. A run that was
    stopped goes on where it ended: the ledger has every answer. Raises what the judge's engine raises."""
    model = open_model(run, data, progress.asking)
    own = run_packets(run)
    asked = by_question(model, own)
    try:
        with noting_files(model, progress):
            model.prepare(STAGE, [PacketQuestions(model, asked)], len(asked))
    except UnreadableAnswers as error:
        raise UnreadableAnswers(f"{str(error).partition(' Nothing more is asked.')[0]} {UNREADABLE_ADVICE}") from error
    predicted = [predicted_row(run, packet, model.answer_to(packet)) for packet in own]
    if any(row.failure == SPLIT_SYMBOLS for row in predicted):
        predicted = [without_probabilities(row) for row in predicted]
    return predicted, provenance_of(run, model)


def predicted_row(run: DetectorRun, packet: DetectorPacket, kept: StoredAnswer) -> Prediction:
    """The prediction in an answer of the ledger, with probabilities where it has them."""
    reply = reply_of(kept)
    read = read_answer(run.protocol, reply.finish, reply.text, run.rules, packet.num_steps)
    reading = LabelReading()
    if run.protocol == "symbol" and kept.finish not in NO_SECOND and read.label is not None:
        reading = read_probabilities(kept.response, run.rules)
    return prediction(
        (packet.source_model, packet.trajectory_id),
        label=read.label,
        parse=read.parse,
        failure=read.failure or reading.fault,
        probabilities=None if reading.probabilities is None else reading.probabilities.model_dump(),
        probability_mass=reading.mass,
        onset=read.onset,
        span=None if read.span is None else {"start_step": read.span[0], "end_step": read.span[1]},
        answer=reply.text,
        finish=reply.finish,
        trajectory_sha256=packet.trajectory_sha256,
        characters_left_out=packet.characters_left_out,
        **tokens_of(reply.usage),
        cost_usd=reply.cost_usd,
        request_id=reply.request_id,
    )


def without_probabilities(row: Prediction) -> Prediction:
    """The prediction of a model whose tokenizer splits a symbol: it had no probability in any answer, so those of the
    other symbols are wrong in all."""
    if row.probabilities is None:
        return row
    return row.model_copy(update={"probabilities": None, "probability_mass": None, "failure": SPLIT_SYMBOLS})


def tokens_of(usage: Usage) -> dict[str, int]:
    """Tokens of question and answer."""
    return {"prompt_tokens": usage.prompt_tokens or 0, "completion_tokens": usage.completion_tokens or 0}


def provenance_of(run: DetectorRun, model: DetectorModel) -> dict[str, Any]:
    """The provenance of a run, but for what follows from the file. Options that the endpoint refused are in
    `parameters` as it was asked."""
    asked_at = model.describe().get("asked_at", {})
    options = {f"options at {url}": text for url, text in asked_at.items()}
    if run.tokenizer is not None:
        options["tokenizer"] = sha256_file(tokenizer_file(run.tokenizer))
    address = printable_url(address_of(run.settings.base_url, model.rules, os.environ))
    return provenance_base(run.labels, run.rules) | {
        "detector": run.name,
        "kind": "endpoint",
        "protocol": run.protocol,
        "model": run.model,
        "endpoint": PLACE if run.settings.batch_files else address,
        "parameters": {**model.parameters.parameters(), **{k: as_value(v) for k, v in run.more.items()}, **options},
        "prompt": {"stage": model.prompt.stage, "version": model.prompt.version, "sha256": model.prompt.sha256},
    }


def as_value(value: Any) -> float | str:
    """A parameter as a number or text."""
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else str(value).lower()
