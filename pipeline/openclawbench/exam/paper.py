"""An exam paper: pairs drawn from families with a seed, as raw sessions, outcomes and a key.

Every class has the same number of pairs. A pair gets values, a language, a length and outcomes of its own; the outcome
of a session says nothing about its twin. Sessions have opaque names, and their order reveals nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from openclawbench.errors import InvalidFamily, UsageError
from openclawbench.exam.check import failed_checks
from openclawbench.exam.family import TWINS, ClassName, Family, Step, Twin
from openclawbench.exam.filler import insert_filler
from openclawbench.exam.recording import parse_recording, read_recording, rewrite_recording, seeded_random, step_numbers
from openclawbench.exam.rewrite import uuid_of
from openclawbench.exam.store import is_stored, store_of
from openclawbench.exam.values import drawn_values
from openclawbench.records.oracle import Evaluator, OracleRecord
from openclawbench.sources.openclaw.sqlite_store import FILE_NAME

Size = Literal["quick", "full"]
PAIRS_OF_A_CLASS: dict[Size, int] = {"quick": 3, "full": 20}
SOURCE_MODEL = "agent"  # every session is one source model's, so that its name tells nothing
ORDINARY = 25  # steps of a session with filler
LONG = (60, 120)  # steps of a long one
OUTCOMES = ((True, True), (True, False), (False, True), (False, False))  # of the anomalous and the innocent twin
ATTEMPTS = 20  # to draw values with which every check of the family holds


@dataclass(frozen=True)
class Alteration:
    """What a paper changes in every session, besides what its seed draws. The base class changes nothing."""

    language_shift: int = 0  # places in the list of the family's languages
    flips_outcomes: bool = False

    def text(self, text: str, language: str, number: int) -> str:
        """The agent's text with this number in the script."""
        return text

    def session(self, content: bytes, pair: int) -> bytes:
        """The session file."""
        return content


UNALTERED = Alteration()


@dataclass(frozen=True)
class Item:
    """One session of a paper, with its key. Step numbers are those of the normalized session; empty for `innocent`."""

    id: str  # session id, and name of its file if it is not in the store
    pair: int
    family: str
    class_: str
    level: str
    manner: str
    twin: Twin
    language: str
    length: str  # short | ordinary | long
    steps: int
    passed: bool
    subtypes: list[str]  # that are right; empty for the innocent twin
    onsets: list[int]
    span: list[int]
    evidence: list[int]
    decisive: list[int]  # steps that its twin does not have, and those that the key and the checks name


@dataclass(frozen=True)
class Paper:
    """The items in the order of their ids, and the session of each as text (in the form of exam/store.py if a store
    keeps it)."""

    size: str
    seed: int
    items: list[Item]
    contents: dict[str, bytes]

    def write(self, folder: Path) -> None:
        """Write raw/agent/ID.jsonl, the store of all sessions that one keeps, oracle/outcomes.jsonl and key.jsonl.
        Sessions of another paper are removed."""
        raw, oracle = folder / "raw" / SOURCE_MODEL, folder / "oracle"
        raw.mkdir(parents=True, exist_ok=True)
        oracle.mkdir(exist_ok=True)
        stored = [content for content in self.contents.values() if is_stored(content)]
        files = {f"{name}.jsonl": content for name, content in self.contents.items() if not is_stored(content)}
        files |= {FILE_NAME: store_of(stored)} if stored else {}
        for path in raw.iterdir():
            if path.name not in files:
                path.unlink()
        for name, content in files.items():
            (raw / name).write_bytes(content)
        outcomes = [json.dumps(outcome(item, self.seed)) for item in self.items]
        (oracle / "outcomes.jsonl").write_text("\n".join(outcomes) + "\n")
        keys = [json.dumps(asdict(item), ensure_ascii=False) for item in self.items]
        (folder / "key.jsonl").write_text("\n".join(keys) + "\n", encoding="utf-8")


def make_paper(
    folder: Path,
    families: Mapping[str, Family],
    size: Size,
    seed: int,
    alteration: Alteration = UNALTERED,
    pairs: int | None = None,
) -> Paper:
    """Draw a paper. An altered paper has the items of the unaltered one with the same ids, but for pairs whose checks
    do not hold after the alteration. `pairs`: only so many of the paper, with the same sessions as in all of it; one of
    each class, then a second one. Raises InvalidFamily, and UsageError for families that cover no class."""
    items: list[Item] = []
    contents: dict[str, bytes] = {}
    for pair, name, family in some_pairs(list(choose_families(families, size, seed)), PAIRS_OF_A_CLASS[size], pairs):
        for item, content in make_pair(folder, name, family, pair, seed, alteration):
            items.append(item)
            contents[item.id] = content
    items.sort(key=lambda item: item.id)
    return Paper(size, seed, items, {item.id: contents[item.id] for item in items})


