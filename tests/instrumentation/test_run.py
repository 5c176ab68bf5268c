import os
import sys
from pathlib import Path

import pytest

from spanproof_instrumentation import semconv
from tests.instrumentation.sink import Sink, run, run_agent, spanproof_run, texts

SPAN = """
from opentelemetry import trace
with trace.get_tracer("library").start_as_current_span("work"):
    pass
"""


def in_the_agent_only(folder: Path, code: str) -> None:
    """Have Python run code at its start, where ``spanproof run`` has set its variables."""
    lines = ["import os", 'if "SPANPROOF_ENDPOINT" in os.environ:', *(f"    {line}" for line in code.splitlines())]
    Path(folder, "sitecustomize.py").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_an_unmodified_program_is_recorded_with_its_labels(http_sink: Sink) -> None:
    options = ["--service-name", "shop", "--project", "p", "--task", "t", "--trial", "t.0", "--attempt", "0"]
    options += ["--variant", "v", "--suite", "s", "--label", "region=eu", "--label", "tier=gold"]
    done = run_agent(SPAN, http_sink.address, *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (span,) = http_sink.spans()
    attributes = texts(span.attributes)
    assert attributes | {semconv.ATTEMPT: ""} == {
        semconv.TASK_ID: "t",
        semconv.TRIAL_ID: "t.0",
        semconv.ATTEMPT: "",
        semconv.VARIANT: "v",
        semconv.SUITE: "s",
        "spanproof.label.region": "eu",
        "spanproof.label.tier": "gold",
    }
    assert {pair.key: pair.value.int_value for pair in span.attributes}[semconv.ATTEMPT] == 0
    assert http_sink.resource()["service.name"] == "shop"
    assert http_sink.resource()[semconv.PROJECT] == "p"


def test_what_the_environment_carried_before_goes_on(http_sink: Sink) -> None:
    parent = {
        "TRACEPARENT": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
        "BAGGAGE": "spanproof.task.id=outer,spanproof.suite=s",
    }
    done = run_agent(SPAN, http_sink.address, "--task", "inner", environment=parent)
    assert done.stderr == ""
    (span,) = http_sink.spans()
    assert span.trace_id.hex() == "0123456789abcdef0123456789abcdef"
    assert (texts(span.attributes)[semconv.TASK_ID], texts(span.attributes)[semconv.SUITE]) == ("inner", "s")


def test_output_arguments_and_exit_code_are_the_programs_own(http_sink: Sink) -> None:
    program = (
        "import sys; print('out'); print('err', file=sys.stderr); sys.exit(len(sys.argv) + sys.stdin.read().count('x'))"
    )
    done = run_agent(program, http_sink.address)
    assert (done.returncode, done.stdout, done.stderr) == (1, "out\n", "err\n")


def test_the_commands_own_arguments_and_dashes_are_its_own() -> None:
    program = "import sys; print(sys.argv[1:])"
    done = spanproof_run("--", sys.executable, "-c", program, "--task", "x", "--", "y")
    assert done.stdout == "['--task', 'x', '--', 'y']\n"


def test_a_program_that_records_nothing_opens_no_connection_and_loads_no_sdk(http_sink: Sink) -> None:
    done = run_agent("import sys; print('opentelemetry.sdk' in sys.modules)", http_sink.address)
    assert (done.stdout, done.stderr) == ("False\n", "")
    assert not http_sink.arrived.is_set()


def test_a_command_that_is_not_python_is_run_and_its_python_children_are_reached(http_sink: Sink) -> None:
    done = spanproof_run(
        "--endpoint",
        http_sink.address,
        "--",
        "sh",
        "-c",
        f'"{sys.executable}" -c "$PROGRAM"; exit 9',
        environment={"PROGRAM": SPAN},
    )
    assert (done.returncode, done.stderr) == (9, "")
    assert http_sink.names() == ["work"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no command is given"),
        (("--", "no-such-command"), "no-such-command is not found"),
        (("--atempt", "1", "--", "true"), "unrecognized arguments: --atempt"),
        (("--attempt", "-1", "--", "true"), "they count from 0"),
        (("--task", "--", "true"), "expected one argument"),
        (("--attempt", "x", "--", "true"), "'x' is no attempt"),
        (("--label", "x", "--", "true"), "'x' is no label"),
        (("--label", "task=x", "--", "true"), "--task"),
        (("--redact", "(", "--", "true"), "no regular expression"),
        (("--redact", "$.a b", "--", "true"), "no JSON path"),
        (("--exit-seconds", "soon", "--", "true"), "no number of seconds"),
        (("--protocol", "udp", "--", "true"), "invalid choice"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_runs_nothing(arguments: tuple[str, ...], said: str) -> None:
    done = spanproof_run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_sitecustomize_that_is_shadowed_still_runs(http_sink: Sink, tmp_path: Path) -> None:
    Path(tmp_path, "sitecustomize.py").write_text("import builtins\nbuiltins.shadowed = __file__\n", encoding="utf-8")
    done = run_agent("print(shadowed)" + SPAN, http_sink.address, environment={"PYTHONPATH": str(tmp_path)})
    assert (done.stdout, done.stderr) == (f"{tmp_path / 'sitecustomize.py'}\n", "")
    assert http_sink.names() == ["work"]


def test_a_sitecustomize_that_fails_is_told_by_python_and_recording_goes_on(http_sink: Sink, tmp_path: Path) -> None:
    Path(tmp_path, "sitecustomize.py").write_text("1 / 0\n", encoding="utf-8")
    done = run_agent(SPAN, http_sink.address, environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0
    assert "ZeroDivisionError" in done.stderr
    assert http_sink.names() == ["work"]


def test_a_wrapper_that_puts_a_folder_of_its_own_in_front_does_not_push_us_out(http_sink: Sink, tmp_path: Path) -> None:
    """As opentelemetry-instrument does: a sitecustomize in front, and exec."""
    Path(tmp_path, "sitecustomize.py").write_text("print('theirs')\n", encoding="utf-8")
    wrapper = f"""
import os, sys
os.environ["PYTHONPATH"] = {str(tmp_path)!r} + os.pathsep + os.environ["PYTHONPATH"]
os.execl(sys.executable, sys.executable, "-c", {SPAN!r})
"""
    done = run_agent(wrapper, http_sink.address)
    assert (done.returncode, done.stdout, done.stderr) == (0, "theirs\n", "")
    assert http_sink.names() == ["work"]


@pytest.mark.parametrize("before", [None, "", "/one", os.pathsep + "/one"])
def test_the_working_folder_is_never_added_to_the_path(http_sink: Sink, before: str | None) -> None:
    environment = {} if before is None else {"PYTHONPATH": before}
    done = run_agent("import os; print(os.environ['PYTHONPATH'])", http_sink.address, environment=environment)
    ours, *others = done.stdout.strip().split(os.pathsep)
    assert Path(ours).name == "injected"
    assert others == (["/one"] if before and "/one" in before else [])


def test_an_interpreter_without_opentelemetry_is_silent(tmp_path: Path) -> None:
    program = "import sys; print('spanproof_instrumentation' in sys.modules)"
    blocked = "import sys\nfor name in ('opentelemetry', 'opentelemetry.trace'):\n    sys.modules[name] = None\n"
    in_the_agent_only(tmp_path, blocked)
    done = run_agent(program, "http://127.0.0.1:9", environment={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_an_environment_without_spanproof_borrows_our_package_and_nothing_beside_it(
    http_sink: Sink, tmp_path: Path
) -> None:
    # As in another virtual environment: the path finder finds no spanproof_instrumentation.
    hidden = """
import sys
sys.path[:] = [path for path in sys.path if not path.endswith("instrumentation")]
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
"""
    in_the_agent_only(tmp_path, hidden)
    program = SPAN + "import sys; print([path for path in sys.path if path.endswith('instrumentation')])"
    done = run_agent(program, http_sink.address, environment={"PYTHONPATH": str(tmp_path)})
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert http_sink.names() == ["work"]


def test_a_disabled_sdk_records_nothing(http_sink: Sink) -> None:
    done = run_agent(SPAN, http_sink.address, environment={"OTEL_SDK_DISABLED": "true"})
    assert (done.returncode, done.stderr) == (0, "")
    assert not http_sink.arrived.is_set()


def test_the_standard_variables_are_honored_where_no_option_is_given(http_sink: Sink) -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": http_sink.address + "/v1/traces",
        "OTEL_SERVICE_NAME": "own",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=1",
        "PROGRAM": SPAN,
    }
    done = spanproof_run("--", sys.executable, "-c", SPAN, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.resource()["service.name"] == "own"


def test_an_exporter_that_the_agent_sets_up_from_the_environment_is_not_sent_elsewhere(
    http_sink: Sink, tmp_path: Path
) -> None:
    done = run_agent(
        "import os; print({name for name in os.environ if name.startswith('OTEL_')})",
        http_sink.address,
        "--project",
        "p",
    )
    assert done.stdout == "set()\n"


def test_help_works_without_the_command_line_of_the_evaluators() -> None:
    without = "import sys\nsys.modules['click'] = None\nfrom spanproof_instrumentation.__main__ import main\n"
    done = run(without + "sys.argv = ['spanproof', '--help']\nsys.exit(main())")
    assert done.returncode == 0
    assert "run    run an agent" in done.stdout
    done = run(without + "sys.argv = ['spanproof', 'run', '--help']\nsys.exit(main())")
    assert done.returncode == 0
    assert "--capture-content" in done.stdout
