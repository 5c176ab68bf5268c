"""Who may send, and who may read: bearer tokens, known by their hashes."""

import asyncio
import contextlib
import hmac
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from spanproof_collector.errors import CollectorError, StoreError
from spanproof_collector.store.tokens import Token, TokenScope, hash_of

_logger = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 5.0
"""A token that was removed is refused after this long, at most."""

_LOOK_AGAIN_SECONDS: Final = 1.0
_MAX_TOKEN: Final = 1000
_DOES: Final[dict[TokenScope, str]] = {"ingest": "send", "read": "read"}


class UnauthenticatedError(CollectorError):
    """A request without a token where one is demanded, or with one that is not known."""


class ForbiddenError(CollectorError):
    """A token that is known and does not allow what is asked."""


class Access:
    """The tokens of a store, as last read.

    Without ``required`` a token is demanded as soon as the store holds one, and from then on until the server ends.
    """

    def __init__(self, read: Callable[[], Sequence[Token]], *, required: bool = False) -> None:
        self.required = required
        self._read = read
        self._tokens: Sequence[Token] = ()
        self._read_at = -REFRESH_SECONDS
        self._reading = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spanproof-tokens")

    async def refresh(self) -> None:
        """Read the tokens again. What was known stays while the store does not answer."""
        async with self._reading:
            await self._refresh()

    async def check(self, header: str | None, scope: TokenScope) -> None:
        """Let pass who may do this.

        Args:
            header: what came as ``Authorization``.
            scope: what the request is about to do.

        Raises:
            UnauthenticatedError: no token came, or none that is known.
            ForbiddenError: the token is for something else.
        """
        if not self.required:
            return
        scheme, _, secret = (header or "").strip().partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret:
            raise UnauthenticatedError(
                f"this server demands a token: send the header 'Authorization: Bearer TOKEN'. {_how(scope)}"
            )
        token = self._find(secret) or await self._find_again(secret)
        if token is None:
            raise UnauthenticatedError(
                "the token is not known here: it was mistyped, was removed, or belongs to the store of another server. "
                "List the valid ones with 'spanproof token list'"
            )
        if scope not in token.scopes:
            raise ForbiddenError(f"the token {token.name!r} may not {_DOES[scope]}. {_how(scope)}")

    def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _find(self, secret: str) -> Token | None:
        if len(secret) > _MAX_TOKEN:
            return None
        digest = hash_of(secret)
        found = None
        for token in self._tokens:  # all of them, so that the time tells nothing
            if hmac.compare_digest(token.hash, digest):
                found = token
        return found

    async def _find_again(self, secret: str) -> Token | None:
        """Look in the store itself, as the token may be a new one; not for every request with a wrong one."""
        async with self._reading:
            if time.monotonic() - self._read_at >= _LOOK_AGAIN_SECONDS:
                await self._refresh()
        return self._find(secret)

    async def _refresh(self) -> None:
        self._read_at = time.monotonic()
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            try:
                self._tokens = await asyncio.get_running_loop().run_in_executor(self._thread, self._read)
            except StoreError as error:
                _logger.warning("the tokens cannot be read, those that were known hold on: %s", error)
        self.required = self.required or bool(self._tokens)


def _how(scope: TokenScope) -> str:
    return f"Make one where the store is: spanproof token add NAME --scope {scope}"
