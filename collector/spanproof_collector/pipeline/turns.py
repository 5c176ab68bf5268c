"""Fairness between senders: how much each may have in flight, and whose request comes next."""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from spanproof_collector.errors import CollectorError

RETRY_SECONDS = 1.0
_T = TypeVar("_T")


class BusyError(CollectorError):
    """More is in flight than we take on, or the server is stopping. The sender is to try again."""

    def __init__(self, why: str, retry_seconds: float = RETRY_SECONDS) -> None:
        super().__init__(f"{why}: send the same request again in {retry_seconds:g} s")
        self.retry_seconds = retry_seconds


class Shares:
    """Counts what is in flight, in bytes and requests, by sender.

    A sender may hold as much as is left free. So one alone holds at most half, two a third each, and whoever comes
    next finds room, whatever the others send.
    """

    def __init__(self, max_bytes: int, max_requests: int) -> None:
        self.bytes = 0
        self.requests = 0
        self._max_bytes = max_bytes
        self._max_requests = max_requests
        self._bytes_of: Counter[str] = Counter()
        self._requests_of: Counter[str] = Counter()

    def enter(self, peer: str, size: int) -> None:
        """Count a request in. One larger than the limit is taken when nothing else is in flight.

        Raises:
            BusyError: its sender, or everybody together, has too much in flight.
        """
        if self._requests_of[peer] + 1 > self._max_requests - self.requests:
            raise BusyError("too many requests are waiting for the store")
        self._refuse_beyond_its_share(peer, size)
        self.requests += 1
        self._requests_of[peer] += 1
        self.change(peer, size)

    def change(self, peer: str, size: int) -> None:
        """Count more or fewer bytes of a request that is in."""
        self.bytes += size
        self._bytes_of[peer] += size

    def leave(self, peer: str, size: int) -> None:
        """Count a request out, with the bytes that it held."""
        self.change(peer, -size)
        self.requests -= 1
        self._requests_of[peer] -= 1
        if not self._requests_of[peer]:
            del self._requests_of[peer], self._bytes_of[peer]

    @contextmanager
    def arriving(self, peer: str) -> Iterator["Arriving"]:
        """Count the bytes of a request while they come in."""
        self.enter(peer, 0)
        found = Arriving(self, peer)
        try:
            yield found
        finally:
            self.leave(peer, found.size)

    def grow(self, peer: str, size: int) -> None:
        """Count more bytes in.

        Raises:
            BusyError: that is more than its sender's share.
        """
        self._refuse_beyond_its_share(peer, size)
        self.change(peer, size)

    def _refuse_beyond_its_share(self, peer: str, size: int) -> None:
        if self.bytes and self._bytes_of[peer] + size > self._max_bytes - self.bytes:
            raise BusyError("too much is waiting for the store")


class Arriving:
    """A request whose body is on its way."""

    def __init__(self, shares: Shares, peer: str) -> None:
        self._shares = shares
        self._peer = peer
        self.size = 0

    def expect(self, size: int) -> None:
        """Count a body of which so many bytes have come or are announced.

        Raises:
            BusyError: that is more than its sender's share.
        """
        if size > self.size:
            self._shares.grow(self._peer, size - self.size)
            self.size = size


class Turns(Generic[_T]):
    """Queues by sender that are served in turn, one item each."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[_T]] = OrderedDict()

    def __bool__(self) -> bool:
        """True while anything waits."""
        return bool(self._queues)

    def add(self, peer: str, item: _T) -> None:
        """Put an item at the end of its sender's queue."""
        self._queues.setdefault(peer, deque()).append(item)

    def take(self) -> _T:
        """Return the first item of the sender who has waited longest for a turn."""
        peer, queue = self._queues.popitem(last=False)
        item = queue.popleft()
        if queue:
            self._queues[peer] = queue
        return item
