"""Byte ranges of the elements of an array in a JSON document."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.sources.io.json_ranges import element_ranges

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.just("steps"), inner, max_size=4),
    max_leaves=12,
)


def cut(content: bytes, key: str = "steps") -> list[bytes]:
    return [content[begin:end] for begin, end in element_ranges(content, key)]


@given(
    before=st.dictionaries(st.text(), VALUES, max_size=3),
    elements=st.lists(VALUES, max_size=5),
    after=st.dictionaries(st.text(), VALUES, max_size=3),
    indent=st.none() | st.integers(0, 3),
    plain=st.booleans(),
)
def test_ranges_hold_the_elements(
    before: dict[str, Any], elements: list[Any], after: dict[str, Any], indent: int | None, plain: bool
) -> None:
    before.pop("steps", None)
    after.pop("steps", None)
    document = before | {"steps": elements} | after
    content = json.dumps(document, indent=indent, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    documents = [json.loads(entry.decode("utf-8", "surrogatepass")) for entry in cut(content)]
    assert documents == elements
    shifted = b"\xef\xbb\xbf" + content
    assert element_ranges(shifted, "steps") == [(begin + 3, end + 3) for begin, end in element_ranges(content, "steps")]


def test_quotes_brackets_and_blanks_do_not_confuse_it() -> None:
    content = b'\xef\xbb\xbf {"a": "\\"steps\\": [1]", '
    content += b'"steps" : [ {"x": "]}\\\\"} ,\n[1, [2]] , "s,]" ,-1.5e3 ] , "b": {"steps": [9]}}'
    assert cut(content) == [b'{"x": "]}\\\\"}', b"[1, [2]]", b'"s,]"', b"-1.5e3"]


def test_a_key_that_repeats_or_is_escaped() -> None:
    assert cut(b'{"steps": [1], "steps": [2, 3]}') == [b"2", b"3"]
    assert cut(b'{"steps": [1], "steps": 4}') == []
    assert cut(b'{"st\\u0065ps": [1]}') == [b"1"]
    assert cut(b'{"other": [1]}') == cut(b"[1]") == cut(b"") == cut(b'{"steps": {"steps": [1]}}') == []


@pytest.mark.parametrize(
    "content",
    [b"{", b'{"steps"', b'{"steps": ', b'{"steps": [1', b'{"steps": [1,', b'{"steps": [{"a": "]}', b'{"a" 1}'],
)
def test_a_document_that_ends_early_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="byte"):
        element_ranges(content, "steps")
