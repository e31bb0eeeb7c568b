"""The statistics of a release: every section, from its released files alone."""

from dataclasses import replace
from functools import partial

from openclawbench.release.notice import RULES_STAMP
from openclawbench.release.settings import Statistics
from openclawbench.release.statistics.context import event_categories, language_coverage, risk_slices
from openclawbench.release.statistics.corpus import READ, Corpus
from openclawbench.release.statistics.gap import anomalies, gap
from openclawbench.release.statistics.labels import severity, subtypes
from openclawbench.release.statistics.onsets import onset_parts, onset_steps, onsets
from openclawbench.release.statistics.tables import calibration_pool, partitions, quality_tiers, source_models
from openclawbench.reports import plots
from openclawbench.reports.section import Report, Section

NAME = "statistics"


def statistics(corpus: Corpus, rules: Statistics) -> Report:
    """Tables T4, T5, T6, T9, T13/T14 and T31 of the paper, subtypes, onsets, severity, and the gap with intervals."""
    sections = [
        gap(corpus, rules),
        anomalies(corpus, rules),
        source_models(corpus),
        partitions(corpus, rules),
        calibration_pool(corpus),
        event_categories(corpus),
        language_coverage(corpus),
        risk_slices(corpus, rules),
        quality_tiers(corpus, rules),
        subtypes(corpus, rules),
        onsets(corpus),
        onset_steps(corpus, rules),
        onset_parts(corpus, rules),
        severity(corpus),
    ]
    return Report(
        name=NAME,
        title="Statistics of this release",
        about="Every number is computed from the released files alone: `openclawbench report statistics RELEASE_DIR` "
        "computes them again from any copy, and `openclawbench validate` compares. What a number means stands beside "
        "it, here and in statistics.json.",
        sections=[finished(section, corpus) for section in sections],
        inputs=READ,
        notice=corpus.notice,
    )


def finished(section: Section, corpus: Corpus) -> Section:
    """The section with its columns in order, and its picture saying who judged where that must be said."""
    rows = [{name: row[name] for name in section.columns} for row in section.rows]
    if section.plot is None or corpus.notice is None:
        return replace(section, rows=rows)
    return replace(section, rows=rows, plot=partial(plots.stamped, section.plot, RULES_STAMP))
