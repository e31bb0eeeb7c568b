"""All detectors over one trajectory, in one order: by place of the onset, then strong before weak."""

from collections.abc import Callable, Iterator

from openclawbench.fulltax.rules_judge.capability_gap_overcommitment import capability_gaps
from openclawbench.fulltax.rules_judge.error_ignored_escalation import ignored_errors
from openclawbench.fulltax.rules_judge.parallel_coordination_breakdown import broken_coordination
from openclawbench.fulltax.rules_judge.premature_external_write import early_writes
from openclawbench.fulltax.rules_judge.state_contamination import contaminated_state
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.fulltax.rules_judge.weak_evidence_commitment import weak_evidence
from openclawbench.fulltax.rules_judge.write_under_unresolved_ambiguity import ambiguities
from openclawbench.records.fulltax import EvidenceQuote

DETECTORS: tuple[Callable[[Trace], Iterator[Trigger]], ...] = (
    capability_gaps,
    ambiguities,
    early_writes,
    weak_evidence,
    ignored_errors,
    contaminated_state,
    broken_coordination,
)


def triggers(trace: Trace) -> list[Trigger]:
    """Every firing, earliest onset first; a released subtype before a candidate at the same place."""
    found = [one for detector in DETECTORS for one in detector(trace)]
    unique = list(dict.fromkeys(found))
    return sorted(
        unique,
        key=lambda one: (one.begins, one.strength == "weak", one.into is not None, one.consequence, one.mechanism),
    )


def strong(found: list[Trigger]) -> list[Trigger]:
    """The firings that may carry a label."""
    return [one for one in found if one.strength == "strong" and not one.unread]


def unread(found: list[Trigger]) -> list[Trigger]:
    """The firings that might carry a label if a text could be read whose silence they rest on."""
    return [one for one in found if one.strength == "strong" and one.unread]


def cited(found: list[Trigger], limit: int) -> list[EvidenceQuote]:
    """Citations of several firings, each once, at most `limit`."""
    return list(dict.fromkeys(quote for one in found for quote in one.evidence))[:limit]
