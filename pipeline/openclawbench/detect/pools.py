"""Pools of labels, by what decides that a label is among them, and the cut that holds each source model out."""

ACCEPTED_POOL, HIGH_POOL, BOTH_POOL, BASELINE_POOL, HUMAN_POOL = "accepted", "high", "both-high", "baseline", "human"
EACH_HELD_OUT = "hold-one-out"  # cut: every source model in turn is the test side, the others are the train side
POOLS = {  # name -> what it holds
    ACCEPTED_POOL: "accepted labels (paper T39: high confidence and repaired)",
    HIGH_POOL: "high_confidence_accepted labels",
    BOTH_POOL: "labels of which two passes are sure (the pool that the paper trains and scores on)",
    BASELINE_POOL: "labels of the rules judge: a baseline, not annotation",
    HUMAN_POOL: "trajectories with a settled verdict of people (paper T40); it has no sides",
}
