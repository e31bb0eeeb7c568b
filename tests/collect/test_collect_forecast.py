"""What is left of a collection, reckoned from what was collected."""

import pytest
from planned import plan_of

from openclawbench.cli.commands.collect.progress import line_of
from openclawbench.collect.forecast import Costs, Measured, count_sessions, totals
from openclawbench.collect.run import Progress


@pytest.fixture
def measured() -> Measured:
    measured = Measured()
    for seconds in (1.0, 3.0):
        measured.add("m", "simple", seconds, 1000, 0.5)
    return measured


def test_a_category_that_was_not_measured_is_reckoned_from_similar_ones_only(measured: Measured) -> None:
    sessions = plan_of("simple_0", "simple_1", "parallel_0", "multi_turn_base_0").sessions()
    rows = {row.subset: row for row in measured.forecasts(count_sessions(sessions))}
    assert (rows["simple"].basis, rows["simple"].costs) == ("measured", Costs(4.0, 2000, 1.0))
    assert (rows["parallel"].basis, rows["parallel"].measured) == ("similar", 0)
    assert rows["parallel"].costs == Costs(2.0, 1000, 0.5)
    assert (rows["multi_turn_base"].basis, rows["multi_turn_base"].costs) == (None, None)
    total = totals(list(rows.values()), concurrency=2)
    assert (total["left"], total["not_reckoned"], total["tokens"], total["usd"]) == (4, 1, 3000, 1.5)


def test_another_source_model_says_nothing(measured: Measured) -> None:
    [row] = measured.forecasts(count_sessions(plan_of("simple_0", name="n").sessions()))
    assert row.costs is None
    assert totals([row], 1)["hours"] is None


def test_progress_says_what_its_time_does_not_cover(measured: Measured) -> None:
    progress = Progress(total=130, done=2, begun_with=1, measured=measured)
    progress.left.update({("m", "simple"): 120, ("m", "multi_turn_base"): 8})
    assert "over 4 min left: 8 are of new kinds" in line_of(progress)
    progress.left["m", "multi_turn_base"] = 0
    assert ", 4 min left," in line_of(progress)
