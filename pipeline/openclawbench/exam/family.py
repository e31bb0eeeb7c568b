"""A family: a session that was recorded twice, once with a planted anomaly and once without, and what may vary in it.

A family is a TOML file of `families/CLASS/NAME.toml` (docs/develop/exam_families.md describes its keys). Both twins say
and do the same but for the steps that belong to one of them. Slots are the values that vary: names, paths, figures.
Texts are what the user and the agent say, in every language of the family. Recording a family puts the recorded value
of each slot and the English texts in place.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from openclawbench.base.terminal import safe
from openclawbench.errors import InvalidFamily
from openclawbench.records.vocabulary import Subtype

FAMILIES = Path(__file__).parent / "families"
Twin = Literal["anomalous", "innocent"]
TWINS: tuple[Twin, ...] = ("anomalous", "innocent")
Level = Literal["easy", "medium", "hard"]
LANGUAGES = ("en", "de", "es", "fr", "ru", "zh")
RECORDED_LANGUAGE = "en"
Release = Literal["2026.2.1", "2026.4.15", "2026.6.11", "2026.9.6"]  # of OpenClaw, whose record shapes differ
RELEASES: tuple[Release, ...] = get_args(Release)
WITH_STORE: frozenset[Release] = frozenset({"2026.9.6"})  # releases that keep sessions in an SQLite store
SHORTEST_VALUE = 3  # characters of a recorded value: a shorter one would be found where it is not meant
SHORTEST_TEXT = 12
PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
CheckField = Literal["thinking", "narration", "action_text", "arguments", "reflection_text"]
ClassName = Literal[
    "capability_gap_overcommitment",
    "write_under_unresolved_ambiguity",
    "weak_evidence_commitment",
    "premature_external_write",
    "error_ignored_escalation",
    "ambiguity_mishandling",
    "state_contamination",
    "parallel_coordination_breakdown",
    "hedge_sufficiency",
    "default_convention",
    "correct_outcome_invalid_route",
    "skeleton_commit",
    "hedged_front_specific_body",
]


class Part(BaseModel):
    """A table of a family file: closed, so that a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Slot(Part):
    """A value that varies. It comes from a list, a pool of pools.toml, a range of numbers or dates, or a formula.

    `recorded` is the value in the recording. `of` is a formula over number and date slots (`+ - * //`, a date plus a
    number of days); what it gives for the recorded values must be `recorded`.
    """

    recorded: str
    values: list[str] = []
    pool: str | None = None
    low: int | None = None
    high: int | None = None
    first: str | None = None  # ISO date
    last: str | None = None
    of: str | None = None
    decimals: Annotated[int, Field(ge=0, le=4)] = 0  # a number is kept as an integer of this many decimals
    thousands: bool = False  # write 1,234

    @model_validator(mode="after")
    def check_origin(self) -> Self:
        """Raise ValueError unless the slot has exactly one origin."""
        origins = [bool(self.values), self.pool is not None, self.low is not None, self.first is not None]
        if sum([*origins, self.of is not None]) != 1:
            raise ValueError("needs one of values, pool, low and high, first and last, of")
        if (self.low is None) != (self.high is None) or (self.first is None) != (self.last is None):
            raise ValueError("low goes with high, and first with last")
        if len(self.recorded) < SHORTEST_VALUE:
            raise ValueError(f"recorded value {self.recorded!r} is shorter than {SHORTEST_VALUE} characters")
        return self


class Step(Part):
    """What one message of the script holds: a message of the user, or one of the agent.

    `say` beside calls is narration; alone it is a reply. `calls` are pairs of a tool and its arguments. `filler` marks
    a place before which harmless steps may be inserted.
    """

    id: str | None = None
    twin: Literal["both", "anomalous", "innocent"] = "both"
    user: str | None = None
    thinking: str | None = None
    say: str | None = None
    calls: list[tuple[str, dict[str, Any]]] = []
    filler: bool = False

    @model_validator(mode="after")
    def check_speaker(self) -> Self:
        """Raise ValueError unless the step is the user's or the agent's."""
        if (self.user is not None) == bool(self.say or self.calls):
            raise ValueError("is either `user`, or the agent's: `say`, `calls` or both")
        if self.user is not None and (self.thinking is not None or self.filler):
            raise ValueError("a message of the user has no thinking and no filler before it")
        if self.filler and self.twin != "both":
            raise ValueError(
                "filler = true is for steps of both twins: harmless steps stand in the same places of both"
            )
        return self

    @property
    def count(self) -> int:
        """Number of ReAct steps that this message becomes: one a call, or a reply."""
        return 0 if self.user is not None else len(self.calls) or 1


class Check(Part):
    """A fact that makes a key true, looked up in the steps of a twin.

    `field` of the step `at`, of any step `before` it or of any step `after` it, holds or lacks a text.
    """

    twin: Literal["both", "anomalous", "innocent"] = "both"
    at: str | None = None
    before: str | None = None
    after: str | None = None
    field: CheckField
    holds: str | None = None
    lacks: str | None = None

    @model_validator(mode="after")
    def check_place_and_text(self) -> Self:
        """Raise ValueError unless there is one place and one text."""
        if sum(place is not None for place in (self.at, self.before, self.after)) != 1:
            raise ValueError("needs one of at, before, after")
        if (self.holds is None) == (self.lacks is None):
            raise ValueError("needs one of holds, lacks")
        return self


class Key(Part):
    """The correct label of the anomalous twin. The innocent twin is normal."""

    subtype: Subtype
    also: list[Subtype] = []  # subtypes that a careful reader may choose as well
    onset: str  # id of the step
    onset_also: list[str] = []
    span: tuple[str, str]  # ids of its first and last step
    evidence: list[str]  # ids of steps of which one at least must be cited
    why: str  # one sentence


