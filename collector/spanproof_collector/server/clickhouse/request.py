"""Reads one request, runs its one statement, and answers.

The one boundary at which any failure becomes an answer is ``StatementRequest.answer``.
"""

import asyncio
import email.parser
import email.policy
import json
import secrets
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from spanproof_collector.server.clickhouse.compression import COMPRESSORS, Compressor, compressed, decompressed
from spanproof_collector.server.clickhouse.failures import (
    AUTHENTICATION_FAILED,
    NOT_IMPLEMENTED,
    TOO_LARGE,
    code_of,
    failure,
)
from spanproof_collector.server.clickhouse.statements import READING, RefusedError, Statement, check, check_setting
from spanproof_collector.store.engine import DATABASE, Answer, Engine, Session

T = TypeVar("T")

_MAX_BODY: Final = 1 << 30

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What a request asks for."""

    statement: Statement
    parameters: Mapping[str, str]
    settings: Mapping[str, str]
    database: str
    format: str


class StatementRequest:
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
        opened: Session | None = None
        try:
            call = await self._read()
            opened = session = await self._in_thread(self._engine.session)
            await self._in_thread(lambda: session.prepare(call.database, call.settings))
            if call.statement.kind in ("SELECT", "WITH") and call.format.lower() in _STREAMED:
                # A statement that fails at once is answered with a status of failure, so wait for its first block.
                block = await self._in_thread(lambda: session.begin(call.statement.sql, call.format, call.parameters))
                response = self._stream(session, call, block)
                opened = None  # the stream closes it
                return response
            answer, body = await self._in_thread(lambda: self._run(session, call))
            return self._whole(call, answer, body)
        except RefusedError as error:
            return failure(error.code, str(error), self._query_id)
        except Exception as error:
            return failure(code_of(str(error)), str(error), self._query_id)
        finally:
            if opened is not None:
                await self._in_thread(opened.close)

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
                raise RefusedError(NOT_IMPLEMENTED, f"The parameter {name} is not supported, HTTP compression is")
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
                raise RefusedError(TOO_LARGE, "The request is too large: send it in several inserts")
        encoding = self._request.headers.get("content-encoding", "identity").lower()
        if encoding == "identity" or not body:
            return bytes(body)
        return await self._in_thread(lambda: decompressed(encoding, bytes(body)))

    def _run(self, session: Session, call: _Call) -> tuple[Answer, bytes]:
        statement = call.statement
        if statement.data is None:
            answer = session.query(statement.sql, call.format, call.parameters)
            return answer, answer.bytes() or b""
        # The engine takes binary data from a file only. It holds content, so it lies in the store's own folder.
        with tempfile.NamedTemporaryFile(dir=self._engine.temporary, suffix=".insert", delete=False) as file:
            file.write(statement.data)
        try:
            path = file.name.replace("\\", "\\\\").replace("'", "\\'")
            sql = f"{statement.sql} FROM INFILE '{path}' FORMAT {statement.format}"
            answer = session.query(sql, "TabSeparated", call.parameters)
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

    def _stream(self, session: Session, call: _Call, block: bytes | None) -> Response:
        headers = self._headers(call)
        tag = secrets.token_hex(8)
        headers["X-ClickHouse-Exception-Tag"] = tag
        compressor = self._compressor()
        if compressor is not None:
            headers["Content-Encoding"] = compressor.name
        blocks = self._blocks(session, block, tag)
        return _Streamed(
            blocks if compressor is None else compressed(blocks, compressor),
            headers,
            lambda: self._threads.submit(session.close),
        )

    async def _blocks(self, session: Session, block: bytes | None, tag: str) -> AsyncIterator[bytes]:
        while block is not None:
            yield block
            try:
                block = await self._in_thread(session.next)
            except RuntimeError as error:
                # The status is sent already: this is how ClickHouse says it now.
                message = str(error)[:8192]
                closing = f"{message}\n{len(message.encode()) + 1} {tag}\r\n__exception__\r\n"
                yield f"__exception__\r\n{tag}\r\n{closing}".encode()
                return

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

    def _compressor(self) -> "Compressor | None":
        if self._request.query_params.get("enable_http_compression", "0") not in ("1", "true"):
            return None
        for offer in self._request.headers.get("accept-encoding", "").split(","):
            made = COMPRESSORS.get(offer.partition(";")[0].strip().lower())
            if made is not None:
                return made()
        return None


class _Streamed(StreamingResponse):
    """An answer in blocks that ends its statement however it ends: its client may go before the first, or later."""

    def __init__(self, blocks: AsyncIterator[bytes], headers: Mapping[str, str], end: Callable[[], object]) -> None:
        super().__init__(blocks, headers=headers, media_type="application/octet-stream")
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._end()


def _database(asked: str | None) -> str:
    # What clients call the default one is empty here, and what is put there does not outlive the engine.
    return DATABASE if asked in (None, "", "default") else asked


def _form(content_type: str, body: bytes) -> dict[str, str]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields: dict[str, str] = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None or not isinstance(name, str):
            raise RefusedError(NOT_IMPLEMENTED, "External data is not supported (NOT_IMPLEMENTED)")
        fields[name] = cast(bytes, part.get_payload(decode=True)).decode()
    return fields
