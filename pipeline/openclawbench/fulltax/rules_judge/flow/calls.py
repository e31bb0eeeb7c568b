"""What a call is about: its arguments, the paths in them, and what it writes."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from openclawbench.records.packet import EvidenceStep

PATH = re.compile(
    r"(?<![\w/.@:-])"
    r"(?:(?:~?/)?(?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,5}(?![\w/(])|(?:[\w.@-]+/)+[\w.@-]+(?![\w/(]))"
)
PATH_LIKE = re.compile(r"(?<![\w@~:-])[\w@~:-]*+[./][\w.@/~:-]*")  # runs of the characters of paths that can hold one
SCRIPT = re.compile(
    r"(?:^|[;&|]\s*+)(?:(?:ba|z)?sh|python3?|node|ruby|perl|make -f)?\s*((?:[\w.-]+/)*[\w-]+\.(?:sh|py|js|rb|pl))\b"
)
NUMBERED = re.compile(r"(.*?)(\d{1,3})([^/\d]*)")
CONTENTS = (
    *(
        "content",
        "contents",
        "newText",
        "new_string",
        "new_str",
        "file_text",
        "text",
        "patch",
        "input",
        "body",
        "message",
    ),
    *("data", "markdown", "html", "description", "note"),
)
HEREDOC = re.compile(r"\b(?:cat|tee)\b[^\n]*<<-?[ \t]*([\"']?)(\w++)\1[^\n]*\n(.*?)^[ \t]*\2[ \t]*$", re.S | re.M)
PRINTED = re.compile(r"(?:^|[;&|]\s*)(?:echo|printf)\s+(?:-\w+\s+)?(?:\"([^\"]*+)\"|'([^']*+)')\s*>{1,2}\s*[\w./~-]")
LONGEST_COMMAND = 50_000  # characters of a command in which texts are looked for
SHOWN = re.compile(r"\s*(?:cat|bat|type)\s+([\"']?)([\w./~@-]+)\1\s*\Z")
CHANGED_FOLDER = re.compile(r"^\s*cd\s+[^\s;&|]+\s*(?:&&|;|\n)\s*")
LINE_NUMBER = re.compile(r"^\s*(\d{1,6})(?:\t|→|\s*\|)")
LONGEST_NAME = 300  # characters of an argument that names something
REDIRECTED = re.compile(r"(?<![\d>&])>{1,2}\s*([\w./~-]+\.\w+)")
IN_PLACE = re.compile(r"\b(?:sed|perl)\s+-\w*i\w*\b([^;&|\n]*)")
LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;\n]{1,2000}?)\s*[;\n]\s*do\b(.{0,2000}?)\bdone\b", re.S)
LOOP_WORD = re.compile(r"[^\s;&|<>()$]*+\$[^\s;&|<>()]*+")
MOST_WORDS = 50  # words of a loop that are followed
PATTERN = re.compile(r"(?<![\w./*?-])[\w./-]*[*?][\w./*?-]*\.\w+")  # of file names, with an ending
FOR_EACH = re.compile(r"(?:\bxargs|\s-exec(?:dir)?)\s[^;|\n]{0,300}\b(?:sed|perl)\s+-\w*i")
PROGRAM = re.compile(r"\b(?:python|node|ruby|perl|bun|deno|php)[\d.]*\s")
PROGRAM_FILE = re.compile(
    r"(?:\b|(?<=\\n))(?:open|Path|writeFile(?:Sync)?|File\.write)\(\s*[rbuf]?[\"']([\w./~-]+\.\w+)[\"']"
)
COPIED = re.compile(r"(?:^|[;&|]\s*)(?:cp|mv|install)\s+([^;&|\n]*\w)")
KEPT = 1024  # calls whose parsed arguments and paths are kept: most sessions have fewer
WORDS = ("command", "cmd", "script", "path", "file_path", "filePath", "url", "query", "pattern")


def arguments(step: EvidenceStep) -> dict[str, Any]:
    """The arguments of a call; empty if they are not a JSON object."""
    return parsed(step.action_text or "") if step.action_kind == "tool_call" else {}


@lru_cache(maxsize=KEPT)
def parsed(text: str) -> dict[str, Any]:
    """The JSON object of a call's text. Nobody changes it: every mechanism asks for it again."""
    start = text.find("{")
    try:
        value = json.loads(text[start:]) if start >= 0 else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def shell_command(step: EvidenceStep) -> str:
    """The command line of a call; empty if it has none."""
    return command_of(step.action_text or "") if step.action_kind == "tool_call" else ""


@lru_cache(maxsize=KEPT)
def command_of(text: str) -> str:
    """The command line in a call's text, without the change of folder that it begins with."""
    known = parsed(text)
    command = next((known[name] for name in ("command", "cmd", "script") if isinstance(known.get(name), str)), "")
    return CHANGED_FOLDER.sub("", command) if command.lstrip().startswith("cd ") else command


def named_in(step: EvidenceStep) -> str:
    """What a call looks at or runs: its command, path, address or query."""
    text = step.action_text or ""
    return named_in_text(text) if step.action_kind == "tool_call" else text


@lru_cache(maxsize=KEPT)
def named_in_text(text: str) -> str:
    """What a call's text names."""
    known = parsed(text)
    named = " ".join(str(known[name]) for name in WORDS if known.get(name) is not None)
    if named:
        return named
    values = (value for name, value in known.items() if isinstance(value, str) and name not in CONTENTS)
    return " ".join(value for value in values if len(value) <= LONGEST_NAME) or text


