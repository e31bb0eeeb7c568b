"""What becomes of keys and of personal data in each form: blocked, reported, or let through on purpose."""

import base64
import json
import random
import re
import string
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given, settings

from openclawbench.release.privacy.finder import Hit, PrivacyFinder, blank_escapes, may_hit
from openclawbench.release.privacy.rules import ACTIONS, GROUPS, PrivacyRules, Rule

FORMS = tomllib.loads((Path(__file__).parent / "privacy_forms.toml").read_text(encoding="utf-8"))
EVERY = [*FORMS["key"], *FORMS["personal"]]
ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_letters,
    "d": string.digits,
    "e": "123456789",
}
FILLER = re.compile(r"\{([ahulde])([0-9]+)\}")
WORDS = re.compile(r"\{w([0-9]+)\}")
BASE64 = re.compile(r"\{b:(.*?)\}(?=[^}]|$)")
SYLLABLES = ("ab", "cor", "den", "fil", "gra", "hum", "lo", "mer", "nas", "pol", "rin", "sut", "tev", "wok", "zan")


def filled(form: dict[str, Any]) -> str:
    """The text of a form, with random values that are the same in every run."""
    dice = random.Random(form["name"])
    text = FILLER.sub(lambda part: "".join(dice.choices(ALPHABETS[part[1]], k=int(part[2]))), form["text"])
    text = WORDS.sub(lambda part: " ".join("".join(dice.choices(SYLLABLES, k=2)) for _ in range(int(part[1]))), text)
    return BASE64.sub(lambda part: base64.b64encode(part[1].encode()).decode(), text)


@cache
def privacy_finder() -> PrivacyFinder:
    return PrivacyFinder(PrivacyRules.load())


def outcome(hits: list[Hit]) -> str:
    """What the strictest find does to a release."""
    actions = {privacy_finder().rules.actions[hit.group] for hit in hits}
    return next((action for action in ACTIONS if action in actions), "pass")


@pytest.mark.parametrize("form", EVERY, ids=lambda form: form["name"])
def test_each_form_has_its_outcome(form: dict[str, Any]) -> None:
    text = filled(form)
    hits = privacy_finder().hits(text)
    assert outcome(hits) == form["expect"], (text, hits)
    assert form["expect"] != "pass" or form["why"]


@pytest.mark.parametrize("form", EVERY, ids=lambda form: form["name"])
def test_the_quick_look_misses_nothing(form: dict[str, Any]) -> None:
    """A line of JSON with the text in it, plain and as JSON inside a text, is looked at by the rules that find it."""
    text = filled(form)
    for line in (json.dumps({"text": text}), json.dumps({"text": json.dumps({"inner": text})})):
        inner = next(iter(json.loads(line).values()))
        hits = privacy_finder().hits(inner)
        looks = privacy_finder().worth_a_look(pl.Series([line]))
        suspects = privacy_finder().suspects([0, 0], ["of no interest", inner], looks)
        assert privacy_finder().hits(inner, dict(suspects).get(1, [])) == hits, line


def test_there_are_as_many_forms_as_the_documents_say() -> None:
    assert len(FORMS["key"]) >= 62
    assert len(FORMS["personal"]) >= 20
    assert len({form["name"] for form in EVERY}) == len(EVERY)


def pairs() -> Iterator[tuple[str, str]]:
    groups = [group for group in GROUPS if group != "redacted"]
    yield from product(groups, groups)


@pytest.mark.parametrize(("first_form", "other"), list(pairs()))
@pytest.mark.parametrize("spans", [((0, 8), (0, 8)), ((0, 8), (2, 6)), ((2, 6), (0, 8)), ((0, 6), (3, 9))])
def test_of_overlapping_finds_the_stricter_counts(first_form: str, other: str, spans: Any) -> None:
    """Each pair of groups, under every pair of actions, in each way to overlap."""
    for first, second in product(ACTIONS, ACTIONS):
        chosen = {f"on_{first_form}": first} | ({f"on_{other}": second} if other != first_form else {})
        rules = privacy_finder().rules.model_copy(update=chosen)
        judged = PrivacyFinder.__new__(PrivacyFinder)
        judged.rules = rules
        hits = [Hit(*spans[0], "a", first_form, 0), Hit(*spans[1], "b", other, 0)]
        (kept,) = judged.strictest(hits)
        assert kept.group == min((first_form, other), key=rules.strictness)
        strictest = min(hits, key=lambda hit: rules.strictness(hit.group))
        assert kept.start <= strictest.start and kept.end >= strictest.end
        assert judged.strictest(reversed(hits)) == [kept]


