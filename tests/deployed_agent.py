"""A stand-in for a team's agent: sends the spans of the founding stable trials under the variant that it is given.

python -m tests.deployed_agent VARIANT          sends to OTEL_EXPORTER_OTLP_ENDPOINT
python -m tests.deployed_agent --ready ... URL  ends with 0 if URL answers 200
"""

import os
import sys
import urllib.error
import urllib.request

from tests.evaluators.founding import TRIALS, V1, request


def send(variant: str) -> int:
    """Send every trial in a request of its own."""
    for one in TRIALS:
        if one.variant != V1:
            continue
        body = request(one, trial=f"{variant}/{one.name}", variant=variant).SerializeToString()
        asked = urllib.request.Request(
            f"{os.environ['OTEL_EXPORTER_OTLP_ENDPOINT']}/v1/traces", body, {"Content-Type": "application/x-protobuf"}
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert answer.status == 200
    return 0


def ready(place: str) -> int:
    """Ask once."""
    try:
        with urllib.request.urlopen(f"http://{place}", timeout=5) as answer:
            return 0 if answer.status == 200 else 1
    except (OSError, urllib.error.URLError):
        return 1


if __name__ == "__main__":
    sys.exit(ready(sys.argv[-1]) if sys.argv[1] == "--ready" else send(sys.argv[1]))
