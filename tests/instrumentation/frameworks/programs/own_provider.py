"""An agent that traces itself: a provider of its own, whose spans go to a file.

Arguments: when the provider is set (first, after_imports, after_work, with_instrumentors), the agent, the file.
"""

import importlib
import sys
from importlib.metadata import entry_points

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from shop import asked


def set_up(path):
    provider = TracerProvider(resource=Resource.create({"service.name": "a-name-of-its-own"}))
    exporter = ConsoleSpanExporter(out=open(path, "w"), formatter=lambda span: span.to_json(indent=None) + "\n")  # noqa: PTH123, SIM115
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)


def main():
    when, program, path = sys.argv[1:]
    if when in ("first", "with_instrumentors"):
        set_up(path)
    if when == "with_instrumentors":
        for found in entry_points(group="opentelemetry_instrumentor"):
            if found.name in program:
                found.load()().instrument()
    work = importlib.import_module(program).work
    if when == "after_imports":
        set_up(path)
    task, model = asked()
    if when == "after_work":
        print(work(task.replace("ORD-", "ORD-E"), model))
        set_up(path)
    print(work(task, model))


if __name__ == "__main__":
    main()
