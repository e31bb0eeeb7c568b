"""The rules judge: the embedded judge that needs no model, no network and no money.

It answers every FullTax stage from Evidence alone, by detectors over ReAct steps whose word lists, thresholds and
tables stand in rules/judge.toml. It is a baseline to try the pipeline with and to test it against: it sees surface
cues, not meaning, and its labels say `judge: rules`.
"""

from openclawbench.fulltax.rules_judge.judge import RulesJudge
from openclawbench.fulltax.rules_judge.stage_a import answer_a
from openclawbench.fulltax.rules_judge.stage_b1 import answer_b1
from openclawbench.fulltax.rules_judge.stage_b2 import answer_b2
from openclawbench.fulltax.rules_judge.stage_c import answer_c

__all__ = ["RulesJudge", "answer_a", "answer_b1", "answer_b2", "answer_c"]
