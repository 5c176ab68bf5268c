"""An agent that is a service: one request with the prompt and the labels, one answer."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

import urllib3

from spanproof_evaluators.harness.processes import Ended
from spanproof_evaluators.harness.surroundings import Labels, baggage
from spanproof_evaluators.model.canonical import Plain

_TICK: Final = 0.05
_LONGEST: Final = 10_000_000


def ask_service(
    url: str,
    given: Mapping[str, Plain],
    *,
    traceparent: str,
    labels: Labels,
    seconds: float,
    words: str,
    abort: threading.Event,
    watch: Callable[[], str],
) -> tuple[Ended, str | None]:
    """Return how it ended, as a process would have, and the answer.

    A status of 400 and above is the agent's failure (code 1). Nobody there is a broken infrastructure. At a limit
    nobody waits any longer; what the service does then cannot be stopped from here.
    """
    started = time.monotonic()
    found: list[tuple[Ended, str | None]] = []
    body = json.dumps(given).encode()
    headers = {"Content-Type": "application/json", "traceparent": traceparent, "baggage": baggage(labels)}

    def ask() -> None:
        found.append(_asked(url, body, headers, seconds + 5.0))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    exhausted = ""
    while asking.is_alive() and not exhausted and not abort.is_set():
        asking.join(_TICK)
        exhausted = words if time.monotonic() - started > seconds else watch()
    took = time.monotonic() - started
    if not found or exhausted or abort.is_set():
        stopped = abort.is_set() and not exhausted
        return Ended(code=None, exhausted=exhausted, interrupted=stopped, seconds=took), None
    ended, answer = found[0]
    return ended, answer


def _asked(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> tuple[Ended, str | None]:
    pool = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=10.0, read=seconds))
    try:
        response = pool.request("POST", url, body=body, headers=headers, preload_content=False)
        said = response.read(_LONGEST)
        response.release_conn()
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return Ended(code=None, problem=f"{url} does not answer: {type(error).__name__}"), None
    finally:
        pool.clear()
    if response.status >= 400:
        return Ended(code=1, err=said[:2000]), None
    try:
        told = json.loads(said)
    except ValueError:
        return Ended(code=1, err=b"the answer is no JSON"), None
    answer = told.get("answer") if isinstance(told, dict) else None
    return Ended(code=0, out=said), None if answer is None else str(answer)
