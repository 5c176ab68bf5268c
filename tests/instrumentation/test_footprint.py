from bench.instrumentation import MOST_MEGABYTES, MOST_PACKAGES, installed, measure_spans, measure_tools


def test_the_base_install_is_small() -> None:
    names, megabytes = installed()
    assert {"spanproof", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} <= set(names)
    assert len(names) <= MOST_PACKAGES, names
    assert megabytes <= MOST_MEGABYTES


def test_the_benchmark_measures_every_step_beside_the_same_work_without_it() -> None:
    for cost in measure_spans(20) + measure_tools(20):
        assert cost.seconds > 0, cost.step
        assert cost.floor_seconds > 0, cost.step
