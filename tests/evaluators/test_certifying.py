"""Certificates: a report computed again byte for byte, and what differs named by its number."""

import json
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.store import open_store
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.model.certificates import read_certificate
from tests.evaluators.founding import SUITE, TRIALS, Attempt, request
from tests.factories import key_values
from tests.storing import put


def filled(folder: Path, *requests: ExportTraceServiceRequest) -> str:
    with open_store(f"chdb://{folder}/store") as store:
        put(store, *requests)
    return f"chdb://{folder}/store"


def run(folder: Path, *arguments: str) -> int:
    return main([*arguments, "--store", f"chdb://{folder}/store"])


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an evaluated store, its suite and the certificate of its report."""
    folder = tmp_path_factory.mktemp("certified")
    filled(folder, *(request(one) for one in TRIALS))
    (folder / "suite.json").write_text(json.dumps(SUITE))
    asked = ["--suite", str(folder / "suite.json")]
    assert run(folder, "evaluate", *asked, "--include-unsettled") == 0
    assert run(folder, "report", *asked, "--certificate", str(folder / "cert.json")) == 0
    return folder


def verified(folder: Path, certificate: Path, suite: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    capsys.readouterr()
    code = run(folder, "verify-report", str(certificate), "--suite", str(suite), "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["same"] is (code == 0)
    return code, told["differences"]


def test_an_untouched_store_gives_the_same_bytes(certified: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(certified, certified / "cert.json", certified / "suite.json", capsys) == (0, [])
    found = read_certificate(certified / "cert.json")
    assert found.numbers["stable v1"]["effect_integrity"]["numerator"] == 5
    assert len(found.trials) == 10


def test_the_same_spans_in_another_store_give_the_same_bytes(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path, *(request(one) for one in reversed(TRIALS)))
    assert verified(tmp_path, certified / "cert.json", certified / "suite.json", capsys) == (0, [])


def richer(one: Attempt) -> ExportTraceServiceRequest:
    """Return the trial's spans, its receipt turned to failed and made the richer version of its span."""
    found = request(one)
    for span in found.resource_spans[0].scope_spans[0].spans:
        for event in span.events:
            for pair in event.attributes:
                if pair.key == "spanproof.receipt.state":
                    pair.value.string_value = "failed"
                    span.attributes.extend(key_values({"note": "seen again by somebody who looked closer"}))
    return found


def test_one_changed_span_is_named_by_the_number_that_it_changes(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path, *(request(one) for one in TRIALS if one.name != "v1-2"), richer(TRIALS[1]))
    code, found = verified(tmp_path, certified / "cert.json", certified / "suite.json", capsys)
    assert code == 1
    integrity = next(one for one in found if one.startswith("stable v1 / effect_integrity: "))
    assert "1.0 (5/5) then, 0.8 (4/5) now (label:v1-2: its spans are not the same)" in integrity
    assert not any(one.startswith("fast v2") for one in found)


def test_a_trial_more_and_a_trial_less_are_named(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path, *(request(one) for one in TRIALS[1:]), request(TRIALS[0], trial="other"))
    _, found = verified(tmp_path, certified / "cert.json", certified / "suite.json", capsys)
    assert any("(label:v1-1 is gone; label:other is new)" in one for one in found)


def test_another_suite_is_named_before_any_number(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(SUITE).replace('"exactly": 1', '"exactly": 2'))
    code, found = verified(certified, certified / "cert.json", tmp_path / "suite.json", capsys)
    assert code == 1
    assert found[0].startswith("suite: ")


@pytest.mark.parametrize(
    ("old", "new"),
    [('"value": 1.0', '"value": 0.9'), ('"certificate": "', '"certificate": "0')],
    ids=["a number", "the hash"],
)
def test_a_certificate_that_was_changed_by_hand_is_found_out(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    text = (certified / "cert.json").read_text()
    assert old in text
    (tmp_path / "cert.json").write_text(text.replace(old, new, 1))
    code, found = verified(certified, tmp_path / "cert.json", certified / "suite.json", capsys)
    assert code == 1
    assert found


def test_the_suite_has_to_be_given(certified: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(certified, "verify-report", str(certified / "cert.json")) == 2
    assert "made with suite founding" in capsys.readouterr().err


def test_a_file_that_is_no_certificate_is_refused(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cert.json").write_text("{}")
    assert run(certified, "verify-report", str(tmp_path / "cert.json")) == 2
    assert "missing" in capsys.readouterr().err


def test_what_a_verifier_file_said_stands_in_what_is_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path, *(request(one) for one in TRIALS))
    checks = tmp_path / "checks.yaml"
    checks.write_text("id: paid\nverifiers:\n  - id: paid\n    checks:\n      - {kind: answer, contains: [paid]}\n")
    with_checks = ["--verifiers", str(checks)]
    assert run(tmp_path, "evaluate", *with_checks, "--include-unsettled") == 0
    assert run(tmp_path, "report", *with_checks, "--certificate", str(tmp_path / "cert.json")) == 0
    capsys.readouterr()
    code = run(tmp_path, "verify-report", str(tmp_path / "cert.json"), "--json")
    assert (code, json.loads(capsys.readouterr().out)["differences"]) == (0, [])
