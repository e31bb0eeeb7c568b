"""Where anomalies begin: the known onsets, by step and by part of the trajectory (paper T21, T27)."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

from openclawbench.records.vocabulary import ONSETS
from openclawbench.release.settings import StatisticsSettings
from openclawbench.release.statistics import pictures
from openclawbench.release.statistics.consistency import Identity
from openclawbench.release.statistics.corpus import RECORDS, Corpus, number_of
from openclawbench.release.statistics.declaration import Figures, statistic, sum_of
from openclawbench.release.statistics.labels import positives_identity
from openclawbench.reports.counting import share
from openclawbench.reports.section import Row, Section

MAIN = ONSETS[0]  # the onset that is a learning target (T41)


def onsets_identities(figures: Figures) -> Iterator[Identity]:
    """Known and missing onsets add up to the anomalous records."""
    for row in figures.tables["onsets"]:
        yield positives_identity(figures, f"onsets, {row['onset']}", row["known"] + row["unknown"])


@statistic(reads=ONSETS, identities=onsets_identities, about_labels=True)
def onsets(corpus: Corpus, _settings: StatisticsSettings) -> Section:
    """The three onset fields: how often each is known, and its spread."""
    positives = corpus.positives
    return Section(
        name="onsets",
        title="Onsets",
        about=f"{corpus.status.capitalize()} anomalous records.{corpus.status_words} A null onset means that no step "
        "was supported as one (T18), not that there is none. Steps count from 1; medians and the like are values that "
        "occur (nearest rank).",
        columns={
            "onset": "field of the record",
            "known": "records that have it",
            "unknown": "records in which it is null",
            "known_share": f"`known` of all {corpus.status} anomalous records",
            "first": "smallest step",
            "median": "half of them are at this step or before",
            "ninth_decile": "nine tenths of them are at this step or before",
            "last": "largest step",
        },
        rows=[onset_row(positives, name) for name in ONSETS],
    )


def onset_row(positives: pl.DataFrame, name: str) -> Row:
    """Spread of one field."""
    sums = positives.group_by(name).agg(pl.col(RECORDS).sum()).drop_nulls().sort(name)
    positions: list[tuple[int, int]] = sums.rows()
    known = number_of(sums)
    return {
        "onset": name,
        "known": known,
        "unknown": number_of(positives) - known,
        "known_share": share(known, number_of(positives)),
        "first": rank(positions, 0, 10),
        "median": rank(positions, 5, 10),
        "ninth_decile": rank(positions, 9, 10),
        "last": rank(positions, 10, 10),
    }


def rank(values: list[tuple[int, int]], part: int, parts: int) -> int | None:
    """The nearest-rank quantile `part / parts`; null without values. `values`: sorted, each with its frequency."""
    left = max(1, -(-sum(number for _, number in values) * part // parts))
    for value, number in values:
        left -= number
        if left <= 0:
            return value
    return None


def steps_identities(figures: Figures) -> Iterator[Identity]:
    """The onsets by step add up to the known onsets."""
    counts = {row["steps"]: row["trajectories"] for row in figures.tables["onset_steps"]}
    yield sum_of("onset_steps", counts, figures.tables["onsets"][0]["known"])


@statistic(reads=[MAIN], identities=steps_identities, about_labels=True)
def onset_steps(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """earliest_recoverable_onset by step."""
    known, step = corpus.positives.drop_nulls(MAIN), pl.col(MAIN)
    rows: list[Row] = []
    first = 1
    for last in [*settings.onset_steps, None]:
        count = number_of(known.filter(step.is_between(first, last) if last else step >= first))
        name = str(first) if first == last else f"{first}–{last}" if last else f"{first} or later"
        rows.append({"steps": name, "trajectories": count, "share": share(count, number_of(known))})
        first = (last or first) + 1
    return Section(
        name="onset_steps",
        title="Step of the onset",
        about=f"`{MAIN}` of the {corpus.status} anomalous records that have it: the earliest step at which the anomaly "
        f"can be defended and stopped.{corpus.status_words}",
        columns={
            "steps": "step number of the onset",
            "trajectories": f"{corpus.status} anomalous records whose onset is there",
            "share": "`trajectories` of those whose onset is known",
        },
        rows=rows,
        plot=partial(pictures.onset_steps, rows, corpus.status),
    )


def parts_identities(figures: Figures) -> Iterator[Identity]:
    """The onsets by part add up to the known onsets."""
    counts = {str(row["part"]): row["trajectories"] for row in figures.tables["onset_parts"]}
    yield sum_of("onset_parts", counts, figures.tables["onsets"][0]["known"])


@statistic(reads=[MAIN, "num_steps"], identities=parts_identities, in_card=False, about_labels=True)
def onset_parts(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """The same relative to the trajectory's length, in parts of equal length."""
    positions = corpus.positives.drop_nulls([MAIN, "num_steps"])
    place = (pl.col(MAIN) - 1) * settings.onset_parts // pl.col("num_steps")
    counted: dict[Any, int] = dict(positions.group_by(place.alias("part")).agg(pl.col(RECORDS).sum()).rows())
    single, known = number_of(positions.filter(pl.col("num_steps") == 1)), number_of(positions)
    return Section(
        name="onset_parts",
        title="Part of the trajectory in which the onset lies",
        about=f"`{MAIN}` against `num_steps`: the trajectory is cut into {settings.onset_parts} parts of equal length. "
        "Trajectories of one step are in the first part.",
        columns={
            "part": f"of {settings.onset_parts}: (onset - 1) * {settings.onset_parts} // num_steps, counted from 1",
            "trajectories": f"{corpus.status} anomalous records whose onset is there",
            "share": "`trajectories` of those whose onset is known",
        },
        rows=[
            {
                "part": part + 1,
                "trajectories": counted.get(part, 0),
                "share": share(counted.get(part, 0), known),
            }
            for part in range(settings.onset_parts)
        ],
        facts={"of_one_step": single},
        definitions={"of_one_step": "Trajectories of a single step among them."},
    )
