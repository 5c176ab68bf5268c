"""The ClickHouse HTTP protocol over the embedded engine, for the other commands of the machine that holds it.

One process has the engine; every other reaches the store through this, with an ordinary ClickHouse client. It listens
on loopback, on a port and with a token of its own, and runs one statement a request; ``statements`` says which.
Sessions, external data and progress headers are not served: a ``session_id`` is ignored.

The one boundary at which any failure becomes an answer is ``_Request.answer``.
"""

import asyncio
import base64
import binascii
import contextlib
import email.parser
import email.policy
import gzip
import hmac
import importlib.util
import json
import re
import secrets
import socket
import sys
import tempfile
import time
import uuid
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar, cast

import uvicorn
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from spanproof_collector.errors import ServeError
from spanproof_collector.server.statements import ACCESS_DENIED, READING, RefusedError, Statement, check, check_setting
from spanproof_collector.store import Store
from spanproof_collector.store.engine import DATABASE, Answer, Engine, Handle, Stream

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

T = TypeVar("T")

AUTHENTICATION_FAILED: Final = 516
_NOT_IMPLEMENTED: Final = 48
_UNKNOWN: Final = 1002
_TOO_LARGE: Final = 307
_CANNOT_DECOMPRESS: Final = 271

_MAX_BODY: Final = 1 << 30
_THREADS: Final = 16
_LOOPBACK: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?")
_CODE: Final = re.compile(r"Code: (\d+)\. ")

_STATUS: Final[Mapping[int, int]] = {
    AUTHENTICATION_FAILED: 401,
    ACCESS_DENIED: 403,
    _NOT_IMPLEMENTED: 501,
    _TOO_LARGE: 413,
    _CANNOT_DECOMPRESS: 400,
    **dict.fromkeys((6, 26, 27, 38, 41, 42, 43, 44, 53, 62, 69, 70, 72, 115, 117, 452, 456, 457), 400),
    **dict.fromkeys((16, 46, 47, 50, 60, 81), 404),
}
"""What ClickHouse answers for these of its error codes; 500 for any other."""

_TRANSPORT: Final = frozenset(
    [
        "buffer_size",
        "cancel_http_readonly_queries_on_client_close",
        "client_protocol_version",
        "compress",
        "database",
        "decompress",
        "default_format",
        "enable_http_compression",
        "http_headers_progress_interval_ms",
        "query",
        "query_id",
        "quota_key",
        "role",
        "send_progress_in_http_headers",
        "session_check",
        "session_id",
        "session_timeout",
        "wait_end_of_query",
    ]
)
"""Parameters of a request that are no settings of the engine's."""

# Each block of these is a whole text by itself; any other format has a head or a foot and comes in one piece.
_STREAMED: Final = frozenset({"native", "tabseparated", "tsv", "csv", "rowbinary", "jsoneachrow"})


