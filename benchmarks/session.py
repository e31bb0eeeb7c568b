"""One made-up OpenClaw session of the benchmark corpus: the same bytes for the same seed and number."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from benchmarks.shape import Model, Shape, Texts, Weighted, iso

HOME = "/home/user/.openclaw/workspace"
FEW = 12  # words that names of files come back with
FIRST_MOMENT = 1_769_000_000_000  # epoch milliseconds: January 2026
ENCODE = msgspec.json.Encoder().encode
SHELL = ("exec", "bash")
# What JSON.stringify writes for a string cut through an emoji; an encoder of valid text can't, so it is put in late.
HALF_EMOJI, HALF_EMOJI_MARK = rb"\ud83d", "@half-emoji@"


@dataclass
class Corpus:
    """What all sessions share: the shape, the texts, the weighted choices."""

    shape: Shape
    texts: Texts
    choices: dict[str, Weighted] = field(init=False)

    def __post_init__(self) -> None:
        names = ("tools", "commands", "envelopes", "provider_errors", "tool_errors", "subsets")
        self.choices = {name: Weighted(getattr(self.shape, name)) for name in names}


@dataclass(frozen=True)
class Made:
    """One session: the name of its file, its header's id and its bytes."""

    session_id: str
    content: bytes


def make_session(corpus: Corpus, model: Model, seed: int, number: int) -> Made:
    """The session of this number; it needs no other, so that a corpus is a stream."""
    random = Random(f"{seed}:{number}")
    return SessionMaker(corpus, model, random, FIRST_MOMENT + number * 61_000).make()


