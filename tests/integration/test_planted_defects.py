"""Defects planted in a release that is then sealed again (tiers, positives, Parquet, label rows, summaries, statistics,
data package, card, Croissant, checksums): each is named by a finding that speaks of it, and odd releases have none."""

import gzip
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from child import EXAMPLE, Ran, call, few_shards, small_raw
from planted import Opened, Row, package_of
from thorough import batches, first

from openclawbench.base.canonical_json import canonical_json
from openclawbench.errors import OpenClawBenchError
from openclawbench.records.datapackage import INPUTS_FILE
from openclawbench.release.labels.labels import LEFT_OUT_FILE, POOL_FILE, SPLITS_FILE
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.provenance import RULES
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.validate import validate
from openclawbench.reports import plots
from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

Plant = Callable[[Opened], object]
Change = Callable[[Row], object]
TRAIN, TEST = "silver_train_labels.jsonl", "silver_test_labels.jsonl"
ZEROS = "0" * 64
HUGE = 2**70
KEY = "ghp_" + "aB3dE5gH7jK9" * 3
NO_CHANGE = {"before": None, "after": None}


def anomalous(row: Row) -> bool:
    return bool(row["is_anomalous"])


def long_one(row: Row) -> bool:
    """An anomalous record of more than one step."""
    return anomalous(row) and row["num_steps"] > 1


def normal(row: Row) -> bool:
    return row["is_anomalous"] is False


def writing(row: Row) -> bool:
    return normal(row) and row["risk_signals"]["num_side_effect_steps"] > 1


def scored(row: Row) -> bool:
    return normal(row) and row["slice_label"] == "pass_low_risk"


def record(which: Callable[[Row], Any], change: Change) -> Plant:
    """Change the first such record."""
    return lambda opened: change(opened.record(which))


def answer(which: Callable[[Row], Any], stage: str, change: Change) -> Plant:
    """Change the raw answer of a stage about the first such record."""
    return lambda opened: change(opened.answers(opened.record(which), stage))


def both(which: Callable[[Row], Any], stage: str, change: Change, in_text: bool = False) -> Plant:
    """Change a parsed answer in the record and in the raw answer; `in_text`: in the judge's own text, too."""

    def plant(opened: Opened) -> None:
        row = opened.record(which)
        change(row["stages"][stage])
        raw = opened.answers(row, stage)
        raw["parsed"] = canonical_json(row["stages"][stage])
        if in_text:
            raw["response_text"] = raw["parsed"]

    return plant


def package(change: Change) -> Plant:
    return lambda opened: opened.json(PACKAGE, lambda document: change(document["provenance"]))


def signal(name: str) -> Plant:
    return record(writing, lambda r: r["risk_signals"].update({name: r["risk_signals"][name] + 1}))


def everywhere(row: Row, opened: Opened, change: Change) -> None:
    """Change a packet digest, or the like, in a record and in all its answers."""
    change(row["provenance"])
    for stage in ("a", "b1", "b2", "c"):
        if row["stages"][stage] is not None:
            change(opened.answers(row, stage))


def other_subtype(row: Row) -> None:
    row.update(anomaly_type_l1="uncertainty_commitment_failures", anomaly_type_l2="write_under_unresolved_ambiguity")


def add(row: Row) -> None:
    """More risk, in the sum and in a summand alike."""
    row["risk_breakdown"][0]["contribution"] += 4.0
    row["risk_score_raw"] = round(row["risk_score_raw"] + 4.0, 6)


def retyped(row: Row) -> None:
    """Another category of a step, and the counts that go with it."""
    step = row["steps"][0]
    row["event_type_counts"][step["event_type"]] -= 1
    step["event_type"] = "query" if step["event_type"] != "query" else "read"
    row["event_type_counts"][step["event_type"]] += 1


def rebucketed(row: Row) -> None:
    row.update(risk_bucket="high", slice_label="pass_high_risk", pass_but_high_risk=True)


def made_normal(row: Row) -> None:
    """An anomalous record that becomes a normal one in every field of its own."""
    nothing = ("anomaly_type_l1", "anomaly_type_l2", "severity", "recoverability", "dominant_episode_exists")
    onsets = ("earliest_recoverable_onset", "earliest_harmful_onset", "earliest_state_contamination_onset")
    row.update(dict.fromkeys((*nothing, *onsets)), is_anomalous=False, evidence_steps=[], segment_spans=[])
    row["stages"].update(b1=None, b2=None, c=None)
    row["provenance"]["prompt_versions"].update(b1=None, b2=None, c=None)


def unasked(opened: Opened) -> None:
    """The same, and its answers taken out."""
    row = opened.record(long_one)
    made_normal(row)
    for stage in ("b1", "b2", "c"):
        gone = opened.answers(row, stage)
        opened.rows(f"fulltax_prod_v1/{row['source_model']}/stage_{stage}_raw_pass1.jsonl").remove(gone)


