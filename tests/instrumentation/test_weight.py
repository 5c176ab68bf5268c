import json

from spanproof_instrumentation import __all__ as public
from tests.instrumentation.sink import run

HEAVY = ["grpc", "clickhouse_connect", "chdb", "pydantic", "click", "rich", "starlette"]


def test_the_agent_side_loads_no_database_no_server_and_no_sdk_before_it_is_asked_to() -> None:
    done = run(
        "import json, sys, spanproof_instrumentation\n"
        f"print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}} & set({HEAVY!r}))))\n"
        "print('opentelemetry.sdk' in sys.modules)"
    )
    loaded, sdk = done.stdout.splitlines()
    assert json.loads(loaded) == []
    assert sdk == "False"


def test_exporting_over_http_loads_nothing_heavy() -> None:
    done = run(
        "import json, sys\n"
        "from spanproof_instrumentation import configure\n"
        "configure(endpoint='http://127.0.0.1:9')\n"
        f"print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}} & set({HEAVY!r}))))"
    )
    assert (json.loads(done.stdout), done.stderr) == ([], "")


def test_the_public_names_are_sorted_and_each_once() -> None:
    assert public == sorted(set(public))
