"""The detector's packet: a trajectory as user turns and step blocks (paper F.10), shortened by head and tail, counted.

Only texts of the session and numbers of steps are read: no outcome, risk, slice, onset candidate, descriptor or word of
a judge can reach a detector, because none of these columns is looked at.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.detect.settings import DetectorPacketRules
from openclawbench.judge.fence import delimit_material
from openclawbench.judge.prompts import Prompt, read_prompt
from openclawbench.records.detection.packet import DetectorPacket

COLUMNS = ("source_model", "trajectory_id", "num_steps", "user_turns", "steps")  # of a released record that are read
USER = ("user",)  # the usual kind of a user turn, which is not written
STEP_TEXTS = {  # name in a block (paper F.10: thinking, action, feedback; narration is what the user saw) -> column
    "thinking": "thinking",
    "narration": "narration",
    "action": "action_text",
    "feedback": "reflection_text",
}
TEXTS = ("text", *STEP_TEXTS)
BLOCK = "TRAJECTORY"  # name of the fenced block in the prompt
Block = dict[str, Any]
CountTokens = Callable[[str], int]


@dataclass(frozen=True)
class Shortened:
    """Blocks as they fit, and what was left out."""

    blocks: list[Block]
    blocks_left_out: int
    texts_shortened: int
    characters_left_out: int


def blocks_of(record: Mapping[str, Any]) -> list[Block]:
    """The blocks of a released record: each user turn before the first step that answers it, steps in order. Empty
    texts are left out.

    A turn: user_turn, kinds (unless it is the user's own), text. A step: step_id, thinking, narration, action,
    feedback.
    """
    return list(in_order(record["user_turns"], record["steps"]))


def in_order(turns: list[dict[str, Any]], steps: list[dict[str, Any]]) -> Iterator[Block]:
    """User turns and steps, interleaved."""
    waiting = list(turns)
    for step in steps:
        while waiting and step["user_turn"] is not None and waiting[0]["user_turn"] <= step["user_turn"]:
            yield turn_block(waiting.pop(0))
        texts = {name: step[column] for name, column in STEP_TEXTS.items() if step[column]}
        yield {"step_id": step["step_id"], **texts}
    yield from map(turn_block, waiting)


def turn_block(turn: Mapping[str, Any]) -> Block:
    """A user turn."""
    kinds = {} if tuple(turn["kinds"]) == USER else {"kinds": list(turn["kinds"])}
    return {"user_turn": turn["user_turn"], **kinds, "text": turn["text"]}


def detector_packet(
    record: Mapping[str, Any], rules: DetectorPacketRules, count_tokens: CountTokens | None = None
) -> DetectorPacket:
    """The packet of a released record, of which COLUMNS are read. `count_tokens`: of a text, by the detector's own
    tokenizer; without it tokens are estimated from bytes."""
    count = count_tokens or estimate(rules)
    all_blocks = blocks_of(record)
    short = shorten(all_blocks, rules, count)
    text = canonical_json(short.blocks)
    return DetectorPacket(
        source_model=record["source_model"],
        trajectory_id=record["trajectory_id"],
        num_steps=record["num_steps"],
        text=text,
        blocks=len(all_blocks),
        blocks_left_out=short.blocks_left_out,
        texts_shortened=short.texts_shortened,
        characters=sum(map(characters, all_blocks)),
        characters_left_out=short.characters_left_out,
        estimated_tokens=count(text),
        trajectory_sha256=digest_of(all_blocks),
        packet_sha256=sha256_text(text),
    )


def trajectory_digest(record: Mapping[str, Any]) -> str:
    """trajectory_sha256 of a released record: of its blocks before anything is left out."""
    return digest_of(blocks_of(record))


def digest_of(blocks: list[Block]) -> str:
    """sha256 of blocks."""
    return sha256_text(canonical_json(blocks))


def estimate(rules: DetectorPacketRules) -> CountTokens:
    """A counter that estimates tokens from UTF-8 bytes."""
    return lambda text: math.ceil(len(text.encode()) / rules.bytes_per_token)


def shorten(all_blocks: list[Block], rules: DetectorPacketRules, count: CountTokens) -> Shortened:
    """Blocks that fit: first every text is shortened to its head and tail, further in each round; then blocks in the
    middle are left out, and a block says which. The first and the last block always stay."""
    if count(canonical_json(all_blocks)) <= rules.max_tokens:
        return Shortened(all_blocks, 0, 0, 0)
    for keep in rules.keep:
        blocks = [shortened_block(block, keep, rules) for block in all_blocks]
        if count(canonical_json(blocks)) <= rules.max_tokens:
            return count_missing(all_blocks, blocks, keep, 0, 0)
    most = len(blocks) - 1
    # Number of blocks left out, from 1: the least that is enough. What is left gets shorter with each.
    fewest = 1 + bisect_left(
        range(1, most),
        True,
        key=lambda number: count(canonical_json(without_middle(blocks, number, rules)[0])) <= rules.max_tokens,
    )
    gone = max(0, min(fewest, most - 1))
    if not gone:
        return count_missing(all_blocks, blocks, keep, 0, 0)
    kept, start = without_middle(blocks, gone, rules)
    return count_missing(all_blocks, kept, keep, start, gone)


def count_missing(all_blocks: list[Block], blocks: list[Block], keep: int, start: int, gone: int) -> Shortened:
    """What is missing from the blocks: of each shortened text all but `keep` characters, and `gone` whole blocks from
    the place `start`."""
    left_out = sum(map(characters, all_blocks[start : start + gone]))
    after = {block_id(block): block for block in blocks}
    shortened_texts = 0
    for before in (*all_blocks[:start], *all_blocks[start + gone :]):
        for name in TEXTS:
            if name in before and before[name] != after[block_id(before)][name]:
                shortened_texts += 1
                left_out += len(before[name]) - keep
    return Shortened(blocks, gone, shortened_texts, left_out)


def block_id(block: Block) -> tuple[str, int]:
    """What a block is: its first field, and its number."""
    name, number = next(iter(block.items()))
    return name, number


def characters(block: Block) -> int:
    """Characters of a block's texts."""
    return sum(len(block[name]) for name in TEXTS if name in block)


def shortened_block(block: Block, keep: int, rules: DetectorPacketRules) -> Block:
    """The block with each text at most `keep` characters long, the marker apart."""
    return {name: shortened_text(value, keep, rules) if name in TEXTS else value for name, value in block.items()}


def shortened_text(text: str, keep: int, rules: DetectorPacketRules) -> str:
    """Head and tail of a text around the marker; the text itself where that is not shorter."""
    head = int(keep * rules.text_head_share)
    left = len(text) - keep
    if left <= 0:
        return text
    short = text[:head] + rules.text_marker.format(left=left) + text[head + left :]
    return short if len(short) < len(text) else text


def without_middle(blocks: list[Block], gone: int, rules: DetectorPacketRules) -> tuple[list[Block], int]:
    """The blocks without `gone` of them in the middle, a block in their place that says how many; and their place."""
    kept = len(blocks) - gone
    start = min(max(1, round(kept * rules.block_head_share)), kept - 1)
    return [*blocks[:start], {"blocks_left_out": gone}, *blocks[start + gone :]], start


def detector_prompt(protocol: str) -> Prompt:
    """The instructions of a protocol: prompts/detect_symbol, prompts/detect_json. Raises InvalidRules."""
    return read_prompt(f"detect_{protocol}")


def detector_messages(packet_text: str, prompt: Prompt) -> list[dict[str, str]]:
    """The messages of a question: the instructions, then the packet between fences. The same are asked, exported for
    training, and printed by `detect prompt`."""
    return [
        {"role": "system", "content": prompt.text},
        {"role": "user", "content": delimit_material(packet_text, BLOCK)},
    ]
