"""Loader of request.toml: what decides a language model's answer, beside model and messages."""

from typing import ClassVar

from openclawbench.rules.loading.numbers import Amount, AtLeastOne, Count
from openclawbench.rules.loading.rule_file import Rules


class RequestRules(Rules):
    """What decides an answer beside model and messages."""

    FILE: ClassVar[str] = "request.toml"
    temperature: Amount
    seed: Count
    max_output_tokens: AtLeastOne

    def parameters(self) -> dict[str, float | int]:
        """The parameters alone."""
        return self.model_dump(exclude={"version"})
