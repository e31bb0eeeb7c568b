"""Explain: for each value of a trajectory and its steps the rule that gave it, and the text that the rule matched.

A section is a function from TrajectoryTables to plain data. Add a new one to TRAJECTORY or STEP, and to the printer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from openclawbench.errors import NotFound
from openclawbench.inspect.explain.decision import decisions
from openclawbench.inspect.explain.label import label
from openclawbench.inspect.explain.outcome import outcome
from openclawbench.inspect.explain.rules import PRIOR, prior_rule, rule
from openclawbench.inspect.explain.steps import alignment, event, flags, parts, side_effect, status, targets
from openclawbench.inspect.find import Key, has_for, rows_for
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.fulltax import Annotation
from openclawbench.records.oracle import Fused
from openclawbench.records.packet import PacketCut, PacketIndex
from openclawbench.records.risk import Onset, Risk, StepRisk
from openclawbench.records.session import Step
from openclawbench.rules.construct.onset import OnsetRules
from openclawbench.rules.construct.packet import PacketRules
from openclawbench.rules.construct.risk import RiskRules
from openclawbench.runtime.run import Run
from openclawbench.tables.record import Record
from openclawbench.tables.schema import from_records

Row = dict[str, Any]


@dataclass(frozen=True)
class TrajectoryTables:
    """The rows of one trajectory in all tables."""

    run: Run
    key: Key

    def rows(self, record: type[Record]) -> list[Row]:
        """Its rows of a table."""
        return rows_for(self.run, record, self.key)

    @cached_property
    def steps(self) -> dict[int, Row]:
        """step_id -> step with its descriptor."""
        described = {row["step_id"]: row for row in self.rows(AlignedDescriptor)}
        return {row["step_id"]: row | described[row["step_id"]] for row in sorted(self.rows(Step), key=by_step)}

    @cached_property
    def risk(self) -> Row:
        return self.rows(Risk)[0]

    @cached_property
    def onset(self) -> Row:
        return self.rows(Onset)[0]

    @cached_property
    def risk_rules(self) -> RiskRules:
        return RiskRules.load()

    @cached_property
    def signal_steps(self) -> dict[str, list[int]]:
        """Signal of T12 -> steps that count under it."""
        table = from_records(self.rows(AlignedDescriptor), AlignedDescriptor).sort("step_id")
        return {signal.name: table.filter(signal.condition)["step_id"].to_list() for signal in self.risk_rules.signals}

    @cached_property
    def first(self) -> dict[str, int | None]:
        """Number of the first step with a side effect, and of the first that gives evidence (early side effect of
        T12)."""
        table = from_records(self.rows(AlignedDescriptor), AlignedDescriptor)
        rules = self.risk_rules
        named = {"side_effect": rules.side_effect, "evidence": rules.evidence}
        return {name: table.filter(pl.sql_expr(when))["step_id"].min() for name, when in named.items()}  # type: ignore[misc]

    @cached_property
    def step_risk(self) -> dict[int, float]:
        return {row["step_id"]: row["step_risk"] for row in self.rows(StepRisk)}

    @cached_property
    def candidates(self) -> list[Row]:
        return onset(self)

    @cached_property
    def shortened(self) -> Row:
        return compaction(self)

    @cached_property
    def annotation(self) -> Row | None:
        """The label, if it is up to date."""
        return self.rows(Annotation)[0] if has_for(self.run, Annotation, self.key) else None


def by_step(row: Row) -> int:
    return int(row["step_id"])


# ---- sections of a trajectory


def risk(tables: TrajectoryTables) -> Row:
    """The raw sum signal by signal, the map to 0..100, the bucket and the slice."""
    rules, row = tables.risk_rules, tables.risk
    weights = {signal.name: signal.weight for signal in rules.signals}
    weights |= {name: bonus["weight"] for name, bonus in rules.bonus.model_dump().items()}
    signals = [
        {
            **part,
            "weight": weights.get(part["signal"], part["contribution"]),
            "steps": tables.signal_steps.get(part["signal"], []),
            "rule": (
                prior_rule(tables.rows(Fused)[0]["subset"])
                if part["signal"] == PRIOR
                else rule(f"risk.{part['signal']}")
            ).model_dump(),
        }
        for part in row["risk_breakdown"]
    ]
    score = f"{row['risk_score']:g} = 100 * (1 - exp(-{row['risk_score_raw']:g} / {rules.scale:g}))"
    cuts = f"medium from {rules.medium_from:g}, high from {rules.high_from:g}"
    scores = {name: row[name] for name in ("risk_score_raw", "risk_score", "risk_bucket", "slice_label")}
    return {**scores, "signals": signals, "map": score, "cuts": cuts, "first_steps": tables.first}


def onset(tables: TrajectoryTables) -> list[Row]:
    """Every candidate with its step and its rule; the step is null for candidates that do not occur."""
    candidates = [
        onset_rule | {"rule": rule(onset_rule["rule_id"]).model_dump()} for onset_rule in tables.onset["onset_rules"]
    ]
    names = {row["candidate"] for row in candidates}
    absent = [rule.name for rule in OnsetRules.load().earliest if rule.name not in names]
    return [
        *candidates,
        *({"candidate": name, "step_id": None, "rule": rule(f"onset.{name}").model_dump()} for name in absent),
    ]


def compaction(tables: TrajectoryTables) -> Row:
    """The length of the packet, and the texts that were cut out of it."""
    index = tables.rows(PacketIndex)[0]
    cuts = [
        {name: row[name] for name in row if name not in ("source_model", "trajectory_id")}
        | {"rule": rule(row["rule_id"]).model_dump()}
        for row in tables.rows(PacketCut)
    ]
    sizes = {name: index[name] for name in ("packet_sha256", "estimated_tokens", "fits")}
    return {**sizes, "budget_tokens": PacketRules.load().max_tokens, "compacted": bool(cuts), "cuts": cuts}


TRAJECTORY: dict[str, Callable[[TrajectoryTables], Any]] = {
    "outcome": outcome,
    "risk": risk,
    "onset": onset,
    "compaction": compaction,
    "label": lambda tables: label(tables.annotation),
    "decisions": decisions,
}


# ---- sections of a step


def step_risk(tables: TrajectoryTables, step: Row) -> Row:
    """The signals that a step counts under, and its weight."""
    weights = {signal.name: signal.weight for signal in tables.risk_rules.signals}
    counted = [name for name, steps in tables.signal_steps.items() if step["step_id"] in steps]
    return {
        "step_risk": tables.step_risk[step["step_id"]],
        "signals": [
            {"signal": signal, "weight": weights[signal], "rule": rule(f"risk.{signal}").model_dump()}
            for signal in counted
        ],
    }


def step_onset(tables: TrajectoryTables, step: Row) -> list[Row]:
    """The candidates at a step."""
    return [candidate for candidate in tables.candidates if candidate["step_id"] == step["step_id"]]


def step_cuts(tables: TrajectoryTables, step: Row) -> list[Row]:
    """The parts of a step that the packet does not show."""
    return [cut for cut in tables.shortened["cuts"] if cut["place"] == "step" and cut["number"] == step["step_id"]]


STEP: dict[str, Callable[[TrajectoryTables, Row], Any]] = {
    "event_type": event,
    "command_parts": parts,
    "alignment": alignment,
    "tool_status": status,
    "side_effect": side_effect,
    "targets": targets,
    "flags": flags,
    "risk": step_risk,
    "onset": step_onset,
    "compaction": step_cuts,
}


def explain(run: Run, key: Key, step_id: int | None) -> Row:
    """The explanation of a trajectory; `steps` holds all steps or the given one. Raises NotFound if it does not
    exist."""
    tables = TrajectoryTables(run, key)
    steps = explain_steps(tables, step_id)
    return {
        "source_model": key.source_model,
        "trajectory_id": key.trajectory_id,
        **{name: section(tables) for name, section in TRAJECTORY.items()},
        "steps": steps,
    }


def explain_steps(tables: TrajectoryTables, step_id: int | None) -> list[Row]:
    """The explanation of all steps or of one, without the sections of the trajectory. Raises NotFound if the step does
    not exist."""
    if step_id is not None and step_id not in tables.steps:
        raise NotFound(f"{tables.key.trajectory_id}: has no step {step_id}; it has {len(tables.steps)}.")
    return [
        {"step_id": number, **{name: explain_step(tables, row) for name, explain_step in STEP.items()}}
        for number, row in tables.steps.items()
        if step_id in (None, number)
    ]
