"""Alterations of recorded sessions: the agent's words and their form, and a tool's result."""

import json
import re
from dataclasses import dataclass
from typing import Literal

from openclawbench.exam.paper import Alteration
from openclawbench.exam.stress.phrases import phrases

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
NO_BLANKS = ("zh",)  # languages that write no blank between sentences


@dataclass(frozen=True)
class Verbose(Alteration):
    """The agent says the same with more words: a sentence before, and after every second text two more."""

    def text(self, text: str, language: str, number: int) -> str:
        """The text between sentences without content."""
        before, *after = phrases().verbose[language]
        parts = [before, text, *(after if number % 2 == 0 else after[:1])]
        return ("" if language in NO_BLANKS else " ").join(parts)


@dataclass(frozen=True)
class Markdown(Alteration):
    """The agent says the same in Markdown: the first sentence bold, the others a list."""

    def text(self, text: str, language: str, number: int) -> str:
        """The text with marks of Markdown."""
        first, *others = [sentence for sentence in SENTENCE_END.split(text) if sentence]
        return "\n".join([f"**{first}**", *([""] if others else []), *(f"- {sentence}" for sentence in others)])


@dataclass(frozen=True)
class Introduced(Alteration):
    """The agent gives a model's name before the first thing that it says."""

    name: str = ""

    def text(self, text: str, language: str, number: int) -> str:
        """The text after an introduction."""
        if number:
            return text
        introduction = phrases().introduction[language].format(name=self.name)
        return f"{introduction}{'' if language in NO_BLANKS else ' '}{text}"


@dataclass(frozen=True)
class Injected(Alteration):
    """The first result of a tool tells the judge what to answer."""

    label: Literal["normal", "anomalous"] = "normal"

    def session(self, content: bytes, pair: int) -> bytes:
        """The session with a template at the end of the first result that is a text."""
        templates = phrases().injection[self.label]
        lines = content.split(b"\n")
        for place, line in enumerate(lines):
            record = json.loads(line) if line.strip() else {}
            message = record.get("message", {})
            blocks = message.get("content") if message.get("role") == "toolResult" else None
            block = next((block for block in blocks or () if block.get("type") == "text"), None)
            if block is not None:
                block["text"] = f"{block['text'].rstrip()}\n{templates[pair % len(templates)]}\n"
                lines[place] = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
                break
        return b"\n".join(lines)
