"""Numbers beyond all bounds, which the fast parser refuses and the standard one reads: the file is read nonetheless."""

import pytest
from normalizing import normalized_rows, raw_row, read

HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-02-01T00:00:00.000Z"}'
CALL = '{"type":"toolCall","id":"c","name":"f","arguments":{"n":1e400}}'
USAGE = '{"input":7,"output":1e400,"cost":{"total":1e400}}'
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
    one = read(session(**parts))
    assert one.reason is None
    assert one.session is not None
    (step,) = one.session.steps
    assert (step["arguments"], step["reflection_text"]) == ('{"n":1e400}', "ok")
    assert step["result_details"] == '{"n":-1e999}'
    assert (step["timestamp"] is None) == ("time" in parts)
    assert one.session.run["input_tokens"] == (7 if "usage" in parts else None)


@pytest.mark.parametrize(
    "parts", [{"usage": "[1e400]"}, {"id": "1e400", "call": '{"type":5}'}, {"id": "1e400", "usage": "7"}]
)
def test_a_record_of_another_shape_is_still_refused(parts: dict[str, str]) -> None:
    one = read(session(**parts))
    assert (one.reason, one.line) == ("unexpected_shape", 2)


def test_what_is_no_json_is_refused_with_its_line() -> None:
    one = read(session(usage='{"input":NaN}'))
    assert (one.reason, one.line) == ("broken_json", 2)


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        ('{"input":-5,"output":true,"cost":{"total":true}}', {}),
        ('{"input":%d,"cost":{"total":%d}}' % (10**400, 10**400), {}),  # noqa: UP031 (braces)
        ('{"input":%d,"output":3,"cost":{"total":1e308}}' % 10**30, {"output_tokens": 3}),  # noqa: UP031
        ('{"input":3,"cost":{"total":0.5}}', {"input_tokens": 3, "cost_usd": 0.5}),
    ],
)
def test_what_is_no_count_and_no_cost_is_not_added_up(usage: str, told: dict[str, float]) -> None:
    (row,) = normalized_rows([raw_row([session(usage=usage)], sha256="0" * 64)]).trajectories
    names = ("input_tokens", "output_tokens", "total_tokens", "cost_usd")
    assert {name: row["run"][name] for name in names if row["run"][name]} == told
