"""Histories are sent again with every model call; what is remembered of them must not show."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_collector.dialects import _join, _messages, project
from spanproof_collector.dialects._json import BrokenError
from tests.factories import asked, chat, said, told

_turns = st.lists(
    st.one_of(
        st.integers(0, 3).map(lambda number: said("user", f"{number} " + "word " * 150)),
        st.integers(0, 3).map(lambda number: said("assistant", f"answer {number}")),
        st.integers(0, 3).map(lambda number: asked("pay", {"order": number}, f"call-{number}")),
        st.integers(0, 3).map(lambda number: told({"paid": number}, f"call-{number}")),
    ),
    min_size=1,
    max_size=12,
)


def _forget() -> None:
    _messages._histories.clear()
    _messages._remembered.cache_clear()
    _join._facts_by_id.clear()
    _join._walks_by_id.clear()


@given(st.lists(_turns, min_size=1, max_size=3), st.sampled_from([(", ", ": "), (",", ":")]))
def test_a_call_reads_the_same_whatever_was_read_before(
    conversations: list[list[object]], separators: tuple[str, str]
) -> None:
    calls = [
        chat(None, turns[-1:]) | {"gen_ai.input.messages": json.dumps(turns[:end], separators=separators)}
        for turns in conversations
        for end in range(1, len(turns))
    ]
    fresh = []
    for call in calls:
        _forget()
        fresh.append(project(call, scope_name=""))  # type: ignore[arg-type]
    _forget()
    assert [project(call, scope_name="") for call in [*calls, *reversed(calls)]] == [*fresh, *reversed(fresh)]  # type: ignore[arg-type]


@pytest.mark.parametrize("rest", ["", "]x", ', {"role": "user"', ",]", "]]"])
def test_a_history_that_is_cut_is_broken_though_its_beginning_was_read(rest: str) -> None:
    whole = json.dumps([said("user", "word " * 300), said("assistant", "yes")])
    _messages.messages(whole)
    with pytest.raises(BrokenError):
        _messages.messages(whole[:-1] + rest)