def test_every_pair_of_forms_in_one_text_keeps_the_stricter_outcome() -> None:
    """Side by side, and the one directly behind the other: no find hides a stricter one beside it."""
    known = [(form, filled(form)) for form in EVERY if form["expect"] != "pass"]
    for (form, text), (other, beside) in product(known, known):
        expected = min((form["expect"], other["expect"]), key=ACTIONS.index)
        assert outcome(privacy_finder().hits(f"{text} {beside}")) == expected, (form["name"], other["name"])


def test_an_address_around_a_password_is_a_key() -> None:
    text = "db is postgres://app:hunter2secret@db.corp.net:5432/app, ask ada@corp.net"
    assert [(hit.group, text[hit.start : hit.end]) for hit in privacy_finder().hits(text)] == [
        ("key", "hunter2secret"),
        ("email", "ada@corp.net"),
    ]


def test_a_find_across_a_line_break_reaches_over_it() -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    text = f"first line\nkey {token[:20]}\r\n{token[20:]}\nlast"
    (hit,) = privacy_finder().hits(text)
    assert text[hit.start : hit.end] == f"{token[:20]}\r\n{token[20:]}"
    assert (hit.kind, hit.shown) == ("github_token", 4)


def test_finds_are_in_order_and_apart() -> None:
    for form, other in product(EVERY[::3], EVERY[::4]):
        hits = privacy_finder().hits(f"{filled(form)}{filled(other)}")
        assert all(first.end <= second.start for first, second in pairwise(hits))


def parts(*choices: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*choices).map("".join)


GAP = st.sampled_from(["", " ", "\t", "\n", "  ", " \n", "\x0b", "\x0c", "\x1c", "\x85", "\u2003"])
QUOTE = st.sampled_from(["", '"', "'", ' "', "\n'", '\\"', "\\'", '\\\\\\"'])  # also of JSON inside a text
ASSIGNS = st.sampled_from(["=", ":", "=>", ":="])
NEAR = {
    "named_password": parts(
        st.sampled_from(["password", "Passwd", "PASSPHRASE", "Passwort", "pwd", "pass", "--password"]),
        *(QUOTE, GAP, st.sampled_from(["", "=", ":", "=>", ":="]), GAP, QUOTE),
        st.sampled_from(["zB4!kqpw9", "hunter2hunter"]),
    ),
    "phone": parts(
        st.sampled_from(["0151", "01578", "030", "0221", "04321"]),
        st.sampled_from(["", " ", "-", "/", " / "]),
        st.sampled_from(["234", "5678901", "12345"]),
        st.sampled_from(["", " ", "-"]),
        st.sampled_from(["", "5678", "23456"]),
    ),
    "named_secret": parts(
        st.sampled_from(["DB_SECRET", "api_key", "privateKey", "Token", "credential"]),
        *(QUOTE, GAP, ASSIGNS, GAP, QUOTE),
        st.just("zk4Rt9Wm2Xq7Lb5Vn8Cs3"),
    ),
    "authorization_header": parts(
        st.sampled_from(["X-Api-Key", "authorization"]),
        *(QUOTE, GAP, ASSIGNS, GAP, QUOTE),
        st.just("zk4Rt9Wm2Xq7Lb5Vn8C"),
    ),
    "basic_authorization": parts(
        st.just("Authorization"), *(QUOTE, GAP, ASSIGNS, GAP, QUOTE), st.just("Basic YWRhOnRyMHViNGRvcg==")
    ),
    "docker_auth": st.sampled_from(['"auth":"', '"auth": "', '\\"auth\\": \\"']).map('{}YWRhOnRyMHViNGRvcg=="'.format),
    "gateway_token": parts(st.just("token"), *(QUOTE, GAP, GAP, QUOTE), st.just("0f9e8d7c6b5a4321" * 3)),
    "wallet_key": parts(st.just("private_key"), *(QUOTE, GAP, ASSIGNS, GAP, QUOTE), st.just("0f9e8d7c6b5a4321" * 4)),
    "provider_key": parts(
        st.sampled_from(["", " ", "\n", "\t", "\f", "\b", "x\f", "\\n", "\\\\t", "\u2028", "é", "=", '"', "ta", "a-"]),
        st.just("sk-"),
        st.sampled_from(["", "ant-", "proj-"]),
        st.just("zk4Rt9Wm2Xq7Lb5Vn8Cs3zk4Rt9Wm2Xq7Lb5"),
    ),
    "password_argument": parts(
        st.sampled_from(["curl", "sshpass"]),
        *(st.sampled_from(["", " -s", " -X\n", " é\t", ' \\"a\\"']), GAP, st.sampled_from(["", "\\n", "\\t"])),
        st.sampled_from(["-u", "--user", "-p"]),
        st.sampled_from([" ", "=", "\\n", "\n"]),
        *(QUOTE, st.sampled_from(["admin:", ""]), st.just("zB4!kqpw9")),
    ),
    "session_cookie": parts(
        st.just("Set-Cookie"), *(QUOTE, GAP, ASSIGNS, GAP), st.just("session=zk4Rt9Wm2Xq7Lb5Vn8Cs3")
    ),
}


