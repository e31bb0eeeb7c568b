"""Stages as text: the table in docs/reference/stages.md, computed from the signatures of flow.py."""

from collections.abc import Iterable

from openclawbench.flow import COMPARISON, FLOW
from openclawbench.fulltax.second_pass import SECOND_PASS
from openclawbench.runtime.stage import Stage
from tools.site.markdown import table

COLUMNS = ("stage", "scope", "reads", "rules", "writes")
INTRODUCTION = """---
hide: [toc]
---

# Stages

A stage is a pure function. Its signature declares the tables and rule files that it reads and the tables that it
writes; this page is generated from the signatures of `pipeline/openclawbench/flow.py`. A `shard` stage runs on a fixed
share of the sessions, a `corpus` stage on all of them, a `partition` stage on one of 16 shares of the rows that shards
exchange. `SourceFile`, `RunManifestRow` and `OracleRow` are the inputs.

"""
SECOND = """
## Second pass

A data folder with a [second pass](../guides/second_pass.md) also has these stages. They read the same packets and write
tables of their own.

"""


def stage_row(stage: Stage) -> tuple[str, ...]:
    """The cells of one stage: what its signature declares."""
    rules = [kind.FILE for kind in stage.rules.values()] + (["the judge"] if stage.judge else [])
    reads, writes = ([record.__name__ for record in records] for records in (stage.reads.values(), stage.writes))
    return f"`{stage.name}`", stage.scope, join_names(reads), join_names(rules), join_names(writes)


def join_names(names: Iterable[str]) -> str:
    """Names in one cell; a dash where there are none."""
    return ", ".join(names).replace("*", "\\*") or "-"


def stage_table(stages: Iterable[Stage]) -> str:
    """A Markdown table with one row per stage, in order."""
    return table(COLUMNS, map(stage_row, stages))


def stages_page() -> str:
    """docs/reference/stages.md."""
    return INTRODUCTION + stage_table(FLOW) + SECOND + stage_table([*SECOND_PASS, *COMPARISON])
