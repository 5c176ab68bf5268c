"""``spanproof run``: starts an agent as it is, with recording put into every Python process that it starts.

The command takes the place of this process, so signals, exit code and terminal are its own.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from opentelemetry import context

from spanproof_instrumentation import semconv, settings
from spanproof_instrumentation.coding_agents import Target, plan_for
from spanproof_instrumentation.labels import extract_environment, inject_environment, labels, labels_of
from spanproof_instrumentation.redaction import Redaction, RedactionError, text_of_rules

INJECTED: Final = str(Path(__file__).parent / "injected")
_DEFAULT_ENDPOINTS: Final = {"http/protobuf": "http://localhost:4318", "grpc": "http://localhost:4317"}

_EPILOG: Final = """\
Python agents are recorded by the OpenTelemetry instrumentors that are installed beside them; what is missing is
suggested on standard error. claude, codex and gemini are switched to export by themselves. OTEL_* variables hold.
python -I and -S cannot be reached.

Exit codes: the command's own; 2 could not run it."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"spanproof run: {message}\nTry: spanproof run --help\n")


def main(arguments: Sequence[str]) -> int:
    """Become the command; return 2 where there is none to become."""
    asked = _parser().parse_args(arguments)
    command: list[str] = asked.command[1:] if asked.command[:1] == ["--"] else asked.command
    if not command:
        print("spanproof run: no command is given. Try: spanproof run -- python agent.py", file=sys.stderr)
        return 2
    environment = _environment(asked)
    if shutil.which(command[0], path=environment.get("PATH")) is None:
        print(f"spanproof run: {command[0]} is not found, or cannot be run", file=sys.stderr)
        return 2
    plan = plan_for(command, _without_ours(environment, asked), _target(asked, environment))
    if plan is not None:
        environment |= plan.environment
        command = [*command[: plan.position + 1], *plan.arguments, *command[plan.position + 1 :]]
        print(plan.told(), file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        return _become(command, environment)
    except OSError as error:
        print(f"spanproof run: {command[0]} cannot be run: {error.strerror}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="spanproof run",
        usage="spanproof run [options] -- CMD …",
        description="Run an agent without a change to it, and record what it does.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--service-name", metavar="NAME", help="service.name of what is recorded")
    parser.add_argument(
        "--endpoint", metavar="URL", help="the collector; default OTEL_EXPORTER_OTLP_ENDPOINT, else local"
    )
    parser.add_argument(
        "--protocol", choices=["http/protobuf", "grpc"], help="how to send; gRPC needs the extra [grpc]"
    )
    parser.add_argument(
        "--capture-content",
        action=argparse.BooleanOptionalAction,
        help="record messages, tool arguments and results, or keep every instrumentor from it",
    )
    parser.add_argument("--project", metavar="NAME", help="project that the traces belong to")
    parser.add_argument("--task", metavar="ID", help="label: the task")
    parser.add_argument("--trial", metavar="ID", help="label: the trial")
    parser.add_argument("--attempt", metavar="N", type=_attempt, help="label: the attempt, from 0")
    parser.add_argument("--variant", metavar="NAME", help="label: what is compared")
    parser.add_argument("--suite", metavar="NAME", help="label: the suite")
    parser.add_argument(
        "--label", metavar="K=V", type=_label, action="append", default=[], help="any further label; repeatable"
    )
    parser.add_argument(
        "--redact",
        metavar="RULE",
        type=_rule,
        action="append",
        default=[],
        help="a regular expression, or a JSON path ($.card.number, name:$.key): never leaves; repeatable",
    )
    parser.add_argument(
        "--exit-seconds", metavar="S", type=_seconds, help="how long an exit waits for a silent collector; default 2"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD …", help="the agent and its arguments")
    return parser


def _environment(asked: argparse.Namespace) -> dict[str, str]:
    """Return the environment of the command: the labels in it, and our folder in front of the others."""
    token = context.attach(extract_environment())
    with labels(
        task=asked.task,
        trial=asked.trial,
        attempt=asked.attempt,
        variant=asked.variant,
        suite=asked.suite,
        **dict(asked.label),
    ):
        environment = inject_environment()
    context.detach(token)
    for name, value in (
        (settings.SERVICE_NAME, asked.service_name),
        (settings.ENDPOINT, asked.endpoint),
        (settings.PROTOCOL, asked.protocol),
        (settings.PROJECT, asked.project),
        (settings.EXIT_SECONDS, asked.exit_seconds),
    ):
        if value is not None:
            environment[name] = str(value)
    if asked.capture_content is not None:
        environment[settings.CAPTURE_CONTENT] = "true" if asked.capture_content else "false"
    if asked.redact:
        before = environment.get(settings.REDACT)
        environment[settings.REDACT] = text_of_rules([*([before] if before else []), *asked.redact])
    # An empty part of it would mean the working folder.
    others = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path and path != INJECTED]
    environment["PYTHONPATH"] = os.pathsep.join([INJECTED, *others])
    return environment


def _target(asked: argparse.Namespace, environment: dict[str, str]) -> Target:
    protocol = environment.get(settings.PROTOCOL) or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    endpoint = environment.get(settings.ENDPOINT) or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    found: dict[str, str | int] = dict(labels_of(extract_environment(environment)))
    if asked.project:
        found = {semconv.PROJECT: asked.project, **found}
    return Target(
        endpoint=endpoint or _DEFAULT_ENDPOINTS.get(protocol, _DEFAULT_ENDPOINTS["http/protobuf"]),
        protocol=protocol,
        content=asked.capture_content is not False,
        labels=found,
    )


def _without_ours(environment: dict[str, str], asked: argparse.Namespace) -> dict[str, str]:
    """Return the environment without what an option said better: an option is the user's later word."""
    said = {"OTEL_EXPORTER_OTLP_ENDPOINT": asked.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": asked.protocol}
    return {name: value for name, value in environment.items() if not said.get(name)}


def _become(command: Sequence[str], environment: dict[str, str]) -> int:
    if sys.platform == "win32":
        import subprocess

        return subprocess.call(list(command), env=environment)  # there, exec leaves the shell waiting for nobody
    return os.execvpe(command[0], list(command), environment)


def _attempt(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no attempt: they count from 0")
    return int(text)


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is no label: write key=value")
    if key in ("task", "trial", "attempt", "variant", "suite"):
        raise argparse.ArgumentTypeError(f"{key} has an option of its own: --{key}")
    return key, value


def _rule(text: str) -> str:
    try:
        Redaction.strictly(text)
    except RedactionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if "\n" in text or not text.strip():
        raise argparse.ArgumentTypeError("a redaction rule is one line that is not empty")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return seconds
