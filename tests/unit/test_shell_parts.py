"""Shell constructions: every part is kept with its rule, the most consequential one names the whole."""

import pytest

from openclawbench.construct.shell.classify import Shell
from openclawbench.rules.construct.shell import ShellRules

SHELL = Shell(ShellRules.load())
NOTHING = SHELL.rules.nothing

# command -> its parts as (category, command), and the category that they make
CONSTRUCTIONS = [
    ("a pipeline", "cat a | grep x | wc -l", ["read cat a", "nothing grep x", "nothing wc -l"], "read"),
    ("and", "git add . && git status", ["external_write git add .", "inspect git status"], "external_write"),
    ("or", "ls a || mkdir a", ["inspect ls a", "external_write mkdir a"], "external_write"),
    ("in a row", "ls; rm a; cat b", ["inspect ls", "external_write rm a", "read cat b"], "external_write"),
    ("lines", "ls\ncat a\n", ["inspect ls", "read cat a"], "read"),
    ("a subshell", "(cd a && rm b)", ["nothing cd a", "external_write rm b"], "external_write"),
    ("a group", "{ ls; kill 1; }", ["inspect ls", "system_control kill 1"], "system_control"),
    ("a substitution", 'echo "$(cat a)"', ["read cat a", "nothing echo $(cat a)"], "read"),
    ("backticks", "x=`rm a`", ["external_write rm a"], "external_write"),
    ("a process substitution", "diff <(ls a) b", ["inspect ls a", "inspect diff <(ls a) b"], "inspect"),
    ("a loop", "for f in a b; do rm $f; done", ["external_write rm $f"], "external_write"),
    ("a condition", "if [ -f a ]; then cat a; fi", ["inspect [[ -f a", "read cat a"], "read"),
    ("a function", "f() { rm a; }; f", ["external_write rm a", "code_execution f"], "external_write"),
    ("in the background", "sleep 1 & kill 2", ["nothing sleep 1", "system_control kill 2"], "system_control"),
    ("output to a file", "ls > a", ["external_write > a", "inspect ls"], "external_write"),
    ("output appended", "ls >> a 2>&1", ["external_write > a", "inspect ls"], "external_write"),
    ("output to nowhere", "ls > /dev/null 2>&1", ["inspect ls"], "inspect"),
    ("errors to a file", "make 2> log", ["external_write > log", "code_execution make"], "external_write"),
    ("both to a file", "make &> log", ["external_write > log", "code_execution make"], "external_write"),
    ("output of a group", "{ ls; pwd; } > a", ["inspect ls", "inspect pwd", "external_write > a"], "external_write"),
    ("a heredoc to a file", "cat > a <<'EOF'\nrm b\nEOF", ["external_write > a", "nothing cat"], "external_write"),
    ("a heredoc to a shell", "bash <<'EOF'\nrm b\nEOF", ["external_write rm b"], "external_write"),
    ("a heredoc to a program", "python3 <<'EOF'\nprint(1)\nEOF", ["code_execution python"], "code_execution"),
    ("a here-string", "grep x <<< text", ["nothing grep x"], "code_execution"),
    ("tee", "ls | tee a", ["inspect ls", "external_write tee a"], "external_write"),
    ("sudo", "sudo -u root rm a", ["external_write rm a"], "external_write"),
    ("env with settings", "env X=1 Y=2 cat a", ["read cat a"], "read"),
    ("settings in front", "X=1 cat a", ["read cat a"], "read"),
    ("a shell's text", "bash -lc 'cat a && rm b'", ["read cat a", "external_write rm b"], "external_write"),
    ("text in text", """sh -c "bash -c 'rm a'" """, ["external_write rm a"], "external_write"),
    ("xargs", "ls | xargs -n1 rm -f", ["inspect ls", "external_write rm -f"], "external_write"),
    ("find -exec", "find . -exec rm {} +", ["query find . -exec rm {} +", "external_write rm {}"], "external_write"),
    ("find -exec to ;", "find . -exec cat {} \\;", ["query find . -exec cat {} ;", "read cat {}"], "query"),
    ("python -c", "python3 -c 'print(1)'", ["code_execution python -c print(1)"], "code_execution"),
    ("python writing", "python3 -c \"open('a','w')\"", ["external_write python -c open('a','w')"], "external_write"),
    ("node -e", "node -e 'console.log(1)'", ["code_execution node -e console.log(1)"], "code_execution"),
    ("timeout", "timeout 5 cat a", ["read cat a"], "read"),
    ("timeout with options", "timeout -k 1 -s KILL 5s rm a", ["external_write rm a"], "external_write"),
    ("nohup", "nohup node x.js > log 2>&1 &", ["external_write > log", "code_execution node x.js"], "external_write"),
    ("a folder first", "cd a && rm b", ["nothing cd a", "external_write rm b"], "external_write"),
    ("another machine", "ssh h 'cat a'", ["read cat a"], "read"),
    ("a container", "docker exec c rm a", ["external_write rm a"], "external_write"),
    ("eval", "eval 'rm a'", ["external_write rm a"], "external_write"),
    ("flock", "flock /tmp/l rm a", ["external_write rm a"], "external_write"),
    ("flock with text", "flock /tmp/l -c 'rm a; ls'", ["external_write rm a", "inspect ls"], "external_write"),
    ("uv run", "uv run pytest -q", ["code_execution pytest -q"], "code_execution"),
    ("a comment", "ls # rm a", ["inspect ls"], "inspect"),
    ("quoted text", "echo 'rm a; kill 1'", ["nothing echo rm a; kill 1"], "code_execution"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "parts", "category"), [construction[1:] for construction in CONSTRUCTIONS],
                         ids=[construction[0] for construction in CONSTRUCTIONS])  # fmt: skip
