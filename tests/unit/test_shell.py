"""Shell commands: what they do, what they change, what is only text."""

import pytest

from openclawbench.construct.shell.classify import Shell
from openclawbench.construct.shell.parse import parse_shell
from openclawbench.rules.construct.shell import ShellRules

SHELL = Shell(ShellRules.load())

CATEGORIES = [
    # the event guide's own examples
    ("cat a.txt", "read"),
    ("head -50 a.txt", "read"),
    ("tail -n 5 a.txt", "read"),
    ("sed -n 1,5p a.txt", "read"),
    ("less a.txt", "read"),
    ("jq . a.json", "read"),
    ("ls -la", "inspect"),
    ("stat a", "inspect"),
    ("du -sh .", "inspect"),
    ("wc -l a", "inspect"),
    ("git status", "inspect"),
    ("git -C /r log --oneline", "inspect"),
    ("git diff HEAD~1", "inspect"),
    ("git branch -a", "inspect"),
    ("ps aux", "inspect"),
    ("docker ps -a", "inspect"),
    ("docker logs web", "inspect"),
    ("systemctl status nginx", "inspect"),
    ("journalctl -u x", "inspect"),
    ("crontab -l", "inspect"),
    ("grep -rn foo src", "query"),
    ("rg foo", "query"),
    ("find . -name '*.py'", "query"),
    ('sqlite3 a.db "SELECT * FROM t"', "query"),
    ("uname -a", "environment_check"),
    ("which node", "environment_check"),
    ("env", "environment_check"),
    ("python3.11 --version", "environment_check"),
    ("node -v", "environment_check"),
    ("df -h", "environment_check"),
    ("free -m", "environment_check"),
    ("nproc", "environment_check"),
    ("date", "environment_check"),
    ("whoami", "environment_check"),
    ("pip list", "environment_check"),
    ("command -v jq", "environment_check"),
    ("python3 x.py", "code_execution"),
    ("./run.sh", "code_execution"),
    ("make test", "code_execution"),
    ("npm test 2>/dev/null", "code_execution"),
    ("curl -s https://a.io", "web_interaction"),
    ("curl -X POST -d '{}' https://a.io", "web_interaction"),
    ("wget -qO- https://a.io", "web_interaction"),
    ("curl -o f.tgz https://a.io", "external_write"),
    ("curl -sSLO https://a.io/f.tgz", "external_write"),
    ("mv a b", "external_write"),
    ("rm -rf a", "external_write"),
    ("cp a b", "external_write"),
    ("mkdir -p a", "external_write"),
    ("chmod +x a", "external_write"),
    ("sed -i 's/a/b/' f", "external_write"),
    ("git add .", "external_write"),
    ("git push origin main", "external_write"),
    ("git clone https://a.io/r", "external_write"),
    ('psql -c "UPDATE t SET a=1"', "external_write"),
    ("pip install x", "external_write"),
    ("npm install", "external_write"),
    ("kill -9 12", "system_control"),
    ("systemctl restart nginx", "system_control"),
    ("apt-get install -y jq", "system_control"),
    ("docker run -d nginx", "system_control"),
    ("docker compose up -d", "system_control"),
    ("crontab -e", "system_control"),
    ("openclaw gateway restart", "system_control"),
    ("mail -s hi bob@a.io", "communication"),
    ("curl https://hooks.slack.com/services/x -d '{}'", "communication"),
    # the verb says it where it stands as one, not in an argument
    ("openclaw message send --target @bob --message 'status ok'", "communication"),
    ("aws s3 cp show.txt s3://b/list", "external_write"),
    ("aws ec2 describe-instances", "inspect"),
    ("gog gmail search forward", "query"),
    ("pm2 restart list-api", "system_control"),
    # more tools
    ("prettier --write a.js", "external_write"),
    ("prettier --check a.js", "code_execution"),
    ("black --check .", "code_execution"),
    ("npx eslint --fix src", "external_write"),
    ("ruff format .", "external_write"),
    ("pandoc a.md -o a.pdf", "external_write"),
    ("pandoc a.md -t plain", "read"),
    ("pdftotext a.pdf -", "read"),
    ("perl -pi -e 's/a/b/' f", "external_write"),
    ("perl -ne 'print' f", "code_execution"),
    ("python3 -m venv .venv", "external_write"),
    ("python3 -m json.tool a.json", "read"),
    ("mongosh db --eval 'db.a.find()'", "query"),
    ("mongosh db --eval 'db.a.insertOne({})'", "external_write"),
    ("redis-cli GET a", "query"),
    ("redis-cli -n 2 SET a 1", "external_write"),
    ("cypher-shell 'MATCH (n) RETURN n'", "query"),
    ("clickhouse-client -q 'INSERT INTO t VALUES (1)'", "external_write"),
    ("test -f a", "inspect"),
    ("[ 1 = 1 ] && echo y", "code_execution"),
    ("git ls-remote origin", "inspect"),
    ("rclone ls r:", "inspect"),
    ("rsync -n a b", "inspect"),
    ("sysctl -w a=1", "system_control"),
    ("sysctl a", "environment_check"),
    ("ip addr", "inspect"),
    ("ip link set eth0 down", "system_control"),
    ("nginx -t", "inspect"),
    ("nvm ls", "environment_check"),
    ("screen -ls", "inspect"),
    # wrappers
    ("sudo -u bob ls", "inspect"),
    ("env X=1 ls", "inspect"),
    ("X=1 grep a b", "query"),
    ("timeout -s KILL 5 cat a", "read"),
    ("nohup npm run dev &", "code_execution"),
    ("find . -name x | xargs grep foo", "query"),
    ("ls | xargs -I{} rm {}", "external_write"),
    ("find . -name x -exec rm {} \\;", "external_write"),
    ("find . -delete", "external_write"),
    ("bash -lc 'cd a && git push'", "external_write"),
    ("ssh -i k u@h 'systemctl restart x'", "system_control"),
    ("ssh h cat /etc/hosts", "read"),
    ("docker exec -it c bash -c 'ls /x'", "inspect"),
    ("kubectl exec pod -- cat /etc/x", "read"),
    ("python3 -m pip install x", "external_write"),
    ('powershell -NoProfile -Command "Get-Content C:\\a.txt | Select-Object -First 5"', "read"),
    ("cmd /c dir", "inspect"),
    ('sudo env A=1 timeout 9 bash -c "sudo rm x"', "external_write"),
    # compound commands
    ("git status && git commit -am x", "external_write"),
    ("cd a && ls", "inspect"),
    ("ls; cat a; grep b c", "query"),
    ("cp a b; kill 1", "system_control"),
    ("cat a | grep x | head -3 | wc -l", "read"),
    ("ps aux | awk '{print $2}'", "inspect"),
    ("grep x f | head", "query"),
    ("make 2>&1 | grep error", "code_execution"),
    ('for f in *; do mv "$f" x; done', "external_write"),
    ("if [ -f a ]; then rm a; fi", "external_write"),
    ("(crontab -l; echo x) | crontab -", "system_control"),
    ("x=$(curl -s https://a.io); echo $x", "web_interaction"),
    # redirections
    ("echo hi > f", "external_write"),
    ("cat a > b", "external_write"),
    ("ls 2>&1 | tee -a log", "external_write"),
    ("ls | tee /dev/null", "inspect"),
    ("ls > /dev/null 2>&1", "inspect"),
    ("ls 2>/dev/null", "inspect"),
    ("echo x >&2", "code_execution"),
    ("{ ls; pwd; } > out 2>/dev/null", "external_write"),
    # text is not a command
    ('echo "rm -rf /"', "code_execution"),
    ("ls # rm x", "inspect"),
    ("grep 'rm -rf' f", "query"),
    ("cat <<'EOF'\nrm -rf /\nEOF", "code_execution"),
    ("cat <<EOF > f\nsudo reboot\nEOF", "external_write"),
    ('git commit -m "kill; apt install"', "external_write"),
    # programs
    ("python3 - <<'EOF'\nprint(1)\nEOF", "code_execution"),
    ("python3 -c \"open('a.txt', 'w').write('x')\"", "external_write"),
    ("python3 -c \"print(open('a.txt').read())\"", "code_execution"),
    ("cat f | python3 -c 'import sys; print(sys.stdin.read())'", "code_execution"),
    ("node -e \"require('fs').writeFileSync('a', '')\"", "external_write"),
    ("history | tail", "inspect"),
    ("atq", "inspect"),
    ("nginx -s reload", "system_control"),
    ("nginx -t", "inspect"),
    ("bash <<'EOF'\nrm x\nEOF", "external_write"),
    ("cat <<EOF | ssh host bash\nrm x\nEOF", "external_write"),
    ("psql <<SQL\nDELETE FROM a;\nSQL", "external_write"),
    ("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n*** End Patch\nEOF", "external_write"),
    # nothing else
    ("", "code_execution"),
    ("   \n", "code_execution"),
    ("sleep 5", "code_execution"),
    ("cd /x", "code_execution"),
    ("a=1", "code_execution"),
    ("日本語 テスト", "code_execution"),
    ("echo 'unterminated", "code_execution"),
    ("((((((", "code_execution"),
]


