"""The rule file that a user's file replaces: by its name, by a key `file`, or by its keys."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openclawbench.errors import InvalidRules, UnreadableInput, UsageError
from openclawbench.rules.loading.own_folder import files_in, refuse_misspelt, rule_file_names
from openclawbench.rules.loading.rule_file import Rules, canonical_digest, read_rules, rule_path


def read_own(paths: list[Path], kinds: dict[str, type[Rules]]) -> dict[str, tuple[Path, Rules]]:
    """Replaced file -> (own file, rules). A folder means the rule files in it, except those of passed_over().

    Raises UnreadableInput, InvalidRules (file, key, what to do; in a folder, as for a run, also a name that no rule
    file has), or UsageError if a file replaces none of `kinds`, or two files replace the same one.
    """
    for path in (path for folder in paths if folder.is_dir() for path in files_in(folder)):
        refuse_misspelt(path)  # in a run with this folder its name alone would say what it stands for
    own_rules: dict[str, tuple[Path, Rules]] = {}
    contents: dict[str, dict[str, Any]] = {}
    ignored = passed_over(paths, kinds)
    for path in (toml_file for toml_file in toml_files(paths) if toml_file not in ignored):
        content = read_toml(path)
        named = content.pop("file", None)
        file = named if isinstance(named, str) else path.name if path.name in kinds else by_keys(content, kinds)
        if file not in kinds:
            names = ", ".join(kinds)
            raise UsageError(
                f"{path}: stands for none of {names}, whose effect can be computed from steps. "
                f'Name the file like one of them, or write file = "…" into it.'
            )
        if file in own_rules:
            raise UsageError(f"{path}: {own_rules[file][0]} stands for {file} already. Give one of them.")
        own_rules[file] = (path, kinds[file].checked(content, path))
        contents[file] = content
    for file, (path, rules) in own_rules.items():
        rules.must_fit(contents[file], path, lambda needed: contents.get(needed) or read_rules(needed))
    return own_rules


def passed_over(paths: list[Path], kinds: dict[str, type[Rules]]) -> list[Path]:
    """Files of folders with rules of other stages that equal the rules in force. So a copy of the whole folder of rules
    may be given."""
    inside = (path for path in toml_files([path for path in paths if path.is_dir()]) if path.name not in kinds)
    return [path for path in inside if path.name in rule_file_names() and read_toml(path) == read_rules(path.name)]


def toml_files(paths: list[Path]) -> Iterator[Path]:
    """The files themselves, and the *.toml of the folders and what these hold."""
    for path in paths:
        if path.is_dir():
            inside = sorted(path.rglob("*.toml"))
            if not inside:
                raise UnreadableInput(f"{path}: holds no *.toml file. Name rule files, or a folder of them.")
            yield from inside
        else:
            yield path


def read_toml(path: Path) -> dict[str, Any]:
    """A rule file's content. Raises UnreadableInput or InvalidRules if it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror}. Name a rule file, or a folder of them.") from error
    except ValueError as error:
        raise InvalidRules(f"{path}: cannot read the rules: {error}. Correct the file.") from error


def by_keys(content: dict[str, Any], kinds: dict[str, type[Rules]]) -> str | None:
    """The only rule file that has all of these keys; None unless exactly one does."""
    fitting = [file for file, kind in kinds.items() if set(content) and set(content) <= keys_of(kind)]
    return fitting[0] if len(fitting) == 1 else None


def keys_of(kind: type[Rules]) -> set[str]:
    """Top-level keys of a kind of rule file."""
    return {field.alias or name for name, field in kind.model_fields.items()}


def differs(rules: Rules) -> bool:
    """True if rules differ from those in force."""
    return rules.digest != canonical_digest(read_toml(rule_path(rules.FILE)))