def asked_without_need(opened: Opened) -> None:
    row, other = opened.record(normal), opened.record(anomalous)
    rows = opened.rows(f"fulltax_prod_v1/{row['source_model']}/stage_b1_raw_pass1.jsonl")
    rows.append(opened.answers(other, "b1") | {"trajectory_id": row["trajectory_id"]})
    rows.sort(key=lambda planted: planted["trajectory_id"])


def repaired(row: Row) -> None:
    row["quality_tier"] = "accepted_repaired"
    row["repairs"] = [{"rule_id": "label_format", "field": "severity", "before": '"Low"', "after": '"low"'}]


def in_review(row: Row) -> None:
    row.update(quality_tier="review_or_unresolved", review_cause="verifier_review")


def reviewed(opened: Opened) -> None:
    """The verifier says review, and the record stays accepted."""
    both(long_one, "c", lambda c: c.update(verdict="review"), in_text=True)(opened)


def undigested(plant: Plant) -> Plant:
    """The index keeps the digests of the records as they were."""

    def planted(opened: Opened) -> None:
        opened.index_digests = False
        plant(opened)

    return planted


def index(change: Change) -> Plant:
    return lambda opened: change(opened.rows(INDEX_FILE)[0])


def rules(name: str, **values: Any) -> Plant:
    return lambda opened: opened.json(RULES, lambda document: document[name].update(values))


def rule_file(**values: Any) -> Plant:
    return package(lambda provenance: provenance["rules"][0].update(values))


def first_input(change: Change) -> Plant:
    return inputs(lambda rows: change(rows[0]))


def inputs(change: Callable[[list[Row]], object]) -> Plant:
    return lambda opened: change(opened.rows(INPUTS_FILE))


