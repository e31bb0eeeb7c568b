"""FullTax: what each stage asks of a judge, what an answer means, and what an annotation is worth.

It knows nothing about HTTP and nothing about how evidence is constructed. No oracle outcome and no risk reaches a
decision made here.

stage_a, stage_b1, stage_b2, stage_c   what each stage asks, of which trajectories
requests, decisions                    the rows that all four stages share
answers/                               what an answer may contain, and how its text is read and repaired
annotation/                            checks (T28), repairs (T29), review cause and tier (T22, T30)
merge                                  the label beside its context: the released record
second_pass                            the same stages once more, with another judge
forecast                               what a run would ask next, for plans
rules_judge/                           the embedded judge: a baseline without a model
"""
