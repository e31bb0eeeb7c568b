"""The second pass: the judged stages once more, on the same packets, with another judge, in tables of their own.

The functions, prompts and rules are those of the first pass. No stage of a pass reads a table of the other one.
"""

from dataclasses import replace

from openclawbench.fulltax import stage_a as a
from openclawbench.fulltax import stage_b1 as b1
from openclawbench.fulltax import stage_b2 as b2
from openclawbench.fulltax import stage_c as c
from openclawbench.fulltax.annotation.repair_stage import repair
from openclawbench.records.second_pass import PASS2
from openclawbench.runtime.stage import Stage


def second(stage: Stage) -> Stage:
    """The same stage over the tables of the second pass, answered by its judge."""
    return replace(
        stage,
        name=f"{stage.name}_pass2",
        reads={name: PASS2.get(record, record) for name, record in stage.reads.items()},
        writes=tuple(PASS2[record] for record in stage.writes),
        annotation_pass=2,
        home=__name__,
    )


ask_a_pass2, answer_a_pass2, decide_a_pass2 = second(a.ask_a), second(a.answer_a), second(a.decide_a)
ask_b1_pass2, answer_b1_pass2, decide_b1_pass2 = second(b1.ask_b1), second(b1.answer_b1), second(b1.decide_b1)
ask_b2_pass2, answer_b2_pass2, decide_b2_pass2 = second(b2.ask_b2), second(b2.answer_b2), second(b2.decide_b2)
ask_c_pass2, answer_c_pass2, decide_c_pass2 = second(c.ask_c), second(c.answer_c), second(c.decide_c)
repair_pass2 = second(repair)

SECOND_PASS: list[Stage] = [
    *(ask_a_pass2, answer_a_pass2, decide_a_pass2),
    *(ask_b1_pass2, answer_b1_pass2, decide_b1_pass2),
    *(ask_b2_pass2, answer_b2_pass2, decide_b2_pass2),
    *(ask_c_pass2, answer_c_pass2, decide_c_pass2),
    repair_pass2,
]
