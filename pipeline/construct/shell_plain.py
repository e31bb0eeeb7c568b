"""The short way for shell text that is nothing but plain words: no expansion, no group, no heredoc, no file written.

Most commands of real sessions are such. What this reads is what the grammar reads (tested against it), in a third of
the time. Everything else is left to the grammar.
"""

import re

from pipeline.construct.shell_parse import Simple

# Possessive: a text that is not plain is known to be none in one pass.
WORD = r"(?:[A-Za-z0-9_./:@%+,~=*?-]++|'[^']*+'|\"[^\"$`\\!]*+\")++"
NAME = r"[A-Za-z_./~][A-Za-z0-9_./+-]*+"
NOWHERE = r"(?:[12]?>{1,2}[ ]?/dev/null|2>&1)(?=[ \t;|]|$)"
COMMAND = rf"{NAME}(?>[ \t]++{WORD}(?!>))*+(?>[ \t]++{NOWHERE})*+"
OPERATOR = r"[ \t]*+(?:&&|\|\||[|;])[ \t]*+"
TOKEN = re.compile(rf"{NOWHERE}|{WORD}|&&|\|\||[|;]")
OPERATORS = frozenset({"&&", "||", "|", ";"})
PLAIN = re.compile(rf"[ \t]*+{COMMAND}(?>{OPERATOR}{COMMAND})*+[ \t]*+;?[ \t\n]*+")
QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
# Words that begin something else than a simple command.
RESERVED = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select"),
        *("function", "time", "coproc", "export", "declare", "typeset", "readonly", "local", "unset", "unsetenv"),
    }
)


def read_plain(text: str) -> list[Simple] | None:
    """The simple commands of a plain text in order; None where the grammar has to read it."""
    if PLAIN.fullmatch(text) is None:
        return None
    commands: list[list[str]] = [[]]
    operators: list[str] = []
    for token in TOKEN.findall(text):
        if token in OPERATORS:
            operators.append(token)
            commands.append([])
        elif token[0] != ">" and (token[0] not in "12" or token[1:2] != ">"):  # output that goes nowhere is passed over
            commands[-1].append(token)
    if not commands[-1]:
        commands.pop()
        operators.pop()
    if any(words[0] in RESERVED for words in commands):
        return None
    if "'" in text or '"' in text:
        commands = [list(map(bare, words)) for words in commands]
    piped = [False, *(operator == "|" for operator in operators)]
    several = zip(commands, piped, ends(operators), strict=False)
    return [Simple(tuple(words), fed, None, (), may_exit) for words, fed, may_exit in several]


def bare(word: str) -> str:
    """A word without its quotes."""
    return QUOTED.sub(lambda hit: hit[1] or hit[2] or "", word) if "'" in word or '"' in word else word


def ends(operators: list[str]) -> list[bool]:
    """Of each command, whether the exit code may be its own: it ends its pipeline, and no more than `&&` follows."""
    found = [True]
    chained = True
    for operator in reversed(operators):
        chained = chained and operator in ("&&", "|")
        found.append(chained and operator != "|")
    return found[::-1]