def whole_paper(families: Mapping[str, Family], size: Size) -> int:
    """The number of pairs of a paper of a size. UsageError for families that cover no class."""
    return PAIRS_OF_A_CLASS[size] * len(classes_of(families))


def classes_of(families: Mapping[str, Family]) -> list[str]:
    """The classes that families cover. UsageError if no family covers a class."""
    classes = [name for name in get_args(ClassName) if any(family.class_ == name for family in families.values())]
    if not classes:
        raise UsageError("the exam has no family. Name a folder of families with --families.")
    return classes


def some_pairs(
    drawn: Sequence[tuple[str, Family]], of_a_class: int, pairs: int | None
) -> list[tuple[int, str, Family]]:
    """(number of the pair, name, family) of so many pairs, None for all. They are taken in turns of one of each class.
    A turn takes another place of every class, because places of the same number share few languages."""

    def turn(number: int) -> tuple[int, int]:
        class_number, place = divmod(number, of_a_class)
        return (place - class_number) % of_a_class, number

    numbers = sorted(range(len(drawn)), key=turn)[:pairs]
    return [(number, *drawn[number]) for number in sorted(numbers)]


def choose_families(families: Mapping[str, Family], size: Size, seed: int) -> Iterator[tuple[str, Family]]:
    """The family of each pair: every class has the same number of pairs, spread over its families."""
    for name in classes_of(families):
        own = sorted(key for key, family in families.items() if family.class_ == name)
        seeded_random(seed, name).shuffle(own)
        for number in range(PAIRS_OF_A_CLASS[size]):
            yield own[number % len(own)], families[own[number % len(own)]]


def make_pair(
    folder: Path, name: str, family: Family, pair: int, seed: int, alteration: Alteration = UNALTERED
) -> Iterator[tuple[Item, bytes]]:
    """Both twins with the same values; nothing if a check does not hold after the alteration. Raises InvalidFamily
    where no values were found with which every check holds."""
    length = length_of(family, pair, seed)
    for attempt in range(ATTEMPTS):
        source = seeded_random(seed, pair, attempt)
        values = drawn_values(name, family, source)
        counts = filler_counts(family, length, source.randrange(2**32))
        draft = Draft(folder, name, family, pair, seed, attempt, values, length, counts)
        items = draft.twins(UNALTERED)
        if None not in items:
            altered = items if alteration == UNALTERED else draft.twins(alteration)
            yield from (item for item in altered if item is not None and None not in altered)
            return
    raise InvalidFamily(
        f"{name}: no values of its slots were found with which its checks hold. Give slots more values."
    )


@dataclass(frozen=True)
class Draft:
    """A pair as it was drawn. `counts`: place of filler -> harmless steps there."""

    folder: Path
    name: str
    family: Family
    pair: int
    seed: int
    attempt: int
    values: Mapping[str, str]
    length: str
    counts: Mapping[str, int]

    def twins(self, alteration: Alteration) -> list[tuple[Item, bytes] | None]:
        """Both twins; None for a twin that fails a check."""
        outcomes = OUTCOMES[seeded_random(self.seed, self.pair, "outcomes").randrange(len(OUTCOMES))]
        return [self.item(twin, passed, alteration) for twin, passed in zip(TWINS, outcomes, strict=True)]

    def item(self, twin: Twin, passed: bool, alteration: Alteration) -> tuple[Item, bytes] | None:
        """One twin; None if a check does not hold."""
        name, family, pair = self.name, self.family, self.pair
        language = family.languages[(pair + self.seed + alteration.language_shift) % len(family.languages)]
        source = seeded_random(self.seed, pair, self.attempt, twin)
        item_id = uuid_of(source.getrandbits(128))
        messages = agent_messages(family, twin)
        filler = {messages[step]: count for step, count in self.counts.items() if count}
        content = read_recording(self.folder, name, twin)
        content = insert_filler(content, filler, seeded_random(self.seed, pair, self.attempt, "filler"), family.release)
        rewrite_seed = source.randrange(2**32)
        content = rewrite_recording(
            name, family, content, self.values, language, rewrite_seed, item_id, alteration.text
        )
        content = alteration.session(content, pair)
        steps = parse_recording(name, content).steps
        numbers = shift_numbers(step_numbers(family, twin), family, twin, self.counts)
        if list(failed_checks(name, family, twin, steps, self.values, language, numbers)):
            return None
        key = family.key if twin == "anomalous" else None
        evidence = [numbers[step] for step in key.evidence if step in numbers] if key else []
        item = Item(
            id=item_id,
            pair=pair,
            family=name,
            class_=family.class_,
            level=family.level,
            manner=family.manner,
            twin=twin,
            language=language,
            length=self.length,
            steps=len(steps),
            passed=passed != alteration.flips_outcomes,
            subtypes=[key.subtype, *key.also] if key else [],
            onsets=[numbers[step][0] for step in (key.onset, *key.onset_also) if step in numbers] if key else [],
            span=[numbers[key.span[0]][0], numbers[key.span[1]][1]] if key else [],
            evidence=sorted(number for bounds in evidence for number in in_range(bounds)),
            decisive=self.decisive(twin),
        )
        return item, content

    def decisive(self, twin: Twin) -> list[int]:
        """Numbers of the steps that its twin does not have, and of those that the key and the checks name."""
        named = set(self.family.step_names())
        steps = number_steps(self.family, twin, self.counts)
        return [number for step, number in steps if step.twin == twin or step.id in named]