@pytest.mark.parametrize("kind", NEAR)
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_filter_passes_whatever_its_pattern_matches(kind: str, data: st.DataObject) -> None:
    text = data.draw(NEAR[kind])
    plain = blank_escapes(text)
    for finder in privacy_finder().finders:
        if finder.rule.kind == kind and finder.pattern and finder.pattern.search(plain):
            assert finder.may_hit(plain), text
            for line in (plain, json.dumps({"text": text}), json.dumps({"text": text}, ensure_ascii=False)):
                assert pl.DataFrame({"line": [line]}).select(may_hit(finder.rule, pl.col("line"))).item(), line


FOLDERS = st.lists(
    st.sampled_from(
        [
            *("/", "//", "\\", "\\\\", ":", "C", "Users", "home", "/home/", "/Users/", "C:\\Users\\", "C:/Users/"),
            *(":/Users//", "user", "node", "root", "maria.k", "tomas", "a-", "x.", "A" * 33, "_", " ", "\n", '"'),
            *("\\n", "\\t", "é", "，"),
        ]
    ),
    min_size=2,
    max_size=12,
).map("".join)


@settings(max_examples=2000, deadline=None)
@given(text=FOLDERS)
def test_a_text_with_a_name_of_a_home_folder_is_looked_at_whatever_stands_around_it(text: str) -> None:
    finder = next(finder for finder in privacy_finder().finders if finder.rule.kind == "home_folder")
    result = bool(list(finder.hits(blank_escapes(text))))
    lines = [blank_escapes(text), json.dumps({"text": text}), json.dumps({"text": text}, ensure_ascii=False)]
    assert [look for look in finder.may_hit_each(pl.Series(lines)) if result] == [True] * len(lines) * result


def test_a_text_whose_home_folders_all_are_allowed_is_passed_over() -> None:
    finder = next(finder for finder in privacy_finder().finders if finder.rule.kind == "home_folder")
    texts = ["/home/user/a /Users/node/b", "nothing", "/home/user/a /home/maria/b", "C:\\Users\\root", "C:\\Users\\eva"]
    assert finder.may_hit_each(pl.Series(texts)).to_list() == [False, False, True, False, True]


@pytest.mark.parametrize(
    ("values", "more", "reason"),
    [
        (["/home/[a-z]+"], {}, "needs one group"),
        (["/home/([a-z]+)"], {"wrapped": True}, "neither wrapped nor encoded"),
    ],
)
def test_values_that_cannot_be_tried_alone_are_refused(values: list[str], more: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Rule(kind="folder", group="user_name", pattern="/home/([a-z]+)", needs=["/home/"], values=values, **more)


def test_a_key_in_json_inside_a_command_is_found() -> None:
    secret = "a1b2c3d4e5f6a7b8" + "c9d0a1b2c3d4e5f6"
    text = f'curl -d "{{\\"api_key\\":\\"{secret}\\"}}" https://host'
    (hit,) = privacy_finder().hits(text)
    assert (hit.kind, text[hit.start : hit.end]) == ("named_secret", secret)