def other_prompt(opened: Opened) -> None:
    """Another prompt than the one that was asked with; the data package has its digest."""
    (path,) = (opened.root / "prompts" / "a").glob("*.md")
    path.write_text(path.read_text() + "\nBe lenient.\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    package(lambda provenance: provenance["prompts"][0].update(sha256=digest))(opened)


def linked_folder(opened: Opened) -> None:
    shutil.move(opened.root / "paper_cut", opened.root.parent / "elsewhere")
    (opened.root / "paper_cut").symlink_to(opened.root.parent / "elsewhere")


def second_form(opened: Opened) -> None:
    name = f"{TRAIN}.gz"
    (opened.root / name).write_bytes(gzip.compress((opened.root / TEST).read_bytes()))


def pipe(opened: Opened) -> None:
    os.mkfifo(opened.root / "queue")


def renamed_family(opened: Opened) -> None:
    opened.text("taxonomy.toml", "evidence_grounding_failures", "state_integrity_failures")


def moved(opened: Opened) -> None:
    """A task that goes from test to train, in every row."""
    row = opened.rows(TEST)[0]
    gone = [member for member in opened.rows(TEST) if member["task_id"] == row["task_id"]]
    for entry in gone:
        opened.rows(TEST).remove(entry)
    opened.rows(TRAIN).extend(gone)
    opened.rows(TRAIN).sort(key=lambda planted: (planted["source_model"], planted["trajectory_id"]))


def put_back(reason: str) -> Plant:
    """A record that the default cut leaves out for this reason, on its train side."""

    def plant(opened: Opened) -> None:
        out = next(entry for entry in opened.rows(LEFT_OUT_FILE) if entry["reason"] == reason)
        opened.rows(LEFT_OUT_FILE).remove(out)
        names = ("source_model", "trajectory_id")
        tested = opened.rows(f"hold_out/{out['source_model']}/{TEST}")
        row = next(item for item in tested if all(item[name] == out[name] for name in names))
        opened.rows(TRAIN).append(row | {"in_calibration_pool": False})
        opened.rows(TRAIN).sort(key=lambda planted: (planted["source_model"], planted["trajectory_id"]))

    return plant


def other_reason(opened: Opened) -> None:
    opened.rows(LEFT_OUT_FILE)[0]["reason"] = "banana"


def held_out_reason(opened: Opened) -> None:
    opened.rows(f"hold_out/scripted-a/{LEFT_OUT_FILE}")[0]["reason"] = "banana"


def pool_emptied(opened: Opened) -> None:
    opened.rows(POOL_FILE).clear()


def pool_exchanged(opened: Opened) -> None:
    pool = opened.rows(POOL_FILE)
    other = opened.record(lambda r: r["slice_label"] == pool[0]["slice_label"] and not in_pool(r, pool))
    pool[0].update({name: other[name] for name in ("source_model", "trajectory_id", "task_id")})
    pool.sort(key=lambda planted: (planted["source_model"], planted["trajectory_id"]))


def in_pool(row: Row, pool: list[Row]) -> bool:
    return any(member["trajectory_id"] == row["trajectory_id"] for member in pool)


def sides_exchanged(opened: Opened) -> None:
    """Two records of the paper's cut that take each other's side."""
    train, test = opened.rows(f"paper_cut/{TRAIN}"), opened.rows(f"paper_cut/{TEST}")
    train[0], test[0] = test[0], train[0]
    for rows in (train, test):
        rows.sort(key=lambda planted: (planted["source_model"], planted["trajectory_id"]))


def splits(change: Change) -> Plant:
    return lambda opened: opened.json(SPLITS_FILE, change)


def certificate(cut: str, **values: Any) -> Plant:
    return splits(lambda document: document["cuts"][cut].update(values))


def plant_number(opened: Opened) -> None:
    """In the parsed answer, which is JSON inside JSON."""
    raw = opened.answers(opened.record(anomalous), "b2")
    document = json.loads(raw["parsed"])
    document["segment_spans"][0]["end_step"] = HUGE
    raw["parsed"] = json.dumps(document, separators=(",", ":"))


def huge_statistics(opened: Opened) -> None:
    def change(document: Row) -> None:
        document["sections"]["gap"]["rows"][0]["accepted"] = HUGE

    opened.last = lambda: opened.json("statistics.json", change)


# What is planted -> how, the check that names it, and what the finding speaks of.
OF_RECORDS: dict[str, tuple[Plant, str, str]] = {
    "another severity": (record(anomalous, lambda r: r.update(severity="high")), "derived", "severity is 'high'"),
    "another recoverability": (
        record(anomalous, lambda r: r.update(recoverability="irrecoverable")),
        "derived|vocabulary",
        "recoverability",
    ),
    "a span that begins earlier": (
        record(long_one, lambda r: r["segment_spans"][0].update(start_step=1)),
        "derived",
        r"segment_spans\[0\]/start_step is 1",
    ),
    "a span more": (
        record(long_one, lambda r: r["segment_spans"].append(dict(r["segment_spans"][0], end_step=1))),
        "derived",
        r"segment_spans\[1\]",
    ),
    "an onset that stage B2 did not say": (
        record(long_one, lambda r: r.update(earliest_recoverable_onset=1)),
        "derived",
        "earliest_recoverable_onset is 1",
    ),
    "an onset that is gone": (
        record(long_one, lambda r: r.update(earliest_harmful_onset=None)),
        "derived",
        "earliest_harmful_onset is None",
    ),
    "another rationale": (
        record(anomalous, lambda r: r.update(annotator_rationale="It lied.")),
        "derived",
        "annotator_rationale is 'It lied.'",
    ),
    "another subtype than stage B1's": (record(long_one, other_subtype), "derived", "anomaly_type_l2 is"),
    "an absorbed candidate": (
        record(anomalous, lambda r: r.update(absorbed_from="state_contamination")),
        "derived",
        "absorbed_from is",
    ),
    "no dominant episode": (
        record(anomalous, lambda r: r.update(dominant_episode_exists=False)),
        "derived",
        "dominant_episode_exists is False",
    ),
    "another quote that stands in its step": (
        record(long_one, lambda r: r["evidence_steps"][1].update(quote="I started")),
        "derived",
        r"evidence_steps\[1\]/quote is 'I started'",
    ),
    "a quote less": (record(long_one, lambda r: r["evidence_steps"].pop()), "derived", r"evidence_steps\[1\]"),
    "accepted after a repair that was not made": (
        record(anomalous, repaired),
        "derived",
        "quality_tier is 'accepted_r",
    ),
    "in review without a cause in the answers": (record(anomalous, in_review), "derived", "review_cause is 'verifier_"),
    "a verifier's review that stays accepted": (reviewed, "derived", "quality_tier is 'baseline_accepted'"),
    "an anomalous record made normal": (record(long_one, made_normal), "derived", "is_anomalous is False"),
    "an anomalous record made normal, its answers gone": (unasked, "derived", "asks about it, but the answer"),
    "an answer to a question that is not asked": (asked_without_need, "derived", "stage ask_b1 does not ask"),
    "a stage's issues": (
        both(anomalous, "c", lambda c: c.update(issues=[{"check": "span_consistency", "message": "no"}])),
        "derived",
        "parsed is",
    ),
    "a stage's issues in the record alone": (
        record(anomalous, lambda r: r["stages"]["c"].update(issues=[{"check": "span_consistency", "message": "no"}])),
        "derived",
        r"stages/c/issues\[0\]/check is",
    ),
    "another confidence of the triage": (
        both(anomalous, "a", lambda a: a.update(routing_confidence="low")),
        "derived",
        "parsed is",
    ),
    "another confidence of the triage, in the judge's own words": (
        both(anomalous, "a", lambda a: a.update(routing_confidence="medium"), in_text=True),
        "derived",
        "response_text is .* the embedded judge gives",
    ),
    "another text of an answer": (
        answer(anomalous, "b2", lambda r: r.update(response_text=r["response_text"].replace('"low"', '"medium"'))),
        "derived",
        "response_text|parsed",
    ),
    "a repair of an answer's form": (
        answer(anomalous, "b1", lambda r: r["repairs"].append(dict.fromkeys(("rule_id", "field"), "x") | NO_CHANGE)),
        "derived",
        r"repairs\[0\]",
    ),
    "issues of an answer": (
        answer(anomalous, "b1", lambda r: r["issues"].append({"check": "span_consistency", "message": "no"})),
        "derived",
        r"issues\[0\]",
    ),
    "an answer that could not be read": (
        answer(normal, "a", lambda r: r.update(outcome="parse_failure", failure="not_json")),
        "derived",
        "outcome is 'parse_failure'",
    ),
    "another prompt's version": (
        answer(normal, "a", lambda r: r.update(prompt_version="a/v9")),
        "derived",
        "prompt_version is 'a/v9'",
    ),
    "another purpose": (
        answer(anomalous, "b1", lambda r: r.update(purpose="triage_escape_audit")),
        "derived",
        "purpose is 'triage_escape_audit'",
    ),
    "the digest of a question zeroed": (
        answer(normal, "a", lambda r: r.update(request_sha256=ZEROS)),
        "derived",
        "request_sha256 is '000",
    ),
    "the digest of a packet zeroed in an answer": (
        answer(normal, "a", lambda r: r.update(packet_sha256=ZEROS)),
        "derived",
        "packet_sha256 is '000",
    ),
    "the digest of a packet zeroed in a record": (
        record(normal, lambda r: r["provenance"].update(packet_sha256=ZEROS)),
        "derived",
        "provenance/packet_sha256 is '000",
    ),
    "the digest of a packet zeroed everywhere": (
        lambda opened: everywhere(opened.record(long_one), opened, lambda r: r.update(packet_sha256=ZEROS)),
        "derived",
        "provenance/packet_sha256 is '000",
    ),
    "another judge": (
        lambda opened: everywhere(opened.record(long_one), opened, lambda r: r.update(judge_model="gpt-x")),
        "datapackage",
        "gpt-x",
    ),
    "another version of the rules": (
        record(normal, lambda r: r["provenance"].update(rules_version="0" * 12)),
        "derived",
        "provenance/rules_version is '000",
    ),
    "another version of the schema": (
        record(normal, lambda r: r["provenance"].update(schema_version="9")),
        "derived",
        "provenance/schema_version is '9'",
    ),
    "a score that is not the raw one's": (
        record(scored, lambda r: r.update(risk_score=1.5)),
        "derived",
        "risk_score is 1",
    ),
    "a raw score with its breakdown": (
        record(scored, add),
        "derived",
        "risk_score_raw is",
    ),
    "a bucket with its slice": (record(scored, rebucketed), "derived", "risk_bucket is 'high'"),
    "passed, and said to be of high risk": (
        record(scored, lambda r: r.update(pass_but_high_risk=True)),
        "derived",
        "pass_but_high_risk is True",
    ),
    "failed, and not said to be of low risk": (
        record(lambda r: r["slice_label"] == "fail_low_risk", lambda r: r.update(fail_but_low_risk=False)),
        "derived",
        "fail_but_low_risk is False",
    ),
    **{
        f"risk signal {name}": (signal(name), "derived", f"risk_signals/{name} is")
        for name in (
            *("num_external_write_steps", "num_state_write_steps", "num_uncertainty_steps", "num_side_effect_steps"),
            *("num_write_under_uncertainty_steps", "num_memory_write_steps", "num_error_signal_steps"),
            "num_other_steps",
        )
    },
    "another first side effect": (
        record(writing, lambda r: r["onset_candidates"].update(earliest_side_effect_step=r["num_steps"])),
        "derived",
        "onset_candidates/earliest_side_effect_step is",
    ),
    "the riskiest steps in another order": (
        record(writing, lambda r: r["onset_candidates"]["top_k_risky_steps"].reverse()),
        "derived",
        r"onset_candidates/top_k_risky_steps\[0\] is",
    ),
    "another risk of a step": (
        record(writing, lambda r: r["onset_candidates"]["step_risk_scores"][0].update(step_risk=0.1)),
        "derived",
        "step_risk is 0.1",
    ),
    "a step of another category, with its count": (record(normal, retyped), "derived", "provenance/packet_sha256 is"),
    "a step without its side effect": (
        record(
            writing,
            lambda r: (
                next(s for s in r["steps"] if s["side_effect"]).update(side_effect=False),
                r["risk_signals"].update(num_side_effect_steps=r["risk_signals"]["num_side_effect_steps"] - 1),
            ),
        ),
        "derived",
        "risk_score is",
    ),
    "another status of a tool": (
        record(writing, lambda r: r["steps"][0].update(tool_status="unknown")),
        "derived",
        "provenance/packet_sha256 is",
    ),
    "a flag more": (
        record(normal, lambda r: r["steps"][0]["auto_flags"].append("hedge")),
        "derived",
        "provenance/packet_sha256 is",
    ),
    "another thought": (
        record(normal, lambda r: r["steps"][0].update(thinking="I must be careful.")),
        "derived",
        "provenance/packet_sha256 is",
    ),
    "another text of a step": (
        record(normal, lambda r: r["steps"][-1].update(action_text="Done.")),
        "record_index",
        "text_sha256 is",
    ),
    "another word of the user": (
        record(normal, lambda r: r["user_turns"][0].update(text="Please do whatever you like with my files.")),
        "record_index",
        "text_sha256 is",
    ),
    "a packet that was not shortened": (
        record(normal, lambda r: r.update(compacted=True)),
        "derived",
        "compacted is True",
    ),
    "a trajectory that was not cut": (
        record(normal, lambda r: r.update(truncated=True)),
        "derived",
        "provenance/packet_sha256 is",
    ),
    "a count of calls": (
        record(normal, lambda r: r["trace_summary"].update(tool_calls=99)),
        "steps",
        "trace_summary.tool_calls is 99",
    ),
    "another source model behind the label": (
        undigested(record(normal, lambda r: r.update(models=["frontier-1"]))),
        "record_index",
        "record_sha256 is",
    ),
    "a sentence of the oracle": (
        undigested(record(normal, lambda r: r.update(attempt=7))),
        "record_index",
        "record_sha256 is",
    ),
}


OF_FILES: dict[str, tuple[Plant, str, str]] = {
    "a digest of the index zeroed": (
        index(lambda r: r.update(record_sha256=ZEROS)),
        "record_index",
        "record_sha256 is 000",
    ),
    "a digest of the texts zeroed": (
        index(lambda r: r.update(text_sha256=ZEROS)),
        "record_index",
        "text_sha256 is '000",
    ),
    "a record that is said to be redacted": (
        index(lambda r: r.update(redacted=True, minhash=[0] * 64)),
        "record_index",
        "redacted is true",
    ),
    "a trial that is said to be partial": (
        index(lambda r: r.update(partial_trial=True)),
        "splits",
        "partial_trial_record",
    ),
    "a MinHash of whole texts": (index(lambda r: r.update(minhash=[0] * 64)), "record_index", "minhash"),
    "a line of the index less": (lambda opened: opened.rows(INDEX_FILE).pop(), "record_index", "is not in the index"),
    "the digest of a rule file zeroed": (rule_file(sha256=ZEROS), "rules", "align.toml has the digest"),
    "another version of a rule file": (rule_file(version="9"), "rules", "align.toml is of version 1"),
    "a rule file that is said to be one's own": (rule_file(as_shipped=False), "rules", "as_shipped is false"),
    "a rule file that is not named": (
        package(lambda provenance: provenance["rules"].pop(0)),
        "rules",
        "align.toml is not in datapac",
    ),
    "another threshold": (rules("risk.toml", high_from=20.0), "rules", "risk.toml has the digest"),
    "another share of the test side": (rules("release.toml", test_share=0.5), "rules", "release.toml has the digest"),
    "rules that are no rules": (rules("onset.toml", top_k="three"), "derived", "cannot be recomputed: .*top_k"),
    "another version of all rules": (
        package(lambda provenance: provenance.update(rules_version="0" * 12)),
        "rules",
        "rules_version is",
    ),
    "a family of the taxonomy renamed": (renamed_family, "rules", "state_integrity_failures"),
    "a subtype of the taxonomy renamed": (
        lambda opened: opened.text("taxonomy.toml", '"weak_evidence_commitment"', '"sloppy_work"'),
        "rules",
        "sloppy_work",
    ),
    "another setting of the release": (
        lambda opened: opened.text("publish.toml", "confidence = 0.95", "confidence = 0.5"),
        "rules",
        "statistics/confidence is 0.5",
    ),
    "another search for keys": (
        lambda opened: opened.json("privacy.json", lambda document: document["rule"].pop()),
        "rules",
        "rule",
    ),
    "an input that is not named": (inputs(lambda rows: rows.pop(0)), "inputs", "0 inputs became it"),
    "an input that is named twice": (
        inputs(lambda rows: rows.append(rows[0])),
        "inputs",
        "2 inputs became it",
    ),
    "an input that became another record": (
        first_input(lambda planted: planted.update(trajectory_id="another.00000000")),
        "inputs",
        "an input became .*another.00000000, but that record",
    ),
    "an input without a word on what became of it": (
        first_input(lambda planted: planted.update(disposition="lost")),
        "inputs",
        "disposition is 'lost'",
    ),
    "an input that is left out without a reason": (
        first_input(lambda planted: planted.update(disposition="quarantined")),
        "inputs",
        "disposition is quarantined, and it has no reason",
    ),
    "another licence": (
        lambda opened: opened.json(PACKAGE, lambda document: document["licenses"][0].update(name="CC0-1.0")),
        "datapackage",
        "licenses.*CC0-1.0",
    ),
    "another digest of the embedded judge": (
        package(lambda provenance: provenance["judges"][0].update(digest=ZEROS)),
        "datapackage",
        "the embedded judge has the digest",
    ),
    "a judge of a pass that there is not": (
        package(lambda provenance: provenance["judges"].append(provenance["judges"][0] | {"annotation_pass": 2})),
        "datapackage",
        r"judges are named of the passes \[1, 2\]",
    ),
    "another schema": (
        package(lambda provenance: provenance.update(schema_version="9")),
        "datapackage",
        "schema_version is 9",
    ),
    "another prompt": (other_prompt, "derived", "request_sha256 is"),
    "a prompt that is gone": (
        lambda opened: shutil.rmtree(opened.root / "prompts" / "c"),
        "file_missing",
        "prompts/c/.* in force",
    ),
    "no rules": (lambda opened: (opened.root / RULES).unlink(), "rules", "cannot be read"),
    "a dangling link": (
        lambda o: (o.root / "NOTES").symlink_to("gone.txt"),
        "links",
        "NOTES.* gone.txt, which does not exist",
    ),
    "a linked folder": (linked_folder, "links", "paper_cut.* link to a folder"),
    "a pipe": (pipe, "links", "queue.* neither a file nor a folder"),
    "a second form of a file with other rows": (second_form, "file_twice", "silver_train_labels.jsonl.gz"),
    "a file more, with a key": (
        lambda opened: (opened.root / "env.txt").write_text(f"mode=1\nGITHUB={KEY}\n"),
        "text_key",
        "env.txt: .*github",
    ),
    "a file more": (lambda opened: (opened.root / "notes.jsonl").write_text("{}\n"), "file_unknown", "notes.jsonl"),
    "a huge number in a record": (
        record(normal, lambda r: r["risk_signals"].update(num_other_steps=HUGE)),
        "schema",
        "num_other_steps is a number that does not fit in 64 bits",
    ),
    "a huge number in a score": (record(normal, lambda r: r.update(num_steps=HUGE)), "schema", "num_steps is a number"),
    "a huge number in the index": (
        index(lambda r: r.update(redacted=True, minhash=[HUGE] * 64)),
        "schema",
        r"minhash\[0\] is a number",
    ),
    "a huge number in an answer": (
        plant_number,
        "derived|raw_answers|schema",
        "answer|parsed|number",
    ),
    "a huge number in the statistics": (
        huge_statistics,
        "statistics",
        "accepted is a number that does not fit in 64 bits",
    ),
    "a huge number in splits.json": (
        lambda opened: opened.json(SPLITS_FILE, lambda document: document["calibration_pool"].update(size=HUGE)),
        "splits",
        "size is a number that does not fit in 64 bits",
    ),
    "a huge number in the settings": (
        lambda opened: opened.text("publish.toml", "onset_parts = 4", f"onset_parts = {HUGE}"),
        "rules",
        "onset_parts is",
    ),
    "a huge number in the rules": (
        rules("onset.toml", top_k=HUGE),
        "rules",
        "top_k is a number that does not fit in 64 bits",
    ),
    "a huge size of a file": (
        package(lambda provenance: provenance["input_tables"][0].update(rows=HUGE)),
        "datapackage",
        "rows is a number that does not fit in 64 bits",
    ),
}
OF_CUTS: dict[str, tuple[Plant, str, str]] = {
    "a task moved from test to train": (moved, "splits", "is here; by stage split it is on side test"),
    "a near duplicate put back": (put_back("near_duplicate_of_test"), "splits", "reason near_duplicate_of_test"),
    "a record of the calibration pool put back": (put_back("calibration_pool"), "splits", "reason calibration_pool"),
    "another reason": (other_reason, "splits", "label_exclusions.jsonl: .*reason is 'banana'"),
    "another reason where a model is held out": (held_out_reason, "splits", "hold_out/.*reason is 'banana'"),
    "the calibration pool emptied": (pool_emptied, "splits", "calibration_pool.jsonl: .*is missing here"),
    "a record of the pool exchanged": (pool_exchanged, "splits", "calibration_pool.jsonl: .*is here"),
    "two records of the paper's cut exchanged": (
        sides_exchanged,
        "splits",
        "paper_cut/.*by stage split it is on side test",
    ),
    "no near duplicates": (certificate("hold_out/scripted-a", near_duplicates=0), "splits", "near_duplicates is 0"),
    "no shared tasks": (certificate("hold_out/scripted-a", shared_tasks=0), "splits", "shared_tasks is 0"),
    "no memoriser": (certificate("paper_cut", memoriser={"f1": 0.0, "share_known": 0.0}), "splits", "memoriser"),
    "another size of a side": (certificate("default_cut", test=99), "splits", "default_cut/test is 99"),
    "nothing left out": (certificate("default_cut", left_out={}), "splits", "left_out/.* is None"),
    "a certificate less": (
        splits(lambda document: document["cuts"].pop("hold_out/scripted-b")),
        "splits",
        "scripted-b",
    ),
    "another rule of the cut": (
        splits(lambda document: document["rules"].update(test_share=0.2)),
        "splits",
        "test_share is 0.2",
    ),
    "another size of the pool": (
        splits(lambda document: document["calibration_pool"].update(size=1)),
        "splits",
        "pool/size is 1",
    ),
    "a flag of the pool": (
        lambda opened: opened.rows(f"paper_cut/{TRAIN}")[0].update(in_calibration_pool=True),
        "splits",
        "in_calibration_pool is True",
    ),
}


DEFECTS = OF_RECORDS | OF_FILES | OF_CUTS
# What planting one defect beside others may end in.
UNFIT = (LookupError, ValueError, TypeError, AttributeError, AssertionError, StopIteration, OSError, OpenClawBenchError)


def named(root: Path, plant: Plant, check: str, speaks_of: str) -> None:
    """Plant, close, and see that a finding of the check speaks of it."""
    opened = Opened(root)
    plant(opened)
    opened.close()
    findings = validate(root)
    assert is_named(findings, check, speaks_of), [(entry.check, entry.file, entry.message) for entry in findings.kept]


def is_named(findings: Findings, check: str, speaks_of: str) -> bool:
    """True where a finding of the check speaks of it."""
    stated = [f"{entry.file}: {entry.message}" for entry in findings.kept if re.fullmatch(check, entry.check)]
    return any(re.search(speaks_of, entry) for entry in stated)


def all_named(release: Path, ways: Iterable[str], folder: Path) -> None:
    """Plant defects in one copy of a release, and see that each is named. Those that cannot be planted beside the
    others, or that another hides, are planted together in the next copy; where none is named, the first alone."""
    left, number = list(ways), 0
    while left:
        shutil.copytree(release, root := folder / f"copy-{number}")
        seen = named_among(root, left) if len(left) > 1 else set()
        if not seen:
            shutil.copytree(release, root := folder / f"copy-{number}-alone")
            named(root, *DEFECTS[left[0]])
            seen = {left[0]}
        left, number = [way for way in left if way not in seen], number + 1


def named_among(root: Path, ways: list[str]) -> set[str]:
    """Which of some defects are named where all are planted."""
    opened = Opened(root)
    planted = [way for way in ways if is_planted(opened, DEFECTS[way][0])]
    try:
        opened.close()
        findings = validate(root)
    except UNFIT:
        return set()
    return {way for way in planted if is_named(findings, *DEFECTS[way][1:])}


def is_planted(opened: Opened, plant: Plant) -> bool:
    """Plant a defect; false where what it changes is no longer there."""
    try:
        plant(opened)
    except UNFIT:
        return False
    return True


def by_message(ways: dict[str, tuple[Plant, str, str]]) -> list[list[str]]:
    return batches({way: speaks_of for way, (_, _, speaks_of) in ways.items()})


@pytest.fixture
def nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of other numbers would take longer to draw than all the rest; test_statistics_released.py has them."""
    text = "{kind} by {by}: {about}"

    def pictures(_draw: Any, kinds: Sequence[str], about: str | None = None) -> dict[str, bytes]:
        return {kind: text.format(kind=kind, by=plots.drawn_by(), about=about).encode() for kind in kinds}

    monkeypatch.setattr(plots, "pictures", pictures)


@pytest.mark.parametrize("ways", [*by_message(OF_RECORDS), *by_message(OF_FILES)], ids=lambda ways: ways[0])
@pytest.mark.usefixtures("nothing_is_drawn")
def test_defects_are_named_together(ways: list[str], small: Ran, tmp_path: Path) -> None:
    all_named(small.data / "release", ways, tmp_path)


@pytest.mark.parametrize("ways", by_message(OF_CUTS), ids=lambda ways: ways[0])
@pytest.mark.usefixtures("nothing_is_drawn")
def test_defects_in_how_the_corpus_is_cut_are_named_together(ways: list[str], example: Ran, tmp_path: Path) -> None:
    all_named(example.data / "release", ways, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("way", OF_RECORDS)
@pytest.mark.usefixtures("nothing_is_drawn")
def test_a_defect_in_a_record_or_an_answer_is_named(way: str, copy: Path) -> None:
    named(copy, *OF_RECORDS[way])


@pytest.mark.thorough
@pytest.mark.parametrize("way", OF_FILES)
@pytest.mark.usefixtures("nothing_is_drawn")
def test_a_defect_beside_the_records_is_named(way: str, copy: Path) -> None:
    named(copy, *OF_FILES[way])


@pytest.mark.thorough
@pytest.mark.parametrize("way", OF_CUTS)
@pytest.mark.usefixtures("nothing_is_drawn")
def test_a_defect_in_how_the_corpus_is_cut_is_named(way: str, example: Ran, tmp_path: Path) -> None:
    shutil.copytree(example.data / "release", root := tmp_path / "release")
    named(root, *OF_CUTS[way])


def test_a_release_that_is_closed_without_a_defect_is_valid(copy: Path) -> None:
    """What whoever plants a defect makes anew is what a release holds: only the defect itself is named above."""
    opened = Opened(copy)
    assert opened.records
    for name in opened.label_files():
        opened.rows(name)
    opened.close()
    findings = validate(copy)
    assert findings.ok, findings.kept


def odd_model(raw: Path) -> None:
    for name in ("scripted-a", "scripted-b"):
        (raw / name).rename(raw / {"scripted-a": "llama[8b]", "scripted-b": "qwen *?{x}"}[name])


def one_record(raw: Path) -> None:
    shutil.rmtree(raw / "scripted-b")
    for path in sorted((raw / "scripted-a").iterdir())[1:]:
        path.unlink()


def no_anomaly(raw: Path) -> None:
    (raw / "scripted-a" / "2026.6.11-hedge-in-thinking.jsonl").unlink()
    (raw / "scripted-b" / "2026.4.15-subagent-spawn.jsonl").unlink()


def nothing(_raw: Path) -> None:
    pass


# Name -> what is done to the raw folder, the folder of the data, whether there are outcomes.
ODD: dict[str, tuple[Callable[[Path], object], str, bool]] = {
    "models with pattern characters in their names": (odd_model, "data", True),
    "a folder with blanks and pattern characters": (nothing, "a [data] folder, {really}*", True),
    "no outcomes": (nothing, "data", False),
    "one record": (one_record, "data", True),
    "no anomaly": (no_anomaly, "data", True),
}


@pytest.mark.parametrize("way", first(3, ODD))
def test_an_odd_release_is_valid(way: str, tmp_path: Path) -> None:
    change, folder, outcomes = ODD[way]
    raw = small_raw(tmp_path / "raw")
    change(raw)
    data = few_shards(tmp_path / folder, 1)
    oracle: list[str | Path] = ["--oracle", EXAMPLE / "oracle"] if outcomes else []
    ended = call("release", "--data", data, "--raw", raw, *oracle, "--judge", "rules")
    assert ended.status == 0, ended.err
    findings = validate(data / "release")
    assert findings.ok, findings.kept
    assert findings.checked["records_made_again"] == findings.checked["records"] > 0
    assert findings.checked["answers_asked_again"] > 0


def test_a_release_with_rules_of_ones_own_is_valid(tmp_path: Path) -> None:
    """One of them asks for a column that is not released: scores are then taken as they are."""
    own = tmp_path / "rules"
    own.mkdir()
    shipped = shipped_path("risk.toml").read_text()
    other = shipped.replace("when = \"event_type = 'other'\"", "when = \"event_rule = 'fallback'\"").replace(
        "17.0", "12.0"
    )
    assert other.count("event_rule") == shipped.count("event_rule") + 1
    (own / "risk.toml").write_text(other)
    raw, data = small_raw(tmp_path / "raw"), few_shards(tmp_path / "data", 1)
    ended = call("release", "--data", data, "--raw", raw, "--judge", "rules", env={"OPENCLAWBENCH_RULES": str(own)})
    assert ended.status == 0, ended.err
    findings = validate(data / "release")
    assert findings.ok, findings.kept
    (stated,) = (rule for rule in package_of(data / "release").provenance.rules if rule.file == "risk.toml")
    assert not stated.as_shipped