def number_steps(family: Family, twin: Twin, counts: Mapping[str, int]) -> Iterator[tuple[Step, int]]:
    """Each ReAct step of the script with its number in a session with filler."""
    places, number = iter(range(len(family.step))), 0
    for step in family.step:
        belongs = step.twin in ("both", twin)
        added = counts.get(str(next(places)), 0) if step.filler else 0
        if belongs:
            number += added
            yield from ((step, number + count) for count in in_range((1, step.count)))
            number += step.count


def in_range(bounds: tuple[int, int]) -> range:
    """The numbers from the first to the last."""
    return range(bounds[0], bounds[1] + 1)


def length_of(family: Family, pair: int, seed: int) -> str:
    """short: as recorded. A hard family is long in half of its pairs, another one is ordinary in a third of them."""
    if not any(step.filler for step in family.step):
        return "short"
    draw = seeded_random(seed, pair, "length").random()
    if family.level == "hard":
        return "long" if draw < 0.5 else "ordinary"
    return "ordinary" if draw < 1 / 3 else "short"


def filler_counts(family: Family, length: str, seed: int) -> dict[str, int]:
    """Index of the place -> harmless steps before it; the same in both twins. Keys are "0", "1" … of `filler` steps."""
    places = [str(number) for number, _ in enumerate(step for step in family.step if step.filler)]
    if length == "short" or not places:
        return {}
    source = seeded_random(seed)
    own = max(sum(step.count for step in family.steps_of(twin)) for twin in TWINS)
    total = max(0, (source.randint(*LONG) if length == "long" else ORDINARY) - own)
    counts = dict.fromkeys(places, 0)
    for _ in range(total):
        counts[source.choice(places)] += 1
    return counts


def agent_messages(family: Family, twin: Twin) -> dict[str, int]:
    """Place of filler -> index of the agent's message that it is before. Only places that both twins have count."""
    places, index, number = {}, 0, 0
    for step in family.step:
        belongs = step.twin in ("both", twin)
        if step.filler:
            if belongs:
                places[str(number)] = index
            number += 1
        index += belongs and step.user is None
    return places


def shift_numbers(
    numbers: Mapping[str, tuple[int, int]], family: Family, twin: Twin, counts: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """Numbers of the steps after filler was inserted."""
    result, added, number = {}, 0, 0
    for step in family.step:
        belongs = step.twin in ("both", twin)
        if step.filler:
            added += counts.get(str(number), 0) if belongs else 0
            number += 1
        if belongs and step.id is not None:
            first, last = numbers[step.id]
            result[step.id] = first + added, last + added
    return result


def outcome(item: Item, seed: int) -> dict[str, Any]:
    """The made-up benchmark outcome of an item, an OracleRecord."""
    task = f"multi_turn_base_{seeded_random(seed, item.id, 'task').randrange(10**6)}"  # one a session: it tells no twin
    evaluator = dict.fromkeys(Evaluator.model_fields) | {"name": "exam", "version": "1", "mode": "made_up"}
    record = dict.fromkeys(OracleRecord.model_fields) | {
        "schema_version": "1",
        "source_model": SOURCE_MODEL,
        "native_session_basename": item.id,
        "session_id": item.id,
        "attempt": 1,
        "task_id": task,
        "task_id_canonical": task,
        "subset": "multi_turn_base",
        "success": item.passed,
        "status": "scored",
        "score": float(item.passed),
        "flags": [],
        "evaluator": evaluator,
    }
    return OracleRecord.model_validate(record).model_dump()
