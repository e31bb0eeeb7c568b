"""Loader of language.toml: how the language of a text is recognized, and which languages have word lists."""

import re
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from openclawbench.rules.loading.patterns import RustPattern
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import Unfit, each_of, each_once
from openclawbench.tables.record import Record

CODE = re.compile(r"[a-z]{2,3}")


def language_code(code: str) -> str:
    """A language by its ISO 639 code."""
    if not CODE.fullmatch(code):
        raise Unfit(f'"{code}" is not a language code of two or three letters (ISO 639)', code)
    return code


LanguageCode = Annotated[str, AfterValidator(language_code)]


class Script(Record):
    """The letters of a script, and its language where the letters alone decide."""

    name: str
    letters: str
    language: LanguageCode | None = None
    letters_per_word: int = Field(default=1, ge=1)
    takes_in: str | None = None
    takes_in_from: float = Field(default=0, ge=0, le=1)


class Language(Record):
    """Words, in lower case, and letters or endings that a language has and most others have not."""

    code: LanguageCode
    hint_pattern: RustPattern | None = None
    words: list[str] = Field(default_factory=list)  # several in each text, between blanks


class RecognitionRules(Record):
    """When a language counts as recognized."""

    points: int = Field(ge=1)
    hint_points: int = Field(ge=0)
    least: int = Field(ge=1)
    least_share: float = Field(ge=0, le=1)
    lead: float = Field(ge=0, le=1)


class LanguageRules(Rules):
    """How the language of a text is recognized."""

    FILE: ClassVar[str] = "language.toml"
    covered: list[LanguageCode]
    left_out_pattern: RustPattern
    beginning: int = Field(ge=1)
    end: int = Field(ge=0)
    told: RecognitionRules
    scripts: list[Script] = Field(alias="script")
    languages: list[Language] = Field(alias="language")

    @model_validator(mode="after")
    def names_fit(self) -> Self:
        """Every name occurs once, and every covered language can be recognized."""
        each_once((script.name for script in self.scripts), "a script stands once", "name")
        each_once((language.code for language in self.languages), "a language stands once", "code")
        each_once(self.covered, "a language is covered once", "covered")
        by_script = [script.language for script in self.scripts if script.language]
        each_of(self.covered, [*by_script, *(language.code for language in self.languages)])
        each_of(
            (script.takes_in for script in self.scripts if script.takes_in), [script.name for script in self.scripts]
        )
        return self

    @property
    def word(self) -> str:
        """A pattern of one word: letters of one script."""
        return "|".join(f"[{script.letters}]+" for script in self.scripts)

    def known_words(self) -> dict[str, list[str]]:
        """Word -> the languages that have it."""
        known_words: dict[str, list[str]] = {}
        for language in self.languages:
            for word in " ".join(language.words).split():
                known_words.setdefault(word, []).append(language.code)
        return known_words
