"""FORMATS: every source adapter, in the order in which they are asked whether a file is theirs."""

from typing import Any

from openclawbench.sources.aec_bench.chat_messages import ChatMessages
from openclawbench.sources.aec_bench.conversation import AecConversation
from openclawbench.sources.aec_bench.trajectory import AecTrajectory
from openclawbench.sources.atif.adapter import Atif, AtifSteps
from openclawbench.sources.base import Source
from openclawbench.sources.llm_benchmark import LlmBenchmark
from openclawbench.sources.message_list import MessageList
from openclawbench.sources.mini_swe_agent import MiniSweAgent
from openclawbench.sources.openclaw.adapter import STORED, OpenClaw
from openclawbench.sources.run_artifact.adapter import RunArtifact

FORMATS: tuple[Source, ...] = (
    OpenClaw(),
    RunArtifact(),
    LlmBenchmark(),
    AecTrajectory(),
    AecConversation(),
    Atif(),
    MiniSweAgent(),
    ChatMessages(),
    AtifSteps(),
    MessageList(),
)
PART_OF = "part_of"  # key of the context of a part that no adapter claims: the adapter of its file


def format_names() -> set[str]:
    """Every value of `source_format`: the formats of all adapters, and a session of an OpenClaw store."""
    return {STORED, *(source.format_name for source in FORMATS), *(source.name for source in FORMATS)}


def source_named(name: str | None) -> Source | None:
    """The adapter of this name, else None."""
    return next((source for source in FORMATS if source.name == name), None)


def explain_rejection(first: Any) -> str | None:
    """What a first record lacks that resembles a format; None if it resembles no format."""
    explanations = (source.explain_rejection(first) for source in FORMATS)
    return next((explanation for explanation in explanations if explanation), None)


def skip_reason(context: dict[str, Any], record: Any) -> str | None:
    """Reason code for a part of a file of several sessions that is known not to be a session, else None.

    `context`: of the part; it names the adapter of the whole file.
    """
    source = source_named(context.get(PART_OF))
    return None if source is None else source.skip_reason(record)
