"""schemas/ is what the records say."""

from openclawbench.records.json_schema import stale


def test_schemas_are_up_to_date() -> None:
    assert stale() == [], "run `make schemas`"
