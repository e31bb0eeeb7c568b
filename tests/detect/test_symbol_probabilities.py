"""Probabilities of the six symbols: only where the first token is a symbol, and none where a tokenizer splits symbols.

The tokens are those of real vocabularies: GPT-4o writes ∘ as the bytes E2 88 and 98, Gemma 3 as one token.
"""

import json
import math
from typing import Any

import pytest
from made import item, label_set, predictions_file

from openclawbench.detect.predictions import prediction, probabilities_of
from openclawbench.detect.protocols import NO_SYMBOL_FIRST, SPLIT_SYMBOLS, LabelReading, read_probabilities
from openclawbench.detect.score.evaluation import probability_notes
from openclawbench.detect.settings import LABELS, NORMAL, DetectRules

RULES = DetectRules.load()
HALF = {"token": "bytes:\\xe2\\x88", "bytes": [0xE2, 0x88]}


def token(share: float, text: str = "", **more: Any) -> dict[str, Any]:
    return {"token": text, "logprob": math.log(share)} | more


def rated(*positions: list[dict[str, Any]]) -> LabelReading:
    content = [{**tokens[0], "top_logprobs": tokens} for tokens in positions]
    return read_probabilities(json.dumps({"choices": [{"logprobs": {"content": content}}]}).encode(), RULES)


def test_whole_symbols_are_scaled_to_one() -> None:
    label_reading = rated([token(0.6, "∘"), token(0.2, "•"), token(0.1, "The")])
    assert label_reading.fault is None and label_reading.mass == pytest.approx(0.8)
    assert label_reading.probabilities is not None and label_reading.probabilities.normal == pytest.approx(0.75)
    assert label_reading.probabilities.premature_external_write == pytest.approx(0.25)


def test_a_symbol_with_and_without_a_blank_is_one_symbol() -> None:
    label_reading = rated([token(0.5, "∘"), token(0.25, " ∘"), token(0.25, "□")])
    assert label_reading.probabilities is not None and label_reading.probabilities.normal == pytest.approx(0.75)


def test_a_split_symbol_gives_no_probabilities_rather_than_those_of_the_others() -> None:
    """The model is sure of ∘ (normal), whose first token is a half of it; • is far away, and whole."""
    label_reading = rated(
        [token(0.98, **HALF), token(0.001, "•", bytes=list("•".encode()))], [token(1.0, "bytes:\\x98", bytes=[0x98])]
    )
    assert label_reading == LabelReading(fault=SPLIT_SYMBOLS)


def test_a_half_of_a_symbol_among_the_alternatives_counts() -> None:
    assert rated([token(0.6, "◇"), token(0.39, **HALF)]).fault == SPLIT_SYMBOLS
    assert rated([token(0.6, "◇"), token(0.39, "\ufffd")]).fault == SPLIT_SYMBOLS
    assert rated([token(0.6, "◇"), token(0.39, " bytes", bytes=[0x20, 0xE2, 0x97])]).fault == NO_SYMBOL_FIRST
    assert rated([token(0.99, "◇"), token(0.001, **HALF)]).probabilities is not None


def test_a_first_token_that_is_no_symbol_gives_none() -> None:
    label_reading = rated([token(0.9, "The"), token(0.05, "•")], [token(1.0, " answer")])
    assert label_reading == LabelReading(fault=NO_SYMBOL_FIRST)


def test_blank_tokens_before_the_symbol_are_passed_over() -> None:
    label_reading = rated([token(1.0, "\n")], [token(0.5, "□"), token(0.5, "∘")])
    assert (
        label_reading.probabilities is not None
        and label_reading.probabilities.error_ignored_escalation == pytest.approx(0.5)
    )


@pytest.mark.parametrize(
    "body", [b"{", b"{}", b'{"choices":[{"logprobs":null}]}', b'{"choices":[{"logprobs":{"content":[]}}]}']
)
def test_without_log_probabilities_there_is_nothing(body: bytes) -> None:
    assert read_probabilities(body, RULES) == LabelReading()


def test_a_log_probability_that_is_no_number_gives_nothing() -> None:
    assert rated([{"token": "∘", "logprob": math.nan}]) == LabelReading()


def test_completions_with_token_lists_are_read_too() -> None:
    logprobs = {"tokens": ["∘"], "token_logprobs": [math.log(0.5)], "top_logprobs": [{"□": math.log(0.25)}]}
    label_reading = read_probabilities(json.dumps({"choices": [{"logprobs": logprobs}]}).encode(), RULES)
    assert label_reading.probabilities is not None and label_reading.probabilities.normal == pytest.approx(2 / 3)


def test_answers_without_probabilities_are_told() -> None:
    even = probabilities_of([1 / 6] * 6)
    keys = [item(number).key for number in range(4)]
    assert label_set([item(number) for number in range(4)]).by_key.keys() == set(keys)
    rows = [prediction(key, label=NORMAL, probabilities=even) for key in keys[:2]]
    rows += [prediction(keys[2], label=LABELS[1], failure=SPLIT_SYMBOLS), prediction(keys[3], parse="failed")]
    split, part = probability_notes(predictions_file(rows))
    assert split.startswith("without probabilities because the model's tokenizer splits symbols: 1 answer.")
    assert part.startswith("1 answer of 3 without probabilities")
    assert list(probability_notes(predictions_file(rows[:2]))) == []
