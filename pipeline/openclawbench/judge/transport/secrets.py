"""Keys in responses of an endpoint: they reach no file and no screen, and removing them changes no answer.

Some servers repeat the key of a request. A long key of many different characters is in no text by chance: it is removed
from everything that is kept or shown. A short or plain one ("test", "EMPTY", "none") may be part of an answer, and
removing it would change the answer: it is only removed from what is shown, and only as a whole word.
"""

import json
import re
from collections.abc import Iterable

from openclawbench.rules.judge.asking import SecretRules

IN_PLACE = b"[key]"
WORD = rb"[A-Za-z0-9_-]"


class Secrets:
    """The keys of a run."""

    def __init__(self, values: Iterable[str], rules: SecretRules) -> None:
        secrets = {value for value in values if value}
        strong = [value for value in secrets if is_strong(value, rules)]
        self.strong = pattern(strong)
        self.any = pattern(strong, secrets - set(strong))

    def storable(self, body: bytes) -> bytes:
        """A body as it may be stored: verbatim, without keys that cannot be in it by chance."""
        return self.strong.sub(IN_PLACE, body) if self.strong else body

    def are_in(self, content: bytes) -> bool:
        """True if a key stands there that is in no text by chance."""
        return self.strong is not None and self.strong.search(content) is not None

    def shown(self, words: bytes) -> bytes:
        """Words as they may be shown: without any key."""
        return self.any.sub(IN_PLACE, words) if self.any else words

    def shown_text(self, words: str) -> str:
        """The same for text."""
        return self.shown(words.encode("utf-8", "backslashreplace")).decode() if self.any else words


def is_strong(value: str, rules: SecretRules) -> bool:
    """True for a key that is in no text by chance."""
    return len(value) >= rules.least_characters and len(set(value)) >= rules.least_different


def pattern(anywhere: Iterable[str], words: Iterable[str] = ()) -> re.Pattern[bytes] | None:
    """A pattern of these values, the second ones as whole words; None if there are no values."""
    forms: list[bytes] = [form for value in anywhere for form in written_forms(value)]
    forms += [rb"(?<!%b)%b(?!%b)" % (WORD, form, WORD) for value in words for form in written_forms(value)]
    forms.sort(key=len, reverse=True)
    return re.compile(b"|".join(forms)) if forms else None


def written_forms(value: str) -> set[bytes]:
    """The forms of a value: as it is, and as in JSON strings."""
    return {
        re.escape(form.encode())
        for form in (value, json.dumps(value)[1:-1], json.dumps(value)[1:-1].replace("/", "\\/"))
    }


NONE = Secrets((), SecretRules(least_characters=1, least_different=1))
