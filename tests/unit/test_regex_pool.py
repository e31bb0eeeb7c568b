"""Patterns that stay ready: a plan gives the same wherever it is carried out, and no group has more than stay ready."""

import threading

import polars as pl

from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.tables.regex_pool import MOST, THREADS, collect_in_pool


def test_a_group_has_one_thread_for_all_its_plans() -> None:
    texts = pl.LazyFrame({"text": ["a fox", "a dog", None]})
    for pattern in ("fox", "dog"):
        plan = texts.select_seq(pl.col("text").str.contains(pattern))
        assert collect_in_pool(plan, "test").equals(plan.collect())
        assert [entry.name for entry in threading.enumerate()].count("test_0") == 1
    THREADS.pop("test").shutdown()


def test_no_group_has_more_patterns_than_stay_ready() -> None:
    rules, flags = DescribeRules.load(), FlagRules.load()
    words = {  # patterns of a language, and for each of its flags what takes it back
        f"{'rare ' if rare else ''}words {language}": len(texts) + len({rule.flag for rule in texts})
        for language in flags.languages
        for rare in (False, True)
        for texts in [flags.of(language, rare=rare)]
    }
    asked = [rule.effect_when for rule in rules.tools if rule.effect_when]
    groups = {
        **words,
        "calls": 1 + len(rules.verbs) + len(asked) + len(rules.state_files) + 2 + 1,  # two unions, remote tools
        "signs": 2 + len(rules.status.asked_for),  # the exit code, names of tools that look
        "statuses": len(rules.failures) + len(rules.clears) + 1,  # what an exit code of 1 is not
    }
    assert {name: number for name, number in groups.items() if number > MOST} == {}
