import pytest

from spanproof_collector.pipeline import BusyError
from spanproof_collector.pipeline.turns import Shares, Turns


def test_senders_are_served_in_turn() -> None:
    turns: Turns[int] = Turns()
    for item in range(4):
        turns.add("flood", item)
    turns.add("small", 100)
    turns.add("other", 200)
    assert [turns.take() for _ in range(3)] == [0, 100, 200]
    turns.add("small", 101)
    assert [turns.take() for _ in range(4)] == [1, 101, 2, 3]
    assert not turns


def test_one_sender_alone_holds_half_and_leaves_room_for_the_next() -> None:
    shares = Shares(max_bytes=100, max_requests=10)
    shares.enter("flood", 40)
    shares.enter("flood", 10)
    with pytest.raises(BusyError):
        shares.enter("flood", 10)
    shares.enter("small", 25)
    with pytest.raises(BusyError):
        shares.enter("small", 25)
    assert (shares.bytes, shares.requests) == (75, 3)


def test_many_small_requests_of_one_sender_leave_room_too() -> None:
    shares = Shares(max_bytes=10**9, max_requests=10)
    for _ in range(5):
        shares.enter("flood", 1)
    with pytest.raises(BusyError):
        shares.enter("flood", 1)
    shares.enter("small", 1)


def test_a_share_is_free_again_when_its_requests_have_left() -> None:
    shares = Shares(max_bytes=100, max_requests=10)
    for _ in range(50):
        shares.enter("a", 50)
        shares.change("a", 20)
        shares.leave("a", 70)
    assert (shares.bytes, shares.requests) == (0, 0)


def test_a_request_larger_than_the_limit_is_taken_when_nothing_else_is_in_flight() -> None:
    shares = Shares(max_bytes=10, max_requests=10)
    shares.enter("a", 11)
    with pytest.raises(BusyError):
        shares.enter("b", 1)


def test_bodies_on_their_way_count_until_they_have_come() -> None:
    shares = Shares(max_bytes=100, max_requests=10)
    with shares.arriving("a") as body:
        body.expect(30)
        body.expect(20)  # some of what was announced
        assert shares.bytes == 30
        with pytest.raises(BusyError):
            body.expect(90)
    assert (shares.bytes, shares.requests) == (0, 0)
