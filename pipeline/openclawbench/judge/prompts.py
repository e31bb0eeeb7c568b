"""Prompt files: prompts/<stage>/v<N>.md, found, read, checked and digested. One class a stage, for stage signatures.

Instructions common to all stages may be in a prompt of their own, prompts/shared/v<N>.md, which the front matter of a
stage names.
"""

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from openclawbench.base.resources import resource
from openclawbench.errors import InvalidRules
from openclawbench.rules.judge.fence import FenceRules
from openclawbench.rules.judge.sent import SentRules
from openclawbench.rules.loading.rule_file import NO_OVERRIDES, Overrides, Rules
from openclawbench.rules.loading.toml_lines import line_of

OVERRIDE = "OPENCLAWBENCH_PROMPTS"
PINS = "OPENCLAWBENCH_PROMPT_VERSIONS"
OF_FOLDER, PINS_OF_FOLDER = "_OPENCLAWBENCH_PROMPTS", "_OPENCLAWBENCH_PROMPT_VERSIONS"  # what a data folder names
FENCE = "+++"
FILE_NAME = re.compile(r"v([1-9][0-9]*)\.md")
STAGES = ("a", "b1", "b2", "c")
OWN = ("again", "plain")  # asks once more for an answer in the right form; introduces a schema in the prompt
SHARED = "shared"  # what all stages say alike
DETECTORS = ("detect_symbol", "detect_json")  # what a detector is asked: no stage of FullTax
FRONT_MATTER = {"stage", "version", "schema"}
MAY_NAME = {SHARED}  # in the front matter of a stage


@dataclass(frozen=True)
class Prompt:
    """One prompt file. `sha256` is the digest of the file's bytes, front matter included; `shared` is the version of
    the shared prompt that it uses; None without one."""

    stage: str
    version: str
    schema_id: str
    text: str
    sha256: str
    shared: str | None = None


def prompts_folder() -> Path:
    """The folder that OPENCLAWBENCH_PROMPTS or the data folder names, else the one that comes with the program."""
    override = os.environ.get(OVERRIDE) or os.environ.get(OF_FOLDER)
    return Path(override) if override else resource("prompts")


def pinned_version(stage: str) -> str | None:
    """The version that OPENCLAWBENCH_PROMPT_VERSIONS (`a=v1,b1=v2`) pins for a stage. InvalidRules if malformed."""
    pins: dict[str, str] = {}
    named = os.environ.get(PINS) or os.environ.get(PINS_OF_FOLDER, "")
    for part in filter(None, (pin.strip() for pin in named.split(","))):
        name, equals, version = part.partition("=")
        if not equals or name not in STAGES + OWN + DETECTORS or not FILE_NAME.fullmatch(f"{version}.md"):
            raise InvalidRules(
                f"{PINS}: {part!r} is not of the form a=v1 (stages: {', '.join(STAGES + OWN + DETECTORS)}). Correct it."
            )
        pins[name] = version
    return pins.get(stage)


def newest_version(folder: Path) -> str:
    """The highest v<N> in a stage's folder. Raises InvalidRules if the folder has no prompt."""
    try:
        numbers = [int(match[1]) for path in folder.iterdir() if (match := FILE_NAME.fullmatch(path.name))]
    except OSError as error:
        raise InvalidRules(f"{folder}: cannot list the prompts: {error}. Set {OVERRIDE} to their folder.") from error
    if not numbers:
        raise InvalidRules(f"{folder}: there is no prompt v<N>.md. Add one.")
    return f"v{max(numbers)}"


def read_prompt(stage: str, version: str | None = None, prompts: Path | None = None) -> Prompt:
    """A stage's prompt: the given version, else the pinned one, else the newest. `prompts`: the folder of all prompts,
    if it is not the one in force.

    Raises InvalidRules with the file and the fault: unreadable, no front matter, a front matter that is not TOML or
    names another stage or version than the file's path, or no text.
    """
    folder = (prompts or prompts_folder()) / stage
    wanted = version or pinned_version(stage) or newest_version(folder)
    path = folder / f"{wanted}.md"
    try:
        raw = path.read_bytes()
        content = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRules(f"{path}: cannot read the prompt: {error}. Correct the file.") from error
    head, text = split_front_matter(path, content)
    if (head["stage"], head["version"]) != (stage, wanted):
        raise InvalidRules(
            f"{path}: its front matter says stage {head['stage']}, version {head['version']}. Correct it."
        )
    return Prompt(stage, wanted, head["schema"], text, hashlib.sha256(raw).hexdigest(), head.get(SHARED))


