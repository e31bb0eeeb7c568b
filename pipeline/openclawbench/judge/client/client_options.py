"""How a language model is asked: settings that decide no answer."""

from collections.abc import Callable
from dataclasses import dataclass

from openclawbench.judge.client.batch_folder import BatchFolder
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.transport.endpoint import Endpoint, printable_url
from openclawbench.judge.transport.protocol import Transport
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price


@dataclass(frozen=True)
class ClientOptions:
    """Settings of asking that decide no answer. With `files` nobody is asked over a network."""

    endpoint: Callable[[], Endpoint]
    transport: Callable[[Endpoint, int, AskingRules], Transport]
    price: Callable[[], Price]
    concurrency: int
    rpm: float | None
    tpm: float | None
    budget_usd: float | None
    budget_tokens: int | None
    report: Callable[[JudgeProgress], None]
    batch: bool = False
    runs: int = 1  # that share the endpoint's limits
    files: BatchFolder | None = None

    def place(self) -> str:
        """Where questions go, as it may be printed."""
        return printable_url(self.endpoint().base_url) if self.files is None else str(self.files)