@pytest.mark.parametrize(("command", "category"), CATEGORIES, ids=[category[:40] for category, _ in CATEGORIES])
def test_category(command: str, category: str) -> None:
    assert SHELL.meaning(command).category == category


# Each runs `rm a`: who runs it, how urgently and in which container changes nothing of what is done.
LOOKED_THROUGH = [
    *(
        "su - bob -c 'rm a'",
        "su bob -c 'rm a'",
        "su -c 'rm a' bob",
        "su -l bob -s /bin/sh -c 'rm a'",
        "su - b <<E\nrm a\nE",
    ),
    *("runuser -u x -- rm a", "runuser -u x rm a", "runuser - x -c 'rm a'", "sudo su - bob -c 'rm a'", "gosu bob rm a"),
    *("nohup rm a", "setsid -f rm a", "stdbuf -oL rm a", "nice -n 5 rm a", "nice -5 rm a", "ionice -c 2 -n 7 rm a"),
    *(
        "chrt -f 99 rm a",
        "taskset -c 0,1 rm a",
        "taskset 0x3 rm a",
        "env -S 'rm a'",
        "nsenter -t 1 -m rm a",
        "xvfb-run -a rm a",
    ),
    *("chroot /mnt rm a", "chroot --userspec=u:g /mnt bash -c 'rm a'", "docker exec -it -u root c rm a"),
    *("docker compose exec -T web sh -c 'rm a'", "lxc exec c -- rm a", "vagrant ssh web -c 'rm a'"),
]
ELSEWHERE = [
    "fly ssh console -a x -C 'rm a'",
    "heroku run -a x rm a",
    "ssh host 'rm a'",
    "ssh -p 22 u@host rm a",
    "kubectl -n ns exec pod -c main -- sh -c 'rm a'",
]