def prompt_files(own: bool = True) -> list[Prompt]:
    """The prompts in force: those of the stages, the shared one and, if `own`, those that no stage names."""
    stages = [read_prompt(stage) for stage in STAGES]
    shared = [read_prompt(SHARED, version) for version in sorted({stage.shared for stage in stages if stage.shared})]
    return [*stages, *shared, *(read_prompt(name) for name in OWN if own)]


def file_of(prompt: Prompt) -> Path:
    """The path of a prompt."""
    return prompts_folder() / prompt.stage / f"{prompt.version}.md"


def split_front_matter(path: Path, content: str) -> tuple[dict[str, str], str]:
    """Front matter and text of a prompt file. Raises InvalidRules if either is not as expected."""
    lines = content.replace("\r\n", "\n").split("\n")
    try:
        end = lines.index(FENCE, 1)
    except ValueError:
        end = -1
    if lines[0] != FENCE or end < 0:
        raise InvalidRules(f"{path}: its front matter must stand between two lines {FENCE}. Correct the file.")
    try:
        front = "\n".join(["", *lines[1:end], ""])  # line by line as in the file
        head: dict[str, Any] = tomllib.loads(front)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRules(f"{path}: its front matter is not TOML: {error}. Correct the file.") from error
    needed = ", ".join(sorted(FRONT_MATTER))
    allowed = FRONT_MATTER | MAY_NAME
    if wrong := [key for key, value in head.items() if key not in allowed or not isinstance(value, str)]:
        line = line_of(front, wrong[:1])
        raise InvalidRules(f"{path}: line {line}: {wrong[0]}: the front matter must hold the texts {needed} alone.")
    if missing := ", ".join(sorted(FRONT_MATTER - set(head))):
        raise InvalidRules(
            f"{path}: its front matter must hold the texts {needed}; it lacks {missing}. Correct the file."
        )
    text = "\n".join(lines[end + 1 :]).strip() + "\n"
    if not text.strip():
        raise InvalidRules(f"{path}: there is no text below the front matter. Correct the file.")
    return head, text


class StagePrompt(Rules):
    """A stage's prompt as rules, so that a stage's signature can name it. `sha256` is the digest of its file's bytes;
    `digest` also covers the shared prompt and the format of packets, because these decide the text of a question."""

    STAGE: ClassVar[str]
    stage: str
    schema_id: str
    text: str
    sha256: str
    shared: str = ""  # text of the shared prompt, where there is one

    @classmethod
    def load(
        cls, version: str | None = None, prompts: Path | None = None, *, overrides: Overrides = NO_OVERRIDES
    ) -> Self:
        """Read the prompt: `version`, else the pinned one, else the newest. No setting overrides a prompt.

        Raises InvalidRules as read_prompt does.
        """
        prompt = read_prompt(cls.STAGE, version, prompts)
        shared = read_prompt(SHARED, prompt.shared, prompts) if prompt.shared else None
        loaded = cls(
            version=prompt.version,
            stage=prompt.stage,
            schema_id=prompt.schema_id,
            text=prompt.text,
            sha256=prompt.sha256,
            shared=shared.text if shared else "",
        )
        files = [prompt.sha256, shared.sha256 if shared else "", SentRules.load().digest, FenceRules.load().digest]
        loaded._digest = hashlib.sha256("\n".join(files).encode()).hexdigest()
        return loaded


class PromptA(StagePrompt):
    """Triage (paper E.3)."""

    FILE: ClassVar[str] = "prompts/a"
    STAGE: ClassVar[str] = "a"


class PromptB1(StagePrompt):
    """Closed-set subtype decision (paper E.4)."""

    FILE: ClassVar[str] = "prompts/b1"
    STAGE: ClassVar[str] = "b1"


class PromptB2(StagePrompt):
    """Structure completion (paper E.5)."""

    FILE: ClassVar[str] = "prompts/b2"
    STAGE: ClassVar[str] = "b2"


class PromptC(StagePrompt):
    """Verification (paper E.6)."""

    FILE: ClassVar[str] = "prompts/c"
    STAGE: ClassVar[str] = "c"
