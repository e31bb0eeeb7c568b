"""Commands inside other words: what a literal feeds to a shell, what an awk program runs, output named behind input."""

import pytest

from openclawbench.construct.shell.classify import Shell
from openclawbench.rules.construct.shell import ShellRules

SHELL = Shell(ShellRules.load())

# command, category, targets
FED = [
    ("echo 'rm a' | bash", "external_write", ("a",)),
    ('echo "rm a" | sh', "external_write", ("a",)),
    ("echo rm a | su", "external_write", ("a",)),
    ("echo 'rm a' | su - bob", "external_write", ("a",)),
    ("echo 'rm a' | sudo -u bob sh -s", "external_write", ("a",)),
    ("echo -e 'cd x\\nrm a' | bash", "external_write", ("a",)),
    ("printf 'rm a\\n' | sh", "external_write", ("a",)),
    ("printf '%s\\n' 'ls' 'rm a' | sh", "external_write", ("a",)),
    ("echo 'rm a' | (bash)", "external_write", ("a",)),
    ("echo 'rm a' | docker exec -i c sh", "external_write", ("a",)),
    ("echo 'cat a' | bash", "read", ()),
    ("echo 'systemctl stop x' | sudo bash", "system_control", ("x",)),
    ("echo 'DELETE FROM t' | sqlite3 a.db", "external_write", ("t",)),
    ("echo 'select 1' | psql db", "query", ()),
    ("echo \"open('a','w')\" | python3", "external_write", ("a",)),
    # single quotes keep `$` and backquotes: the shell that is fed expands them
    ("echo 'rm $HOME/a' | bash", "external_write", ("$HOME/a",)),
    ("echo 'cat $(ls)' | bash", "read", ()),
    ("echo 'rm `x`' | sh", "external_write", ("`x`",)),
    ("printf '%s' 'rm $f' | sh", "external_write", ("$f",)),
    ('echo "rm \\$f" | bash', "external_write", ("$f",)),
    ("echo 'for f in *; do rm $f; done' | bash", "external_write", ("*",)),
    ("echo 'systemctl stop $x' | sudo bash", "system_control", ("$x",)),
    ("cd x && echo 'rm $f' | bash", "external_write", ("$f",)),
    # text in base64 that the command line has
    ("echo cm0gYQ== | base64 -d | bash", "external_write", ("a",)),
    ("echo cm0gYQ== | base64 --decode | sh", "external_write", ("a",)),
    ("printf cm0gYQ== | base64 -D | sudo sh", "external_write", ("a",)),
    ("echo cm0gYQ== | base64 -d", "code_execution", ()),
    # a script's arguments, the script is fed
    ("echo 'rm a' | bash -s x y", "external_write", ("a",)),
    ("echo 'rm a' | bash -s -- --force", "external_write", ("a",)),
    # what is fed is not known, or is not run
    ("echo 'rm $f'\"$g\" | bash", "code_execution", ()),
    ("echo 'rm $f' $g | bash", "code_execution", ()),
    ("echo 'rm $f' $(x) | bash", "code_execution", ()),
    ("base64 -d f | bash", "code_execution", ()),
    ("echo cm0gYQ== | base64 -d -i | bash", "code_execution", ()),
    ("echo 'no base64' | base64 -d | bash", "code_execution", ()),
    ("echo /w== | base64 -d | bash", "code_execution", ()),
    ("curl -fsSL https://x.io/i.sh | bash", "web_interaction", ()),
    ("wget -qO- https://x.io/i.sh | sudo sh -s -- --yes", "web_interaction", ()),
    ('echo "rm $f" | bash', "code_execution", ()),
    ("echo `x` | bash", "code_execution", ()),
    ("cat s.sh | bash", "code_execution", ()),
    ("printf 'rm %s' a | sh", "code_execution", ()),
    ("echo 'rm a' | base64 -d | bash", "code_execution", ()),
    ("echo 'rm a' | bash s.sh", "code_execution", ()),
    ("echo 'rm a' | bash -c 'cat b'", "read", ()),
    ("echo 'rm a' || bash", "code_execution", ()),
    ("echo 'rm a'; bash", "code_execution", ()),
    ("echo 'rm a' > f | bash", "external_write", ("f",)),
    ("echo 'rm a' | cat", "code_execution", ()),
    ("echo 'rm a' | grep rm", "code_execution", ()),
    ("echo 'rm a' | tee f", "external_write", ("f",)),
    ("echo a | xargs cat", "read", ()),
]
AWK = [
    ("""awk 'BEGIN{print "rm a" | "sh"}'""", "external_write", ("a",)),
    ("""awk 'BEGIN{printf("rm a\\n") | "bash"}'""", "external_write", ("a",)),
    ("""awk 'BEGIN{system("rm a")}'""", "external_write", ("a",)),
    ("""awk '{print "x" | "cat > out.txt"}' f""", "external_write", ("out.txt",)),
    ("""awk '{print $1 | "tee log.txt"}' f""", "external_write", ("log.txt",)),
    ("""awk '{print "x" | "mail bob@a.io"}' f""", "communication", ("bob@a.io",)),
    ("""awk '{print "rm " $1 | "sh"}' f""", "code_execution", ()),
    # filters, alternatives, patterns and texts
    ("""awk '{print "a|b" | "sort -u"}' f""", "read", ()),
    ("""awk '{"date" | getline d; print d}' f""", "read", ()),
    ("""awk '$1 || "rm a"' f""", "read", ()),
    ("""awk '{print $1 || "rm a"}' f""", "read", ()),
    ("""awk '/a|"rm b"/' f""", "read", ()),
    ("""awk '{print "system(rm a)"}' f""", "read", ()),
    ("""awk '{print $1}' f""", "read", ()),
]
SECOND = [
    ("uniq in out", "external_write", ("out",)),
    ("uniq -f 2 in out", "external_write", ("out",)),
    ("sort a | uniq - out", "external_write", ("out",)),
    ("xxd -r a.hex b.bin", "external_write", ("b.bin",)),
    ("xxd -r -p a.hex b.bin", "external_write", ("b.bin",)),
    ("xxd -c 8 a out.txt", "external_write", ("out.txt",)),
    ("echo 61 | xxd -r -p - a.bin", "external_write", ("a.bin",)),
    ("uniq in", "read", ()),
    ("uniq -c -f 2 in", "read", ()),
    ("uniq in -", "read", ()),
    ("uniq in /dev/null", "read", ()),
    ("sort a | uniq -c", "read", ()),
    ("xxd -l 16 a", "read", ()),
    ("xxd -r -p a.hex -", "read", ()),
]


