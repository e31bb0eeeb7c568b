"""Every number of every rule file has a range, and one outside it is refused with file, line and key."""

import importlib
import pkgutil
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import openclawbench
from openclawbench.errors import InvalidRules
from openclawbench.rules.fulltax.control import ControlRules
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.release.release import ReleaseRules

OF_TRL = "openclawbench.detect.training.trainer"  # subclasses of trl's trainer, from the extra `train`; no rule file
for module in pkgutil.walk_packages(openclawbench.__path__, "openclawbench."):
    if not module.name.endswith("__main__") and (module.name != OF_TRL or find_spec("trl")):
        importlib.import_module(module.name)


def kinds(base: type[Rules] = Rules) -> list[type[Rules]]:
    """Every kind of rule file."""
    return [entry for kind in base.__subclasses__() for entry in [kind, *kinds(kind)]]


def numbers(kind: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[tuple[str, bool]]:
    """(field, whether it has a bound) of every number in a model and the models within."""
    if kind in seen:
        return
    seen.add(kind)
    for name, field in kind.model_fields.items():
        yield from within(f"{kind.__name__}.{name}", field.annotation, bounded(field.metadata), seen)


def bounded(metadata: Any) -> bool:
    """True where one of the annotations is a bound."""
    flat = [entry for part in metadata for entry in (part.metadata if isinstance(part, FieldInfo) else [part])]
    return any(isinstance(entry, Ge | Gt | Le | Lt) for entry in flat)


def within(place: str, annotation: Any, has_bound: bool, seen: set[type[BaseModel]]) -> Iterator[tuple[str, bool]]:
    """The numbers of a type, in lists, tables and unions too."""
    if annotation in (int, float):
        yield place, has_bound
    elif get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        yield from within(place, inner, has_bound or bounded(metadata), seen)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from numbers(annotation, seen)
    else:
        for get_arg in get_args(annotation):
            if not isinstance(get_arg, str):
                yield from within(place, get_arg, has_bound, seen)


def test_every_number_of_a_rule_file_has_a_range() -> None:
    result = dict(number for kind in kinds() if ".toml" in getattr(kind, "FILE", "") for number in numbers(kind, set()))
    assert len(result) > 60
    unbounded = [place for place, has_bound in result.items() if not has_bound]
    assert unbounded == [], "give each a type with a range, of rules/loading/numbers.py"


@pytest.mark.parametrize(
    ("kind", "sentence", "instead", "message"),
    [
        (ReleaseRules, "test_share = 0.1", "test_share = 1.4", r"line \d+: test_share: .*less than or equal to 1"),
        (ReleaseRules, "share = 0.1   ", "share = -0.1   ", r"calibration.task_share: .*greater than or equal to 0"),
        (ControlRules, "0.05", "5", r"triage_escape_audit_share: .*less than or equal to 1"),
    ],
)
def test_a_number_out_of_its_range_is_refused(
    kind: type[Rules], sentence: str, instead: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shipped_path(kind.FILE).read_text()
    place = text.index("[calibration]") if sentence.startswith("share") else 0
    assert sentence in text[place:]
    (tmp_path / kind.FILE).write_text(text[:place] + text[place:].replace(sentence, instead, 1))
    tomllib.loads((tmp_path / kind.FILE).read_text())
    monkeypatch.setenv("OPENCLAWBENCH_RULES", str(tmp_path))
    with pytest.raises(InvalidRules, match=message):
        kind.load()
