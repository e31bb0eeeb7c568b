"""From BFCL tasks to scored sessions: a plan, real OpenClaw agents on its tasks, and BFCL's own evaluator.

OpenClaw and `bfcl-eval` are programs of the user's own, in environments of their own; nothing here imports them.
"""
