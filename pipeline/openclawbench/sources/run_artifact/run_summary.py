"""Run summary of a RunArtifact: status, usage, cost and times as it says them; what it does not say is null."""

from typing import Any

from openclawbench.sources.io.json_values import number_of, text_of
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.io.usd import stated_usage
from openclawbench.sources.run_artifact.attempts import Built
from openclawbench.sources.run_artifact.document import Document
from openclawbench.sources.sidecars.run_artifact_outcomes import ENDS

TOKENS = {
    "input": "input_tokens",
    "cached": "cached_input_tokens",
    "cache_write": "cache_write_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
    "total": "total_tokens",
}


def run_summary(document: Document, built: Built) -> dict[str, Any]:
    """The RunSummary: tokens as counts, cost in USD, time in seconds."""
    status = document.value.get("status")
    timing, tokens = document.part("timing"), usage(document)
    started, ended = iso_time(timing.get("started_at")), iso_time(timing.get("completed_at"))
    errors = max(len(built.provider_errors), int(status == "provider_error"))
    messages = [*built.provider_errors, document.part("error").get("message")]
    fields = {
        "provider_errors": errors,
        "stop_reason": text_of(document.part("provider").get("finish_reason")),
        "first_provider_error": next((text for message in messages if (text := text_of(message))), None),
        **stated_usage(
            {name: tokens.get(key) for name, key in TOKENS.items()} | {"usd": document.part("usage").get("cost_usd")}
        ),
        "started_at": started,
        "ended_at": ended,
    }
    if isinstance(status, str) and status in ENDS:
        fields["end"] = ENDS[status]
    summary = built.trace.list.run_summary([time for time in (started, ended) if time], **fields)
    seconds = number_of(timing.get("duration_seconds"))
    return summary if seconds is None else summary | {"wall_time_s": seconds}


def usage(document: Document) -> dict[str, Any]:
    """Token counts: nested as stored, flat as documented."""
    return document.part("usage", "normalized") or document.part("usage")


def models(document: Document, built: Built) -> list[str]:
    """The model that answered: as the provider names it, else as it was asked for; none where nothing answered."""
    names = (document.part("provider").get("provider_model_id"), document.part("request").get("requested_model"))
    answered = next((text for name in names if (text := text_of(name))), None)
    return [answered] if answered and built.trace.spoke else []