def test_construction(command: str, parts: list[str], category: str) -> None:
    meaning = SHELL.meaning(command)
    assert [f"{part.category} {part.command}" for part in meaning.parts] == parts
    assert meaning.category == category
    assert all(part.rule for part in meaning.parts)


BY_WORDS, BROKEN, RECOVERED = "shell.powershell_by_words", "shell.broken_by_words", "shell.broken_recovered"
NOT_SHELL = [
    ("Get-ChildItem -Recurse | Where-Object { $_.Length -gt 1mb } | Remove-Item", BY_WORDS, "external_write", ()),
    ("$text = Get-Content a.txt; $text -replace 'a', 'b' | Set-Content b.txt", BY_WORDS, "external_write", ("b.txt",)),
    ("Get-Content a.txt -Tail 5", BY_WORDS, "read", ()),
    ("Get-Process node | Stop-Process", BY_WORDS, "system_control", ()),
    ("if (Test-Path x) { Remove-Item x }", BY_WORDS, "external_write", ("x",)),
    ('Write-Host "Remove-Item x"', BY_WORDS, "code_execution", ()),
    ("[System.IO.File]::WriteAllText('a.txt', 'b')", BY_WORDS, "external_write", ("a.txt",)),
    ("dir C:\\Users | Out-File -FilePath l.txt", BY_WORDS, "external_write", ("l.txt",)),
    ("Get-Content a > b.txt", BY_WORDS, "external_write", ("b.txt",)),
    ("@'\nrm x\n'@ | Set-Content a", BY_WORDS, "external_write", ("a",)),
    ("$env:PATH", BY_WORDS, "environment_check", ()),
    ("$PSVersionTable.PSVersion", BY_WORDS, "environment_check", ()),
    ("Invoke-RestMethod -Uri https://a.io/x -Method POST -Body $b", BY_WORDS, "web_interaction", ("https://a.io/x",)),
    ("Get-Date # Remove-Item x", BY_WORDS, "environment_check", ()),
    ("((((((", BROKEN, "code_execution", ()),
    ("rm x; echo 'never closed", RECOVERED, "external_write", ("x",)),
    ("for f in a; do rm $f", RECOVERED, "external_write", ("$f",)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "category", "targets"), NOT_SHELL, ids=[entry[0][:30] for entry in NOT_SHELL])
def test_what_the_grammar_cannot_read(text: str, rule: str, category: str, targets: tuple[str, ...]) -> None:
    meaning = SHELL.meaning(text)
    assert (meaning.parts[0].category, meaning.parts[0].rule, meaning.parts[0].command) == (NOTHING, rule, "")
    assert meaning.category == category
    assert set(targets) <= set(meaning.targets)


def test_a_tool_that_takes_powershell_needs_no_sign_of_it() -> None:
    assert SHELL.meaning("del a.txt; dir", powershell=True).parts[0].rule == BY_WORDS
    assert SHELL.meaning("del a.txt; dir").parts[0].rule != BY_WORDS
    (note, _, removed) = SHELL.meaning('powershell -NoProfile -Command "gci C:\\x | ri"').parts
    assert (note.rule, removed.category) == (BY_WORDS, "external_write")


@pytest.mark.parametrize(
    "text", ["git remote set-url origin x", "./test-all.sh", "add-apt-repository x", "my-get-item"]
)
def test_shell_text_that_only_looks_like_powershell(text: str) -> None:
    assert BY_WORDS not in {part.rule for part in SHELL.meaning(text).parts}


def test_a_long_part_is_cut_and_the_rules_see_all_of_it() -> None:
    meaning = SHELL.meaning(f"cp {'a' * 5000} b")
    assert len(meaning.parts[0].command) == SHELL.rules.shown_length
    assert meaning.targets == ("b",)
