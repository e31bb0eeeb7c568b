"""What explain says of a rule: every id of the evidence layer has a place in a file and words."""

import pytest

from openclawbench.inspect.explain.rules import catalogue, rule, settings
from openclawbench.reports.evidence.rules_fired import known_ids
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.loading.rule_file import rule_path

IDS = [
    (spec.file, spec.prefix + text if not text.startswith(spec.prefix) else text)
    for spec in EvidenceReportRules.load().rule_files
    if spec.file in settings().files
    for text in known_ids(spec)
]


@pytest.mark.parametrize("file", list(settings().files))
def test_every_rule_has_a_place_and_words(file: str) -> None:
    prefix = settings().files[file]
    known = [prefix + row_id.removeprefix(prefix) for where, row_id in IDS if where == file]
    assert known or file == "packet.toml"
    lines = rule_path(file).read_text(encoding="utf-8").splitlines()
    for rule_id in known:
        rule_text = rule(rule_id)
        assert rule_text.says, f"{rule_id}: add a sentence to inspect/explain/explain.toml"
        if rule_text.place is not None:
            name, _, line = rule_text.place.rpartition(":")
            assert name == file
            assert rule_id.removeprefix(prefix) in lines[int(line) - 1]
    assert sum(rule(entry).place is None for entry in known) <= 2  # subset_prior, top_k_risky_steps


def test_words_of_the_settings_belong_to_rules_that_there_are() -> None:
    elsewhere = {"risk.subset_prior", "onset.top_k_risky_steps"}
    assert set(settings().says) <= set(catalogue()) | elsewhere


def test_a_rule_that_nobody_knows_is_shown_as_it_is() -> None:
    rule_text = rule("rule.of.nobody")
    assert (rule_text.rule_id, rule_text.place, rule_text.says) == ("rule.of.nobody", None, None)
