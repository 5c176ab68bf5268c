from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_evaluators.demo import trials
from spanproof_evaluators.demo.scripts import SCRIPTS
from spanproof_evaluators.demo.trials import AgentProcessError, Play
from spanproof_evaluators.demo.witness import Witness
from spanproof_evaluators.model.suites import parse_suite
from spanproof_instrumentation import semconv
from tests.evaluators.demo.conftest import Reported
from tests.instrumentation.sink import Sink, grpc_receiver, spans_in, texts


def chosen(folder: Path, trial_id: str) -> Play:
    (play,) = [play for play in trials.plays(folder) if play.trial_id == trial_id]
    return play


def run(folder: Path, trial_id: str) -> Sink:
    play = chosen(folder, trial_id)
    with grpc_receiver() as sink:
        with Witness(sink.address) as witness:
            trials.run(play, sink.address, witness)
        return sink


def test_every_task_is_played_by_both_variants() -> None:
    suite = parse_suite(trials.suite_text(), name="suite.json")
    for scripts in SCRIPTS.values():
        assert list(scripts) == [task.id for task in suite.tasks]


def test_every_span_of_a_trial_carries_its_labels(tmp_path: Path) -> None:
    sink = run(tmp_path, "careful.delivery-date.0")
    seen = {
        tuple(texts(span.attributes)[name] for name in (semconv.TRIAL_ID, semconv.TASK_ID, semconv.VARIANT))
        for span in sink.spans()
    }
    assert seen == {("careful.delivery-date.0", "delivery-date", "careful")}
    assert len(sink.spans()) == 7


def test_a_trial_played_again_has_the_same_spans(tmp_path: Path) -> None:
    first, again = (told(run(tmp_path / name, "fast.refund-lamp.0")) for name in ("first", "again"))
    assert first == again


def told(sink: Sink) -> list[tuple[bytes, bytes, bytes, str, dict[str, str]]]:
    return sorted(
        (span.trace_id, span.span_id, span.parent_span_id, span.name, texts(span.attributes)) for span in sink.spans()
    )


def test_an_agent_that_fails_is_an_error_with_its_words(tmp_path: Path) -> None:
    play = chosen(tmp_path, "fast.delivery-date.0")
    play.world.shop.unlink()
    with (
        grpc_receiver() as sink,
        pytest.raises(AgentProcessError, match=r"(?s)fast.delivery-date.0 ended with 1:.*no such table: orders"),
    ):
        trials.act(play, sink.address)


def test_the_better_averages_belong_to_the_variant_that_fails(
    requests: list[ExportTraceServiceRequest], reported: Reported
) -> None:
    report = reported(requests)
    careful, fast = report.variants
    assert (careful.name, careful.decision.decision) == ("careful", "pass")
    assert (fast.name, fast.decision.decision, fast.decision.decided_by) == ("fast", "fail", "false_success")
    values = {v.name: {name: m.value for name, m in v.measures.items()} for v in report.variants}
    for name, higher, lower in (
        ("task_quality", "fast", "careful"),
        ("cost_per_run", "careful", "fast"),
        ("cost_per_verified_outcome", "fast", "careful"),
    ):
        high, low = values[higher][name], values[lower][name]
        assert high is not None
        assert low is not None
        assert float(high) > float(low)
    failed = {
        (one.trial.trial_id, result.evaluator)
        for one in report.assessments
        for result in one.results
        if result.state == "fail" and result.evaluator in ("duplicate_effect", "false_success", "unknown_effect")
    }
    assert failed == {
        ("fast.refund-lamp.0", "duplicate_effect"),
        ("fast.refund-lamp.0", "false_success"),
        ("fast.return-label.0", "false_success"),
        ("fast.goodwill-voucher.0", "unknown_effect"),
    }


def test_deleting_a_receipt_and_what_was_looked_up_changes_the_report(
    requests: list[ExportTraceServiceRequest], reported: Reported
) -> None:
    # The receipt is on a read that names what it looked up: without the receipt, its answer still shows the voucher.
    for request in requests:
        for span in spans_in(request):
            if texts(span.attributes)[semconv.TRIAL_ID] == "careful.goodwill-voucher.0":
                kept = [event for event in span.events if event.name != semconv.EVENT_RECEIPT]
                named = [
                    pair
                    for pair in span.attributes
                    if pair.key not in (semconv.EFFECT_DESTINATION, semconv.EFFECT_RESOURCE)
                ]
                looked = len(kept) < len(span.events)
                del span.events[:]
                span.events.extend(kept)
                if looked:
                    del span.attributes[:]
                    span.attributes.extend(named)
    careful = reported(requests).variants[0]
    assert (careful.decision.decision, careful.decision.decided_by) == ("fail", "unknown_effects")


def test_swapping_the_variants_traces_changes_the_report(
    requests: list[ExportTraceServiceRequest], reported: Reported
) -> None:
    other = {"careful": "fast", "fast": "careful"}
    for request in requests:
        for span in spans_in(request):
            for pair in span.attributes:
                if pair.key == semconv.VARIANT:
                    pair.value.string_value = other[pair.value.string_value]
    careful, fast = reported(requests).variants
    assert (careful.name, careful.decision.decision, careful.decision.decided_by) == (
        "careful",
        "fail",
        "false_success",
    )
    assert (fast.name, fast.decision.decision) == ("fast", "pass")


def test_editing_a_row_before_verification_changes_the_report(tmp_path: Path, reported: Reported) -> None:
    play = chosen(tmp_path, "careful.refund-lamp.0")
    with grpc_receiver() as sink, Witness(sink.address) as witness, play.labels():
        witness.look("before", play.world)
        trials.act(play, sink.address)
        with play.world.connected() as shop:
            shop.execute("UPDATE refunds SET amount_cents = 1 WHERE id = 'REF-1'")
        witness.look("after", play.world)
    (one,) = reported(sink.requests).assessments
    assert one.outcome.state == "failed"
    assert '"amount_cents": 1,' in one.outcome.reason
    assert one.false_success is True
