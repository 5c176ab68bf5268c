"""Real exports of real instrumentors: the same trials from files and over both wires, and what the bytes hold."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import grpc
import pytest
from click.testing import CliRunner
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_evaluators.cli.group import cli
from tests.collector_process import Collecting, collecting
from tests.shared import CAPTURES, capture_names, needs_captures

pytestmark = needs_captures

JsonObject = dict[str, Any]

NAMES = capture_names("")
MANIFEST = CAPTURES / "MANIFEST.json"


def _truth() -> dict[str, JsonObject]:
    captures: list[JsonObject] = json.loads(MANIFEST.read_text())["captures"] if MANIFEST.is_file() else []
    return {capture["dir"]: capture["ground_truth"] for capture in captures}


TRUTH = _truth()
RUNS = [name for name in NAMES if "calls" in TRUTH.get(name, {})]
"""Captures of whole runs: for those the manifest tells the calls."""


def _spanproof(*arguments: str) -> str:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def _trials(store: str, *arguments: str) -> list[JsonObject]:
    return [json.loads(line) for line in _spanproof("trials", "--store", store, "--json", *arguments).splitlines()]


def _files(name: str, suffix: str) -> list[Path]:
    found = sorted((CAPTURES / name).glob(f"*{suffix}"))
    # a body as it was received stands beside the JSON made of it
    return [path for path in found if "metrics" not in path.name and "asreceived" not in path.name]


def _in_project(body: bytes, name: str, *, signal: str) -> bytes:
    """The request as sent, in a project of its own: every capture has the same conversation id."""
    request = ExportTraceServiceRequest() if signal == "traces" else ExportLogsServiceRequest()
    request.ParseFromString(body)
    for group in (*getattr(request, "resource_spans", ()), *getattr(request, "resource_logs", ())):
        attribute = group.resource.attributes.add()
        attribute.key, attribute.value.string_value = "spanproof.project", name
    return request.SerializeToString()


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collecting]:
    with collecting(tmp_path_factory.mktemp("captures") / "store") as running:
        yield running


def _backwards(body: bytes, signal: str) -> bytes:
    """The same records, the last one first."""
    request = ExportTraceServiceRequest() if signal == "traces" else ExportLogsServiceRequest()
    request.ParseFromString(body)
    for group in (*getattr(request, "resource_spans", ()), *getattr(request, "resource_logs", ())):
        for inner in (*getattr(group, "scope_spans", ()), *getattr(group, "scope_logs", ())):
            records = inner.spans if signal == "traces" else inner.log_records
            turned = list(reversed(records))
            del records[:]
            records.extend(turned)
    return request.SerializeToString()


def _send_grpc(collector: Collecting, name: str, project: str, *, backwards: bool = False) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{collector.addresses.grpc_port}") as channel:
        for path in reversed(_files(name, ".pb")) if backwards else _files(name, ".pb"):
            signal = "traces" if "traces" in path.name else "logs"
            service = "trace.v1.TraceService" if signal == "traces" else "logs.v1.LogsService"
            export = channel.unary_unary(f"/opentelemetry.proto.collector.{service}/Export")
            body = _in_project(path.read_bytes(), project, signal=signal)
            export(_backwards(body, signal) if backwards else body, timeout=30)


def _send_http_json(collector: Collecting, name: str) -> None:
    for path in _files(name, ".json"):
        signal = "traces" if "traces" in path.name else "logs"
        body = json.loads(path.read_text())
        for group in body.get("resourceSpans", []) + body.get("resourceLogs", []):
            label = {"key": "spanproof.project", "value": {"stringValue": f"{name}/http"}}
            group.setdefault("resource", {}).setdefault("attributes", []).append(label)
        request = Request(
            f"{collector.addresses.http}/v1/{signal}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=30) as answer:
            assert answer.status == 200


class Imported:
    """What captures give through the file importer, each in a store of its own, read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, list[JsonObject]] = {}

    def __getitem__(self, name: str) -> list[JsonObject]:
        if name not in self._found:
            store = f"chdb://{self._folder / name}"
            report = json.loads(_spanproof("import", "--store", store, "--json", str(CAPTURES / name)))
            assert report["rejected"] == []
            self._found[name] = _trials(store)
        return self._found[name]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    return Imported(tmp_path_factory.mktemp("imported"))


