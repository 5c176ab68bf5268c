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

NAMES = capture_names("semconv-")

# The bytes of these hold neither arguments nor results, nor anything else that says that the refund ran: a tool span
# with status UNSET is what a call that waits for approval leaves too. The manifest knows better than the bytes do.
SILENT = frozenset({"semconv-openai-agents-nocontent", "semconv-manual-agent-upload-refs"})


def _truth() -> dict[str, JsonObject]:
    captures: list[JsonObject] = json.loads((CAPTURES / "MANIFEST.json").read_text())["captures"]
    return {capture["dir"]: capture["ground_truth"] for capture in captures}


def _spanproof(*arguments: str) -> str:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def _trials(store: str, *arguments: str) -> list[JsonObject]:
    return [json.loads(line) for line in _spanproof("trials", "--store", store, "--json", *arguments).splitlines()]


def _files(name: str, suffix: str) -> list[Path]:
    return [path for path in sorted((CAPTURES / name).glob(f"*{suffix}")) if "metrics" not in path.name]


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


def _send_grpc(collector: Collecting, name: str) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{collector.addresses.grpc_port}") as channel:
        for path in _files(name, ".pb"):
            signal = "traces" if "traces" in path.name else "logs"
            service = "trace.v1.TraceService" if signal == "traces" else "logs.v1.LogsService"
            export = channel.unary_unary(f"/opentelemetry.proto.collector.{service}/Export")
            export(_in_project(path.read_bytes(), f"{name}/grpc", signal=signal), timeout=30)


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


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[JsonObject]]:
    """What every capture gives through the file importer, each in a store of its own."""
    found = {}
    for name in NAMES:
        store = f"chdb://{tmp_path_factory.mktemp('imported')}/store"
        report = json.loads(_spanproof("import", "--store", store, "--json", str(CAPTURES / name)))
        assert report["rejected"] == []
        found[name] = _trials(store)
    return found


def _without_origin(trials: list[JsonObject]) -> list[JsonObject]:
    origin = ("project", "source", "path")
    return [{key: value for key, value in trial.items() if key not in origin} for trial in trials]


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_gives_the_same_trials_from_files_and_over_both_wires(
    name: str, imported: dict[str, list[JsonObject]], collector: Collecting
) -> None:
    _send_grpc(collector, name)
    _send_http_json(collector, name)
    expected = _without_origin(imported[name])
    assert _without_origin(_trials(collector.store, "--project", f"{name}/grpc")) == expected
    assert _without_origin(_trials(collector.store, "--project", f"{name}/http")) == expected
    assert {trial["source"] for trial in imported[name]} == {"import:otlp"}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "semconv-evaluation-events"])
def test_a_capture_agrees_with_its_manifest(name: str, imported: dict[str, list[JsonObject]]) -> None:
    truth = _truth()[name]
    (trial,) = imported[name]
    calls = trial["tool_calls"]
    assert [call["name"] for call in calls] == [call["name"] for call in truth["calls"]]
    assert [call["effect"]["class"] for call in calls] == [call["effect"] for call in truth["calls"]]
    for call, told in zip(calls, truth["calls"], strict=True):
        if told.get("executed") is False:
            assert (call["executed"], call["effect"]["state"]) == ("no", "refused")
        elif told["effect"] == "read":
            assert call["effect"]["state"] == "none"
        elif told.get("effect_known") is False or name in SILENT:
            assert call["effect"]["state"] == "unknown"
        else:
            assert (call["executed"], call["effect"]["state"]) == ("yes", "reported")
    claimed = {True: {"success"}, False: {"failure", "none"}, None: {"unavailable"}}[truth["final_claims_success"]]
    assert trial["claim"]["state"] in claimed
    assert trial["status"] == ("error" if "run_status" in truth else "complete")
    assert trial["false_success"] is None  # nobody looked at an end state


ORDER = {"order_id": "ORD-1001"}
REFUND = {"order_id": "ORD-1001", "amount_cents": 4250}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SILENT | {"semconv-evaluation-events"}])
def test_every_call_has_the_arguments_and_the_result_that_the_bytes_hold(
    name: str, imported: dict[str, list[JsonObject]]
) -> None:
    (trial,) = imported[name]
    for call in trial["tool_calls"]:
        if call["name"] == "issue_refund":
            assert call["arguments"] == REFUND
        else:
            assert call["arguments"]["order_id"] in ("ORD-1001", "ORD-1002")
        if call["executed"] == "yes":
            assert call["result"]["order_id"] == call["arguments"]["order_id"]
        elif not name.endswith("-raise"):
            assert isinstance(call["result"], str)
        else:
            assert call["result"] is None
            assert "timed out" in call["error"]


def test_evaluation_events_of_others_are_no_verdict_of_ours(imported: dict[str, list[JsonObject]]) -> None:
    (trial,) = imported["semconv-evaluation-events"]
    assert trial["outcome"]["state"] == "unavailable"
    assert [result["name"] for result in trial["foreign_results"]] == [
        "end_state.refund_recorded",
        "false_success",
        "tool_effect",
        "judge.helpfulness",
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("-unknown")])
def test_a_claim_over_an_unknown_effect_is_listed_as_unproven(
    name: str, tmp_path: Path, imported: dict[str, list[JsonObject]]
) -> None:
    (trial,) = imported[name]
    refund = trial["tool_calls"][-1]
    assert (refund["name"], refund["effect"]["state"]) == ("issue_refund", "unknown")
    assert (trial["claim"]["state"], trial["outcome"]["state"]) == ("success", "unavailable")
    store = f"chdb://{tmp_path}/store"
    _spanproof("import", "--store", store, str(CAPTURES / name))
    assert "UNPROVEN" in _spanproof("trials", "--store", store)