@pytest.mark.parametrize("command", [*LOOKED_THROUGH, *ELSEWHERE])
def test_what_runs_a_command_is_looked_through(command: str) -> None:
    meaning = SHELL.meaning(command)
    assert (meaning.rule, meaning.targets, meaning.external) == ("shell.remove_create", ("a",), command in ELSEWHERE)


@pytest.mark.parametrize("command", ["su", "su - bob", "runuser x", "ionice -p 123", "docker run --rm image rm a"])
def test_nothing_is_seen_behind_what_runs_no_command_that_is_written_there(command: str) -> None:
    meaning = SHELL.meaning(command)
    assert (meaning.category, meaning.targets) == ("code_execution", ())


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("npm run build", "run.package_script"),
        ("yarn test", "run.package_script"),
        ("python3 -m pytest -q", "run.test"),
        ("bash run.sh", "run.script"),
        ("cargo build", "run.build"),
        ("npx tsc --noEmit", "run.check"),
        ("frobnicate x", "shell.program"),
    ],
)
def test_known_programs_are_told_from_unknown_ones(command: str, rule: str) -> None:
    meaning = SHELL.meaning(command)
    assert (meaning.category, meaning.rule) == ("code_execution", rule)


TARGETS = [
    ("for f in a b; do sed -i s/x/y/ $f; done", ("a", "b")),
    ('for f in src/*.py; do mv "${f}" "$f.bak"; done', ("src/*.py.bak", "src/*.py")),
    ("for d in x y; do for f in a b; do rm $d/$f; done; done", ("x/a", "y/a", "x/b", "y/b")),
    ("for f in $(ls *.log); do rm $f; done", ("$(ls *.log)",)),
    ("ls | while read f; do rm $f; done", ("$f",)),
    ("perl -e 'unlink \"a.tmp\"'", ("a.tmp",)),
    ("cd a && python3 - <<'E'\nopen('b.txt', 'w')\nE", ("b.txt",)),
    ("cd a && bash <<'E'\nrm b.txt\nE", ("b.txt",)),
    ("echo x >> ~/ws/MEMORY.md", ("~/ws/MEMORY.md",)),
    ("日本 > ü.txt", ("ü.txt",)),
    ("sed -i.bak -e 's/a/b/' f", ("f",)),
    ("mv a 'b c'", ("b c", "a")),
    ("rm -rf a b", ("a", "b")),
    ("ls | tee -a log", ("log",)),
    ("curl -sSLo f.tgz https://a.io/x", ("f.tgz",)),
    ("wget https://a.io/f.zip?x=1", ("f.zip",)),
    ("curl -XPUT https://a.io/1 -d @f", ("https://a.io/1",)),
    ("tar xzf a.tgz -C d", ("d",)),
    ("tar -czf out.tgz dir", ("out.tgz",)),
    ("dd if=a of=b", ("b",)),
    ("cd /r && git commit -m x", ("/r",)),
    ("git -C /r commit -m x", ("/r",)),
    ('sqlite3 a.db "INSERT INTO t VALUES (1)"', ("t",)),
    ("systemctl restart nginx", ("nginx",)),
    ("openclaw message send --target @bob --message hi", ("@bob",)),
    ("openclaw message send --to x --message hi", ("x",)),
    ("openclaw message send --message hi", ()),
    ("kubectl delete pod x", ("x",)),
    ("kubectl -n web delete pod/x", ("pod/x",)),
    ("kubectl delete pods -l app=x", ("pods",)),
    ("kubectl apply -f a.yaml", ("a.yaml",)),
    ("kubectl rollout restart deployment x", ("x",)),
    ("kubectl create secret generic x", ("x",)),
    ("kubectl drain node1", ("node1",)),
    ("helm upgrade r chart", ("r", "chart")),
    ("kubectl get pod x", ()),
    ("docker compose up -d", ()),
    ("docker compose up -d web", ("web",)),
    ("docker compose -f a.yml up -d", ("a.yml",)),
    ("cd /r && docker compose up -d", ("/r",)),
    ("docker volume rm x", ("x",)),
    ("docker restart x", ("x",)),
    ("rg foo | xargs sed -i s/a/b/", ()),
    ("ls | xargs -I% mv % d", ("d", "%")),
    ("Set-Content -Path a.txt -Value x", ("a.txt",)),
    ("python3 <<'EOF'\nfrom pathlib import Path\nPath('x.txt').write_text('a')\nEOF", ("x.txt",)),
    ("cp a b; curl https://hooks.slack.com/services/x -d '{}'", ("https://hooks.slack.com/services/x", "b")),
    ("cat a", ()),
    ("crontab jobs.txt", ("crontab",)),
    ("echo x | at now + 1 hour", ("at",)),
    ("schtasks /create /tn job /tr x", ("job",)),
    # what a script of sed or awk writes
    ("sed 's/x/y/w out.txt' f", ("out.txt",)),
    ("sed -n -e '1d' -e 's|a/b|c|gpw out.txt' f", ("out.txt",)),
    ("sed -n '/error/w errors.log' f", ("errors.log",)),
    ("sed '1,5w head.txt' f", ("head.txt",)),
    ("sed '/a/{s/b/c/;w out.txt\n}' f", ("out.txt",)),
    ("sed 's/a;w b/c/' f", ()),
    ("sed 's/w x/y/g' f", ()),
    ("sed -n 's/x/y/w /dev/stdout' f", ()),
    ("sed -n '/new w file/p' f", ()),
    ("awk '{print > \"/tmp/a.txt\"}' f", ("/tmp/a.txt",)),
    ("awk '{print > \"/dev/stderr\"}' f", ()),
    # a sub-command is nothing that is changed
    ('himalaya message send "From: a@x.io\nTo: B <b@x.io>\n\nhi"', ("b@x.io",)),
    ("himalaya message send < m.eml", ()),
    ("gog gmail send --to b@x.io --body y", ("b@x.io",)),
    ("notify-send hi", ()),
    ("terraform apply -auto-approve", ()),
    ("terraform -chdir=a apply plan.out", ("plan.out",)),
    ("terraform destroy -target=x.y", ("x.y",)),
    ("gcloud compute instances delete vm1 --zone z", ("vm1",)),
    ("aws s3 cp a s3://b/c", ("s3://b/c",)),
    ("az vm start -g rg -n vm1", ("vm1",)),
    ("supabase db push", ()),
    ("service postgresql restart", ("postgresql",)),
    ("systemctl daemon-reload", ()),
    ("brew services restart redis", ("redis",)),
    ("docker rm -f x", ("x",)),
    ("npm publish --access public", ()),
    ("npm version patch", ("package.json",)),
    ("redis-cli config set maxmemory 1", ("maxmemory",)),
    ("openclaw config set a.b c", ("a.b", "c")),
    ("shutdown -h now", ()),
    # what a patch text names; a file that holds a patch is not what is changed
    (
        "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n-x\n*** Add File: b c\n+x\n*** End Patch\nE",
        ("a.py", "b c"),
    ),
    ("apply_patch '*** Begin Patch\n*** Delete File: a.py\n*** End Patch'", ("a.py",)),
    ("git apply <<'E'\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- a/y.py\n+++ /dev/null\nE", ("x.py", "y.py")),
    ("patch -p1 <<E\n--- a/x.py\t2026-01-01\n+++ b/x.py\t2026-01-01\nE", ("x.py",)),
    ("cat <<'E' | git apply -\n--- a/x.py\n+++ b/x.py\nE", ("x.py",)),
    ("patch main.c fix.patch", ("main.c",)),
    ("patch -p1 -i fix.patch", ()),
    ("git apply fix.patch", ()),
    ("cd /r && git am fix.patch", ("/r",)),
    ("git apply --check fix.patch", ()),
    # a quote or a heredoc that nothing ends
    ('rm -rf "build', ("build",)),
    ("rm -rf 'build", ("build",)),
    ('rm "a" "my build', ("a", "my build")),
    ("rm $'build", ("build",)),
    ("cat <<EOF > f\nrm x", ("f",)),
    ("cat > f <<'EOF'\nit's", ("f",)),
    ('echo "x > f', ()),
]