class Family(Part):
    """A family file."""

    title: str
    class_: ClassName = Field(alias="class")
    level: Level
    manner: Literal["plain", "calm_anomalous", "scary_innocent", "both"] = "plain"
    release: Release = "2026.6.11"  # of OpenClaw, that recorded it
    setup: list[str] = []  # shell commands in the workspace before the session, without slots
    slots: dict[str, Slot] = {}
    files: dict[str, str] = {}  # path -> content of a file in the workspace; "@name" is the text of that name
    texts: dict[str, dict[str, str]]
    step: list[Step]
    check: list[Check]
    key: Key

    @model_validator(mode="after")
    def check_references(self) -> Self:
        """Raise ValueError if a name refers to nothing, no step is planted, a text is unused, or languages differ."""
        ids = [step.id for step in self.step if step.id is not None]
        if duplicate := next((name for name in ids if ids.count(name) > 1), None):
            raise ValueError(f"two steps have the id {duplicate}")
        for name in self.step_names():
            if name not in ids:
                raise ValueError(f"there is no step {name}")
        planted = {step.id for step in self.step if step.twin == "anomalous"}
        if not planted:
            raise ValueError("no step belongs to the anomalous twin alone")
        if self.key.onset not in planted:
            raise ValueError(f"the onset {self.key.onset} is not a step of the anomalous twin alone")
        for text in self.templates():
            if missing := next((name for name in PLACE.findall(text) if name not in self.slots), None):
                raise ValueError(f"there is no slot {missing}, in {safe(text[:60])!r}")
        used = {name for step in self.step for name in (step.user, step.thinking, step.say) if name is not None}
        used |= {value[1:] for value in self.references()}
        if unknown := sorted(used - self.texts.keys()):
            raise ValueError(f"there is no text {unknown[0]}")
        if unused := sorted(self.texts.keys() - used):
            raise ValueError(f"the text {unused[0]} is not used")
        for name, versions in self.texts.items():
            if set(versions) != set(self.languages) or RECORDED_LANGUAGE not in versions:
                others = ", ".join(self.languages)
                raise ValueError(f"text {name} is in {', '.join(sorted(versions))}; others in {others}")
            if len(versions[RECORDED_LANGUAGE]) < SHORTEST_TEXT:
                raise ValueError(f"text {name} has fewer than {SHORTEST_TEXT} characters")
        return self

    @property
    def languages(self) -> list[str]:
        """Languages that the family can be told in."""
        first = next(iter(self.texts.values()))
        return [language for language in LANGUAGES if language in first]

    @property
    def spoken_texts(self) -> list[str]:
        """Names of the texts that the agent says and that stand nowhere else, in the order of the script."""
        elsewhere = {value[1:] for value in self.references()}
        elsewhere |= {name for step in self.step for name in (step.user, step.thinking) if name is not None}
        spoken = dict.fromkeys(step.say for step in self.step if step.say is not None)
        return [name for name in spoken if name not in elsewhere]

    def step_names(self) -> Iterator[str]:
        """Ids of steps that the key and the checks name."""
        key = self.key
        yield from (key.onset, *key.onset_also, *key.span, *key.evidence)
        for check in self.check:
            yield from (name for name in (check.at, check.before, check.after) if name is not None)

    def strings(self) -> Iterator[str]:
        """Strings of calls and files: templates, or "@name" for a text."""
        yield from self.files
        yield from self.files.values()
        for step in self.step:
            for _, arguments in step.calls:
                yield from strings_in(arguments)

    def references(self) -> Iterator[str]:
        """Strings that refer to a text."""
        yield from (text for text in self.strings() if text.startswith("@"))

    def templates(self) -> Iterator[str]:
        """Texts in which slots may occur."""
        yield from (text for text in self.strings() if not text.startswith("@"))
        for text in self.texts.values():
            yield from text.values()
        for check in self.check:
            yield check.holds or check.lacks or ""

    def steps_of(self, twin: Twin) -> list[Step]:
        """The script of a twin."""
        return [step for step in self.step if step.twin in ("both", twin)]

    def text(self, name: str, language: str, values: Mapping[str, str]) -> str:
        """A text with its slots filled."""
        return fill_template(self.texts[name][language], values)


def strings_in(value: Any) -> Iterator[str]:
    """Every string of a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """The template with {slot} replaced. Braces around anything but the name of a slot stay."""
    return PLACE.sub(lambda match: values.get(match[1], match[0]), template)


def load_family(path: Path) -> Family:
    """The family of a file. Raises InvalidFamily with the file and what is wrong with it."""
    try:
        return Family.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"{path}: {where + ': ' if where else ''}{first['msg'].removeprefix('Value error, ')}."
        raise InvalidFamily(f"{message} Correct the family.") from error
    except (OSError, ValueError) as error:
        raise InvalidFamily(f"{path}: cannot be read: {error}. Correct the family.") from error


def load_families(folder: Path = FAMILIES) -> dict[str, Family]:
    """Name ("CLASS/NAME") -> family, of the TOML files in subfolders. InvalidFamily if one is wrong, or if there is no
    file."""
    families = {}
    for path in sorted(folder.glob("*/*.toml")):
        name = f"{path.parent.name}/{path.stem}"
        families[name] = load_family(path)
        if families[name].class_ != path.parent.name:
            raise InvalidFamily(f"{path}: its class is {families[name].class_}, but its folder has another name.")
    if not families:
        raise InvalidFamily(f"{folder}: there is no family here. A family is a file CLASS/NAME.toml.")
    return families
