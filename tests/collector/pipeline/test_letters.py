import json

import pytest

from spanproof_collector.pipeline.letters import Retried, retry_letters
from spanproof_collector.store import DeadLetter, Store
from spanproof_collector.store.dead_letters import NoSuchLetterError, drop_letters, list_letters, read_letter
from tests.factories import log_record, span, trace_id, traces
from tests.storing import put


def _reject(store: Store, letter_id: str, signal: str, content: bytes, reason: str = "could not be read then") -> None:
    """Put a letter where an earlier spanproof, which read less, would have put it."""
    store.insert(
        "dead_letters",
        {
            "letter_id": [letter_id],
            "received_at": [1_760_000_000_000],
            "signal": [signal],
            "origin": ["otlp"],
            "reason": [reason],
            "bytes": [content],
        },
        letter_id,
    )


def _retry(store: Store, project: str = "") -> list[Retried]:
    letters = [read_letter(store, each.letter_id) for each in list_letters(store, 100)]
    return sorted(retry_letters(store, letters, project), key=lambda each: each.letter_id)


def _names(store: Store, project: str = "default") -> list[str]:
    records = store.read_traces([(project, trace_id("a").hex())])
    return sorted(
        [each.name for found in records.values() for each in found.spans]
        + [each.event_name for found in records.values() for each in found.logs]
    )


def test_what_fits_now_is_stored_and_no_letter_any_more(store: Store) -> None:
    spelled = {"traceId": trace_id("a").hex(), "spanId": "b7ad6b7169203331", "name": "in JSON"}
    _reject(store, "aa1", "traces", span("in protobuf").SerializeToString())
    _reject(store, "bb2", "traces", json.dumps(spelled).encode())
    _reject(store, "cc3", "logs", log_record("said").SerializeToString())
    assert _retry(store) == [Retried(letter_id=each) for each in ("aa1", "bb2", "cc3")]
    assert _names(store) == ["in JSON", "in protobuf", "said"]
    assert list_letters(store, 10) == []


def test_what_does_not_fit_stays_with_the_reason_of_today(store: Store) -> None:
    broken = span("broken")
    broken.span_id = b"short"
    _reject(store, "aa1", "traces", broken.SerializeToString())
    _reject(store, "bb2", "traces", b"{not JSON")
    one, other = _retry(store)
    assert one.reason == "span id has 5 bytes, not 8"
    assert other.reason
    assert [each.letter_id for each in list_letters(store, 10)] == ["aa1", "bb2"]
    assert _names(store) == []


def test_a_letter_goes_to_the_project_that_is_named(store: Store) -> None:
    _reject(store, "aa1", "traces", span("a").SerializeToString())
    assert _retry(store, "shop") == [Retried(letter_id="aa1")]
    assert _names(store, "shop") == ["a"]


def test_what_was_rejected_is_listed_by_size_and_read_by_the_beginning_of_its_id(store: Store) -> None:
    broken = span("broken")
    broken.trace_id = b""
    put(store, traces(broken))
    (head,) = list_letters(store, 10)
    assert (head.reason, head.signal, head.size) == ("trace id has 0 bytes, not 16", "traces", broken.ByteSize())
    letter = read_letter(store, head.letter_id[:8])
    assert isinstance(letter, DeadLetter)
    assert letter.bytes == broken.SerializeToString()


@pytest.mark.parametrize(("prefix", "word"), [("a", "several"), ("x", "no dead letter")])
def test_an_id_that_is_not_one_letter_s_is_refused(store: Store, prefix: str, word: str) -> None:
    for letter_id in ("aa1", "aa2"):
        _reject(store, letter_id, "traces", b"")
    with pytest.raises(NoSuchLetterError, match=word):
        read_letter(store, prefix)


def test_what_was_dropped_is_gone(store: Store) -> None:
    for letter_id in ("aa1", "bb2"):
        _reject(store, letter_id, "traces", b"")
    drop_letters(store, ["aa1"])
    assert [each.letter_id for each in list_letters(store, 10)] == ["bb2"]