@pytest.mark.parametrize(("command", "targets"), TARGETS, ids=[target[:40] for target, _ in TARGETS])
def test_targets(command: str, targets: tuple[str, ...]) -> None:
    assert SHELL.meaning(command).targets == targets


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("curl https://a.io", False),
        ("curl -d x https://a.io", True),
        ("curl -G -d x https://a.io", False),
        ("curl -sX DELETE https://a.io/1", True),
        ("curl -s -o /dev/null https://a.io", False),
        ("python3 x.py", False),
        ("ls | tee /dev/null", False),
        ("git fetch", True),
        ("kill -0 12", False),
    ],
)
def test_side_effect(command: str, effect: bool) -> None:
    assert SHELL.meaning(command).effect is effect


@pytest.mark.parametrize(
    ("command", "external"),
    [
        ("curl https://a.io", True),
        ("curl -s http://localhost:3000/x", False),
        ("curl 127.0.0.1:8080", False),
        ("git push", True),
        ("git commit -m x", False),
        ("ssh h ls", True),
        ("scp a h:/b", True),
        ("rsync -a a/ b/", False),
        ("ls", False),
    ],
)
def test_leaves_the_machine(command: str, external: bool) -> None:
    assert SHELL.meaning(command).external is external


@pytest.mark.parametrize(
    ("command", "harmless"),
    [
        ("grep x f", True),
        ("cat f | grep x", True),
        ("cd a && grep x f", True),
        ("grep -q x f && echo y", True),
        ("test -f x", True),
        ("diff a b", True),
        ("bash -c 'grep x f'", True),
        ("grep x f | head", False),
        ("grep x f; python3 y.py", False),
        ("npm test && grep x f", False),
        ("ls missing", False),
        ("echo 'grep x'", False),
    ],
)
def test_exit_one_is_no_match(command: str, harmless: bool) -> None:
    assert SHELL.meaning(command).exit_one_ok is harmless