def _without_origin(trials: list[JsonObject]) -> list[JsonObject]:
    origin = ("project", "source", "path", "settled", "last_received_at")  # how and when it came, not what it is
    return [{key: value for key, value in trial.items() if key not in origin} for trial in trials]


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_gives_the_same_trials_from_files_and_over_both_wires_in_any_order(
    name: str, imported: Imported, collector: Collecting
) -> None:
    _send_grpc(collector, name, f"{name}/grpc")
    _send_grpc(collector, name, f"{name}/backwards", backwards=True)
    _send_http_json(collector, name)
    expected = _without_origin(imported[name])
    for way in ("grpc", "backwards", "http"):
        assert _without_origin(_trials(collector.store, "--project", f"{name}/{way}")) == expected
    assert {trial["source"] for trial in imported[name]} == {"import:otlp"}


@pytest.mark.parametrize("name", RUNS)
def test_a_capture_agrees_with_its_manifest(name: str, imported: Imported) -> None:
    truth = TRUTH[name]
    (trial,) = imported[name]
    calls = trial["tool_calls"]
    assert [call["name"] for call in calls] == [call["name"] for call in truth["calls"]]
    assert [call["effect"]["class"] for call in calls] == [call["effect"] for call in truth["calls"]]
    # Without content a tool span with status UNSET is what a call that waits for approval leaves too. The manifest
    # knows better than these bytes do. A protocol's server is another matter: it answers only what it was asked.
    silent = trial["completeness"]["content"] == "not_captured" and "mcp" not in trial["dialects"]
    for call, told in zip(calls, truth["calls"], strict=True):
        if told.get("executed") is False:
            assert (call["executed"], call["effect"]["state"]) == ("no", "refused")
        elif told["effect"] in ("read", "handoff"):
            assert call["effect"]["state"] == "none"
        elif told.get("effect_known") is False or silent:
            assert call["effect"]["state"] == "unknown"
        else:
            assert (call["executed"], call["effect"]["state"]) == ("yes", "reported")
    claimed = {True: {"success"}, False: {"failure", "none"}, None: {"unavailable"}}[truth["final_claims_success"]]
    assert trial["claim"]["state"] in claimed
    rootless = trial["completeness"]["root_missing"]  # the run went on to its end, and its trace cannot show it
    assert trial["status"] == ("error" if "run_status" in truth else "incomplete" if rootless else "complete")
    assert trial["status_reason"] == ("root_missing" if rootless else trial["status_reason"])
    assert trial["false_success"] is None  # nobody looked at an end state


ARGUMENTS: dict[str, list[JsonObject]] = {
    "issue_refund": [{"order_id": "ORD-1001", "amount_cents": 4250}],
    "lookup_order": [{"order_id": "ORD-1001"}, {"order_id": "ORD-1002"}],
    "transfer_to_refund_agent": [{}],
}


@pytest.mark.parametrize("name", RUNS)
def test_every_call_has_the_arguments_and_the_result_that_the_bytes_hold(name: str, imported: Imported) -> None:
    (trial,) = imported[name]
    for call in trial["tool_calls"]:
        if trial["completeness"]["content"] == "not_captured":
            assert (call["arguments"], call["result"]) == (None, None)
            continue
        expected = ARGUMENTS.get(call["name"])
        assert call["arguments"] in expected if expected else call["arguments"]
        if call["executed"] == "yes" and expected and expected != [{}]:
            assert call["result"]["order_id"] == call["arguments"]["order_id"]
        elif call["executed"] == "yes":
            assert call["result"]
        else:
            assert call["error"] or isinstance(call["result"], str)


