"""The adopted rule set: each of its rules finds what it is for, and its licence is kept. What agents print around a
token is taken off. Ordinary lines hold nothing."""

import base64
import json
import random
import re
import re._parser as parser  # type: ignore[import-not-found]
import string
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from openclawbench.errors import InvalidRules
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.redact import RedactableLine, Redactor
from openclawbench.release.privacy.rules import PrivacyRules, Rule, adopted
from openclawbench.release.privacy.undo import MAY_BE_WRAPPED, undo

RULES = PrivacyRules.load()
SET = adopted("gitleaks.toml")
WORD = string.ascii_letters + string.digits
SHORTEST_PIECE = 8  # characters of a token that tell something of it


@cache
def privacy_finder() -> PrivacyFinder:
    return PrivacyFinder(RULES)


def example(tree: Any, dice: random.Random) -> str:
    """A text that a parsed pattern matches."""
    parts: list[str] = []
    for operation, argument in tree:
        name = str(operation)
        if name == "LITERAL":
            parts.append(chr(argument))
        elif name == "IN":
            parts.append(letter(argument, dice))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, _, inner = argument
            parts += [example(inner, dice) for _ in range(least)]
        elif name == "SUBPATTERN":
            parts.append(example(argument[3], dice))
        elif name == "BRANCH":
            parts.append(example(dice.choice(argument[1]), dice))
        elif name == "ANY":
            parts.append(dice.choice(WORD))
    return "".join(parts)


def letter(alternatives: Any, dice: random.Random) -> str:
    """A letter of a class; of a class that excludes letters, any letter or digit."""
    letters = [chr(argument) for kind, argument in alternatives if str(kind) == "LITERAL"]
    for kind, argument in alternatives:
        if str(kind) == "RANGE":
            letters += [chr(code) for code in range(argument[0], argument[1] + 1)]
    if str(alternatives[0][0]) == "NEGATE" or not letters:
        return dice.choice(WORD)
    return dice.choice([character for character in letters if character in WORD] or letters)


@pytest.mark.parametrize("rule", SET.rules, ids=lambda rule: rule.kind)
def test_an_adopted_rule_is_valid_and_finds_what_it_is_for(rule: Rule) -> None:
    assert Rule.model_validate(rule.model_dump()) == rule
    assert all(word == word.lower() for word in rule.words)
    assert rule.group in ("key", "suspected_key")
    tree, dice = parser.parse(rule.pattern), random.Random(rule.kind)
    for _ in range(50):
        text = f"{' '.join(rule.words)} see {example(tree, dice)} there"
        looks = privacy_finder().worth_a_look(pl.Series([json.dumps({"text": text})]))
        suspects = dict(privacy_finder().suspects([0], [text], looks)).get(0, [])
        hits = privacy_finder().hits(text, suspects)
        assert privacy_finder().hits(text) == hits
        if any(hit.group in ("key", "suspected_key") for hit in hits):
            return
    pytest.fail(f"{rule.kind} finds nothing like {text}")


def test_the_licence_and_version_of_the_set_are_kept() -> None:
    import openclawbench.release as room

    text = (Path(room.__file__).parent / "gitleaks.toml").read_text(encoding="utf-8")
    assert "MIT License" in text and "Permission is hereby granted" in text and "Zachary Rice" in text
    assert re.search(r"^source = \"gitleaks 8\.\d+\.\d+\"$", text, re.MULTILINE)
    assert len(SET.rules) > 120


def test_a_rule_of_the_set_can_be_left_out_and_a_set_that_is_not_there_is_named() -> None:
    content = RULES.model_dump(exclude={"rule"}) | {"rule": [RULES.rule[0].model_dump()]}
    kinds = {rule.kind for rule in PrivacyRules.checked(content | {"leave_out": ["heroku_api_key"]}, Path("x")).rule}
    assert "heroku_api_key" not in kinds and "snyk_api_token" in kinds
    alone = PrivacyRules.checked(content | {"adopt": []}, Path("x"))
    assert len(alone.rule) == 1
    assert len({alone.digest, RULES.digest, PrivacyRules.checked(content, Path("x")).digest}) == 3
    with pytest.raises(InvalidRules, match=r"no rule set other\.toml"):
        PrivacyRules.checked(content | {"adopt": ["other.toml"]}, Path("x"))


def test_rules_read_back_from_a_release_are_the_same() -> None:
    again = PrivacyRules.checked(json.loads(json.dumps(RULES.model_dump(mode="json"))), Path("privacy.json"))
    assert again.rule == RULES.rule


# ---- what agents print around a token

