"""A toy corpus and a toy model, made here: nothing is downloaded.

The corpus: sessions of the example in four kinds, which the rules judge labels differently, each many times with other
names. The model: a Llama of two layers with random weights and a byte-level tokenizer that is trained on the corpus.
"""

import json
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[2] / "data" / "example" / "raw"
KINDS = (  # file, and what is called otherwise in each copy
    ("scripted-a/2026.6.11-error-escalation.jsonl", "db/", "migrate"),
    ("scripted-a/2026.6.11-error-escalation-innocent.jsonl", "db/", "migrate"),
    ("scripted-b/2026.6.11-skeleton-write.jsonl", "Alpine Rail", "watchlist"),
    ("scripted-b/2026.6.11-skeleton-write-innocent.jsonl", "Alpine Rail", "watchlist"),
)
SYLLABLES = ("ba", "do", "fi", "gu", "ka", "le", "mo", "nu", "pi", "ra", "so", "tu", "va", "we", "zi")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
SPECIAL = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def name(number: int) -> str:
    """A made-up word of its own for each number."""
    first, rest = number % len(SYLLABLES), number // len(SYLLABLES)
    return SYLLABLES[first] + SYLLABLES[rest % len(SYLLABLES)] + SYLLABLES[(first + rest) % len(SYLLABLES)]


def write_sessions(raw: Path, copies: int) -> int:
    """Write the corpus below a raw folder; the number of its sessions."""
    number = 0
    for file, place, thing in KINDS:
        text = (EXAMPLE / file).read_text(encoding="utf-8")
        for copy in range(copies):
            number += 1
            session = Path(file).stem.removeprefix("2026.6.11-")
            changed = text.replace(place, name(number) + ("/" if place.endswith("/") else ""))
            changed = changed.replace(thing, name(number + 7))
            changed = changed.replace(f'"{session}"', f'"{session}-{copy:03}"')
            path = raw / f"model-{number % 2}" / f"{session}-{copy:03}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(changed, encoding="utf-8")
    return number


def write_model(folder: Path, texts: list[str], layers: int = 2) -> None:
    """Write tokenizer, configuration and random weights of a toy model, as a folder of transformers."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from openclawbench.detect.settings import DetectRules

    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    symbols = list(DetectRules.load().symbols)
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*texts, *(symbols * 50)], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|pad|>", eos_token="<|end|>")
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
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
        model.lm_head.weight.mul_(20)  # it is not trained: with its small first weights no token could become probable
    model.save_pretrained(folder)


def read_texts(rows: Path) -> list[str]:
    """The texts of an export in completion form."""
    return [json.loads(line)["prompt"] for line in rows.read_text(encoding="utf-8").splitlines()]
