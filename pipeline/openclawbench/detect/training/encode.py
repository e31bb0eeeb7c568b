"""Rows as token ids of a model: the prompt by its chat template, then the label's one token, which alone is learned.

A row is refused if it is cut, if it does not have exactly one learned token, or if that token is not its label's
symbol: a trainer would silently learn nothing from it, or something else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openclawbench.detect.packet import detector_messages, detector_prompt
from openclawbench.detect.settings import DetectRules
from openclawbench.detect.training.recipe import Recipe
from openclawbench.detect.training.rows import as_text
from openclawbench.errors import TrainingRefused, UsageError
from openclawbench.records.detection.packet import DetectorPacket

IGNORED = -100  # label of a token that has no loss, as torch and trl have it
PROBE = "[]"  # material of a prompt that only shows how a symbol is written after it


@dataclass(frozen=True)
class EncodedRow:
    """Token ids, and for each IGNORED or the token itself, where it is learned."""

    input_ids: Sequence[int]
    labels: Sequence[int]


class Encoder:
    """A model's tokenizer with the symbol prompt. `label_ids`: label -> its token."""

    def __init__(self, tokenizer: Any, recipe: Recipe, rules: DetectRules) -> None:
        self.tokenizer, self.recipe = tokenizer, recipe
        self.prompt = detector_prompt("symbol")
        self.form = "chat" if tokenizer.chat_template else "completion"
        self.label_ids: dict[str, int] = {label: self.symbol_id(symbol) for symbol, label in rules.symbols.items()}
        if len(set(self.label_ids.values())) < len(self.label_ids):
            raise UsageError(
                "two symbols are the same token of this tokenizer, so they cannot be told apart. Choose other symbols "
                "(detect.toml and prompts/detect_symbol), or another base model."
            )

    def text(self, material: str) -> str:
        """The prompt about a packet as text, up to where the answer begins."""
        messages = detector_messages(material, self.prompt)
        if self.form == "completion":
            return as_text(messages, self.recipe)
        from jinja2 import TemplateError

        options = self.recipe.sequence.chat_template
        try:
            return str(
                self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options)
            )
        except TemplateError as error:
            raise UsageError(
                f"the base model's chat template cannot write a system and a user message: {error}. Choose a model "
                "whose template can."
            ) from error

    def ids(self, text: str) -> list[int]:
        """Token ids. A chat template writes its special tokens itself; other text gets the tokenizer's own."""
        return list(self.tokenizer(text, add_special_tokens=self.form == "completion")["input_ids"])

    def symbol_id(self, symbol: str) -> int:
        """The token that a symbol is after a prompt. Raises UsageError if it is not exactly one of its own."""
        before = self.open_ids(self.text(PROBE))
        after = self.open_ids(self.text(PROBE) + symbol)
        if after[: len(before)] != before or len(after) != len(before) + 1 or after[-1] == self.tokenizer.unk_token_id:
            raise UsageError(
                f"the symbol {symbol} is not a single token of this tokenizer, which is needed (paper section 5; "
                "openclawbench detect check-tokenizer shows all six). Choose other symbols (detect.toml and "
                "prompts/detect_symbol), or another model."
            )
        return after[-1]

    def open_ids(self, text: str) -> list[int]:
        """Token ids of a text that goes on: without an end token, which some tokenizers add."""
        token_ids = self.ids(text)
        return (
            token_ids[:-1]
            if self.form == "completion" and token_ids[-1:] == [self.tokenizer.eos_token_id]
            else token_ids
        )

    def prompt_ids(self, packet: DetectorPacket) -> list[int]:
        """The tokens of the question about a packet."""
        return self.open_ids(self.text(packet.text))

    def measure(self, packet: DetectorPacket) -> int:
        """Tokens of a row without its label."""
        return len(self.prompt_ids(packet))

    def row(self, packet: DetectorPacket, label: str) -> EncodedRow:
        """A training row."""
        import numpy as np

        asked = self.prompt_ids(packet)
        answer = self.label_ids[label]
        learned = np.full(len(asked) + 1, IGNORED, dtype=np.int32)
        learned[-1] = answer
        ids: Any = np.array([*asked, answer], dtype=np.int32)
        labels: Any = learned
        return EncodedRow(ids, labels)


def check_row(row: EncodedRow, answer: int, max_tokens: int, name: str) -> None:
    """Raises TrainingRefused unless the row is whole: its last token is its label's, and the only one with a loss."""
    learned = [place for place, label in enumerate(row.labels) if label != IGNORED]
    if len(row.input_ids) > max_tokens:
        why = f"has {len(row.input_ids)} tokens, of {max_tokens} that are taken: its label would be cut off"
    elif not learned:
        why = "has no token with a loss: nothing would be learned from it"
    elif learned != [len(row.input_ids) - 1]:
        why = "has a loss on other tokens than its label"
    elif row.input_ids[-1] != answer or row.labels[-1] != answer:
        why = "does not end in the symbol of its label"
    else:
        return
    raise TrainingRefused(
        f"{name}: the row {why}. Nothing was trained; this is a defect of the rows, not of the model."
    )
