"""The witness: records the world before and after a trial and grades the prose, in spans that are not the agent's."""

from types import TracebackType
from typing import Self

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from spanproof_evaluators.demo.grader import GRADER, REVISION, grade
from spanproof_evaluators.demo.ids import TrialIds
from spanproof_evaluators.demo.world import World
from spanproof_instrumentation import end_state, quality, semconv
from spanproof_instrumentation.evidence import Phase
from spanproof_instrumentation.label_processor import LabelProcessor


class Witness:
    """Exports over a provider of its own, so that the process it lives in keeps the one it has."""

    def __init__(self, endpoint: str) -> None:
        self._provider = TracerProvider(
            resource=Resource.create({semconv.SERVICE_NAME: "shop-witness"}),
            id_generator=TrialIds("witness"),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(LabelProcessor({}))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, insecure=True)))
        self._tracer = self._provider.get_tracer(__name__)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Send what is left; the collector has all of it afterwards."""
        self._provider.shutdown()

    def look(self, phase: Phase, world: World) -> None:
        """Record everything that is in the world now, for the trial of the current labels."""
        with self._tracer.start_as_current_span(semconv.EVENT_END_STATE):
            end_state(phase, world.snapshot())

    def grade(self, answer: str) -> None:
        """Record how the answer reads, for the trial of the current labels."""
        with self._tracer.start_as_current_span(semconv.EVENT_QUALITY):
            quality(grade(answer), GRADER, REVISION)
