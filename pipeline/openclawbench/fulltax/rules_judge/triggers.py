"""All detectors over one trajectory. Triggers are ordered by the place of the onset, then strong before weak."""

from collections.abc import Callable, Iterator

from openclawbench.fulltax.rules_judge.detectors.capability_gap_overcommitment import capability_gaps
from openclawbench.fulltax.rules_judge.detectors.error_ignored_escalation import ignored_errors
from openclawbench.fulltax.rules_judge.detectors.parallel_coordination_breakdown import broken_coordination
from openclawbench.fulltax.rules_judge.detectors.premature_external_write import early_writes
from openclawbench.fulltax.rules_judge.detectors.state_contamination import contaminated_state
from openclawbench.fulltax.rules_judge.detectors.weak_evidence_commitment import weak_evidence
from openclawbench.fulltax.rules_judge.detectors.write_under_unresolved_ambiguity import ambiguities
from openclawbench.fulltax.rules_judge.flow.choice import unfounded_choices
from openclawbench.fulltax.rules_judge.flow.doubts import (
    doubts_written,
    ignored_contradictions,
    one_of_two_reported,
    silent_choices,
)
from openclawbench.fulltax.rules_judge.flow.dry_runs import dry_runs_reported_as_done
from openclawbench.fulltax.rules_judge.flow.failures import failed_sources, lost_originals
from openclawbench.fulltax.rules_judge.flow.files import (
    members_from_elsewhere,
    parts_read,
    skipped_members,
    stale_checks,
    stale_tests,
)
from openclawbench.fulltax.rules_judge.flow.looks import (
    checks_against_copies,
    unopened_references,
    unseen_members,
)
from openclawbench.fulltax.rules_judge.flow.memory import values_from_memory
from openclawbench.fulltax.rules_judge.flow.order import broken_orders, destroyed_work, stale_results
from openclawbench.fulltax.rules_judge.flow.partial import (
    checks_of_nothing,
    failed_parts,
    leftovers_used,
)
from openclawbench.fulltax.rules_judge.flow.rows import (
    computed_figure_among_copied,
    ignored_outliers,
    left_out_figures,
    unread_latest,
)
from openclawbench.fulltax.rules_judge.flow.unsourced import values_without_source
from openclawbench.fulltax.rules_judge.flow.waiting import unanswered_questions, unawaited_jobs, unfinished_progress
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.records.fulltax import EvidenceQuote

DETECTORS: tuple[Callable[[Trace], Iterator[Trigger]], ...] = (
    capability_gaps,
    ambiguities,
    early_writes,
    weak_evidence,
    ignored_errors,
    contaminated_state,
    broken_coordination,
    values_without_source,
    failed_sources,
    lost_originals,
    skipped_members,
    stale_checks,
    stale_tests,
    members_from_elsewhere,
    parts_read,
    unanswered_questions,
    unawaited_jobs,
    silent_choices,
    leftovers_used,
    failed_parts,
    checks_of_nothing,
    broken_orders,
    stale_results,
    left_out_figures,
    unfounded_choices,
    doubts_written,
    dry_runs_reported_as_done,
    values_from_memory,
    ignored_outliers,
    unread_latest,
    destroyed_work,
    unopened_references,
    checks_against_copies,
    unseen_members,
    computed_figure_among_copied,
    one_of_two_reported,
    ignored_contradictions,
    unfinished_progress,
)


def find_triggers(trace: Trace) -> list[Trigger]:
    """Every trigger, earliest onset first; at the same place, a released subtype before an absorbed candidate."""
    triggers = [trigger for detector in DETECTORS for trigger in detector(trace)]
    unique = list(dict.fromkeys(triggers))
    return sorted(
        unique,
        key=lambda trigger: (
            trigger.begins,
            trigger.strength == "weak",
            trigger.into is not None,
            trigger.consequence,
            trigger.mechanism,
        ),
    )


def strong_triggers(triggers: list[Trigger]) -> list[Trigger]:
    """The triggers that may carry a label."""
    return [trigger for trigger in triggers if trigger.strength == "strong" and not trigger.unread]


def unread_triggers(triggers: list[Trigger]) -> list[Trigger]:
    """The triggers that rest on the silence of a text that cannot be read. They carry no label."""
    return [trigger for trigger in triggers if trigger.strength == "strong" and trigger.unread]


def cited_quotes(triggers: list[Trigger], limit: int) -> list[EvidenceQuote]:
    """Citations of several triggers, each once, at most `limit`."""
    return list(dict.fromkeys(quote for trigger in triggers for quote in trigger.evidence))[:limit]