class SessionMaker:
    """Writes records until the session has its size."""

    def __init__(self, corpus: Corpus, model: Model, random: Random, moment: int) -> None:
        self.corpus, self.model, self.random, self.moment = corpus, model, random, moment
        self.lines: list[bytes] = []
        self.size = 0
        self.parent: str | None = None
        self.call_number = 0
        self.session_id = "-".join(f"{random.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12))
        shares = corpus.shape.session
        self.prose = "chinese" if self.chance(shares.chinese) else "prose"
        self.plain_strings = self.chance(shares.string_content)
        self.failing = self.chance(shares.failing_provider)
        self.cuts_emoji = self.chance(shares.lone_surrogate)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def text(self, kind: str, length: tuple[float, float]) -> str:
        """A text; one of the session's prose kinds is in its language."""
        return self.corpus.texts.of(self.random, self.prose if kind == "prose" else kind, length)

    def pick(self, pool: str) -> str:
        """A weighted choice; `{word}` in it is filled in."""
        choice = self.corpus.choices[pool].pick(self.random)
        return choice.replace("{word}", self.random.choice(self.corpus.shape.words))

    def make(self) -> Made:
        """The whole session."""
        shares, size = self.corpus.shape.session, self.corpus.shape.size
        target = min(int(size.median * self.random.lognormvariate(0.0, size.sigma)), size.maximum)
        self.head()
        while True:
            self.turn(target)
            if self.size >= target:
                break
        self.tail()
        content = b"\n".join(self.lines) + b"\n"
        if self.cuts_emoji:
            content = content.replace(HALF_EMOJI_MARK.encode(), HALF_EMOJI)
        if self.chance(shares.torn):
            content = content[: -self.random.randrange(20, 60)]
        return Made(self.session_id, content)

    def add(self, record: dict[str, Any]) -> None:
        """One line."""
        line = ENCODE(record)
        self.lines.append(line)
        self.size += len(line) + 1

    def record(self, kind: str, **fields: Any) -> None:
        """A record that hangs on the previous one, a little later."""
        self.moment += self.random.randrange(3, 4_000)
        name = f"{self.random.getrandbits(32):08x}"
        self.add({"type": kind, "id": name, "parentId": self.parent, "timestamp": iso(self.moment), **fields})
        self.parent = name

    def message(self, **message: Any) -> None:
        self.record("message", message={**message, "timestamp": self.moment})

    def head(self) -> None:
        """Header, model, thinking level, snapshot."""
        model = self.model
        self.add({"type": "session", "version": 3, "id": self.session_id, "timestamp": iso(self.moment), "cwd": HOME})
        self.record("model_change", provider=model.provider, modelId=model.model)
        self.record("thinking_level_change", thinkingLevel="low")
        snapshot = {"timestamp": self.moment, "provider": model.provider, "modelApi": model.api, "modelId": model.model}
        self.record("custom", customType="model-snapshot", data=snapshot)

    def turn(self, target: int) -> None:
        """What a user says, and the agent's messages until it ends the turn or the session is long enough."""
        shares = self.corpus.shape
        if self.chance(shares.session.runtime_context):
            shown = {"content": self.text("prose", (400.0, 0.5)), "display": False, "details": {}}
            self.record("custom_message", customType="openclaw.runtime-context", **shown)
        self.user()
        self.call_number = 0
        if self.failing and self.chance(0.6):
            for _ in range(self.random.choice((1, 1, 1, 2, 3, 5))):
                self.failed_attempt()
        branch_at = self.parent if self.chance(shares.session.branch) else None
        while self.size < target and not self.chance(shares.message.last):
            self.calls()
        if branch_at is not None:
            self.reply()
            self.parent = branch_at
        self.reply()

    def tail(self) -> None:
        """How the session ends."""
        shares = self.corpus.shape.session
        if self.chance(shares.cache_ttl):
            data = {"timestamp": self.moment, "provider": self.model.provider, "modelId": self.model.model}
            self.record("custom", customType="openclaw.cache-ttl", data=data)
        if self.chance(shares.compaction):
            kept, files = self.parent, {"readFiles": [f"{HOME}/README.md"], "modifiedFiles": []}
            summary = self.text("prose", (2_000.0, 0.5))
            self.record("compaction", summary=summary, firstKeptEntryId=kept, tokensBefore=90_000, details=files)
        if self.chance(shares.mirrored):
            self.assistant([{"type": "text", "text": "Done."}], "stop", model="delivery-mirror", provider="openclaw")
        if self.chance(shares.prompt_error):
            data = {"timestamp": self.moment, "runId": self.session_id, "error": self.pick("provider_errors")}
            self.record("custom", customType="openclaw:prompt-error", data=data)
        elif self.chance(shares.dangling):
            self.assistant([self.call(self.pick("tools"))], "toolUse")

    def user(self) -> None:
        """A user's words in one of the envelopes."""
        kind = self.pick("envelopes")
        words = self.text("prose", self.corpus.shape.length.prose)
        stamp = f"[Wed {iso(self.moment)[:10]} {iso(self.moment)[11:16]} UTC] "
        sender = 'Sender (untrusted metadata):\n```json\n{\n  "label": "user",\n  "id": "u-1"\n}\n```\n\n'
        text = {
            "stamp": stamp + words,
            "sender": sender + stamp + words,
            "plain": words,
            "system": f"System: {stamp}Exec completed (brisk-otter, code 0)\n\n{words}",
            "heartbeat": "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK.",
            "cron": f"[cron:{self.session_id[:8]} nightly] {words}",
            "subagent": f"[Subagent Context] You are a subagent.\n\n[Subagent Task]: {words}",
        }[kind]
        self.message(role="user", content=text if self.plain_strings else [{"type": "text", "text": text}])

    def assistant(self, content: list[dict[str, Any]], stop: str, **more: Any) -> None:
        """An agent message with its usage."""
        written, model = self.random.randrange(20, 900), self.model
        read, cached = 5_000 + self.size // 4, {"cacheRead": 0, "cacheWrite": 0}
        cost = {"input": read * 1e-6, "output": written * 4e-6, **cached, "total": read * 1e-6 + written * 4e-6}
        usage = {"input": read, "output": written, **cached, "totalTokens": read + written, "cost": cost}
        named = {"api": model.api, "provider": model.provider, "model": model.model, "usage": usage, "stopReason": stop}
        self.message(role="assistant", content=content, **(named | more))

    def failed_attempt(self) -> None:
        """A provider error as it stays in the file: no content, an error message."""
        error = self.pick("provider_errors")
        self.assistant([], "aborted" if "aborted" in error else "error", errorMessage=error)

    def speech(self) -> list[dict[str, Any]]:
        """Thinking and text before the calls or the reply."""
        shares, length = self.corpus.shape.message, self.corpus.shape.length
        blocks: list[dict[str, Any]] = []
        if self.chance(shares.thinking):
            thinking = self.text("prose", length.thinking)
            blocks.append({"type": "thinking", "thinking": thinking, "thinkingSignature": "reasoning_content"})
        if self.chance(shares.narration):
            blocks.append({"type": "text", "text": self.text("prose", length.prose)})
        return blocks

    def reply(self) -> None:
        """A message that ends the turn."""
        shares = self.corpus.shape.message
        text = "HEARTBEAT_OK" if self.chance(shares.silent) else self.text("prose", self.corpus.shape.length.prose)
        stop = "length" if self.chance(shares.length) else "stop"
        self.assistant([*self.speech()[:1], {"type": "text", "text": text}], stop)

    def calls(self) -> None:
        """One agent message with calls, and their results."""
        shares = self.corpus.shape.message
        tools = [self.pick("tools")]
        if self.chance(shares.parallel):
            tools += [self.pick("tools") for _ in range(self.random.choice((1, 1, 2, 3)))]
        calls = [self.call(tool) for tool in tools]
        after = [{"type": "text", "text": "Running it now."}] if self.chance(shares.text_after_call) else []
        self.assistant([*self.speech(), *calls, *after], "toolUse")
        for call in calls:
            self.result(call)

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """A tool call block."""
        name = self.model.ids.replace("{tool}", tool).replace("{number}", str(self.call_number))
        name = name.replace("{hex}", f"{self.random.getrandbits(96):024x}")
        self.call_number += 1
        block = {"type": "toolCall", "id": name, "name": tool, "arguments": arguments or self.arguments(tool)}
        if self.chance(self.corpus.shape.message.partial_json):
            block["partialJson"] = ENCODE(block["arguments"]).decode()
        return block

    def arguments(self, tool: str) -> dict[str, Any]:
        """Arguments as the tool takes them."""
        length = self.corpus.shape.length.argument
        path = f"{HOME}/{self.random.choice(self.corpus.shape.words)}.md"
        if tool in SHELL:
            return {"command": self.command(length), "timeout": 30}
        if tool in ("write", "edit"):
            path = f"{HOME}/MEMORY.md" if self.chance(self.corpus.shape.result.memory_write) else path
            new = self.text("code", length)
            return {"path": path, **({"content": new} if tool == "write" else {"oldText": new[::2], "newText": new})}
        if tool == "read":
            return {"path": path}
        return {"action": "open", "query": self.text("prose", (60.0, 0.5)), "url": "https://example.com/a"}

    def command(self, length: tuple[float, float]) -> str:
        """A shell command; the program of one that has it inline is as long as other arguments."""
        words = self.corpus.shape.words
        command_text = (
            self.corpus.choices["commands"].pick(self.random).replace("{again}", self.random.choice(words[:FEW]))
        )
        command_text = command_text.replace("{word}", f"{self.random.choice(words)}{self.random.randrange(1000)}")
        return command_text.replace("{code}", self.text("code", length)) if "{code}" in command_text else command_text

    def result(self, call: dict[str, Any]) -> None:
        """The result of a call, failed or not; a command left running gets its poll."""
        shares, tool = self.corpus.shape.result, call["name"]
        text = self.text("log" if tool in SHELL else "code", self.corpus.shape.length.output)
        details: dict[str, Any] | None = None
        is_error = self.chance(shares.is_error)
        running = tool in SHELL and self.chance(shares.running)
        if running:
            name = f"brisk-{self.corpus.shape.words[self.random.randrange(20)]}"
            text = f"Command still running (session {name}, pid {self.random.randrange(900, 9999)})."
            details = {"status": "running", "sessionId": name, "pid": 4242, "startedAt": self.moment, "tail": ""}
        elif is_error or self.chance(shares.status_error):
            text = self.pick("tool_errors")
            details = {"status": "error", "tool": tool, "error": text}
            text = ENCODE(details).decode() if not is_error else text
        elif tool in SHELL:
            code = 1 if self.chance(shares.nonzero_exit) else 0
            text += "\n\nCommand exited with code 1" if code else ""
            details = {"status": "completed", "exitCode": code, "durationMs": 131, "aggregated": text, "cwd": HOME}
        self.tool_result(call, text, details, is_error)
        if running and details is not None:
            self.poll(details["sessionId"])

    def poll(self, name: str) -> None:
        """The process call that tells a background command's outcome."""
        call = self.call("process", {"action": "poll", "sessionId": name})
        self.assistant([call], "toolUse")
        details = {"status": "completed", "sessionId": name, "exitCode": 0, "exitSignal": None, "aggregated": "ok"}
        self.tool_result(call, "ok\n\nProcess exited with code 0.", details, False)

    def tool_result(self, call: dict[str, Any], text: str, details: dict[str, Any] | None, is_error: bool) -> None:
        shares = self.corpus.shape.result
        if self.cuts_emoji and len(text) > 200:
            text = text[:200] + HALF_EMOJI_MARK
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if self.chance(shares.empty):
            content = []
        if self.chance(shares.image):
            content.append({"type": "image", "data": "iVBORw0KGgo" + "A" * 4_001, "mimeType": "image/png"})
        named = {"role": "toolResult", "toolCallId": call["id"], "toolName": call["name"], "content": content}
        self.message(**named, **({"details": details} if details is not None else {}), isError=is_error)
