"""In which language a text is, on made-up sentences; and the words that fire a flag in each language that has words."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from describe_steps import FLAGS, LANGUAGES, apart, call, reply

from openclawbench.construct.describe.language import detect_languages
from openclawbench.errors import InvalidRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.construct.language import LanguageRules
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.loading.own_folder import OVERRIDE
from openclawbench.rules.loading.rule_file import rule_path

FOLDER = Path(__file__).parents[1] / "golden" / "languages"
ANY = {"uncertainty", "hedge", "capability_gap"}


def rows(name: str) -> list[list[str]]:
    """Lines of a labelled list, their cells apart."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [[cell.replace("\\n", "\n") for cell in line.split("\t")] for line in lines]


SENTENCES = rows("sentences.tsv")


def languages_of(*texts: str) -> list[tuple[str | None, str]]:
    """Language and coverage of each text."""
    result = detect_languages(pl.Series(texts, dtype=pl.String), LANGUAGES).rows_by_key("text", named=True, unique=True)
    return [(result[text]["language"], result[text]["coverage"]) for text in texts]


def test_sentences_are_told_or_unsure() -> None:
    count: Counter[str] = Counter()
    for (language, length, _), (result, _) in zip(
        SENTENCES, languages_of(*(text for *_, text in SENTENCES)), strict=True
    ):
        wanted = None if language == "-" else language
        if length in ("short", "medium"):
            count["right" if result == wanted else "unsure" if result is None else "wrong"] += 1
    assert count["wrong"] == 0
    assert count["unsure"] <= 5, count
    assert {language for language, *_ in SENTENCES} >= {*LANGUAGES.covered, "pl", "tr", "ko", "ar", "it", "nl", "vi"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (None, "no_words")),
        ("42", (None, "no_words")),
        ("```bash\nthe and of that with\n```", (None, "no_words")),
        ("see_this_name /srv/the/data.txt https://example.org/the/and", (None, "no_words")),
        ("Qwx zzv.", (None, "unsure")),
        ("The report is ready.\n```python\nder = die + das\n```\n", ("en", "covered")),
        ("Das steht schon in `the_file.md`.", ("de", "covered")),
        ("これは test です。", ("ja", "covered")),
        ("運行 npm test 之後全部通過了。", ("zh", "covered")),
        ("Raport jest już gotowy, ale jeszcze go nie sprawdziłem.", ("pl", "uncovered")),
        ("보고서가 준비되었습니다.", ("ko", "uncovered")),
    ],
)
def test_what_is_no_language_is_left_out(text: str, expected: tuple[str | None, str]) -> None:
    assert languages_of(text) == [expected]


def test_long_texts_are_told_by_their_ends() -> None:
    middle = "Der Bericht ist fertig und liegt im Ordner. " * 400
    assert languages_of("The report is ready. " * 200 + middle + "It is in the folder. " * 200) == [("en", "covered")]


def test_each_text_of_a_step_has_its_language() -> None:
    step = call(
        "read", {"path": "a"}, "x", thinking="I should look at the file first.", narration="Je regarde le fichier."
    )
    (result, other) = apart(step, reply("Nie wiem jeszcze, co to jest, ale sprawdzę to."))
    assert [(language["field"], language["language"]) for language in result["languages"]] == [
        ("thinking", "en"),
        ("narration", "fr"),
    ]
    assert other["languages"] == [{"field": "action_text", "language": "pl", "coverage": "uncovered"}]
    assert apart(call("read", {"path": "a"}, "x"))[0]["languages"] == []


@pytest.mark.parametrize("language", LANGUAGES.covered)
def test_words_fire_flags_in_each_language(language: str) -> None:
    cases = [(flag, text) for code, flag, text in rows("flags.tsv") if code == language]
    assert len(cases) >= 10
    for (flag, text), row in zip(cases, apart(*(reply(text) for _, text in cases)), strict=True):
        auto_flags = ANY & set(row["auto_flags"])
        assert (flag in auto_flags) if flag != "-" else not auto_flags, (text, auto_flags)


def test_a_text_is_searched_in_its_own_language_alone() -> None:
    german_with_a_french_word, french = apart(
        reply("Das Wort peut-être steht in der zweiten Zeile der Datei."), reply("C'est peut-être dans le fichier.")
    )
    assert german_with_a_french_word["auto_flags"] == []
    assert french["auto_flags"] == ["hedge"]


@pytest.mark.parametrize("kind", [FlagRules, JudgeRules])
def test_no_language_is_covered_without_words(
    kind: type[FlagRules] | type[JudgeRules], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = rule_path(LanguageRules.FILE).read_text("utf-8").replace('covered = ["en"', 'covered = ["it", "en"')
    (tmp_path / LanguageRules.FILE).write_text(text, "utf-8")
    monkeypatch.setenv(OVERRIDE, str(tmp_path))
    with pytest.raises(InvalidRules, match=r"language\.toml says that it is covered"):
        kind.load()


def test_a_covered_language_can_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = rule_path(LanguageRules.FILE).read_text("utf-8").replace('covered = ["en"', 'covered = ["qq", "en"')
    (tmp_path / LanguageRules.FILE).write_text(text, "utf-8")
    monkeypatch.setenv(OVERRIDE, str(tmp_path))
    with pytest.raises(InvalidRules, match='"qq" is not one of'):
        LanguageRules.load()


def test_every_text_flag_has_words_in_every_covered_language() -> None:
    for language in LANGUAGES.covered:
        assert {rule.flag for rule in FLAGS.texts if rule.language == language} == ANY
