"""The map of the house: every stage, in order, on one screen. What each reads and writes stands in its signature."""

from openclawbench.construct.align import align
from openclawbench.construct.coverage import coverage
from openclawbench.construct.describe.describe import describe
from openclawbench.construct.fuse import fuse
from openclawbench.construct.normalize.normalize import normalize
from openclawbench.construct.onset import onset
from openclawbench.construct.packet import packet
from openclawbench.construct.slice import slice
from openclawbench.construct.summarize_run import summary
from openclawbench.fulltax.annotation.repair_stage import repair
from openclawbench.fulltax.merge import merge
from openclawbench.fulltax.second_pass import SECOND_PASS
from openclawbench.fulltax.stage_a import answer_a, ask_a, decide_a
from openclawbench.fulltax.stage_b1 import answer_b1, ask_b1, decide_b1
from openclawbench.fulltax.stage_b2 import answer_b2, ask_b2, decide_b2
from openclawbench.fulltax.stage_c import answer_c, ask_c, decide_c
from openclawbench.release.labels.fingerprint import fingerprint
from openclawbench.release.labels.split import split
from openclawbench.release.writer.render import render
from openclawbench.release.writer.second_pass import reference, render_pass2
from openclawbench.release.writer.summarize import summarize
from openclawbench.runtime.stage import Stage

FLOW: list[Stage] = [
    normalize,  # raw sessions -> trajectories, steps, user turns; what became of every file   T7
    describe,  #  steps -> event descriptors, each value with its rule                          T8, T9
    summary,  #   what happened to the run: errors, cost, behaviour
    align,  #     tool names and categories across source models                                T10
    fuse,  #      trajectory + oracle outcome                                                   T11
    coverage,  #  who was matched                                                               C.1
    slice,  #     process-risk score and slice                                                  T12, T13
    onset,  #     where it may begin                                                            T15
    packet,  #    what the judge reads; Evidence: the same without oracle and risk              T16, T23
    *(ask_a, answer_a, decide_a),  #    triage                                                  T25
    *(ask_b1, answer_b1, decide_b1),  # closed-set subtype                                      T26
    *(ask_b2, answer_b2, decide_b2),  # spans, onsets, severity                                 T27
    *(ask_c, answer_c, decide_c),  #    verification                                            E.6
    repair,  #    checks, deterministic repairs, quality tier                                   T28-T30
    merge,  #     one record a trajectory                                                       T32, T38
    fingerprint,  # what is compared to find near duplicates
    split,  #     label files in two cuts, leakage certificates                                 F.6
    summarize,  # counts per source model
    render,  #    lines of the release files                                                    T37
]

# Where a data folder has a second pass: SECOND_PASS (ask_a_pass2 … repair_pass2) reads the packets, these come last.
BOTH_PASSES: list[Stage] = [
    reference,  #    the second pass's label beside the first's
    render_pass2,  # its answers as lines of the release files                                  T37
]

# The last stage that each verb of the command line brings up to date.
VERBS: dict[str, Stage] = {
    "normalize": normalize,
    "enrich": align,
    "fuse": coverage,
    "slice": slice,
    "onset": onset,
    "packet": packet,
    "stage-a": decide_a,
    "stage-b1": decide_b1,
    "stage-b2": decide_b2,
    "stage-c": decide_c,
    "annotate": repair,
    "merge": merge,
    "release": render,
}


def up_to(verb: str, second: bool = False) -> list[Stage]:
    """The stages that a verb needs, in order; a release also those of the second pass where there is one. KeyError for
    a verb that is none."""
    stages = FLOW[: FLOW.index(VERBS[verb]) + 1]
    return [*stages, *SECOND_PASS, *BOTH_PASSES] if second and stages[-1] is render else stages


def second_up_to(verb: str) -> list[Stage]:
    """The stages that a judged verb (stage-a to annotate) needs in the second pass, in order: those of the packets,
    then its own. ValueError for another verb."""
    names = [stage.name for stage in SECOND_PASS]
    return [*up_to("packet"), *SECOND_PASS[: names.index(f"{VERBS[verb].name}_pass2") + 1]]


def whole(second: bool) -> list[Stage]:
    """Every stage of a data folder."""
    return [*FLOW, *SECOND_PASS, *BOTH_PASSES] if second else FLOW
