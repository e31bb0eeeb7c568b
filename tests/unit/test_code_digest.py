"""A stage's code digest: remarks and layout do not count, everything else does, remembered or not."""

import pytest

from pipeline import stage
from pipeline.stage import code_digest, module_source, parsed


def test_remarks_and_layout_do_not_count() -> None:
    assert parsed(b"x = 1\n") == parsed(b"# why\nx  =  1  # one\n")
    assert parsed(b"x = 1\n") != parsed(b"x = 2\n")


def test_imports_of_the_project_are_found() -> None:
    _, found = parsed(b"import os\nimport pipeline.run\nfrom pipeline.stage import stage, code_digest\n")
    assert found == [("pipeline.run", None), ("pipeline.stage", "stage"), ("pipeline.stage", "code_digest")]


def test_what_is_remembered_gives_the_same_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "pipeline.construct.onset"
    digest = code_digest(name)
    monkeypatch.setattr(stage, "parsed", lambda _: pytest.fail("parsed again"))
    module_source.cache_clear()
    code_digest.cache_clear()
    assert code_digest(name) == digest