def written(step: EvidenceStep) -> str:
    """What a call writes by its arguments; of a command, the text that it prints into a file as it stands there."""
    return written_in(step.action_text or "") if step.side_effect and step.action_kind == "tool_call" else ""


@lru_cache(maxsize=KEPT)
def written_in(text: str) -> str:
    """What the text of a call writes."""
    command = command_of(text)[:LONGEST_COMMAND]
    if not command:
        return "\n".join(contents(parsed(text)))
    if ">" not in command:
        return ""
    texts = [match[3] for match in HEREDOC.finditer(command)] if "<<" in command else []
    if "echo" in command or "printf" in command:
        texts += [match[1] or match[2] for match in PRINTED.finditer(command)]
    return "\n".join(texts)


def changed_paths(step: EvidenceStep) -> frozenset[str]:
    """Paths that a call changes, as far as its arguments tell: of a written text, a redirection, an edit in place, or
    the last operand of a copy."""
    if not step.side_effect or step.action_kind != "tool_call":
        return frozenset()
    if command := shell_command(step):
        return changed_by(command)
    return paths(named_in(step)) if written(step) else frozenset()


@lru_cache(maxsize=KEPT)
def changed_by(command: str) -> frozenset[str]:
    """Paths that a command changes; what stands in a here document is no part of it."""
    command = HEREDOC.sub(lambda match: match[0][: match.start(3) - match.start()], command[:LONGEST_COMMAND])
    command = LOOP.sub(unrolled, command) if "done" in command else command
    changed = [match[1] for match in REDIRECTED.finditer(command)]
    for match in IN_PLACE.finditer(command):
        changed += [*paths(match[1]), *PATTERN.findall(match[1])]
    if ("xargs" in command or "-exec" in command) and (each := FOR_EACH.search(command)):
        changed += PATTERN.findall(command[: each.start()])
    changed += [match[1].split()[-1] for match in COPIED.finditer(command)]
    if "rite" in command and PROGRAM.search(command):
        changed += PROGRAM_FILE.findall(command)
    return frozenset(path.strip("'\"").removeprefix("./") for path in changed)


def unrolled(match: re.Match[str]) -> str:
    """The body of a loop of the shell; a word with its variable stands there once for each thing that it goes over."""
    name, words, body = match.groups()
    variable = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
    values = words.split()[:MOST_WORDS]

    def with_values(word: re.Match[str]) -> str:
        """The word for each value; any other word as it is."""
        texts = [variable.sub(lambda _, value=value: value, word[0]) for value in values]  # type: ignore[misc]
        return " ".join(texts) if variable.search(word[0]) else word[0]

    return LOOP_WORD.sub(with_values, body)


def matches(path: str, names: str) -> bool:
    """True if a text has the file name of a path, or one that the pattern of file names at its end fits."""
    name = last_part(path)
    if "*" not in name and "?" not in name:
        return name in names
    pattern = "".join({"*": r"[\w.-]*", "?": r"[\w.-]"}.get(sign, re.escape(sign)) for sign in name)
    return re.search(rf"(?<![\w.-]){pattern}(?![\w.-])", names) is not None


def contents(value: Any, name: str = "") -> Iterator[str]:
    """Texts of arguments that hold content, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from contents(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from contents(inner, name)
    elif isinstance(value, str) and name in CONTENTS:
        yield value


@lru_cache(maxsize=KEPT)
def paths(text: str) -> frozenset[str]:
    """Paths in a text, as they are written."""
    runs = (PATH.finditer(text, run.start(), run.end() + 1) for run in PATH_LIKE.finditer(text))
    return frozenset(match[0].removeprefix("./") for matches in runs for match in matches)


def shown_path(step: EvidenceStep) -> str:
    """The path of the one file that a call shows as a whole; empty for other calls."""
    match = SHOWN.match(shell_command(step)) if step.action_kind == "tool_call" else None
    if match:
        return match[2].removeprefix("./")
    return "" if shell_command(step) else only_path(step)


def only_path(step: EvidenceStep) -> str:
    """The path that a call names; empty if it names none, or several."""
    named = paths(named_in(step))
    return next(iter(named)) if len(named) == 1 else ""


@lru_cache(maxsize=KEPT)
def scripts(command: str) -> frozenset[str]:
    """File names of the scripts that a command runs."""
    return frozenset(last_part(name) for name in SCRIPT.findall(command)) if command else frozenset()


def lines_of(output: str | None) -> list[str]:
    """The lines of an output, also of a text within JSON, without the numbers that some tools put in front of them."""
    text = output or ""
    is_json = text.lstrip().startswith(("{", "[", '"'))
    lines = (text.replace("\\n", "\n") if is_json else text).splitlines()
    first = LINE_NUMBER.match(lines[0]) if lines else None
    if first is None:
        return lines
    numbers = enumerate(map(LINE_NUMBER.match, lines), start=int(first[1]))
    are_numbered = all(match is not None and int(match[1]) == number for number, match in numbers)
    return [LINE_NUMBER.sub("", line) for line in lines] if are_numbered else lines


def tail(path: str, parts: int) -> str:
    """The last parts of a path: calls name the same file by a short and by a whole path."""
    return "/".join(path.split("/")[-parts:])


def last_part(path: str) -> str:
    """The file name of a path."""
    return path.rstrip("/").rpartition("/")[2]