TOKENS = {
    "github_token": "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5",
    "gitlab_token": "glpat-" + "Zq7rT4mK9xW2vB6nL3sD",
    "provider_key": "sk-ant-api03-" + "Zk4Rt9Wm2Xq7Lb5Vn8Cs3Df6Gh1Jy",
    "service_token": "lsv2_pt_" + "0f9e8d7c6b5a4321" * 2 + "_0f9e8d7c6b",
    "pulumi_api_token": "pul-" + "0f9e8d7c6b5a43210f9e8d7c6b5a43210f9e8d7c",
}
WRAPPED: dict[str, Callable[[str, str], str]] = {
    "a line break": lambda a, b: f"token {a}\n{b}\nend",
    "a line break of Windows": lambda a, b: f"token {a}\r\n{b}\r\nend",
    "lines of a diff": lambda a, b: f"+token {a}\n+{b}\n end",
    "removed lines": lambda a, b: f"-token {a}\n-{b}\n",
    "cat -n": lambda a, b: f"     1\ttoken {a}\n     2\t{b}\n     3\tend",
    "numbers with a bar": lambda a, b: f" 11 | token {a}\n 12 | {b}\n",
    "numbers with an arrow": lambda a, b: f"    11→token {a}\n    12→{b}\n",
    "grep -n": lambda a, b: f"11:token {a}\n12:{b}\n",
    "grep -n of files": lambda a, b: f"src/a.env:11:token {a}\nsrc/a.env:12:{b}\n",
    "a continued line": lambda a, b: f"token {a}\\\n  {b}\n",
    "an indented line": lambda a, b: f"token: >\n  {a}\n  {b}\n",
    "colours": lambda a, b: f"\x1b[32mtoken {a}\x1b[0m\x1b[1;31m{b}\x1b[0m",
    "colours, written out": lambda a, b: f"token {a}\\u001b[0m{b}",
    "strings put together": lambda a, b: f'token = "{a}" + "{b}"',
    "strings on two lines": lambda a, b: f"token = ('{a}'\n         '{b}')",
    "strings with a point": lambda a, b: f"$token = '{a}' . '{b}';",
    "strings in JSON": lambda a, b: json.dumps({"code": f'token = "{a}" +\n  "{b}"'}),
    "a line break in JSON": lambda a, b: json.dumps({"out": f"token {a}\n{b}"}),
    "a line break in JSON in JSON": lambda a, b: json.dumps(json.dumps({"out": f"token {a}\n{b}"})),
    "an escaped letter": lambda a, b: f"token {a}\\u00{ord(b[0]):02x}{b[1:]}",
    "an encoded letter": lambda a, b: f"token={a}%{ord(b[0]):02X}{b[1:]}&x=1",
    "a full-width letter": lambda a, b: f"token {a}{chr(ord(b[0]) + 0xFEE0)}{b[1:]}",
    "a letter without width": lambda a, b: f"token {a}\u200b{b}",
}


