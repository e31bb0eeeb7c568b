"""The rules judge: the embedded judge that needs no model, no network and no money.

It answers every FullTax stage from Evidence alone, by detectors over ReAct steps. Its word lists, thresholds and tables
are in rules/fulltax/judge.toml. It is a baseline to try the pipeline with and to test it against: it sees surface cues,
not meaning, and its labels say `judge: rules`. docs/why/rules_judge.md says how good it is.

module                              what it decides
judge                               RulesJudge: questions in, answers out
stage_a, stage_b1, stage_b2, stage_c  the answer of each stage, from the triggers in a trajectory (T25-T28)
triggers                            all detectors, and the order of their triggers
trigger                             one firing of a mechanism of judge.toml, with its citations
detectors/
  capability_gap_overcommitment     T17: a capability or failure cue, then an unjustified commitment
  write_under_unresolved_ambiguity  T17, also ambiguity_mishandling: a write or reply while the request is ambiguous
  weak_evidence_commitment          T17: a commitment on weak evidence: claimed acts, simulated output, hidden doubts
  premature_external_write          T17: an early external mutation before grounding
  error_ignored_escalation          T17: an explicit error, then a riskier act or a success claim
  state_contamination               T17, absorbed: a write to the agent's state in a weak or uncertain context
  parallel_coordination_breakdown   T17, absorbed: a failed call to another agent under a success claim
  recovery                          whether a later step recovered from a failure
flow/                               mechanisms that follow values, files, failures and jobs through the steps:
  calls                             what a call is about
  provenance, derivation, values    where figures come from, and what follows from them
  unsourced, memory                 values that nothing holds, or that memory alone holds
  failures, partial                 sources that were not reached, and partial results
  files, rows, looks                files left out or read in part, members of rows, looks that missed what counts
  order                             checks and results older than a change
  jobs, waiting, dry_runs           open jobs, acts that did not wait, dry runs reported as done
  choice, doubts                    one of several given or changed, doubts that what is written leaves out
listings                            calls that show names of files, and these files
replies                             whether a reply commits, hedges, discloses or asks
trace                               a trajectory as detectors read it; hits: where a pattern occurs in a text
"""

from openclawbench.fulltax.rules_judge.judge import RulesJudge
from openclawbench.fulltax.rules_judge.stage_a import answer_a
from openclawbench.fulltax.rules_judge.stage_b1 import answer_b1
from openclawbench.fulltax.rules_judge.stage_b2 import answer_b2
from openclawbench.fulltax.rules_judge.stage_c import answer_c

__all__ = ["RulesJudge", "answer_a", "answer_b1", "answer_b2", "answer_c"]
