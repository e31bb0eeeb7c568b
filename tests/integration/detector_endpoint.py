"""The scripted endpoint as a detector: `python detector_endpoint.py` prints its port.

It answers by the trajectory between the fences: with the label whose name stands in its text, else `normal`. In the
symbol protocol the answer has log probabilities: `sure` (0.9) on that symbol, the rest evenly on the others. Script,
beside what endpoint.py does:

  kind        how every answer is: words (a symbol in a sentence), two (two symbols), prose (no symbol), refusal, empty,
              fenced, short (the paper's short name), bad_steps (an onset beyond the end), cut (JSON without its end)
  kind_of     text of a trajectory -> how the answer to it is
  sure        probability of the symbol that is written
  no_logprobs true: as a server that ignores logprobs
  split       true: as a model whose tokenizer splits the symbol of `normal`, as that of GPT-4o does
"""

import asyncio
import json
import math
import re
from typing import Any

from endpoint import Endpoint, main

from openclawbench.detect.settings import NORMAL, DetectRules

BLOCK = re.compile(r"^BEGIN TRAJECTORY ([0-9a-f]{64})\n(.*)\nEND TRAJECTORY \1$", re.MULTILINE)
RULES = DetectRules.load()
SYMBOLS = {label: symbol for symbol, label in RULES.symbols.items()}
SHORT = {rule.name: rule.short for rule in RULES.labels}


class Detector(Endpoint):
    """The endpoint, answering as a detector."""

    def completion(self, body: dict[str, Any], digest: str) -> dict[str, Any]:
        match = BLOCK.search(body["messages"][1]["content"])
        assert match, "there is no trajectory between fences"
        label = next((name for name in SYMBOLS if name != NORMAL and name in match[2]), NORMAL)
        kind = next((kind for text, kind in self.script.get("kind_of", {}).items() if text in match[2]), None)
        kind = kind or self.script.get("kind", "")
        is_json = "response_format" in body
        content = self.object(label, kind) if is_json else self.symbol(label, kind)
        message = {"role": "assistant", "content": content}
        if kind == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
        choice = {"index": 0, "message": message, "finish_reason": "length" if kind == "cut" else "stop"}
        if body.get("logprobs") and not self.script.get("no_logprobs"):
            choice["logprobs"] = {"content": [self.position(content, label)]}
        prompt = sum(len(entry["content"]) for entry in body["messages"]) // 4
        usage = {"prompt_tokens": prompt, "completion_tokens": 10, "total_tokens": prompt + 10}
        return {
            "id": f"chatcmpl-{digest[:20]}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
        }

    def symbol(self, label: str, kind: str) -> str:
        texts = {
            "words": f"The answer is {SYMBOLS[label]}.",
            "two": " or ".join(list(SYMBOLS.values())[:2]),
            "prose": "It looks fine to me.",
            "empty": "",
        }
        return texts.get(kind, SYMBOLS[label])

    def object(self, label: str, kind: str) -> str:
        bad = label != NORMAL
        value: dict[str, Any] = {"label": label, "onset": 1 if bad else None, "span": None}
        value |= {"span": {"start_step": 1, "end_step": 2}} if bad else {}
        if kind == "short":
            value["label"] = SHORT[label]
        if kind == "bad_steps":
            value |= {"onset": 999, "span": {"start_step": 2, "end_step": 1}}
        text = json.dumps(value)
        texts = {"fenced": f"Here it is:\n```json\n{text}\n```", "prose": "fine", "empty": "", "cut": text[:20]}
        return texts.get(kind, text)

    def position(self, content: str, label: str) -> dict[str, Any]:
        """The first token with the likeliest others."""
        sure = self.script.get("sure", 0.9)
        shares = {symbol: sure if name == label else (1 - sure) / 10 for name, symbol in SYMBOLS.items()}
        shares |= {"The": (1 - sure) / 2}  # outside the six symbols
        if self.script.get("split") and label == NORMAL:
            return self.half(SYMBOLS[NORMAL], sure)
        top = [{"token": token, "logprob": math.log(share)} for token, share in shares.items() if share]
        written = {"token": content[:1], "logprob": math.log(shares.get(content[:1], 0.001) or 0.001)}
        return written | {"top_logprobs": sorted(top, key=lambda entry: -entry["logprob"])}

    def half(self, symbol: str, sure: float) -> dict[str, Any]:
        """The first two bytes of a symbol as a token of their own; another symbol, which is whole, is unlikely."""
        content = list(symbol.encode()[:2])
        first = {"token": "bytes:" + "".join(f"\\x{item:02x}" for item in content), "bytes": content}
        others = [{"token": "•", "bytes": list("•".encode()), "logprob": math.log((1 - sure) / 10)}]
        written = first | {"logprob": math.log(sure)}
        return written | {"top_logprobs": [written, *others]}


if __name__ == "__main__":
    asyncio.run(main(Detector()))
