"""Settings that every test shares: how much hypothesis tries, that no test waits for the disk, and that what is tested
is what is installed.

`fast` (the default) and `slow` (make test-all) are fixed: the same examples on every machine, so that a red test is red
for everybody. `HYPOTHESIS_PROFILE=thorough` looks for new counterexamples.
"""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow]
EXAMPLES = {"fast": 25, "slow": 150}
for name, examples in EXAMPLES.items():
    settings.register_profile(
        name, max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW_IS_FINE
    )
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


ROOT = Path(__file__).parents[1]
WHERE = "import importlib.util as i; s = i.find_spec('openclawbench'); print(s.origin if s else 'nothing')"


@pytest.fixture(scope="session", autouse=True)
def own_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the settings of whoever runs it. What needs labels gets those of the embedded judge,
    which is free and always the same; a test of a release without labels takes the variable away."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("configuration")))
        patch.delenv("OPENAI_BASE_URL", raising=False)
        patch.setenv("OPENCLAWBENCH_TEST_JUDGE", "rules")
        yield


def pytest_configure(config: pytest.Config) -> None:
    """No test begins where the environment's command would run another copy of the program than the tests see: a
    `pip install .` leaves one, while the tests read the checkout."""
    if hasattr(config, "workerinput"):
        return
    asked = [sys.executable, "-I", "-c", WHERE]
    installed = subprocess.run(asked, cwd="/", capture_output=True, text=True, check=True).stdout.strip()
    if Path(installed) != ROOT / "pipeline" / "openclawbench" / "__init__.py":
        raise pytest.UsageError(
            f"the environment {sys.prefix} has {installed} installed, which is not this checkout ({ROOT}). "
            "Run `make setup`, which installs the checkout in place."
        )


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """A run asks some 300 times that something is on the disk before it goes on, a few thousandths of a second each.
    No test takes the power away; that it asks, and before what, is tested by unit/test_durable.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _handle: None)
        yield


def pytest_collection_finish() -> None:
    """What collecting made stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
