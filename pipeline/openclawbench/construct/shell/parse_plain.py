"""A fast path for shell text of plain words: no expansion, no group, no loop.

Most commands of real sessions are of this kind. Many others are one command with its output in a file, or its input
from a heredoc. The result is that of the grammar (a test compares them), in a quarter of the time. All other text is
left to the grammar.
"""

import re

from openclawbench.construct.shell.parse import SimpleCommand

# Possessive: one pass decides that a text is not plain.
WORD = r"(?:[A-Za-z0-9_./:@%+,~=*?-]++|'[^']*+'|\"[^\"$`\\!]*+\")++"
NAME = r"[A-Za-z_./~][A-Za-z0-9_./+-]*+"
LINE = rf"{NAME}(?>[ \t]++{WORD}(?!>))*+"
NOWHERE = r"(?:[12]?>{1,2}[ ]?/dev/null|2>&1)(?=[ \t;|]|$)"
OPERATOR = r"(?:&&|\|\||[|;])"
COMMAND = rf"{LINE}(?>[ \t]++{NOWHERE})*+"
FIRST = rf"[ \t]*+({LINE})(?>[ \t]++{NOWHERE})*+"
PLAIN = re.compile(rf"{FIRST}((?>[ \t]*+{OPERATOR}[ \t]*+{COMMAND})*+)[ \t]*+;?[ \t\n]*+")
PIECE = re.compile(rf"({LINE})(?>[ \t]++{NOWHERE})*+[ \t]*+({OPERATOR}?)")
FILES = rf"(?>[ \t]*+(?:2>&1(?![0-9])|[12]?>{{1,2}}[ \t]*+{WORD}))*+"
HEREDOC = (
    rf"<<[ \t]*+(?P<quote>['\"]?)(?P<end>[A-Za-z_][A-Za-z0-9_]*+)(?P=quote)(?P<behind>(?>[ \t]++{FILES})?+)[ \t]*+\n"
)
ONE = re.compile(rf"[ \t]*+(?P<line>{LINE})(?P<files>{FILES})[ \t]*+(?:{HEREDOC}|;?[ \t\n]*+\Z)")
WORDS = re.compile(WORD)
FILE = re.compile(rf">[ \t]*+({WORD})")
BODY = re.compile(r"[^\s\\\0][^\0]*+")  # the grammar passes over blanks in front
QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
QUOTES = frozenset("'\"")
EXPANDED = frozenset("$`\\")
# Words that begin something else than a simple command.
RESERVED = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select"),
        *("function", "time", "coproc", "export", "declare", "typeset", "readonly", "local", "unset", "unsetenv"),
    }
)


def parse_plain_text(text: str) -> list[SimpleCommand] | None:
    """The simple commands of a plain text in order; None where the grammar has to read it."""
    hit = PLAIN.fullmatch(text)
    if hit is None:
        return read_one(text) if ">" in text or "<" in text else None
    line, more = hit.groups()
    if not more:
        words = words_of(line)
        return None if words[0] in RESERVED else [SimpleCommand(tuple(words), False, None, (), True, as_it_is(line))]
    written = as_it_is(text)
    pieces = PIECE.findall(text)
    may_exit = ends([operator for _, operator in pieces[:-1]])
    plain_text = []
    before = ""
    for (line, operator), last in zip(pieces, may_exit, strict=True):
        words = words_of(line)
        if words[0] in RESERVED:
            return None
        plain_text.append(SimpleCommand(tuple(words), before == "|", None, (), last, written and as_it_is(line)))
        before = operator
    return plain_text


def read_one(text: str) -> list[SimpleCommand] | None:
    """A plain command whose output goes to files or that a heredoc feeds; None where the grammar has to read it."""
    hit = ONE.match(text)
    if hit is None:
        return None
    line, files, end, stdin = hit["line"], hit["files"], hit["end"], None
    if end is not None:
        stdin = heredoc(text[hit.end() :], end, expanded=not hit["quote"])
        if stdin is None or (files and hit["behind"]):
            return None
        if not files:
            line, files = line.removesuffix(" -"), hit["behind"]  # the grammar takes `-` in front of << for no word
    words = words_of(line)
    if words[0] in RESERVED or words[-1] == "-":
        return None
    return [SimpleCommand(tuple(words), False, stdin, tuple(map(bare, FILE.findall(files))), True, as_it_is(line))]


def heredoc(rest: str, end: str, *, expanded: bool) -> str | None:
    """The heredoc that is all that follows; None where it may be something else."""
    body, newline, last = rest.rstrip(" \t\n").rpartition("\n")
    if last != end or not newline or BODY.fullmatch(body) is None or end in body:
        return None
    return None if expanded and not EXPANDED.isdisjoint(body) else body + newline


def words_of(line: str) -> list[str]:
    """The words of a plain command without their quotes."""
    if "'" not in line and '"' not in line:
        return line.split()
    return [bare(word) if "'" in word or '"' in word else word for word in WORDS.findall(line)]


def as_it_is(line: str) -> bool:
    """True if a plain command has a `$` or a backquote: in single quotes, or it would not be plain."""
    return "$" in line or "`" in line


def bare(word: str) -> str:
    """A word without its quotes."""
    if word[0] in QUOTES and word.find(word[0], 1) == len(word) - 1:
        return word[1:-1]
    return QUOTED.sub(lambda hit: hit[1] or hit[2] or "", word)


def ends(operators: list[str]) -> list[bool]:
    """Of each command, whether the exit code may be its own: it ends its pipeline, and no more than `&&` follows."""
    is_end = [True]
    chained = True
    for operator in reversed(operators):
        chained = chained and operator in ("&&", "|")
        is_end.append(chained and operator != "|")
    return is_end[::-1]
