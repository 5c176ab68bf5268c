"""Messages in the schema's own spelling, read in one pass, are what the reader of every shape reads."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanproof_collector.dialects._json import DEEPEST, BrokenError, structure
from spanproof_collector.dialects._messages import messages_of, unread
from spanproof_collector.dialects._schema import read_schema
from tests.factories import asked, said, told


def _agrees(text: str) -> bool:
    """Return whether the text was read in one pass; then reading every shape must have given the same."""
    read = read_schema(text)
    if read is None:
        return False
    items = structure(text)
    assert isinstance(items, list)
    assert read == messages_of(items)
    assert unread(read) == 0
    return True


def _deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_what_senders_write_is_read_in_one_pass() -> None:
    parts = [said("user", "hi"), asked("refund", {"order": [7]}, "call_1"), told('{"status": "ok"}', "call_1")]
    assert _agrees(json.dumps(parts))
    assert _agrees('[{"role": "user", "parts": [{"type": "text", "content": "hi"}], "finish_reason": "stop"}]')
    assert _agrees("[]")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '"[]"',
        "{}",
        '[{"role": "user"}]',
        '[{"role": "user", "parts": []}]',
        '[{"role": "user", "content": "hi"}]',
        '[{"role": 1, "parts": [{"type": "text", "content": "a"}]}]',
        '[{"role": "user", "parts": [{"type": "text", "content": "a", "text": "b"}]}]',
        '[{"role": "user", "parts": [{"type": "text", "content": {"a": 1}}]}]',
        '[{"role": "user", "parts": [{"type": "reasoning", "content": "a"}]}]',
        '[{"role": "user", "parts": [{"content": "a"}]}]',
        '[{"role": "user", "parts": ["a"]}]',
        '[{"role": "user", "parts": [{"type": "tool_call", "id": 7, "name": "f", "arguments": {}}]}]',
        '[{"role": "user", "parts": [{"type": "tool_call", "name": "f", "args": {}}]}]',
        '[{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "result": 1}]}]',
        '[{"role": "user", "parts": [{"type": "text", "content": "\\ud83d"}]}]',
        '[{"role": "user", "parts": [{"type": "text", "content": "a"}]',
        '[{"role": "user", "parts": [{"type": "tool_call", "arguments": NaN}]}]',
    ],
)
def test_every_other_shape_is_left_to_the_other_reader(text: str) -> None:
    assert read_schema(text) is None


@pytest.mark.parametrize("member", ["arguments", "response"])
def test_nesting_ends_where_it_ends_for_every_shape(member: str) -> None:
    kind = "tool_call" if member == "arguments" else "tool_call_response"
    around = 4
    for levels in (DEEPEST - around, DEEPEST - around + 1):
        text = json.dumps([{"role": "user", "parts": [{"type": kind, member: _deep(levels)}]}])
        try:
            structure(text)
        except BrokenError:
            assert read_schema(text) is None
            assert levels > DEEPEST - around
        else:
            assert _agrees(text)
            assert levels <= DEEPEST - around


_json = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["", "a", "{}", "[1]", "[", '{"a"'])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abt"), inner, max_size=3)),
    max_leaves=5,
)
_members = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_call", "tool_call_response", "tool_use", "reasoning"])},
    optional={
        name: st.one_of(st.sampled_from(["", "x"]), _json)
        for name in ("id", "name", "content", "arguments", "response")
    },
)
_messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "ai", "tool", "?"]), "parts": st.lists(_members, max_size=3)},
    optional={"finish_reason": st.sampled_from(["", "stop", None, 7]), "content": st.just("a")},
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_messages, max_size=3))
def test_any_messages_read_in_one_pass_are_read_alike(items: list[dict[str, object]]) -> None:
    _agrees(json.dumps(items))


def test_a_member_that_stands_twice_counts_as_the_last() -> None:
    assert _agrees('[{"role": "user", "role": "tool", "parts": [{"type": "text", "content": "a", "content": "b"}]}]')
    assert not _agrees('[{"role": "user", "parts": [{"type": "text", "type": "tool_call", "content": "a"}]}]')
