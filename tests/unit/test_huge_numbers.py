"""Numbers beyond all bounds, which the fast parser refuses and the standard one reads: the file is read nonetheless."""

import json

import pytest
from normalizing import normalized_rows, raw_row, read

HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-02-01T00:00:00.000Z"}'
CALL = '{"type":"toolCall","id":"c","name":"f","arguments":{"n":1e400}}'
USAGE = '{"input":7,"output":1e400,"cost":{"total":1e400}}'
FIGURES = ("input_tokens", "output_tokens", "total_tokens", "cost_usd")
ANSWER = '{"type":"message","message":{"role":"assistant","content":"hi","stopReason":"stop","usage":%s}}'
TEMPLATE = (
    '{{"type":"message","id":{id},"parentId":null,"timestamp":{time},'
    '"message":{{"role":"assistant","content":[{call}],"usage":{usage},"timestamp":{time},"errorMessage":{error}}}}}'
)


def session(**parts: str) -> bytes:
    filled = {"id": '"a"', "time": "1770000000000", "call": CALL, "usage": "null", "error": "null"} | parts
    result = '{"type":"message","message":{"role":"toolResult","toolCallId":"c","content":"ok","details":{"n":-1e999}}}'
    return "\n".join([HEADER, TEMPLATE.format(**filled), result]).encode() + b"\n"


@pytest.mark.parametrize(
    "parts",
    [
        {"usage": USAGE},
        {"id": "1e400"},
        {"time": "1e400"},
        {"error": '{"code":1e400}'},
        {"error": f'{{"code":{"9" * 5000}}}'},
        {"usage": f'{{"input":7,"output":{"9" * 5000}}}', "time": "-" + "9" * 5000},
        {"usage": USAGE, "id": "-1e400"},
    ],
    ids=["usage", "id", "time", "error", "error of many digits", "usage and time of many digits", "usage and id"],
)
def test_a_record_with_a_huge_number_is_read(parts: dict[str, str]) -> None:
    session_file = read(session(**parts))
    assert session_file.reason is None
    assert session_file.session is not None
    (step,) = session_file.session.steps
    assert (step["arguments"], step["reflection_text"]) == ('{"n":1e400}', "ok")
    assert step["result_details"] == '{"n":-1e999}'
    assert (step["timestamp"] is None) == ("time" in parts)
    assert session_file.session.run["input_tokens"] == (7 if "usage" in parts else None)


@pytest.mark.parametrize(
    "parts", [{"usage": "[1e400]"}, {"id": "1e400", "call": '{"type":5}'}, {"id": "1e400", "usage": "7"}]
)
def test_a_record_of_another_shape_is_still_refused(parts: dict[str, str]) -> None:
    session_file = read(session(**parts))
    assert (session_file.reason, session_file.line) == ("unexpected_shape", 2)


def test_what_is_no_json_is_refused_with_its_line() -> None:
    session_file = read(session(usage='{"input":NaN}'))
    assert (session_file.reason, session_file.line) == ("broken_json", 2)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ('{"input":-5,"output":true,"cost":{"total":true}}', {}),
        ('{"input":%d,"cost":{"total":%d}}' % (10**400, 10**400), {}),  # noqa: UP031 (braces)
        ('{"input":%d,"output":3,"cost":{"total":1e308}}' % 10**30, {"output_tokens": 3}),  # noqa: UP031
        ('{"input":3,"cost":{"total":0.5}}', {"input_tokens": 3, "cost_usd": 0.5}),
    ],
)
def test_what_is_no_count_and_no_cost_is_not_added_up(usage: str, expected: dict[str, float]) -> None:
    (row,) = normalized_rows([raw_row([session(usage=usage)], sha256="0" * 64)]).trajectories
    names = ("input_tokens", "output_tokens", "total_tokens", "cost_usd")
    assert {name: row["run"][name] for name in names if row["run"][name]} == expected


@pytest.mark.parametrize(
    ("usage", "known", "impossible"),
    [
        ('{"input":5,"output":2,"totalTokens":7,"cost":{"total":0.5}}', (5, 2, 7, 0.5), 0),
        ('{"input":5,"output":2,"totalTokens":7,"cost":{"total":-2.5}}', (5, 2, 7, None), 1),
        ('{"input":-5,"output":2,"totalTokens":-3,"cost":{"total":0}}', (None, 2, None, None), 2),
        ('{"input":1e400,"output":2,"cost":{"total":1e400}}', (None, 2, None, None), 2),
        ('{"input":%d,"cost":{"total":1e12}}' % 2**63, (None, None, None, None), 2),  # noqa: UP031
        ('{"input":true,"output":"2","cost":7}', (None, None, None, None), 0),
        ("{}", (None, None, None, None), 0),
    ],
)
@pytest.mark.parametrize("more", [None, '{"input":1,"output":1,"totalTokens":2,"cost":{"total":0.25}}'])
def test_a_sum_with_a_figure_that_cannot_be_is_unknown(
    usage: str, known: tuple[float | None, ...], impossible: int, more: str | None
) -> None:
    """A provider without a price writes one below zero; what the other messages cost is not what the run cost."""
    messages = [ANSWER % entry for entry in (usage, more) if entry is not None]
    session_file = read("\n".join([HEADER, *messages]).encode())
    assert session_file.session is not None
    run = session_file.session.run
    assert run["impossible_usage"] == impossible
    keys = ("input", "output", "totalTokens", "total")
    for name, key, own, other in zip(FIGURES, keys, known, (1, 1, 2, 0.25), strict=True):
        is_wrong = own is None and f'"{key}":' in usage and "true" not in usage and f'"{key}":0' not in usage
        expected = [number for number in (own, other if more else None) if number is not None]
        assert run[name] == (None if is_wrong or not expected else sum(expected)), name


def test_totals_that_a_source_states_are_looked_at_too() -> None:
    document = {
        "schema_version": "ATIF-v1.4",
        "session_id": "s",
        "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": 1, "source": "agent", "message": "hi", "metrics": {"cost_usd": -1, "prompt_tokens": 3}}],
        "final_metrics": {"total_cost_usd": -80.5, "total_prompt_tokens": -1, "total_completion_tokens": 4},
    }
    content = json.dumps(document).encode()
    (row,) = normalized_rows([raw_row([content], "m/t.json", sha256="0" * 64)]).trajectories
    run = row["run"]
    assert (run["cost_usd"], run["input_tokens"], run["output_tokens"]) == (None, None, 4)
    assert run["impossible_usage"] == 3