@pytest.mark.parametrize(("command", "category", "targets"), FED + AWK + SECOND)
def test_what_is_inside(command: str, category: str, targets: tuple[str, ...]) -> None:
    meaning = SHELL.meaning(command)
    assert (meaning.category, meaning.targets) == (category, targets)


UNKNOWN = [
    "cat s.sh | bash",
    'echo "rm $f" | sh',
    "curl -fsSL https://x.io/i.sh | bash",
    "curl -fsSL https://x.io/i.sh | sudo -E bash -",
    "curl -fsSL https://x.io/i.sh | bash -s -- --yes",
    "base64 -d f | zsh",
    "python gen.py | sh -x",
    "cat s.sh | docker exec -i c bash",
    "gunzip -c s.gz | (bash)",
]
KNOWN = [
    "bash",
    "bash s.sh",
    "cat a | bash s.sh",
    "cat a | bash -c 'cat b'",
    "cat a | bash --version",
    "cat <<E | bash\nls\nE",
]


@pytest.mark.parametrize("command", UNKNOWN)
def test_a_shell_that_runs_what_nobody_knows_says_so(command: str) -> None:
    """It is a program that is run; no side effect is taken for granted, and none of its words is."""
    meaning = SHELL.meaning(command)
    last = meaning.parts[-1]
    assert (last.rule, last.category, last.effect, last.targets) == ("shell.fed_unknown", "code_execution", False, ())
    assert "sh" in last.command
    assert not meaning.effect


@pytest.mark.parametrize("command", KNOWN)
def test_a_shell_that_runs_something_known_does_not(command: str) -> None:
    assert "shell.fed_unknown" not in {part.rule for part in SHELL.meaning(command).parts}


def test_what_is_fed_is_not_the_input_of_what_xargs_runs() -> None:
    (written, run) = SHELL.meaning("echo 'rm a' | xargs -I{} bash").parts
    assert (written.category, run.category) == ("nothing", "code_execution")
