"""The short way for plain shell text reads what the grammar reads."""

from hypothesis import example, given
from hypothesis import strategies as st

from openclawbench.construct.shell.parse import SimpleCommand, parse_shell
from openclawbench.construct.shell.parse_plain import parse_plain_text

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
    "'$y'",
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
piece = st.one_of(*(st.sampled_from(entry) for entry in (WORDS, WORDS, WORDS, NOWHERE)))
command = st.lists(piece, min_size=1, max_size=4).map(" ".join)
text = st.tuples(command, st.lists(st.tuples(st.sampled_from(OPERATORS), command), max_size=4)).map(
    lambda drawn: drawn[0] + "".join(operator + entry for operator, entry in drawn[1])
)


def by_grammar(text: str) -> list[SimpleCommand]:
    """What the grammar reads, without output that goes nowhere."""
    result = [
        simple._replace(writes=tuple(to for to in simple.writes if to != "/dev/null"))
        for simple in parse_shell(text).simples
    ]
    return [entry for entry in result if entry.words or entry.writes]


@given(text)
@example("cd a && npm test 2>&1 | tail -5")
@example("a | b && c || d; e")
@example("ls ;")
@example(" ls\n")
def test_plain_text_is_read_as_the_grammar_reads_it(text: str) -> None:
    plain = parse_plain_text(text)
    if plain is None:
        return
    read = parse_shell(text)
    assert not read.broken
    expected = by_grammar(text)
    if ">" in text:  # the grammar nests what stands in front of `2>&1 |` into the pipeline; the shell does not
        plain, expected = ([entry._replace(may_exit=False) for entry in result] for result in (plain, expected))
    assert plain == expected


FILES = [
    *(" > f", " >> 'a b'", ">f", " 2>&1", " > f 2>&1", " 2> /dev/null", " > ~/a=1"),
    *(" > $x", " > f g", " &> f", " < f"),
]
BODIES = [
    *("x", "x\n y", "x\n\ny\n", "rm a \\\nb", "'", '"', "x\r", "é\u2028"),
    *("", "\n", " x", "$x `y`", "EOF x", "x EOF", "("),
]
HEREDOCS = [" <<EOF{}\n{}\nEOF", " <<'EOF'{}\n{}\nEOF\n", ' << "EOF"{}\n{}\nEOF \n\n', " - <<'EOF'{}\n{}\nEOF"]
files = st.sampled_from(["", "", "", *FILES])
body = st.one_of(st.sampled_from(BODIES), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
heredoc = st.builds(str.format, st.sampled_from(HEREDOCS), files, body)
name = st.sampled_from(["cat", "a.sh", "python3", "./b", "time"])
words = st.lists(
    st.sampled_from([" -la", " - a", " 'b c'", " '`y`'", ' "d"', " x=1", " 2", " if", " '-'"]), max_size=2
).map("".join)
simple_command = st.tuples(name, words, files, st.one_of(st.sampled_from(["", ";", "\n"]), heredoc)).map("".join)


@given(simple_command)
@example("cat > f <<'EOF'\nx\nEOF")
@example("python3 - <<'EOF'\nx\nEOF\n")
@example("cat <<'EOF' >> 'a b' 2>&1\nx $y\nEOF")
@example("cat <<'EOF'\nx\nEOFX\nEOF")
def test_one_command_with_files_and_a_heredoc_is_read_as_the_grammar_reads_it(text: str) -> None:
    plain = parse_plain_text(text)
    if plain is None:
        return
    read = parse_shell(text)
    assert not read.broken
    assert by_grammar(text) == [
        entry._replace(writes=tuple(to for to in entry.writes if to != "/dev/null")) for entry in plain
    ]


def test_most_commands_are_plain_and_what_is_not_is_left_to_the_grammar() -> None:
    for entry in ["ls -la", "cd 'a b' && git status", 'grep -rn "x y" src | head -5', "npm test 2>&1 | tail", "ls;"]:
        assert parse_plain_text(entry) is not None, entry
    for entry in ["echo 'a b' >> f", "make > log 2>&1", "cat > f <<'EOF'\n$x\nEOF\n", "python3 - <<PY\nprint(1)\nPY"]:
        assert parse_plain_text(entry) is not None, entry
    for entry in [
        "ls && pwd > a",
        "cat <<E\n$(x)\nE",
        "cat <<'E'\nx\nE\nls",
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
        assert parse_plain_text(entry) is None, entry


def test_a_long_text_that_is_not_plain_is_known_at_once() -> None:
    assert parse_plain_text("a" * 100_000 + " " + "b " * 50_000 + "$") is None
    assert parse_plain_text("'a'" * 50_000 + "$") is None
    assert parse_plain_text("a" + " > b" * 50_000 + "$") is None
    assert parse_plain_text("a <<'E'\n" + "b\n" * 50_000) is None
