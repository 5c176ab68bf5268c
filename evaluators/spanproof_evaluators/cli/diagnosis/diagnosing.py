"""All steps in their order: over HTTP, over gRPC, and through the store that the other commands read."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from spanproof_collector.errors import StoreError
from spanproof_collector.model.filters import DOCTOR_PROJECT
from spanproof_collector.store import open_store
from spanproof_evaluators.cli.diagnosis import over_grpc, over_http
from spanproof_evaluators.cli.diagnosis.findings import Finding, TroubleError
from spanproof_evaluators.cli.diagnosis.probe import Probe, new_probe
from spanproof_evaluators.cli.diagnosis.target import Target


def diagnose(target: Target, store: str, *, store_given: bool) -> Iterator[Finding]:
    """Yield what each step found.

    Args:
        target: the server.
        store: the address that the other commands would read.
        store_given: whether somebody named it; else one that is not there is no fault.
    """
    first, second = new_probe(), new_probe()
    sent: list[Probe] = []
    seen = False
    server = _tried("server", partial(over_http.find_server, target))
    yield server
    if server.state == "ok":
        yield _tried("ready", partial(over_http.look_at_readiness, target))
        yield _tried("clock", partial(over_http.compare_clocks, target))
        found = _tried("send over HTTP", partial(over_http.send, target, first))
        yield found
        if found.state == "ok":
            sent.append(first)
            back = _tried("read back", partial(over_http.read_back, target, first, "read back"))
            yield back
            seen = back.state == "ok"
    found = _tried("send over gRPC", partial(over_grpc.send, target, second))
    yield found
    if found.state == "ok":
        sent.append(second)
        if server.state == "ok":
            yield _tried("read back", partial(over_http.read_back, target, second, "read back"))
    if sent:
        yield _tried("store", partial(_look_into_store, store, sent, given=store_given, seen=seen))


def _tried(step: str, action: Callable[[], Finding]) -> Finding:
    try:
        return action()
    except TroubleError as trouble:
        return trouble.finding(step)


def _look_into_store(address: str, sent: list[Probe], *, given: bool, seen: bool) -> Finding:
    if address.startswith("chdb://") and not Path(address.removeprefix("chdb://")).expanduser().is_dir():
        explanation = f"there is no store at {address}, so it was not looked into"
        if not given and seen:
            return Finding(step="store", state="skipped", explanation=explanation)
        if given:
            raise TroubleError(explanation, "Name the store that the server keeps, or leave --store out")
        raise TroubleError(
            f"{explanation}, and nobody saw the span arrive",
            "Name the server's store with --store, or give --read-token",
        )
    try:
        with open_store(address) as store:
            found = store.read_traces([(DOCTOR_PROJECT, probe.trace_id) for probe in sent])
            shown = store.address
    except StoreError as error:
        raise TroubleError(str(error), "The server can be well without it: this is the store of --store") from error
    if len(found) < len(sent):
        raise TroubleError(
            f"the server acknowledged {len(sent)} spans, and {shown} has {len(found)} of them",
            "The server keeps another store than this one: name its store with --store, for the other commands too",
        )
    return Finding(step="store", state="ok", explanation=f"{shown}, which the other commands read, has every span")
