"""The statistics of a release: every table, in order, from its released files alone."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from openclawbench.release.baseline_notice import RULES_STAMP
from openclawbench.release.settings import StatisticsSettings
from openclawbench.release.statistics.composition import calibration_pool, partitions, quality_tiers, source_models
from openclawbench.release.statistics.consistency import Identity
from openclawbench.release.statistics.context import event_categories, languages, slices
from openclawbench.release.statistics.corpus import READ, Corpus
from openclawbench.release.statistics.corrected_gap import corrected_gap
from openclawbench.release.statistics.declaration import Figures, Statistic
from openclawbench.release.statistics.gap import anomalies, gap
from openclawbench.release.statistics.labels import severity, subtypes
from openclawbench.release.statistics.onsets import onset_parts, onset_steps, onsets
from openclawbench.reports import plots
from openclawbench.reports.section import Report, Section

# In the order of statistics.json. records/fields.toml ([StatisticsSections]) describes each of them for the schema.
STATISTICS: list[Statistic] = [
    corrected_gap,  #    what human verdicts make of the gap
    gap,  #              anomalous of those that pass, with intervals                  section 4
    anomalies,  #        the same by outcome and slice
    source_models,  #    composition by source model                                   T4
    partitions,  #       what of the corpus is for what                                T5
    calibration_pool,  # records reserved for people, by slice                         T6
    event_categories,  # steps by event category                                       T9
    languages,  #        steps by what is known of their language
    slices,  #           trajectories by outcome-aware risk slice                      T13, T14
    quality_tiers,  #    trajectories by quality tier                                  T31
    subtypes,  #         mass of each subtype                                          T1
    onsets,  #           how often each onset is known, and its spread                 T21
    onset_steps,  #      onsets by step
    onset_parts,  #      onsets by part of the trajectory
    severity,  #         severity by recoverability                                    T27
]
COLUMNS = tuple(dict.fromkeys(name for statistic in STATISTICS for name in statistic.reads))  # besides BASE_COLUMNS
TABLES = tuple(dict.fromkeys(statistic.columns for statistic in STATISTICS))  # columns that are counted together


ABOUT_LABELS = frozenset(statistic.name for statistic in STATISTICS if statistic.about_labels)


def statistics(corpus: Corpus, settings: StatisticsSettings) -> Report:
    """Every table of the corpus, as a report."""
    return Report(
        name="statistics",
        title="Statistics of this release",
        about="Every number is computed from the released files alone: `openclawbench report statistics RELEASE_DIR` "
        "computes them again from any copy, and `openclawbench validate` compares. What a number means stands beside "
        "it, here and in statistics.json.",
        sections=[stamped(statistic.compute(corpus, settings), corpus) for statistic in STATISTICS],
        inputs=READ,
        notice=corpus.notice,
    )


def stamped(section: Section, corpus: Corpus) -> Section:
    """The section with a picture that names the rules judge if it gave the labels; without one of labels that nobody
    gave."""
    if section.plot is None or corpus.notice is None:
        return section
    if corpus.is_unjudged:
        return replace(section, plot=None) if section.name in ABOUT_LABELS else section
    return replace(section, plot=partial(plots.stamped, section.plot, RULES_STAMP))


def identities(sections: Mapping[str, Any], summary: Mapping[str, Any]) -> list[Identity]:
    """Identities between the figures of statistics.json (`sections`) and dataset_summary.json."""
    figures = Figures({name: section["rows"] for name, section in sections.items()}, summary)
    return [identity for statistic in STATISTICS for identity in statistic.identities(figures)]
