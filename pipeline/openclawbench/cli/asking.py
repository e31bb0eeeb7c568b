"""The options of asking, for every command that may ask a language model."""

from collections.abc import Callable
from typing import Any

from openclawbench.cli.options import with_options

Asking = dict[str, Any]  # setting -> value, null where no flag was given
NOTHING: Asking = {}
HELP = {
    "base_url": "Address of the OpenAI-compatible endpoint; OPENAI_BASE_URL without it.",
    "concurrency": "Requests in flight.",
    "rpm": "Requests a minute, at most.",
    "tpm": "Tokens a minute, at most.",
    "budget_usd": "USD that the ledger may hold at most; then exit status 3.",
    "budget_tokens": "Tokens that the ledger may hold at most; then exit status 3.",
    "price_in": "USD for a million prompt tokens, instead of the price table.",
    "price_out": "USD for a million tokens of answers.",
    "price_cached": "USD for a million prompt tokens from the provider's cache.",
    "transport": "aiohttp, or openai: the client itself.",
    "batch": "Ask in batches (OpenAI's Batch API): cheaper, within a day.",
}
KINDS: dict[str, Any] = {
    "base_url": str,
    "concurrency": int,
    "rpm": float,
    "tpm": float,
    "budget_usd": float,
    "budget_tokens": int,
    "price_in": float,
    "price_out": float,
    "price_cached": float,
    "transport": str,
    "batch": bool,
}


def with_asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of asking; they reach its parameter `asking` as {setting: value or null}."""
    return with_options("asking", {name: (KINDS[name], text) for name, text in HELP.items()})(command)
