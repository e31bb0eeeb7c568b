"""A stage's code digest: remarks and layout do not count, everything else does, remembered or not."""

import pytest

import openclawbench.base.code_digest
from openclawbench.base.code_digest import code_digest, module_source, parsed


def test_remarks_and_layout_do_not_count() -> None:
    assert parsed(b"x = 1\n") == parsed(b"# why\nx  =  1  # one\n")
    assert parsed(b"x = 1\n") != parsed(b"x = 2\n")


def test_imports_of_the_project_are_found() -> None:
    _, result = parsed(
        b"import os\nimport openclawbench.runtime.run\nfrom openclawbench.runtime.stage import stage, code_digest\n"
    )
    assert result == [
        ("openclawbench.runtime.run", None),
        ("openclawbench.runtime.stage", "stage"),
        ("openclawbench.runtime.stage", "code_digest"),
    ]


def test_what_is_remembered_gives_the_same_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "openclawbench.construct.onset"
    digest = code_digest(name)
    monkeypatch.setattr(openclawbench.base.code_digest, "parsed", lambda _: pytest.fail("parsed again"))
    module_source.cache_clear()
    code_digest.cache_clear()
    assert code_digest(name) == digest
