"""Training rows: packets of labelled trajectories that fit with their label, and what is left out and why."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.detect.labels import LabelledTrajectory, LabelSet, released_records
from openclawbench.detect.packet import detector_messages, detector_packet
from openclawbench.detect.pools import HUMAN_POOL
from openclawbench.detect.settings import LABELS, DetectRules
from openclawbench.detect.training.recipe import Recipe
from openclawbench.errors import UsageError
from openclawbench.judge.prompts import Prompt
from openclawbench.records.detection.packet import DetectorPacket
from openclawbench.records.detection.training import TrainingRow, TrainingTokens
from openclawbench.release.record_key import key_of
from openclawbench.tables.record import Count, named_counts

TOO_LONG = "too_long"  # reason: even its shortest packet does not fit
TRIES = 8  # packets of a trajectory that are made, each shorter, until one fits
Measure = Callable[[DetectorPacket], int]  # tokens of a row without its label


@dataclass(frozen=True)
class Fitted:
    """A packet that fits, with the tokens of the whole row, the label's included."""

    item: LabelledTrajectory
    packet: DetectorPacket
    tokens: int


@dataclass
class RowsMade:
    """The rows that were made, as counts, and what was left out, by reason."""

    rows: list[TrainingRow] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def counts(self) -> dict[str, Any]:
        """Fields of a manifest: rows, labels, left_out, shortened, characters_left_out."""
        labels = Counter(row.label for row in self.rows)
        return {
            "rows": len(self.rows),
            "labels": [Count(name=label, count=labels[label]) for label in LABELS],
            "left_out": named_counts(self.left_out),
            "shortened": sum(row.characters_left_out > 0 for row in self.rows),
            "characters_left_out": sum(row.characters_left_out for row in self.rows),
        }

    def tokens(self, counted_by: str) -> TrainingTokens:
        """Lengths of the rows; zeros for none."""
        lengths = [row.tokens for row in self.rows] or [0]
        return TrainingTokens(
            total=sum(lengths), median=median_low(lengths), longest=max(lengths), counted_by=counted_by
        )

    def lines(self) -> Iterator[bytes]:
        """The lines of rows.jsonl."""
        return (canonical_bytes(row) + b"\n" for row in self.rows)


def fitted_rows(
    labels: LabelSet, rules: DetectRules, measure: Measure, max_tokens: int, rows_made: RowsMade
) -> Iterator[Fitted]:
    """The packets of a label set, in the order of the release's files, each with at most `max_tokens` tokens together
    with its label. `made` gets a line for each, and counts those that do not fit.

    A packet is the one that `detect run` asks about; it is shortened further, in its middle, where `measure` says that
    it is too long. It is never cut at its end, so the label is always whole.
    """
    rows_made.left_out.update(labels.left_out)
    items = labels.by_key
    for record in released_records(labels.root, set(items)):
        item = items[key_of(record)]
        fitted = fit(record, item, rules, measure, max_tokens)
        if fitted is None:
            rows_made.left_out[TOO_LONG] += 1
            continue
        packet = fitted.packet
        rows_made.rows.append(
            TrainingRow.model_validate(
                {
                    "source_model": packet.source_model,
                    "trajectory_id": packet.trajectory_id,
                    "label": item.label,
                    "symbol": rules.symbol_of[rules.names[item.label]],
                    "tokens": fitted.tokens,
                    "blocks_left_out": packet.blocks_left_out,
                    "texts_shortened": packet.texts_shortened,
                    "characters_left_out": packet.characters_left_out,
                    "trajectory_sha256": packet.trajectory_sha256,
                    "packet_sha256": packet.packet_sha256,
                }
            )
        )
        yield fitted


def fit(
    record: Mapping[str, Any], item: LabelledTrajectory, rules: DetectRules, measure: Measure, max_tokens: int
) -> Fitted | None:
    """The longest packet, by the rules of detect.toml, that fits; None if every packet is too long."""
    limit = rules.packet.max_tokens
    for _ in range(TRIES):
        packet = detector_packet(record, rules.packet.model_copy(update={"max_tokens": limit}))
        tokens = measure(packet) + 1
        if tokens <= max_tokens:
            return Fitted(item, packet, tokens)
        limit = min(limit, packet.estimated_tokens) * max_tokens // tokens - 1
        if limit < 1:
            return None
    return None


def row_of(fitted: Fitted, form: str, prompt: Prompt, symbol: str, recipe: Recipe) -> dict[str, Any]:
    """A line of a training file.

    chat: prompt and completion as messages (trl's conversational prompt-completion form, of which it learns the
    completion alone); completion: the same as plain texts; messages: one list of messages, as services that fine-tune
    take it.
    """
    asked = detector_messages(fitted.packet.text, prompt)
    answer = {"role": "assistant", "content": symbol}
    if form == "messages":
        return {"messages": [*asked, answer]}
    if form == "chat":
        return {"prompt": asked, "completion": [answer]}
    return {"prompt": as_text(asked, recipe), "completion": symbol}


def as_text(messages: list[dict[str, str]], recipe: Recipe) -> str:
    """Messages as one text, for a base model without a chat template."""
    return "\n\n".join(message["content"] for message in messages) + recipe.sequence.completion_cue


def refuse_human(pool: str) -> None:
    """Raises UsageError for the pool that nothing may be trained on (paper T40)."""
    if pool == HUMAN_POOL:
        raise UsageError(
            "--pool human: what people reviewed is for measuring, and nothing is trained on it (paper T40)."
        )
