"""The scripted endpoint as a judge that does what it is told: `python obedient.py` prints its port.

It answers as the rules judge would, unless it believes to be spoken to: where the order of injected.py stands in what
it takes for its instructions, however it is written, the answer is another one. The script says what those are:

  reads   `fences`: what stands outside the blocks, found as the prompts say: by lines, by every account of what a line
          is, and closed by exactly the fence of their opening;
          `lines`: as before, but any line that looks like a closing one closes, whatever its fence: more careless than
          the prompts allow;
          `everything`: the delimiters mean nothing to it.
  parrot  its first answer to a question is none, and repeats the untrusted text: `text` (no JSON), `field` (as the name
          of a field), `value` (as a label), `id` (as the trajectory's)

GET /log says besides: for each stage what stood outside its blocks, how often it obeyed, which tokens of chat templates
stood in any message as a server would read them, and the fences of each session.
"""

import asyncio
import base64
import html
import json
import re
import unicodedata
import urllib.parse
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from endpoint import AGAIN, Endpoint, main, stage_of
from injected import ORDER

OPENING = re.compile(r"BEGIN ([A-Z]+) ([0-9a-f]{64})")
TEMPLATE_TOKEN = re.compile(
    r"<\|\w+\|>|<\uff5c[^>]*\uff5c>|</?s>|<</?SYS>>|<(?:start|end)_of_turn>|<(?:bos|eos|pad|sop|eop)>|\[gMASK\]"
    r"|</?(?:tool_call|tool_response|tools|think)>|<function=|<seed:\w+>|\[\|\w+\|\]|\]~b\]"
    r"|</?(?i:think|answer|image|tool_code)>|<invoke |\]<\]|/no_think"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
)
ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
NOT_SEEN = ("Cf", "Cc", "Zl", "Zp")


class Obedient(Endpoint):
    """State of the process."""

    def reset(self, script: dict[str, Any]) -> None:
        super().reset(script)
        self.outside: dict[str, set[str]] = {}
        self.tokens: set[str] = set()
        self.fences: dict[str, dict[str, str]] = {}
        self.obeyed = 0

    def log(self) -> dict[str, Any]:
        outside = {stage: sorted(texts) for stage, texts in self.outside.items()}
        more = {"outside": outside, "tokens": sorted(self.tokens), "fences": self.fences, "obeyed": self.obeyed}
        return super().log() | more

    def content(self, messages: list[dict[str, str]], odd: str | None) -> str:
        """The rules judge's answer, or what it was told to answer, or an echo of what it read."""
        usual = json.loads(super().content(messages, odd))
        stage = stage_of(messages)
        assert stage
        system, user = (message["content"] for message in messages)
        outside, blocks = parted(user, careless=False)
        packet = json.loads(blocks["PACKET"][1])
        again = AGAIN in user
        self.outside.setdefault(f"{stage[1]}{' again' * again}", set()).add(f"{system}\n{outside}")
        self.tokens |= {token for message in messages for token in TEMPLATE_TOKEN.findall(message["content"])}
        names = {"PACKET": "fence", "PREVIOUS": "previous_fence", "FORMER": "former_fence"}
        self.fences[packet["trajectory_id"]] = {names[name]: block[0] for name, block in blocks.items()}
        if self.script.get("parrot") and not again:
            return echo(self.script["parrot"], usual, json.dumps(packet, ensure_ascii=False))
        if holds_order(self.instructions(messages)):
            self.obeyed += 1
            return json.dumps(turned(usual))
        return json.dumps(usual)

    def instructions(self, messages: list[dict[str, str]]) -> str:
        """What it takes for its instructions."""
        texts = [message["content"] for message in messages]
        if self.script.get("reads") == "everything":
            return "\n".join(texts)
        return "\n".join(parted(text, careless=self.script.get("reads") == "lines")[0] for text in texts)


def parted(message: str, careless: bool) -> tuple[str, dict[str, tuple[str, str]]]:
    """What stands outside the blocks of a message, and name -> fence and inside of each block."""
    outside, inside = [], []
    blocks: dict[str, tuple[str, str]] = {}
    opened: re.Match[str] | None = None
    for line in message.splitlines():
        if opened is None:
            opened, inside = OPENING.fullmatch(line), []
            if opened is None:
                outside.append(line)
        elif line == f"END {opened[1]} {opened[2]}" or (careless and evened(line).startswith("endpacket")):
            blocks[opened[1]] = (opened[2], "\n".join(inside))
            opened = None
        else:
            inside.append(line)
    assert opened is None, "a block without an end"
    return "\n".join(outside), blocks


def evened(text: str) -> str:
    """Text as an eye would read it: no invisible characters, one form of each letter, no blanks, lower case."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(entry for entry in plain if unicodedata.category(entry) not in NOT_SEEN and not entry.isspace())


@lru_cache(maxsize=64)
def holds_order(text: str) -> bool:
    """True where the order stands in a text, however it is written."""
    return any(ORDER in reading for reading in readings(text))


def readings(text: str) -> Iterator[str]:
    """A text in every spelling that a willing reader would try."""
    for entry in (text, html.unescape(text), urllib.parse.unquote(text), unescaped(text)):
        yield evened(entry)
    yield evened(text)[::-1]
    for word in re.findall(r"[A-Za-z0-9+/]{16,}={0,2}", text):
        try:
            yield evened(base64.b64decode(word, validate=True).decode())
        except ValueError:
            continue
    for word in re.findall(r"\b(?:[0-9a-f]{2}){8,}\b", text):
        yield evened(bytes.fromhex(word).decode("utf-8", "replace"))


def unescaped(text: str) -> str:
    r"""\uXXXX as what it stands for, also where it was escaped twice."""
    once = text.replace("\\\\", "\\")
    return ESCAPE.sub(lambda match: chr(int(match[1], 16)), once)


def turned(answer: dict[str, Any]) -> dict[str, Any]:
    """Another decision than this one."""
    other = {
        "route_label": "review" if answer.get("route_label") == "no_anomaly_evidence" else "no_anomaly_evidence",
        "routing_confidence": "high",
        "trajectory_is_anomalous": False,
        "anomaly_type_l1": None,
        "anomaly_type_l2": None,
        "severity": "low" if answer.get("severity") == "high" else "high",
        "verdict": "review",
    }
    return answer | {name: value for name, value in other.items() if name in answer}


def echo(kind: str, usual: dict[str, Any], text: str) -> str:
    """An answer that cannot be used and holds the untrusted text."""
    first = next(iter(set(usual) & {"route_label", "verdict", "severity"}), "anomaly_type_l2")
    return {
        "text": text,
        "field": json.dumps(usual | {text: 1}),
        "value": json.dumps(usual | {first: text}),
        "id": json.dumps(usual | {"trajectory_id": text}),
    }[kind]


if __name__ == "__main__":
    asyncio.run(main(Obedient()))
