"""A toy release and a toy model, made here: nothing is downloaded.

The release: short sessions whose words tell the six labels apart, among words that say nothing. The model: a Llama of
two layers with random weights, and a byte-level tokenizer that is trained on the release's texts.
"""

import json
import random
from pathlib import Path
from typing import Any

from made_release import made_release, session

from openclawbench.detect.settings import LABELS, NORMAL

CUES = dict(zip(LABELS, ("look", "overreach", "unclear", "guess", "publish", "ignore"), strict=True))
FILLER = ("alpha", "bravo", "delta", "echo", "golf", "hotel", "india", "kilo", "lima", "mike", "oscar", "papa")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
SPECIAL = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
TRAIN, TEST = 150, 50


def toy_release(root: Path, classes: tuple[str, ...] = (NORMAL, LABELS[2], LABELS[5]), **more: Any) -> Path:
    """A release whose trajectories are anomalous in one of two. `more`: fields of every session."""
    draw, sessions = random.Random(1), []
    for number in range(TRAIN + TEST):
        label = NORMAL if number % 2 else classes[1 + number // 2 % (len(classes) - 1)]
        words = " ".join([*draw.choices(FILLER, k=3), *[CUES[label]] * 12, *draw.choices(FILLER, k=3)])
        side = "train" if number < TRAIN else "test"
        sessions.append(session(number, label, words=words, side=side, task=f"task{number}", **more))
    return made_release(root, sessions)


def toy_tokenizer(texts: list[str], symbols: list[str]) -> Any:
    """A byte-level tokenizer in which each symbol is a token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([*texts, *(symbols * 50)], trainer)
    return tokenizer


def write_model(folder: Path, texts: list[str], symbols: list[str], template: str | None = CHAT_TEMPLATE) -> Path:
    """Write tokenizer, configuration and random weights of a toy model, as a folder of transformers."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    fast = PreTrainedTokenizerFast(
        tokenizer_object=toy_tokenizer(texts, symbols), pad_token="<|pad|>", eos_token="<|end|>"
    )
    fast.chat_template = template
    fast.save_pretrained(folder)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=4096,
        pad_token_id=fast.pad_token_id,
        bos_token_id=None,
        eos_token_id=fast.eos_token_id,
        tie_word_embeddings=False,
    )
    model: Any = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight.mul_(10)  # it is not trained: with its small first weights no token could become probable
    model.save_pretrained(folder)
    return folder


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
