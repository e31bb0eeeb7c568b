"""Every rule file is checked when it is read: closed sets, ids, patterns, conditions; and a fault can be found."""

import copy
import importlib
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import openclawbench.rules
from openclawbench.errors import InvalidRules
from openclawbench.records import vocabulary
from openclawbench.rules.construct.align import AlignRules
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.construct.onset import OnsetRules
from openclawbench.rules.construct.risk import RiskRules
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.rules.loading.own_folder import PACKAGE, shipped_path
from openclawbench.rules.loading.rule_file import Rules

for module in pkgutil.walk_packages(openclawbench.rules.__path__, "openclawbench.rules."):
    importlib.import_module(module.name)
KINDS = {
    kind.FILE: kind
    for kind in Rules.__subclasses__()
    if kind.__module__.startswith("openclawbench.rules.") and "*" not in kind.FILE
}
CONTENTS = {file: tomllib.loads(shipped_path(file).read_text(encoding="utf-8")) for file in KINDS}
WORDS = {
    word
    for name in vars(vocabulary)
    for word in get_args(getattr(vocabulary, name))
    if isinstance(word, str) and name != "Literal"
}
# Words of a closed set that mean something else where they stand: names of tools and programs, their actions, ids, what
# a result may hold.
OPEN = {
    "align.toml": ["exact.names", "exact.tool", "fuzzy.tool"],
    "describe.toml": [
        "reply_rule",
        "wrapper.names",
        "arguments.statement",
        "tool.names",
        "tool.actions",
        "status.content_tools",
        "status.report.success",
        "status.report.reason",
        "words.things",
        *(f"word.{place}" for place in ("verbs", "leads", "before", "behind")),
        "noun.heads",
        "noun.fields",
        "subject.values",
    ],
    "checks.toml": ["reads_only"],
    "tables.toml": [f"status.{meaning}" for meaning in ("passed", "failed", "infra", "silent")] + ["columns"],
    "shell.toml": ["wrapper.names", "command.names", "command.sub", "command.verbs"],
    "judge.toml": ["commands.wrappers", "fixes.span_malformed"],
    "normalize.toml": [
        *("session_signs.fields", "user_kind.id", "envelope.id", "silent_token.id", "background.final_statuses"),
    ],
}
PATTERN_KEYS = re.compile(
    r"(^|\.)(pattern|left_out_pattern|hint_pattern|regex|unless|match|target_match|argument|effect_when|remote_tools|name_prefix|name_of_server|name_numbered|look_names|content_names|exit_tail|exit_head|arguments\.sql"
    r"|title_pattern|clear_unless|asked_for\.\w+|pieces|not_own|oracle_words|inference_error|file_name|category_prefix|set_aside"
    r"|local_url|(?<!arguments\.)url|patched_file|words\.(token|environment|no_command|powershell|powershell_gate)|gave_up_pattern"
    r"|wrapper\.runs|left_out|not_behind|ignored|store_name|timeout_words|abort_words|notice|beside|notice_turn|final_text|cut_result|backup_name"
    r"|notice_name|collected\.(heading|message)|goes_on_pattern|command\.values\.\S+|after|store_tables\.lacks)$"
)
LITERAL = re.compile(r"'([a-z_]+)'")
Place = tuple[str | int, ...]