DRY_RUNS = [
    ("rsync -n a b", True),
    ("rsync -avn a b", True),
    ("rsync --list-only a b", True),
    ("patch --dry-run -p1 < a.patch", True),
    ("git add -n .", True),
    ("git push --dry-run origin main", True),
    ("git commit -n -m x", False),  # passes over the hooks
    ("git clean -n", True),
    ("mv -n a b", False),  # overwrites nothing
    ("cp -n a b", False),
    ("apt-get -s install nginx", True),
    ("sudo apt-get install --simulate nginx", True),
    ("kubectl apply --dry-run=client -f x.yaml", True),
    ("kubectl apply --dry-run=none -f x.yaml", False),
    ("kubectl apply --dry-run=server -f x.yaml", True),
    ("npm publish --dry-run", True),
    ("docker compose up --dry-run", True),
    ("openclaw message send --target a --message x --dry-run", True),
    ("aws s3 cp a s3://b/a --dryrun", True),
    ("Remove-Item old.txt -WhatIf", True),
    ("Remove-Item old.txt -WhatIf:$false", False),
    ("echo --dry-run > a.txt", False),
    ("kubectl create deploy a --image=b --dry-run=client -o yaml > a.yaml", False),  # a file is written
]


@pytest.mark.parametrize(("command", "dry"), DRY_RUNS)
def test_a_dry_run_changes_nothing(command: str, dry: bool) -> None:
    meaning = SHELL.meaning(command)
    assert meaning.effect is not dry
    if dry:
        assert (meaning.category, meaning.rule, meaning.targets) == ("inspect", "shell.dry_run", ())


