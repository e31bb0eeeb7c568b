"""Keys in what an endpoint sends back: they reach no file and no screen, and no answer is changed for a key's sake.

Some servers repeat the key of a request. A key that is long and of many characters stands in no text by chance: it is
taken out of whatever is kept or shown. A short or plain one ("test", "EMPTY", "none") may well stand in an answer, and
taking it out would change the answer: it is taken out of what is shown alone, where it stands as a whole word.
"""

import json
import re
from collections.abc import Iterable

from openclawbench.rules.asking import SecretRules

IN_PLACE = b"[key]"
WORD = rb"[A-Za-z0-9_-]"


class Secrets:
    """The keys of a run."""

    def __init__(self, values: Iterable[str], rules: SecretRules) -> None:
        secrets = {value for value in values if value}
        strong = [value for value in secrets if is_strong(value, rules)]
        self.strong = pattern(strong)
        self.any = pattern(strong, secrets - set(strong))

    def kept(self, body: bytes) -> bytes:
        """A body as it may be kept: verbatim, but for a key that cannot stand in it by chance."""
        return self.strong.sub(IN_PLACE, body) if self.strong else body

    def shown(self, words: bytes) -> bytes:
        """Words as they may be shown: without any key."""
        return self.any.sub(IN_PLACE, words) if self.any else words

    def shown_text(self, words: str) -> str:
        """The same of text."""
        return self.shown(words.encode("utf-8", "backslashreplace")).decode() if self.any else words


def is_strong(value: str, rules: SecretRules) -> bool:
    """True for a key that stands in no text by chance."""
    return len(value) >= rules.least_characters and len(set(value)) >= rules.least_different


def pattern(anywhere: Iterable[str], words: Iterable[str] = ()) -> re.Pattern[bytes] | None:
    """What finds these values, the second ones as whole words; null where there is none."""
    forms: list[bytes] = [form for value in anywhere for form in written(value)]
    forms += [rb"(?<!%b)%b(?!%b)" % (WORD, form, WORD) for value in words for form in written(value)]
    forms.sort(key=len, reverse=True)
    return re.compile(b"|".join(forms)) if forms else None


def written(value: str) -> set[bytes]:
    """How a value may be written: as it is, and as JSON strings write it."""
    return {
        re.escape(form.encode())
        for form in (value, json.dumps(value)[1:-1], json.dumps(value)[1:-1].replace("/", "\\/"))
    }


NONE = Secrets((), SecretRules(least_characters=1, least_different=1))
