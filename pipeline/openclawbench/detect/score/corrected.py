"""Scores corrected by human verdicts: silver labels err, so a hit against them may be wrong.

Own choice. The strata of the corrected gap (risk slice x silver label, reports/corrected_gap.py) are cut once more by
what the detector says: in each, the share that people call anomalous has a Jeffreys posterior from the verdicts on
trajectories that the detector predicted, and the scored trajectories of the stratum are shared out by it. A stratum
without a verdict takes those of its slice and silver label, whatever the detector says, and is named; without these
too it has the prior, one half with its whole width: of the pool, which holds passing trajectories alone, none can speak
for those that fail. How much of a score is prior stands beside it; a score that is mostly prior is none.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openclawbench.detect.labels import LabelledTrajectory
from openclawbench.detect.predictions import PredictionsFile, is_anomalous
from openclawbench.detect.score.bootstrap import drawn_sums, with_interval
from openclawbench.detect.score.comparison import Pair, compare_with
from openclawbench.detect.score.measures import BINARY, binary_rates
from openclawbench.detect.settings import ScoreRules
from openclawbench.release.record_key import Key
from openclawbench.reports.corrected_gap import FEW_VERDICTS, JEFFREYS, observed_share, stratum_name
from openclawbench.reports.counting import percent

NO_SLICE = "no slice"
MOST_PRIOR = 0.5  # share of the trajectories; above it there is no corrected score
Cell = tuple[str, bool, str]  # slice, silver is anomalous, what the detector says
ANOMALOUS, NORMAL, NOTHING = "anomalous", "normal", "nothing"  # the last: its answer could not be read


@dataclass(frozen=True)
class Verdicts:
    """Verdicts of people on trajectories of one stratum."""

    anomalous: int = 0
    normal: int = 0

    @property
    def settled(self) -> int:
        """Number of verdicts."""
        return self.anomalous + self.normal


def corrected_scores(
    pairs: Sequence[Pair],
    silver: Mapping[Key, LabelledTrajectory],
    human: Mapping[Key, LabelledTrajectory],
    file: PredictionsFile,
    rules: ScoreRules,
    digests: Mapping[Key, str] | None = None,
) -> dict[str, Any] | None:
    """Binary measures against expected human labels, with intervals over tasks and verdicts; None without a verdict.

    `pairs`: the scored trajectories with silver labels. An answer that could not be read counts as wrong, whatever the
    truth is, as in the headline. `silver`, `human`: labels of the trajectories under review. `digests`: as in
    `compare_with`. `prior`: the trajectories of strata without any verdict, each counted one half anomalous; above
    MOST_PRIOR of all, `measures` is empty and `base_rate` null.
    """
    import numpy as np

    verdicts = counted_verdicts(human, compare_with(silver, file, digests or {}, file.rows).pairs)
    if not verdicts or not pairs:
        return None
    by_pair = [cell_of(pair) for pair in pairs]
    cells = sorted(set(by_pair))
    own = [verdicts.get(cell, Verdicts()) for cell in cells]
    used = [
        own_verdicts if own_verdicts.settled else pool_verdicts(cell, verdicts)
        for cell, own_verdicts in zip(cells, own, strict=True)
    ]
    generator = np.random.default_rng(rules.seed)
    drawn_shares = np.column_stack(
        [generator.beta(tally.anomalous + JEFFREYS, tally.normal + JEFFREYS, rules.posterior_draws) for tally in used]
    )
    shares = np.array([observed_share(tally.anomalous, tally.settled) for tally in used])
    membership = np.array([[cell == own_cell for cell in cells] for own_cell in by_pair], dtype=float)
    tasks = [pair.item.task for pair in pairs]
    sizes = membership.sum(axis=0)
    wanted = rules.model_copy(update={"draws": rules.posterior_draws})
    drawn_sizes = drawn_sums(membership, tasks, wanted) if len(set(tasks)) > 1 else np.tile(sizes, (wanted.draws, 1))
    stated = np.array([says for _, _, says in cells])
    values, draws = (
        binary_rates(expected_counts(size, share, stated))
        for size, share in ((sizes, shares), (drawn_sizes, drawn_shares))
    )
    prior = prior_of(cells, sizes, used, shares)
    is_score = prior["share"] <= MOST_PRIOR
    return {
        "prior": prior,
        "verdicts": sum(tally.settled for tally in verdicts.values()),
        "measures": {
            name: with_interval(values[name], draws[name], rules.confidence)._asdict() for name in BINARY if is_score
        },
        "base_rate": with_interval(
            (sizes @ shares) / sizes.sum(),
            (drawn_sizes * drawn_shares).sum(axis=1) / drawn_sizes.sum(axis=1),
            rules.confidence,
        )._asdict()
        if is_score
        else None,
        "strata": [
            stratum_row(cell, int(size), tally, mine.settled)
            for cell, size, tally, mine in zip(cells, sizes, used, own, strict=True)
        ],
        "few_verdicts": [
            cell_name(cell) for cell, tally in zip(cells, used, strict=True) if tally.settled < FEW_VERDICTS
        ],
        "borrowed": [cell_name(cell) for cell, mine in zip(cells, own, strict=True) if not mine.settled],
    }


def prior_of(cells: Sequence[Cell], sizes: Any, used: Sequence[Verdicts], shares: Any) -> dict[str, Any]:
    """The part of the scored trajectories, and of those that are taken for anomalous, that no verdict speaks for."""
    without = [number for number, tally in enumerate(used) if not tally.settled]
    anomalous = float(sizes @ shares)
    return {
        "trajectories": int(sum(sizes[number] for number in without)),
        "share": round(float(sum(sizes[number] for number in without) / sizes.sum()), 6),
        "anomalous_share": round(float(sum(sizes[n] * shares[n] for n in without)) / anomalous, 6)
        if anomalous
        else None,
        "strata": [cell_name(cells[number]) for number in without],
    }


def prior_words(corrected: Mapping[str, Any]) -> str:
    """How much of a corrected score is prior, as a sentence; empty if nothing is."""
    prior = corrected["prior"]
    if not prior["trajectories"]:
        return ""
    scored = sum(row["trajectories"] for row in corrected["strata"])
    about = (
        f"{prior['trajectories']} of {scored} trajectories ({percent(prior['share'])}) are of strata without a verdict "
        "and count as one half anomalous"
    )
    if not corrected["measures"]:
        return f"No corrected score: {about}, so it would be mostly prior. Review some of them."
    of_anomalous = percent(prior["anomalous_share"])
    return f"Partly prior: {about}; of those that are taken for anomalous that is {of_anomalous}."


def counted_verdicts(human: Mapping[Key, LabelledTrajectory], reviewed: Sequence[Pair]) -> dict[Cell, Verdicts]:
    """Stratum -> verdicts on reviewed trajectories, for which `reviewed` has silver label and prediction."""
    anomalous, normal = Counter[Cell](), Counter[Cell]()
    for pair in reviewed:
        if (verdict := human.get(pair.item.key)) is not None:
            (anomalous if verdict.is_anomalous else normal)[cell_of(pair)] += 1
    return {cell: Verdicts(anomalous[cell], normal[cell]) for cell in anomalous.keys() | normal.keys()}


def cell_of(pair: Pair) -> Cell:
    """The stratum of a trajectory."""
    stated = is_anomalous(pair.row.label)
    says = NOTHING if stated is None else ANOMALOUS if stated else NORMAL
    return pair.item.slice_label or NO_SLICE, pair.item.is_anomalous, says


def pool_verdicts(cell: Cell, verdicts: Mapping[Cell, Verdicts]) -> Verdicts:
    """The verdicts of a slice and silver label, whatever the detector says."""
    return total(counted for other, counted in verdicts.items() if other[:2] == cell[:2])


def total(verdicts: Iterable[Verdicts]) -> Verdicts:
    """The verdicts of both together."""
    known = list(verdicts)
    return Verdicts(sum(counted.anomalous for counted in known), sum(counted.normal for counted in known))


def expected_counts(sizes: Any, shares: Any, stated: Any) -> dict[str, Any]:
    """tp, fp, fn, tn that are to be expected: sizes (…, strata) times shares (…, strata). Where the detector says
    nothing, what is anomalous is missed and what is normal is a false alarm."""
    anomalous, normal = sizes * shares, sizes * (1 - shares)
    return {
        "tp": anomalous[..., stated == ANOMALOUS].sum(axis=-1),
        "fn": anomalous[..., stated != ANOMALOUS].sum(axis=-1),
        "fp": normal[..., stated != NORMAL].sum(axis=-1),
        "tn": normal[..., stated == NORMAL].sum(axis=-1),
    }


def cell_name(cell: Cell) -> str:
    """A stratum in words."""
    slice_label, silver, says = cell
    return f"{stratum_name(slice_label, silver)}, predicted {says}"


def stratum_row(cell: Cell, size: int, verdicts: Verdicts, own: int) -> dict[str, Any]:
    """A stratum for a table. `borrowed`: its verdicts are those of its slice and silver label."""
    return {
        "stratum": cell_name(cell),
        "trajectories": size,
        "human_anomalous": verdicts.anomalous,
        "human_normal": verdicts.normal,
        "borrowed": not own,
    }