@pytest.mark.parametrize(
    ("command", "targets"),
    [
        ("mkdir -p out && cat > out/a.txt <<'EOF'\nx\nEOF", ("out/a.txt", "out")),
        ("mkdir -p out && cp a.txt out/a.txt", ("out/a.txt", "out")),
        ("New-Item -ItemType Directory -Force out; Set-Content out/a.txt hi", ("out/a.txt", "out")),
        ("mkdir -p out", ("out",)),
        ("mkdir a && mkdir b", ("a", "b")),
        ("rm -rf out && cp a.txt out/a.txt", ("out", "out/a.txt")),
        # the value of an option is no operand
        ("git clone --depth 1 https://h.example/r.git d", ("https://h.example/r.git", "d")),
        ("git clone --branch dev --depth 1 https://h.example/r.git", ("https://h.example/r.git",)),
        ("git pull --depth 5 origin", ("origin",)),
        ("Remove-Item -ErrorAction SilentlyContinue old.txt", ("old.txt",)),
        ("Remove-Item old.txt -erroraction SilentlyContinue", ("old.txt",)),
        ("Remove-Item -EA 0 -Path old.txt -Recurse -Force", ("old.txt",)),
        ("Copy-Item a.txt b.txt -ErrorVariable e", ("b.txt",)),
        ("git commit -n -m note", ()),
    ],
)
def test_what_is_changed_first(command: str, targets: tuple[str, ...]) -> None:
    assert SHELL.meaning(command).targets == targets