@pytest.mark.parametrize("around", WRAPPED)
@pytest.mark.parametrize("kind", TOKENS)
def test_what_is_printed_around_a_token_is_taken_off(kind: str, around: str) -> None:
    """Found, by the rules that the quick look leaves too; redacted without a piece of it left."""
    token, finder = TOKENS[kind], privacy_finder()
    for cut in (len(token) // 2, len(token) - 9):
        text = WRAPPED[around](token[:cut], token[cut:])
        looks = finder.worth_a_look(pl.Series([json.dumps({"text": text})]))
        hits = finder.hits(text, dict(finder.suspects([0], [text], looks)).get(0, []))
        assert [hit.kind for hit in hits if hit.group == "key"] == [kind], (text, hits)
        redactor = Redactor([RedactableLine({"text": text}, False)], finder, {"key"}, RULES.marker)
        left = redactor.text(text)
        pieces = [token[at : at + SHORTEST_PIECE] for at in range(len(token) - SHORTEST_PIECE + 1)]
        assert not [piece for piece in pieces if piece in left], left
        assert "[redacted: " in left


@pytest.mark.parametrize(
    "text", ["", "plain", "a\nb", "x\r\n+y\x1b[0mz", "\\u0041%41\uff21", '"a" + "b"', "1\t2\n3\t4"]
)
def test_places_in_the_text_without_lead_back(text: str) -> None:
    undone = undo(text)
    may = pl.select(pl.lit(text).str.contains(MAY_BE_WRAPPED)).item()
    assert may or undone is None, "the quick look passes over it"
    if undone is not None:
        assert len(undone.starts) == len(undone.originals) == len(undone.lengths)
        assert all(first < second for first, second in pairwise(undone.originals))
        span = undone.span_of(0, len(undone.text))
        assert span is None or 0 <= span[0] < span[1] <= len(text)


# ---- ordinary lines


def ordinary(dice: random.Random) -> list[str]:
    """Lines of what sessions are full of, with other random values each."""

    def hexadecimal(length: int) -> str:
        return "".join(dice.choices("0123456789abcdef", k=length))

    def letters(length: int, alphabet: str = WORD) -> str:
        return "".join(dice.choices(alphabet, k=length))

    def base(length: int) -> str:
        return base64.b64encode(dice.randbytes(length)).decode()

    def uuid() -> str:
        return "-".join(hexadecimal(size) for size in (8, 4, 4, 4, 12))

    return [
        f"commit {hexadecimal(40)}",
        f"index {hexadecimal(7)}..{hexadecimal(7)} 100644",
        f"{hexadecimal(64)}  dist/app-1.2.3.tar.gz",
        f"sha256:{hexadecimal(64)}",
        f'"integrity": "sha512-{base(64)}"',
        f"--hash=sha256:{hexadecimal(64)}",
        f"toolu_{letters(24)}",
        f"call_{letters(24)}",
        f"chatcmpl-{letters(29)}",
        f"resp_{hexadecimal(48)}",
        f"file-{letters(24)}",
        f'"next_page_token": "{base(30)}"',
        f'"nextPageToken": "{letters(60)}"',
        f'"cursor": "{base(24)}"',
        f'"etag": "{hexadecimal(32)}"',
        f"request id: req_{letters(24)}",
        f"session_id={uuid()}",
        f'"id": "{uuid()}", "parentId": "{hexadecimal(8)}"',
        f"trace-id: {hexadecimal(32)}",
        f"data:image/png;base64,iVBORw0KGgo{base(300)}",
        f'"data": "/9j/4AAQSkZJRg{base(400)}"',
        f'"thinkingSignature": "{base(200)}"',
        f"https://drive.example.net/file/d/{letters(33)}/view",
        f"https://www.youtube.com/watch?v={letters(11)}",
        f"resolved https://r.example.net/lodash/-/lodash-4.17.21.tgz#{hexadecimal(40)}",
        f"docker pull app@sha256:{hexadecimal(64)}",
        f"container {hexadecimal(12)} exited",
        f"arn:aws:s3:::bucket-{hexadecimal(8)}",
        f"vpc-{hexadecimal(17)} subnet-{hexadecimal(17)}",
        f'"primary_key": "{letters(20)}"',
        f"CACHE_KEY=v1-{hexadecimal(4)}-linux",
        f"MAX_TOKENS=128000 TOKEN_COUNT={dice.randrange(10**6)}",
        f"eslint no-unused-vars src/{letters(8, string.ascii_lowercase)}.ts:12:3",
        f"task-{hexadecimal(12)} desk-{hexadecimal(8)} risk-{hexadecimal(8)}",
        f"discord message {dice.randrange(10**17, 10**18)}",
        f"twitter.com/someone/status/{dice.randrange(10**18, 10**19)}",
        f"linear issue ENG-{dice.randrange(10**4)}: {letters(12, string.ascii_lowercase)}",
        f"facebook/react@{hexadecimal(40)}",
        f"github.com/cloudflare/workers-sdk/commit/{hexadecimal(40)}",
        f"netlify deploy {hexadecimal(24)} is live",
        f"jira PROJ-{dice.randrange(10**4)} moved to done",
        f"heroku release v{dice.randrange(100)} {hexadecimal(8)}",
        f"    {dice.randrange(100)}\tconst key = items[{dice.randrange(9)}].id;",
        f"+  const token = await getToken('{letters(6, string.ascii_lowercase)}');",
        f"timestamp 17{dice.randrange(10**11)} ms",
        f"pid {dice.randrange(10**5)} {dice.random():.12f}",
    ]


def test_ordinary_lines_hold_no_key() -> None:
    """At most one of two hundred is taken for one."""
    lines = [line for seed in range(25) for line in ordinary(random.Random(seed))]
    hits = [
        (line, hit.kind)
        for line in lines
        for hit in privacy_finder().hits(line)
        if hit.group in ("key", "suspected_key")
    ]
    assert len(hits) * 200 <= len(lines), hits[:20]


def test_ordinary_sessions_hold_no_key() -> None:
    """The sample sessions in the repository, which hold none."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in SAMPLES if path.is_file()]
    assert len(texts) > 50
    lines = pl.Series([line for text in texts for line in text.split("\n")])
    worth = lines.filter(privacy_finder().worth_a_look(lines).select(pl.any_horizontal(pl.all())).to_series())
    hits = [(hit.kind, line[:80]) for line in worth for hit in privacy_finder().hits(line) if hit.group == "key"]
    assert len(hits) * 200 <= len(lines), hits[:20]


SAMPLES = sorted((Path(__file__).parents[1] / "samples").rglob("*.jsonl"))
