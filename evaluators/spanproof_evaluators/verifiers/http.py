"""What a service answers to a GET.

Redirects to another scheme, host or port are not followed. 404 and 410, where an object is expected, say that it is
absent. No connection, a timeout, 429 and 5xx are tried again, and say then that nobody could look; so do 401, 403 and
an answer that is too large or no JSON.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

import urllib3

from spanproof_evaluators.model.canonical import Plain, plain
from spanproof_evaluators.model.checks import HttpCheck, JsonExpected
from spanproof_evaluators.model.checks.http import json_path
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._kind import GapError, gap, place
from spanproof_evaluators.verifiers._secrets import MissingVariableError, Secrets
from spanproof_evaluators.verifiers._show import same, shown

_ABSENT: Final = (404, 410)
_AGAIN: Final = frozenset({429, *range(500, 600)})
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MOST_REDIRECTS: Final = 5
_PAUSE: Final = 0.2


class _Answer(NamedTuple):
    status: int
    body: bytes
    target: str | None


def check_http(spec: HttpCheck, after: EndState) -> list[Check]:
    """Ask the service, one check for the status and one for each expectation of its JSON."""
    codes = ", ".join(str(code) for code in spec.status)
    name = f"GET {spec.path or spec.destination} answers {codes}"
    secrets = Secrets()
    started = time.time_ns()
    try:
        found = _checks(spec, name, _asked(spec, after, secrets))
    except GapError as error:
        found = [gap(name, error, secrets)]
    except MissingVariableError as error:
        found = [gap(name, GapError("variable_not_set", str(error)), secrets)]
    return [
        replace(check, seen=secrets.masked(check.seen), destination=spec.destination, time=started) for check in found
    ]


def _asked(spec: HttpCheck, state: EndState, secrets: Secrets) -> _Answer:
    """Return the answer, after as many attempts as it takes and is allowed.

    Raises:
        GapError: there was none that counts.
    """
    where = place(state, spec.destination, "http")
    url = secrets.filled(where.location)
    if userinfo := urlsplit(url).netloc.rpartition("@")[0]:
        secrets.remember("USERINFO", userinfo)
    headers = {name: secrets.filled(value) for name, value in where.headers.items()}
    url = f"{url.rstrip('/')}/{spec.path.lstrip('/')}" if spec.path else url
    last = GapError("not_asked")
    with urllib3.PoolManager(retries=False) as pool:
        for attempt in range(spec.attempts):
            if attempt:
                time.sleep(_PAUSE * attempt)
            try:
                answer = _followed(pool, url, headers, spec)
            except urllib3.exceptions.LocationValueError as error:
                raise GapError("address_unreadable", str(error)) from error
            except urllib3.exceptions.NewConnectionError as error:
                last = GapError("connection_failed", str(error))
            except urllib3.exceptions.TimeoutError:
                last = GapError("timeout", f"no answer within {spec.timeout:g} s")
            except (urllib3.exceptions.HTTPError, OSError) as error:
                last = GapError("connection_failed", f"{type(error).__name__}: {error}")
            else:
                if answer.status not in _AGAIN or answer.status in spec.status:
                    return answer
                last = GapError("service_failed", f"status {answer.status}")
    raise GapError(last.reason, f"{last.seen}, after {spec.attempts} attempt(s)")


def _followed(pool: urllib3.PoolManager, url: str, headers: Mapping[str, str], spec: HttpCheck) -> _Answer:
    """Return the answer at the end of redirects that stay at the service."""
    home = _origin(url)
    for _ in range(_MOST_REDIRECTS + 1):
        answer = _answer(pool, url, headers, spec)
        if answer.status not in _REDIRECTS or answer.status in spec.status or answer.target is None:
            return answer
        url = urljoin(url, answer.target)
        if _origin(url) != home:
            raise GapError(
                "redirected_elsewhere", f"status {answer.status} to {_origin(url)[1]}, which is not followed"
            )
    raise GapError("redirected_too_often", f"more than {_MOST_REDIRECTS} redirects")


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError as error:
        raise GapError("address_unreadable", str(error)) from error


def _answer(pool: urllib3.PoolManager, url: str, headers: Mapping[str, str], spec: HttpCheck) -> _Answer:
    """Return one answer, its body read to the limit and within the time.

    Raises:
        GapError: it is too large.
    """
    deadline = time.monotonic() + spec.timeout
    asked = {"Accept": "application/json", "Accept-Encoding": "identity", **headers}
    limit = urllib3.Timeout(total=spec.timeout)
    response = pool.request(
        "GET", url, headers=asked, timeout=limit, redirect=False, preload_content=False, decode_content=False
    )
    try:
        body = bytearray()
        while chunk := response.read1(65_536, decode_content=False):
            body += chunk
            if len(body) > spec.max_bytes:
                raise GapError("response_too_large", f"more than {spec.max_bytes:,} bytes")
            if time.monotonic() > deadline:
                raise urllib3.exceptions.ReadTimeoutError(pool.connection_from_url(url), url, "too slow")
        return _Answer(response.status, bytes(body), response.headers.get("Location"))
    finally:
        response.close()


def _checks(spec: HttpCheck, name: str, answer: _Answer) -> list[Check]:
    told = f"status {answer.status}"
    wants_object = all(200 <= code < 300 for code in spec.status)
    if answer.status not in spec.status:
        found = 200 <= answer.status < 300 or (wants_object and answer.status in _ABSENT)
        if found:
            return [Check(name=name, passed=False, seen=told)]
        reason = "not_authorized" if answer.status in (401, 403, 407) else "unexpected_status"
        raise GapError(reason, f"{told}: {shown(answer.body[:200].decode('utf-8', 'replace'))}")
    first = Check(name=name, passed=True, seen=told)
    if not spec.expect:
        return [first]
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        said = shown(answer.body[:200].decode("utf-8", "replace"))
        return [
            first,
            *(gap(_named(one), GapError("answer_unreadable", f"no JSON ({error}): {said}")) for one in spec.expect),
        ]
    return [first, *(_expected(one, value) for one in spec.expect)]


def _named(one: JsonExpected) -> str:
    values = f"{one.described} value(s) at {one.path}" if one.counts else f"every value at {one.path}"
    if one.equals is not None:
        return f"{values} is {shown(one.equals)}"
    if one.is_null:
        return f"{values} is null"
    return f"{values} contains {shown(one.contains)}" if one.contains is not None else f"{one.described} at {one.path}"


def _expected(one: JsonExpected, value: Plain) -> Check:
    """Look for the values at a path: with a number, so many are as expected; without one, all are, and one is there."""
    from jsonpath.exceptions import JSONPathError

    name = _named(one)
    try:
        found = [plain(item) for item in json_path(one.path).findall(value)]
    except (JSONPathError, RecursionError) as error:
        return gap(name, GapError("answer_unreadable", f"{type(error).__name__}: {error}"))
    right = [item for item in found if _right(one, item)]
    passed = one.judged(len(right)) is True and (one.counts or len(right) == len(found))
    return Check(name=name, passed=passed, seen=f"{len(found)} value(s): {shown(found)}" if found else "no value")


def _right(one: JsonExpected, item: Plain) -> bool:
    if one.is_null:
        return item is None
    if one.contains is not None:
        return isinstance(item, str) and one.contains in item
    if one.equals is None:
        return True
    if one.tolerance and _number(item) and _number(one.equals):
        return abs(float(str(item)) - float(str(one.equals))) <= one.tolerance
    return same(item, one.equals)


def _number(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
