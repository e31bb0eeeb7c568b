"""The short way for plain shell text reads what the grammar reads."""

from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.construct.shell_parse import Simple, read_shell
from pipeline.construct.shell_plain import read_plain

WORDS = [
    "ls",
    "-la",
    "a.txt",
    "--name=x",
    "src/*.py",
    "git",
    "'b c'",
    '"d e"',
    "'a'b\"c\"",
    "x=1",
    "80",
    "~/a",
    "if",
    "''",
]
WORDS += [
    "time",
    "export",
    "a,b",
    "user@host:/p",
    "+x",
    "100%",
    "$x",
    "[",
    "{}",
    "!",
    "#",
    "\\;",
    "&",
    "a&b",
    "<",
    "in",
    "?",
]
NOWHERE = ["2>/dev/null", ">/dev/null", "> /dev/null", "2>&1", "&>/dev/null"]
OPERATORS = [" && ", " || ", " | ", "; ", ";", "|", "&&", " ; ; ", "\n"]
piece = st.one_of(*(st.sampled_from(one) for one in (WORDS, WORDS, WORDS, NOWHERE)))
command = st.lists(piece, min_size=1, max_size=4).map(" ".join)
text = st.tuples(command, st.lists(st.tuples(st.sampled_from(OPERATORS), command), max_size=4)).map(
    lambda drawn: drawn[0] + "".join(operator + one for operator, one in drawn[1])
)


def by_grammar(text: str) -> list[Simple]:
    """What the grammar reads, without output that goes nowhere."""
    found = [
        one._replace(writes=tuple(to for to in one.writes if to != "/dev/null")) for one in read_shell(text).simples
    ]
    return [one for one in found if one.words or one.writes]


@given(text)
@example("cd a && npm test 2>&1 | tail -5")
@example("a | b && c || d; e")
@example("ls ;")
@example(" ls\n")
def test_plain_text_is_read_as_the_grammar_reads_it(text: str) -> None:
    plain = read_plain(text)
    if plain is None:
        return
    read = read_shell(text)
    assert not read.broken
    expected = by_grammar(text)
    if ">" in text:  # the grammar nests what stands in front of `2>&1 |` into the pipeline; the shell does not
        plain, expected = ([one._replace(may_exit=False) for one in found] for found in (plain, expected))
    assert plain == expected


def test_most_commands_are_plain_and_what_is_not_is_left_to_the_grammar() -> None:
    for one in ["ls -la", "cd 'a b' && git status", 'grep -rn "x y" src | head -5', "npm test 2>&1 | tail", "ls;"]:
        assert read_plain(one) is not None, one
    for one in [
        "ls > a",
        "echo $x",
        "a=1 b",
        "if a; then b; fi",
        "ls &",
        "x <<E\nE",
        "a `b`",
        'echo "$x"',
        "ls\npwd",
        "",
        "|",
    ]:
        assert read_plain(one) is None, one


def test_a_long_text_that_is_not_plain_is_known_at_once() -> None:
    assert read_plain("a" * 100_000 + " " + "b " * 50_000 + "$") is None
    assert read_plain("'a'" * 50_000 + "$") is None
