"""Which of many plain texts a text holds: what a rule's pattern always finds is looked for first, all of it at once."""

import re
from collections.abc import Iterable


class PlainTexts:
    """Finds plain texts. Those that begin with a capital letter or a sign are searched as one pattern, which passes
    over running text; one that begins as most words do, or is a single character, is faster by itself."""

    def __init__(self, texts: Iterable[str]) -> None:
        every = sorted(
            {text for text in texts if text}, key=len, reverse=True
        )  # the longest first, of those at a place
        together = [text for text in every if len(text) > 1 and not (text[0].islower() or text[0] in " ,")]
        self.alone = [text for text in every if text not in together]
        self.pattern = re.compile("|".join(map(re.escape, together)) or "(?!)")
        self.within = {text: [other for other in together if text.startswith(other)] for text in together}

    def held_by(self, text: str) -> set[str]:
        """Those that a text holds, and the empty text."""
        held = {"", *(plain for plain in self.alone if plain in text)}
        match = self.pattern.search(text)
        while match is not None:
            held.update(self.within[match[0]])
            match = self.pattern.search(text, match.start() + 1)
        return held
