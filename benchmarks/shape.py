"""What the sessions of the benchmark corpus look like (corpus.toml), and the texts in them."""

import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from random import Random

from pydantic import BaseModel, ConfigDict

FILE = Path(__file__).with_name("corpus.toml")
POOL = 1 << 20  # characters of made-up text of each kind, from which every text is a slice


class Part(BaseModel):
    """A table of corpus.toml: closed, so that a misspelt share is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Size(Part):
    """Bytes of a session."""

    median: int
    sigma: float
    maximum: int


class SessionShares(Part):
    """Probabilities per session."""

    branch: float
    dangling: float
    failing_provider: float
    string_content: float
    torn: float
    chinese: float
    lone_surrogate: float
    prompt_error: float
    cache_ttl: float
    runtime_context: float
    compaction: float
    mirrored: float


class MessageShares(Part):
    """Probabilities per agent message."""

    thinking: float
    narration: float
    text_after_call: float
    parallel: float
    partial_json: float
    last: float
    silent: float
    length: float


class ResultShares(Part):
    """Probabilities per tool result."""

    status_error: float
    nonzero_exit: float
    is_error: float
    running: float
    image: float
    empty: float
    memory_write: float


class Lengths(Part):
    """Characters of texts: (median, sigma) of log-normals."""

    prose: tuple[float, float]
    thinking: tuple[float, float]
    output: tuple[float, float]
    argument: tuple[float, float]
    ceiling: int


class Model(Part):
    """A source model: its folder, and how its lines name it."""

    folder: str
    provider: str
    model: str
    api: str
    ids: str


class Shape(Part):
    """The whole of corpus.toml."""

    size: Size
    session: SessionShares
    message: MessageShares
    result: ResultShares
    length: Lengths
    model: list[Model]
    tools: dict[str, int]
    commands: dict[str, int]
    envelopes: dict[str, int]
    provider_errors: dict[str, int]
    tool_errors: dict[str, int]
    subsets: dict[str, int]
    texts: dict[str, str]

    @cached_property
    def words(self) -> list[str]:
        return self.texts["words"].split(" ")


def load_shape() -> Shape:
    """corpus.toml, checked."""
    return Shape.model_validate(tomllib.loads(FILE.read_text(encoding="utf-8")))


class Weighted:
    """Weighted choices, prepared once."""

    def __init__(self, weights: dict[str, int]) -> None:
        self.names = list(weights)
        self.sums = list(accumulate(weights.values()))

    def pick(self, random: Random) -> str:
        """One name by weight."""
        return random.choices(self.names, cum_weights=self.sums)[0]


class Texts:
    """Made-up text of four kinds; each text is a slice of a long pool, so that making it costs next to nothing."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self.lengths = shape.length
        random = Random(f"texts:{seed}")
        self.pools = {kind: pool(random, shape.texts[kind].split(" ")) for kind in ("prose", "chinese", "code", "log")}

    def of(self, random: Random, kind: str, size: tuple[float, float]) -> str:
        """A text of a kind, its length drawn from a log-normal of this median and sigma."""
        median, sigma = size
        length = min(int(median * random.lognormvariate(0.0, sigma)) + 8, self.lengths.ceiling)
        start = random.randrange(POOL - length)
        return self.pools[kind][start : start + length]


def pool(random: Random, words: Iterable[str]) -> str:
    """A long run of random words; numbers among them keep it from repeating itself."""
    listed = list(words)
    picked: list[str] = []
    size = 0
    while size < POOL:
        word = random.choice(listed) if random.random() < 0.97 else f"{random.randrange(10**6)}"
        picked.append(word)
        size += len(word) + 1
    return " ".join(picked)[:POOL]


def iso(milliseconds: int) -> str:
    """Epoch milliseconds as OpenClaw writes times."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