class ClickHouseEndpoint:
    """Serves a store's embedded engine on loopback. ``token`` is the password of any user, or a bearer token."""

    def __init__(self, store: Store, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        if store.engine is None:
            raise ServeError(f"{store.address} is not held by this process, so it is not served here either")
        self.host = host
        self.port = port
        self.token = token if token is not None else secrets.token_urlsafe(32)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="clickhouse-http")
        self._app = _Application(store.engine, self.token, self._threads)
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen; on return the port is known and answers.

        Raises:
            ServeError: the port is taken.
        """
        try:
            listener = socket.create_server((self.host, self.port))
        except OSError as error:
            raise ServeError(
                f"cannot listen on {self.host}:{self.port}: {error}. Is another server running?"
            ) from error
        # asyncio does this only for sockets that name their protocol; without it an answer waits for 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        await self._server.ready.wait()

    async def stop(self) -> None:
        """Finish what runs, for some seconds, and stop. May be called again."""
        if self._server is None or self._serving is None:
            return
        self._server.should_exit = True
        self._server.leaving.set()
        await self._serving
        self._server = self._serving = None
        self._threads.shutdown(wait=True)


class _Server(uvicorn.Server):
    """uvicorn in somebody else's loop: signals are not its business."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.leaving = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        # uvicorn's own wakes up ten times a second, to renew a header that is switched off here.
        await self.leaving.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Application:
    """The ASGI application."""

    def __init__(self, engine: Engine, token: str, threads: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._token = token.encode()
        self._threads = threads
        handle = engine.handle()
        names = handle.query("SELECT name FROM system.table_functions", "TabSeparated").bytes().decode()
        handle.close()
        self._table_functions = frozenset(names.lower().split())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = await self._respond(Request(scope, receive))
            await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        # A page in a browser can send a request here; it can neither read the answer, nor set the header with the
        # token, nor hide where it comes from.
        if not _LOOPBACK.fullmatch(request.headers.get("host", "")) or "origin" in request.headers:
            return _failure(ACCESS_DENIED, "Only clients of this machine are served", "")
        if request.url.path == "/ping":
            return Response("Ok.\n", media_type="text/plain")
        if not self._trusted(request.headers):
            why = "Authentication failed: the password is not the token of this endpoint. (AUTHENTICATION_FAILED)"
            return _failure(AUTHENTICATION_FAILED, why, "")
        if request.method not in ("GET", "POST") or request.url.path != "/":
            return Response("There is no such page\n", status_code=404)
        return await _Request(request, self._engine, self._table_functions, self._threads).answer()

    def _trusted(self, headers: Headers) -> bool:
        given = headers.get("x-clickhouse-key", "").encode()
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given = credentials.strip().encode()
        elif scheme.lower() == "basic":
            with contextlib.suppress(binascii.Error, ValueError):
                given = base64.b64decode(credentials, validate=True).partition(b":")[2]
        return hmac.compare_digest(given, self._token)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What a request asks for."""

    statement: Statement
    parameters: Mapping[str, str]
    settings: Mapping[str, str]
    database: str
    format: str


class _Request:
    """One request: one statement, in a session of its own."""

    def __init__(
        self, request: Request, engine: Engine, table_functions: frozenset[str], threads: ThreadPoolExecutor
    ) -> None:
        self._request = request
        self._engine = engine
        self._table_functions = table_functions
        self._threads = threads
        self._query_id = request.query_params.get("query_id") or str(uuid.uuid4())
        self._started = time.perf_counter_ns()

    async def answer(self) -> Response:
        """Run the statement and return the answer, or the failure."""
        handle: Handle | None = None
        try:
            call = await self._read()
            handle = session = await self._in_thread(self._engine.handle)
            await self._in_thread(lambda: _prepare(session, call))
            if call.statement.kind in ("SELECT", "WITH") and call.format.lower() in _STREAMED:
                response = await self._stream(session, call)
                handle = None  # the stream closes it
                return response
            answer, body = await self._in_thread(lambda: self._run(session, call))
            return self._whole(call, answer, body)
        except RefusedError as error:
            return _failure(error.code, str(error), self._query_id)
        except Exception as error:
            return _failure(_code_of(str(error)), str(error), self._query_id)
        finally:
            if handle is not None:
                await self._in_thread(handle.close)

    async def _in_thread(self, action: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, action)

    async def _read(self) -> _Call:
        fields = dict(self._request.query_params)
        body = await self._body()
        content_type = self._request.headers.get("content-type", "")
        if content_type.startswith("multipart/form-data"):
            fields |= _form(content_type, body)
            body = b""
        if "password" in fields or "user" in fields:
            raise RefusedError(AUTHENTICATION_FAILED, "Credentials belong in a header")
        for name in ("compress", "decompress"):
            if fields.get(name, "0") not in ("0", "false"):
                raise RefusedError(_NOT_IMPLEMENTED, f"The parameter {name} is not supported, HTTP compression is")
        text = fields.get("query", "").encode()
        statement = check(text if text else body, self._table_functions)
        if text and body:
            statement = self._with_data(statement, text, body)
        if self._request.method == "GET" and statement.kind not in READING:
            raise RefusedError(164, "A GET only reads: send a POST (READONLY)")
        settings = {
            name: value for name, value in fields.items() if name not in _TRANSPORT and not name.startswith("param_")
        }
        for name in settings:
            check_setting(name)
        return _Call(
            statement=statement,
            parameters={name[6:]: value for name, value in fields.items() if name.startswith("param_")},
            settings=settings,
            database=_database(fields.get("database") or self._request.headers.get("x-clickhouse-database")),
            format=statement.format
            or fields.get("default_format")
            or self._request.headers.get("x-clickhouse-format")
            or "TabSeparated",
        )

    def _with_data(self, statement: Statement, text: bytes, body: bytes) -> Statement:
        if statement.kind == "INSERT" and statement.data is not None:
            return Statement(kind="INSERT", sql=statement.sql, format=statement.format, data=statement.data + body)
        # The rest of the statement, for instance the rows of VALUES.
        return check(text + b"\n" + body, self._table_functions)

    async def _body(self) -> bytes:
        body = bytearray()
        async for chunk in self._request.stream():
            body += chunk
            if len(body) > _MAX_BODY:
                raise RefusedError(_TOO_LARGE, "The request is too large: send it in several inserts")
        encoding = self._request.headers.get("content-encoding", "identity").lower()
        if encoding == "identity" or not body:
            return bytes(body)
        return await self._in_thread(lambda: _decompressed(encoding, bytes(body)))

    def _run(self, handle: Handle, call: _Call) -> tuple[Answer, bytes]:
        statement = call.statement
        if statement.data is None:
            answer = handle.query(statement.sql, call.format, dict(call.parameters))
            return answer, answer.bytes() or b""
        # The engine takes binary data from a file only. It holds content, so it lies in the store's own folder.
        with tempfile.NamedTemporaryFile(dir=self._engine.temporary, suffix=".insert", delete=False) as file:
            file.write(statement.data)
        try:
            path = file.name.replace("\\", "\\\\").replace("'", "\\'")
            sql = f"{statement.sql} FROM INFILE '{path}' FORMAT {statement.format}"
            answer = handle.query(sql, "TabSeparated", dict(call.parameters))
            return answer, answer.bytes() or b""
        finally:
            Path(file.name).unlink()

    def _whole(self, call: _Call, answer: Answer, body: bytes) -> Response:
        headers = self._headers(call)
        counted = {"elapsed_ns": str(time.perf_counter_ns() - self._started)}
        if call.statement.kind in READING or call.statement.data is not None:
            # The engine counts what it read. Of an insert's data that is what it wrote; of any other insert it is not.
            side = "written" if call.statement.kind == "INSERT" else "read"
            counted |= {f"{side}_rows": str(answer.rows_read()), f"{side}_bytes": str(answer.bytes_read())}
        headers["X-ClickHouse-Summary"] = json.dumps(counted)
        compressor = self._compressor()
        if compressor is not None and body:
            headers["Content-Encoding"] = compressor.name
            body = compressor.compress(body) + compressor.finish()
        return Response(body, headers=headers, media_type="application/octet-stream")

    async def _stream(self, handle: Handle, call: _Call) -> Response:
        def first() -> tuple[Stream, bytes | None]:
            stream = handle.send_query(call.statement.sql, call.format, dict(call.parameters))
            return stream, _next(stream)

        try:
            # A statement that fails at once is answered with a status of failure, so wait for its first block.
            stream, block = await self._in_thread(first)
        except BaseException:
            await self._in_thread(handle.close)
            raise
        headers = self._headers(call)
        tag = secrets.token_hex(8)
        headers["X-ClickHouse-Exception-Tag"] = tag
        compressor = self._compressor()
        if compressor is not None:
            headers["Content-Encoding"] = compressor.name
        blocks = self._blocks(handle, stream, block, tag)
        return StreamingResponse(
            blocks if compressor is None else _compressed(blocks, compressor),
            headers=headers,
            media_type="application/octet-stream",
        )

    async def _blocks(self, handle: Handle, stream: Stream, block: bytes | None, tag: str) -> AsyncIterator[bytes]:
        try:
            while block is not None:
                yield block
                try:
                    block = await self._in_thread(lambda: _next(stream))
                except RuntimeError as error:
                    # The status is sent already: this is how ClickHouse says it now.
                    message = str(error)[:8192]
                    closing = f"{message}\n{len(message.encode()) + 1} {tag}\r\n__exception__\r\n"
                    yield f"__exception__\r\n{tag}\r\n{closing}".encode()
                    return
        finally:
            # The client may have gone in the middle; a task of its own ends the statement even so.
            def end() -> None:
                stream.close()
                handle.close()

            self._threads.submit(end)

    def _headers(self, call: _Call) -> dict[str, str]:
        headers = {
            "X-ClickHouse-Query-Id": self._query_id,
            "X-ClickHouse-Server-Display-Name": "spanproof",
            "X-ClickHouse-Timezone": "UTC",
        }
        if call.statement.kind in READING:
            # Only statements that answer rows have a format, also where there are no rows.
            headers["X-ClickHouse-Format"] = call.format
        return headers

    def _compressor(self) -> "_Compressor | None":
        if self._request.query_params.get("enable_http_compression", "0") not in ("1", "true"):
            return None
        for offer in self._request.headers.get("accept-encoding", "").split(","):
            made = _COMPRESSORS.get(offer.partition(";")[0].strip().lower())
            if made is not None:
                return made()
        return None


def _database(asked: str | None) -> str:
    # What clients call the default one is empty here, and what is put there does not outlive the engine.
    return DATABASE if asked in (None, "", "default") else asked


def _prepare(handle: Handle, call: _Call) -> None:
    name = call.database.replace("\\", "\\\\").replace("`", "\\`")
    handle.query(f"USE `{name}`")
    if call.settings:
        quoted = (
            (name, value.replace("\\", "\\\\").replace("'", "\\'")) for name, value in sorted(call.settings.items())
        )
        handle.query("SET " + ", ".join([f"{name} = '{value}'" for name, value in quoted]))


def _next(stream: Stream) -> bytes | None:
    while True:
        try:
            block = next(stream).bytes()
        except StopIteration:
            return None
        if block:
            return block


def _form(content_type: str, body: bytes) -> dict[str, str]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields: dict[str, str] = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None or not isinstance(name, str):
            raise RefusedError(_NOT_IMPLEMENTED, "External data is not supported (NOT_IMPLEMENTED)")
        fields[name] = cast(bytes, part.get_payload(decode=True)).decode()
    return fields


def _failure(code: int, message: str, query_id: str) -> Response:
    known = _CODE.search(message)
    message = message[known.start() :] if known else f"Code: {code}. DB::Exception: {message}"
    headers = {"X-ClickHouse-Exception-Code": str(code), "X-ClickHouse-Query-Id": query_id}
    if code == AUTHENTICATION_FAILED:
        headers["WWW-Authenticate"] = 'Basic realm="spanproof"'
    return Response(f"{message}\n", status_code=_STATUS.get(code, 500), headers=headers, media_type="text/plain")


def _code_of(message: str) -> int:
    match = _CODE.search(message)
    return int(match[1]) if match else _UNKNOWN


class _Compressor(Protocol):
    """A way to compress an answer piece by piece."""

    name: str

    def compress(self, block: bytes) -> bytes:
        """Return what is ready."""

    def finish(self) -> bytes:
        """Return the rest."""


class _Lz4:
    name = "lz4"

    def __init__(self) -> None:
        import lz4.frame  # type: ignore[import-untyped]

        self._compressor = lz4.frame.LZ4FrameCompressor()
        self._head = self._compressor.begin()

    def compress(self, block: bytes) -> bytes:
        head, self._head = self._head, b""
        return cast(bytes, head + self._compressor.compress(block))

    def finish(self) -> bytes:
        return cast(bytes, self._head + self._compressor.flush())


class _Zlib:
    def __init__(self, name: str, window: int) -> None:
        self.name = name
        self._compressor = zlib.compressobj(level=1, wbits=window)

    def compress(self, block: bytes) -> bytes:
        return self._compressor.compress(block)

    def finish(self) -> bytes:
        return self._compressor.flush()


class _Zstd:
    name = "zstd"

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor()

    def compress(self, block: bytes) -> bytes:
        return self._compressor.compress(block)

    def finish(self) -> bytes:
        return self._compressor.flush()


# From Python 3.14 on zstd is Python's own, and the driver does not bring lz4 any more.
_COMPRESSORS: Final[Mapping[str, Callable[[], _Compressor]]] = {
    **({"lz4": _Lz4} if importlib.util.find_spec("lz4") else {}),
    "zstd": _Zstd,
    "gzip": lambda: _Zlib("gzip", 31),
    "deflate": lambda: _Zlib("deflate", 15),
}


async def _compressed(blocks: AsyncIterator[bytes], compressor: _Compressor) -> AsyncIterator[bytes]:
    async for block in blocks:
        piece = compressor.compress(block)
        if piece:
            yield piece
    yield compressor.finish()


def _decompressed(encoding: str, body: bytes) -> bytes:
    """Return the body in plain. The driver compresses every block of an insert into a frame of its own."""
    match encoding:
        case "gzip":
            return gzip.decompress(body)
        case "deflate":
            return b"".join(_frames(zlib.decompressobj, body))
        case "lz4" if "lz4" in _COMPRESSORS:
            import lz4.frame

            return b"".join(_frames(lz4.frame.LZ4FrameDecompressor, body))
        case "zstd":
            return zstd.decompress(body)
        case _:
            raise RefusedError(_NOT_IMPLEMENTED, f"The content encoding {encoding[:20]!r} is not supported")


class _Decompressor(Protocol):
    """What decompresses one frame."""

    @property
    def eof(self) -> bool:
        """Whether the frame is whole."""

    @property
    def unused_data(self) -> bytes | None:
        """What follows the frame."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return the frame's content."""


def _frames(decompressor: Callable[[], _Decompressor], body: bytes) -> Iterator[bytes]:
    rest: bytes | None = body
    while rest:
        frame = decompressor()
        yield frame.decompress(rest)
        if not frame.eof:
            raise RefusedError(_CANNOT_DECOMPRESS, "The body ends in the middle of a compressed frame")
        rest = frame.unused_data
