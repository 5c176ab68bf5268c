import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_collector.model.values import Value
from spanproof_collector.store.values import (
    ARRAY,
    BYTES,
    INLINE,
    KVLIST,
    LIST,
    SPACED,
    STRING,
    WHOLE,
    LostContentError,
    content_hash,
    decode,
    encode,
)

text = st.text(st.characters(codec="utf-8"), max_size=40)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | text | st.binary(max_size=40)
values: st.SearchStrategy[Value] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(text, inner, max_size=8), max_leaves=40
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(text, inner, max_size=6),
    max_leaves=30,
)
MESSAGES = [
    {"role": "user", "parts": [{"type": "text", "content": f"message {i}, with a comma, \n and é" * 9}]}
    for i in range(5)
]


def same(one: Value, other: Value) -> bool:
    """Compare as a sender would: NaN is NaN, True is not 1, and 1 is not 1.0."""
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    return type(one) is type(other) and one == other


@given(values)
def test_every_value_comes_back_as_it_was(value: Value) -> None:
    kind, spelled, content = encode(value)

    assert same(decode(kind, spelled, dict(content)), value)


@given(st.lists(json_values, max_size=20), st.sampled_from([(",", ":"), (", ", ": "), (" ,", ":"), (",  ", ":")]))
def test_a_string_that_looks_like_a_json_list_comes_back_byte_for_byte(
    elements: list[object], separators: tuple[str, str]
) -> None:
    sent = json.dumps(elements * 20, separators=separators)

    kind, spelled, content = encode(sent)

    assert decode(kind, spelled, dict(content)) == sent


@pytest.mark.parametrize(
    "sent",
    [
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        5e-324,
        2**63 - 1,
        -(2**63),
        10**60,
        b"",
        b"\x00\xff" * 900,
        "",
        None,
        [None, [], {}, [[None]]],
        {"": None, "a": {"a": [1, 1.0, True, "1", b"1"]}},
        "[" + "1," * 900 + "1]",
        "[" + "x" * 900,
        '[ {"a": "' + "x" * 900 + '"} ]',
        '[{"a": "' + "x" * 900 + '"}]\n',
        "\u2028\x00'\\" * 300,
        ["x" * 900, "y" * 900],
    ],
    ids=repr,
)
def test_a_value_at_the_edge_comes_back_as_it_was(sent: Value) -> None:
    kind, spelled, content = encode(sent)

    assert same(decode(kind, spelled, dict(content)), sent)


@pytest.mark.parametrize(("separators", "place"), [((",", ":"), LIST), ((", ", ": "), SPACED)])
def test_a_long_list_of_messages_shares_its_messages(separators: tuple[str, str], place: int) -> None:
    shorter = encode(json.dumps(MESSAGES[:4], separators=separators, ensure_ascii=False))
    longer = encode(json.dumps(MESSAGES, separators=separators, ensure_ascii=False))

    assert shorter.type == longer.type == STRING | place
    assert longer.content[:4] == shorter.content
    assert len(longer.content) == 5


def test_a_long_list_with_other_blanks_is_kept_whole() -> None:
    assert encode(json.dumps(MESSAGES, indent=1)).type == STRING | WHOLE


def test_a_long_list_of_small_things_is_kept_whole() -> None:
    assert encode(json.dumps(list(range(900)))).type == STRING | WHOLE


@pytest.mark.parametrize(
    ("sent", "kind"), [("x" * 600, STRING), (b"x" * 600, BYTES), (["x" * 600], ARRAY), ({"k": "x" * 600}, KVLIST)]
)
def test_only_a_long_text_leaves_its_row(sent: Value, kind: int) -> None:
    assert encode(sent).type & 0x0F == kind
    assert encode(sent).type > 0x0F
    assert encode(sent, inline=True).type == kind | INLINE
    assert encode(sent, inline=True).content == ()


def test_five_hundred_and_twelve_bytes_are_long() -> None:
    assert encode("é" * 255 + "x").type == STRING | INLINE
    assert encode("é" * 256).type == STRING | WHOLE


def test_a_content_row_is_named_by_half_of_its_sha256() -> None:
    assert content_hash("abc") == "ba7816bf8f01cfea414140de5dae2223"


def test_a_missing_content_row_is_reported() -> None:
    kind, spelled, content = encode(json.dumps(MESSAGES))

    with pytest.raises(LostContentError, match=content[2][0]):
        decode(kind, spelled, dict([*content[:2], *content[3:]]))


def test_of_duplicate_keys_inside_a_map_the_last_one_is_read() -> None:
    spelled = '[{"key":"k","value":{"intValue":"1"}},{"key":"k","value":{"intValue":2}},{"key":"e"}]'

    assert decode(KVLIST, spelled, {}) == {"k": 2, "e": None}
