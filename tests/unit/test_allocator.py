"""How long polars' allocator holds memory: told before polars is loaded, and left as somebody has set it."""

import subprocess
import sys

import pytest

NAME = "_RJEM_MALLOC_CONF"
SAY = f"""
import sys
class First:
    def find_spec(self, name, path=None, target=None):
        if name == "polars":
            import os
            print(os.environ.get("{NAME}"))
            sys.meta_path.remove(self)
sys.meta_path.insert(0, First())
import openclawbench.runtime.shard_task
"""


@pytest.mark.parametrize(
    ("setting", "expected"),
    [(None, "dirty_decay_ms:5000,muzzy_decay_ms:5000"), ("dirty_decay_ms:100", "dirty_decay_ms:100")],
)
def test_it_is_told_before_polars_is_loaded(
    setting: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    if setting is not None:
        monkeypatch.setenv(NAME, setting)
    ended = subprocess.run([sys.executable, "-c", SAY], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == [expected]