def leaves(content: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every text in a rule file, with where it stands."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inside:
        if isinstance(value, str):
            yield (*place, key), value
        else:
            yield from leaves(value, (*place, key))


def key_of(place: Place) -> str:
    """Where a text stands, whichever entry of a list it is."""
    return ".".join(str(part) for part in place if not isinstance(part, int))


def changed(file: str, place: Place, value: Any) -> dict[str, Any]:
    """A rule file's content with one other value."""
    content = dict(CONTENTS[file])
    content[str(place[0])] = inside = copy.deepcopy(content[str(place[0])])
    if len(place) == 1:
        return content | {str(place[0]): value}
    for part in place[1:-1]:
        inside = inside[part]
    inside[place[-1]] = value
    return content


def refused(kind: type[Rules], content: dict[str, Any]) -> str:
    """What is said of a broken rule file; empty where it is taken."""
    try:
        kind.checked(content, Path("own", kind.FILE))
    except InvalidRules as error:
        return str(error)
    return ""


def names_the_place(sentence: str, file: str, place: Place) -> bool:
    """True where the file is said, and the rule by its id or name, or the key, so that it can be found."""
    entry: Any = CONTENTS[file]
    name = None
    for part in place[:-1]:
        entry = entry[part]
        if isinstance(entry, dict):
            name = entry.get("id", entry.get("name", name))
    reported = (
        f'"{name}"' in sentence or (name is None and str(place[0]) in sentence) or ".".join(map(str, place)) in sentence
    )
    return sentence.startswith(f"own/{file}: ") and reported


def one_of_each_key(leaves_found: list[tuple[Place, str]]) -> list[tuple[Place, str]]:
    """The last text of each key: what checks one entry of a list checks them all."""
    return list({key_of(place): (place, value) for place, value in leaves_found}.values())


@pytest.mark.parametrize("file", sorted(KINDS))
def test_a_misspelt_word_of_a_closed_set_is_refused(file: str) -> None:
    """Each value that is a word of a closed set, with a letter more."""
    words = [leaf for leaf in leaves(CONTENTS[file]) if leaf[1] in WORDS and key_of(leaf[0]) not in OPEN.get(file, [])]
    for place, word in one_of_each_key(words):
        message = refused(KINDS[file], changed(file, place, f"{word}x"))
        assert message, f"{file}: {place} takes {word}x"
        assert names_the_place(message, file, place), message
        assert f"{word}x" in message or "needs each of" in message, message
        assert word in message, message  # what is likeliest meant


@pytest.mark.parametrize("file", sorted(KINDS))
def test_what_is_no_pattern_is_refused(file: str) -> None:
    patterns = [leaf for leaf in leaves(CONTENTS[file]) if PATTERN_KEYS.search(key_of(leaf[0]))]
    for place, pattern in one_of_each_key(patterns):
        message = refused(KINDS[file], changed(file, place, pattern + "("))
        assert message, f"{file}: {place} takes {pattern}("
        assert names_the_place(message, file, place), message
        assert "\n" not in message, message


@pytest.mark.parametrize("file", sorted(KINDS))
def test_what_looks_like_a_pattern_is_known_as_one(file: str) -> None:
    """A pattern under a key that the test above does not know would not be tested."""
    looks = re.compile(r"\(\?|\\[bA.]|\[\^|\[0-9\]")
    unknown = {key_of(place) for place, value in leaves(CONTENTS[file]) if looks.search(value)}
    assert {key for key in unknown if not PATTERN_KEYS.search(key)} <= {
        "category"
    }  # oracle.toml's, whose groups are read


@pytest.mark.parametrize("file", sorted(KINDS))
def test_a_misspelt_word_or_column_in_a_condition_is_refused(file: str) -> None:
    conditions = [leaf for leaf in leaves(CONTENTS[file]) if re.search(r"[=<>] |array_contains| (AND|IN|OR) ", leaf[1])]
    for place, text in conditions if file != "shell.toml" else []:
        for word in LITERAL.findall(text):
            message = refused(KINDS[file], changed(file, place, text.replace(f"'{word}'", f"'{word}x'")))
            assert f'"{word}x" is not one of' in message, (place, message)
            assert f'did you mean "{word}"?' in message, message
            assert names_the_place(message, file, place), message
        for column in re.findall(r"\b[a-z]+_[a-z_]+\b", LITERAL.sub("", text))[:1]:
            if column not in ("array_contains", "array_length"):
                message = refused(KINDS[file], changed(file, place, text.replace(column, f"{column}x")))
                assert f'"{column}x" is not one of' in message, (place, message)


@pytest.mark.parametrize("file", sorted(KINDS))
def test_an_id_that_is_given_twice_is_refused(file: str) -> None:
    for key, entries in CONTENTS[file].items():
        tables = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        ids = [table["id"] for table in tables if "id" in table]
        if len(ids) > 1:
            message = refused(KINDS[file], changed(file, (key, 1, "id"), ids[0]))
            assert message.startswith(f"own/{file}: ") and f'"{ids[0]}"' in message and "twice" in message, message


def test_the_files_as_they_are_are_taken() -> None:
    assert len(KINDS) >= 18
    assert not {path.name for path in (PACKAGE / "rules").rglob("*.toml")} - set(KINDS)
    for kind in KINDS.values():
        kind.load()


SAID: list[tuple[type[Rules], Place, Any, list[str]]] = [
    (
        DescribeRules,
        ("tool", 4, "category"),
        "reed",
        ['"tool.read"', '"reed" is not one of read,', 'did you mean "read"?'],
    ),
    (AlignRules, ("exact", 0, "id"), "alias.read", ['"alias.read" is given twice', "[[exact]]"]),
    (AlignRules, ("exact", 0, "names"), ["ReadFile"], ["several exact aliases", "alias.exec and alias.read"]),
    (FlagRules, ("error_statuses", 0), "eror", ["error_statuses.0", '"eror" is not one of ok, error,']),
    (FlagRules, ("text", 0, "flag"), "hedgy", ['did you mean "hedge"?']),
    (FlagRules, ("text", 0, "pattern"), "(maybe", ["not a regular expression: '(maybe': unclosed group"]),
    (FlagRules, ("order",), ["hedge"], ["needs each of uncertainty"]),
    (ShellRules, ("command", 0, "category"), "reed", ['"reed" is not one of read,']),
    (ShellRules, ("rank",), ["read"], ["is not one of read"]),
    (ShellRules, ("command", 0, "target"), "frist", ['did you mean "first"?']),
    (RiskRules, ("signal", 1, "name"), "external_write_steps", ["external_write_steps: the name of several signals"]),
    (RiskRules, ("signal", 3, "when"), "array_contains(auto_flags, 'uncertanty')", ['did you mean "uncertainty"?']),
    (OnsetRules, ("earliest", 1, "when"), "event_type IN ('read', 'external_wrte')", ['mean "external_write"?']),
    (OnsetRules, ("earliest", 1, "when"), "COALESCE(tool_status, 'ok') <> 'okay'", ['"okay" is not one of ok,']),
    (OnsetRules, ("earliest", 1, "when"), "'reed' = event_type", ['"reed" is not one of read,']),
]


@pytest.mark.parametrize(("kind", "place", "value", "says"), SAID)
def test_what_is_said(kind: type[Rules], place: Place, value: Any, says: list[str]) -> None:
    message = refused(kind, changed(kind.FILE, place, value))
    for text in [f"own/{kind.FILE}: ", *says, "Correct the file."]:
        assert text in message
    assert "\n" not in message


TAKEN = [
    "event_type LIKE 'external%'",
    "event_type ILIKE '%WRITE'",
    "UPPER(event_type) = 'QUERY' AND step_id > 3",
    "array_to_string(auto_flags, ' ') LIKE '%uncertainty%'",
    "tool_name LIKE 'any_thing%' OR tool_name IS NULL",
    "LENGTH(tool_name) > 3 AND event_type IS NOT NULL",
    "CASE WHEN event_type = 'read' THEN side_effect ELSE FALSE END",
    "array_length(auto_flags) > 1",
    "TRY_CAST(tool_name AS INT) > 3",
]
NOT_TAKEN = [
    ("event_type LIKE 'extrenal%'", "asks what is the same for every event_type: read, "),
    ("event_type ILIKE 'WIRTE%' OR side_effect", "asks what is the same for every event_type"),
    ("UPPER(event_type) = 'external_write'", "asks what is the same for every event_type"),
    ("STARTS_WITH(event_type, 'wirte')", "asks what is the same for every event_type"),
    ("NOT strpos(tool_status, 'eror') > 0", "asks what is the same for every tool_status: ok, "),
    ("array_to_string(auto_flags, ' ') LIKE '%hegde%'", "asks what is the same for every auto_flags: uncertainty, "),
    ("event_type = 'read' AND event_type = 'query'", "asks what is the same for every event_type"),
    ("UPER(event_type) = 'READ'", "unsupported function 'uper'"),
    ("UPPER(event_typ) = 'READ'", 'did you mean "event_type"?'),
    ("tool_name LIKE 3", "LIKE"),
    ("REGEXP_LIKE(tool_name, '(')", "cannot be computed"),
    ("CAST(tool_name AS INT) > 3", "cannot be computed: conversion from `str` to `i32` failed"),
    ("step_id > 'x'", "cannot be computed: cannot compare string with numeric type"),
    ("UPPER(step_id) = 'X'", "cannot be computed"),
    ("SUM(step_id) > 3", "several rows are read"),
    ("COUNT(*) > 1 OR side_effect", "several rows are read"),
    ("ROW_NUMBER() OVER () > 1", "several rows are read"),
    ("UPPER(tool_name)", "is neither true nor false"),
]


@pytest.mark.parametrize("condition", TAKEN)
def test_sql_of_many_kinds_is_taken(condition: str) -> None:
    assert refused(OnsetRules, changed("onset.toml", ("earliest", 1, "when"), condition)) == ""


@pytest.mark.parametrize(("condition", "says"), NOT_TAKEN)
def test_a_condition_that_would_fail_or_say_nothing_is_refused_when_it_is_read(condition: str, says: str) -> None:
    message = refused(OnsetRules, changed("onset.toml", ("earliest", 1, "when"), condition))
    assert (
        message.startswith('own/onset.toml: earliest.1.when: in "earliest_external_write_step": ') and says in message
    ), message
    assert "\n" not in message
