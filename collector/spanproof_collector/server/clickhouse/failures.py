"""How ClickHouse says over HTTP that something failed."""

import re
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from spanproof_collector.server.clickhouse.statements import ACCESS_DENIED

AUTHENTICATION_FAILED: Final = 516
NOT_IMPLEMENTED: Final = 48
TOO_LARGE: Final = 307
CANNOT_DECOMPRESS: Final = 271
_UNKNOWN: Final = 1002
_CODE: Final = re.compile(r"Code: (\d+)\. ")

_STATUS: Final[Mapping[int, int]] = {
    AUTHENTICATION_FAILED: 401,
    ACCESS_DENIED: 403,
    NOT_IMPLEMENTED: 501,
    TOO_LARGE: 413,
    CANNOT_DECOMPRESS: 400,
    **dict.fromkeys((6, 26, 27, 38, 41, 42, 43, 44, 53, 62, 69, 70, 72, 115, 117, 452, 456, 457), 400),
    **dict.fromkeys((16, 46, 47, 50, 60, 81), 404),
}
"""What ClickHouse answers for these of its error codes; 500 for any other."""


def failure(code: int, message: str, query_id: str) -> Response:
    """Return the answer; a message of the engine's names its code itself."""
    known = _CODE.search(message)
    message = message[known.start() :] if known else f"Code: {code}. DB::Exception: {message}"
    headers = {"X-ClickHouse-Exception-Code": str(code), "X-ClickHouse-Query-Id": query_id}
    if code == AUTHENTICATION_FAILED:
        headers["WWW-Authenticate"] = 'Basic realm="spanproof"'
    return Response(f"{message}\n", status_code=_STATUS.get(code, 500), headers=headers, media_type="text/plain")


def code_of(message: str) -> int:
    """Return the code that a message of the engine's names."""
    match = _CODE.search(message)
    return int(match[1]) if match else _UNKNOWN