def test_a_table_of_powershell_is_one_word() -> None:
    table = "@{Name='MB; x';Expression={ if ($_.Length) { $_.Length / 1MB } }}"
    text = f"Get-ChildItem | Select-Object Name, {table} | Out-File a.txt"
    meaning = SHELL.meaning(text)
    assert (meaning.category, meaning.targets) == ("external_write", ("a.txt",))
    commands = [part.command.split()[0] for part in meaning.parts if part.command]
    assert commands == ["get-childitem", "select-object", "out-file"]


@pytest.mark.parametrize(
    ("text", "category", "effect"),
    [
        ("ls -la<|tool_call_end|><|tool_call_begin|>functions.exec:1", "inspect", False),
        ("cat a.txt <|tool_call_argument_begin|>{}", "read", False),
        ("ls <\uff5ctool\u2581calls\u2581end\uff5c>", "inspect", False),
        ("rm a.txt<|tool_calls_section_end|>", "external_write", True),
        ("grep '<|tool_call_begin|>' a.txt", "query", False),  # what is searched for
        ("cat > a.jinja <<'EOF'\n<|tool_call_begin|>\nEOF", "external_write", True),
    ],
)
def test_what_stands_behind_a_leaked_mark_is_no_command(text: str, category: str, effect: bool) -> None:
    meaning = SHELL.meaning(text)
    assert (meaning.category, meaning.effect) == (category, effect)
    leaked = any(part.rule == "shell.leaked_marks" for part in meaning.parts)
    assert leaked == ("'" not in text)


@pytest.mark.parametrize(
    ("command", "category", "effect", "external"),
    [
        ("openclaw browser open https://a.example", "web_interaction", False, True),
        ("openclaw browser --browser-profile work snapshot", "web_interaction", False, True),
        ("openclaw browser type e3 hello --submit", "web_interaction", True, True),
        ("openclaw memory search invoices", "query", False, False),
        ("openclaw security audit", "inspect", False, False),
        ("openclaw cron add --name a --every 5m", "system_control", True, False),
        ("openclaw gateway restart", "system_control", True, False),
        ("start https://a.example/x", "web_interaction", False, True),
        ("cmd /c start https://a.example/x", "web_interaction", False, True),
        ("open http://localhost:3000", "web_interaction", False, False),
        ("xdg-open report.pdf", "web_interaction", False, False),
        ("Start-Process https://a.example/x", "web_interaction", False, True),
        ("Start-Process notepad.exe", "system_control", True, False),
    ],
)
def test_programs_that_open_addresses(command: str, category: str, effect: bool, external: bool) -> None:
    meaning = SHELL.meaning(command)
    assert (meaning.category, meaning.effect, meaning.external) == (category, effect, external)


def test_every_value_has_a_rule_that_exists() -> None:
    rules = SHELL.rules
    known = {rule.id for rule in rules.commands} | {rule.id for rule in rules.sql}
    known |= {value for name, value in rules.model_dump().items() if name.endswith("_rule")}
    known |= {value for interpreter in rules.interpreters for value in (interpreter.id, interpreter.write_rule)}
    for command, _ in CATEGORIES:
        meaning = SHELL.meaning(command)
        assert meaning.rule in known
        assert meaning.effect_rule in known


def test_categories_are_ranked() -> None:
    ranked = set(SHELL.rules.rank)
    assert {rule.category for rule in SHELL.rules.commands} <= ranked


def test_command_rule_ids_are_unique() -> None:
    ids = [rule.id for rule in SHELL.rules.commands]
    assert len(ids) == len(set(ids))


def test_quotes_are_removed_and_expansions_kept() -> None:
    simples = parse_shell("""echo "a $x" 'b c' d\\ e $'f' "g"h""").simples
    assert simples[0].words == ("echo", "a $x", "b c", "d e", "f", "gh")


def test_what_ends_a_text_is_no_command_of_it() -> None:
    assert not [simple for simple in parse_shell("cat 'b <<E\n cat 'b &&").simples if simple.words == ("E",)]


def test_deep_nesting_does_not_raise() -> None:
    assert SHELL.meaning("(" * 3000 + "ls" + ")" * 3000).category in set(SHELL.rules.rank)
    assert SHELL.meaning("sudo " * 50 + "rm x").category in set(SHELL.rules.rank)
