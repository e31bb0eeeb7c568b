"""The map of the pipeline: every stage, in order, on one screen.

A stage is a function of tables. Its signature declares which tables it reads and writes and which rules it needs.
On the right: the table or section of the paper that defines it.
"""

from openclawbench.construct.align import align
from openclawbench.construct.coverage import coverage, matches
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
from openclawbench.release.labels.duplicates import near
from openclawbench.release.labels.fingerprint import fingerprint
from openclawbench.release.labels.leakage import certify
from openclawbench.release.labels.places import draw, place
from openclawbench.release.labels.split import split
from openclawbench.release.privacy.search import search_text, search_text_pass2
from openclawbench.release.writer.render import render
from openclawbench.release.writer.second_pass import reference, render_pass2
from openclawbench.release.writer.summarize import count, summarize
from openclawbench.runtime.stage import Stage

FLOW: list[Stage] = [
    normalize,  # raw sessions -> trajectories, steps, user turns; the fate of every file       T7
    describe,  #  steps -> event type, tool status, process flags; each value with its rule     T8, T9
    summary,  #   how the run went: errors, cost, behaviour
    align,  #     one tool name and category across source models                              T10
    fuse,  #      trajectory + oracle outcome                                                   T11
    matches,  #   which sessions and oracle rows of a shard matched                             C.1
    coverage,  #  their counts, and the rows that no session got                                C.1
    slice,  #     process-risk score and risk slice                                             T12, T13
    onset,  #     where unreliable execution may begin                                          T15
    packet,  #    the judge's input; and Evidence: the same without oracle and risk             T16, T23
    *(ask_a, answer_a, decide_a),  #    triage                                                  T25
    *(ask_b1, answer_b1, decide_b1),  # closed-set subtype                                      T26
    *(ask_b2, answer_b2, decide_b2),  # spans, onsets, severity                                 T27
    *(ask_c, answer_c, decide_c),  #    verification                                            E.6
    repair,  #    consistency checks, deterministic repairs, quality tier                       T28-T30
    merge,  #     one annotation record per trajectory                                            T32, T38
    fingerprint,  # texts to find near duplicates by
    place,  #     what decides the sides of a trajectory by itself, by hash
    draw,  #      the strata's last place on the test side, the calibration pool                F.6
    near,  #      the sides on which near duplicates of a text are
    split,  #     training and test files in two cuts                                           F.6
    certify,  #   leakage certificates of the cuts
    count,  #     counts per source model of a shard
    summarize,  # their sums
    render,  #    lines of the release files                                                    T37
    search_text,  # keys and personal data in these lines
]

# With a second judge, SECOND_PASS (ask_a_pass2 ... repair_pass2) judges the same packets. Then the passes are compared.
COMPARISON: list[Stage] = [
    reference,  #    the label of the second pass beside that of the first
    render_pass2,  # its answers as lines of the release files                                  T37
    search_text_pass2,
]

# Command -> the last stage that it brings up to date.
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
    "release": search_text,
}
JUDGING_VERBS = ("stage-a", "stage-b1", "stage-b2", "stage-c", "annotate")  # commands that a second pass has too


def stages_up_to(verb: str, second_pass: bool = False) -> list[Stage]:
    """The stages that a command needs, in order. A release includes the second pass if there is one. Raises KeyError
    for an unknown command."""
    stages = FLOW[: FLOW.index(VERBS[verb]) + 1]
    return all_stages(second_pass) if stages[-1] is search_text else stages


def second_pass_up_to(verb: str) -> list[Stage]:
    """The stages that a judging command (stage-a to annotate) needs in the second pass, in order, from raw sessions on.
    Raises ValueError for another command."""
    names = [stage.name for stage in SECOND_PASS]
    return stages_up_to("packet") + SECOND_PASS[: names.index(f"{VERBS[verb].name}_pass2") + 1]


def all_stages(second_pass: bool) -> list[Stage]:
    """Every stage of a data folder."""
    return [*FLOW, *SECOND_PASS, *COMPARISON] if second_pass else FLOW