def test_evaluation_events_of_others_are_no_verdict_of_ours(imported: Imported) -> None:
    captures: list[JsonObject] = json.loads(MANIFEST.read_text())["captures"]
    judged = [c["dir"] for c in captures if "gen_ai.evaluation.result" in c["log_events"] and c["dir"] in NAMES]
    assert judged
    for name in judged:
        (trial,) = imported[name]
        assert trial["outcome"]["state"] == "unavailable"
        assert [result["name"] for result in trial["foreign_results"]] == [
            "end_state.refund_recorded",
            "false_success",
            "tool_effect",
            "judge.helpfulness",
        ]


def _unproven(name: str) -> bool:
    truth = TRUTH[name]
    unknown = any(call.get("effect_known") is False for call in truth["calls"])
    return unknown and truth["final_claims_success"] is True


@pytest.mark.parametrize("name", [name for name in RUNS if _unproven(name)])
def test_a_claim_over_an_unknown_effect_is_listed_as_unproven(name: str, tmp_path: Path, imported: Imported) -> None:
    (trial,) = imported[name]
    assert trial["tool_calls"][-1]["effect"]["state"] == "unknown"
    assert (trial["claim"]["state"], trial["outcome"]["state"]) == ("success", "unavailable")
    store = f"chdb://{tmp_path}/store"
    _spanproof("import", "--store", store, str(CAPTURES / name))
    assert "UNPROVEN" in _spanproof("trials", "--store", store)


REPORTED, REFUSED, UNKNOWN = (
    ("yes", "reported", "tool_reported"),
    ("no", "refused", "refused"),
    ("unknown", "unknown", "error"),
)
DERIVED: dict[str, tuple[str, str, str] | None] = {
    "anthropic-native-llmerror": None,
    "claude-code-unknown": UNKNOWN,
    "mcp-python-sdk-unknown": UNKNOWN,
    "openinference-openai-agents-unknown": UNKNOWN,
    "pydantic-ai-approval-denied": REFUSED,
    "pydantic-ai-approval-ok": REPORTED,
    "pydantic-ai-v5-unknown": UNKNOWN,
    "semconv-langchain-unknown-raise": UNKNOWN,
    "semconv-manual-agent-unknown": UNKNOWN,
    "semconv-openai-agents-approval-denied": REFUSED,
    "semconv-openai-agents-approval-ok": REPORTED,
    "semconv-openai-agents-llmerror": None,
    "semconv-openai-agents-unknown": UNKNOWN,
    "vercel-ai-v7-unknown": UNKNOWN,
}
"""What the order of wire.md 4.3 derives of the one write of each run: a decision, a result, a timeout or an error whose
words are left out. ``None``: the model failed before it asked for any tool."""

ENDINGS = ("-unknown", "-denied", "-raise", "-llmerror")


def test_every_capture_of_an_odd_ending_is_named() -> None:
    odd = {name for name in NAMES if name.endswith(ENDINGS) or "-approval-" in name}
    assert odd == set(DERIVED)


@pytest.mark.parametrize("name", DERIVED)
def test_the_effect_of_a_run_with_an_odd_ending_is_what_the_wire_allows_to_say(name: str, imported: Imported) -> None:
    (trial,) = imported[name]
    effects = [(call["executed"], call["effect"]["state"], call["effect"]["reason"]) for call in trial["tool_calls"]]
    expected = DERIVED[name]
    assert effects == ([] if expected is None else [("yes", "none", "read"), expected])
    assert trial["status"] == ("error" if name.endswith(("-llmerror", "-raise")) else "complete")
    # a claim is no evidence of an effect, and a refusal is no failure
    assert all(call["effect"]["resolved_by"] is None for call in trial["tool_calls"])
