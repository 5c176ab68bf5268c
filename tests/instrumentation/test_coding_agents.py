"""Coding agents that export by themselves get the switches for it, in a fake executable that shows what it got."""

import json
import os
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from spanproof_instrumentation import semconv
from tests.instrumentation.sink import spanproof_run

SHOW = """#!{python}
import json, os, sys
print(json.dumps([sys.argv[1:], dict(os.environ)]))
"""


@pytest.fixture
def agents(tmp_path: Path) -> dict[str, str]:
    """An environment in which the agents are found, and no configuration of Codex."""
    for name in ("claude", "codex", "gemini", "npx"):
        path = Path(tmp_path, name)
        path.write_text(SHOW.format(python=sys.executable), encoding="utf-8")
        path.chmod(0o755)
    return {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}


def started(agents: dict[str, str], *arguments: str) -> tuple[list[str], dict[str, str], str]:
    done = spanproof_run(*arguments, environment=agents)
    assert done.returncode == 0, done.stderr
    words, environment = json.loads(done.stdout)
    return words, environment, done.stderr


CLAUDE = {
    "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
    "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_LOGS_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318",
}
CLAUDE_CONTENT = {
    "OTEL_LOG_USER_PROMPTS": "1",
    "OTEL_LOG_ASSISTANT_RESPONSES": "1",
    "OTEL_LOG_TOOL_DETAILS": "1",
    "OTEL_LOG_TOOL_CONTENT": "1",
}
GEMINI = {
    "GEMINI_TELEMETRY_ENABLED": "true",
    "GEMINI_TELEMETRY_TARGET": "local",
    "GEMINI_TELEMETRY_OTLP_ENDPOINT": "http://c:4318",
    "GEMINI_TELEMETRY_OTLP_PROTOCOL": "http",
    "GEMINI_TELEMETRY_TRACES_ENABLED": "true",
    "GEMINI_TELEMETRY_LOG_PROMPTS": "true",
}


@pytest.mark.parametrize(("agent", "switches"), [("claude", CLAUDE | CLAUDE_CONTENT), ("gemini", GEMINI)])
def test_the_switches_are_set_and_told(agents: dict[str, str], agent: str, switches: dict[str, str]) -> None:
    words, environment, told = started(agents, "--endpoint", "http://c:4318", "--", agent, "-p", "hello")
    assert words == ["-p", "hello"]
    assert {name: environment.get(name) for name in switches} == switches
    assert all(f"{name}={value}" in told for name, value in switches.items())
    assert told.count("\n") == 1


def test_without_content_they_export_without(agents: dict[str, str]) -> None:
    _, environment, _ = started(agents, "--no-capture-content", "--", "claude")
    assert not set(CLAUDE_CONTENT) & set(environment)
    _, environment, _ = started(agents, "--no-capture-content", "--", "gemini")
    assert environment["GEMINI_TELEMETRY_TRACES_ENABLED"] == "false"
    assert environment["GEMINI_TELEMETRY_LOG_PROMPTS"] == "false"


def test_without_an_endpoint_they_export_to_where_we_would(agents: dict[str, str]) -> None:
    _, environment, _ = started(agents, "--", "claude")
    assert environment["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://localhost:4318"
    _, environment, _ = started(agents, "--protocol", "grpc", "--", "claude")
    assert environment["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://localhost:4317"
    assert environment["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc"


def test_a_switch_that_the_user_set_is_left_alone_and_said(agents: dict[str, str]) -> None:
    user = {"OTEL_LOG_USER_PROMPTS": "0", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://mine:4318"}
    _, environment, told = started(agents | user, "--", "claude")
    assert {name: environment[name] for name in user} == user
    assert "left as you set them: OTEL_EXPORTER_OTLP_ENDPOINT OTEL_LOG_USER_PROMPTS" in told


def test_an_option_is_the_users_later_word(agents: dict[str, str]) -> None:
    user = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://mine:4318"}
    _, environment, _ = started(agents | user, "--endpoint", "http://c:4318", "--", "claude")
    assert environment["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://c:4318"


def test_labels_reach_them_as_resource_attributes(agents: dict[str, str]) -> None:
    user = {"OTEL_RESOURCE_ATTRIBUTES": "team=a,spanproof.suite=mine"}
    _, environment, _ = started(
        agents | user, "--task", "t 1", "--attempt", "0", "--suite", "s", "--project", "p", "--", "claude"
    )
    assert environment["OTEL_RESOURCE_ATTRIBUTES"].split(",") == [
        "team=a",
        "spanproof.suite=mine",
        f"{semconv.PROJECT}=p",
        f"{semconv.TASK_ID}=t%201",
        f"{semconv.ATTEMPT}=0",
    ]


def settings(words: list[str]) -> dict[str, object]:
    """What Codex would read of its ``-c`` arguments."""
    pairs = [value for flag, value in pairwise(words) if flag == "-c"]
    found: dict[str, object] = tomllib.loads("\n".join(pairs))["otel"]
    return found


def test_codex_gets_arguments_that_are_toml(agents: dict[str, str]) -> None:
    words, _, told = started(agents, "--endpoint", "http://c:4318", "--task", "t", "--", "codex", "exec", "hi")
    assert words[-2:] == ["exec", "hi"]
    assert settings(words) == {
        "exporter": {"otlp-http": {"endpoint": "http://c:4318/v1/logs", "protocol": "binary", "headers": {}}},
        "trace_exporter": {"otlp-http": {"endpoint": "http://c:4318/v1/traces", "protocol": "binary", "headers": {}}},
        "log_user_prompt": True,
        "span_attributes": {semconv.TASK_ID: "t"},
    }
    assert "otel.trace_exporter" in told


def test_codex_over_grpc(agents: dict[str, str]) -> None:
    words, _, _ = started(agents, "--protocol", "grpc", "--no-capture-content", "--", "codex")
    assert settings(words)["exporter"] == {"otlp-grpc": {"endpoint": "http://localhost:4317", "headers": {}}}
    assert settings(words)["log_user_prompt"] is False


def test_what_codex_is_told_by_the_user_stays(agents: dict[str, str], tmp_path: Path) -> None:
    Path(tmp_path, ".codex").mkdir()
    Path(tmp_path, ".codex", "config.toml").write_text('[otel]\nexporter = "none"\n', encoding="utf-8")
    words, _, told = started(agents, "--", "codex", "-c", "otel.log_user_prompt=false")
    assert set(settings(words)) == {"trace_exporter", "log_user_prompt"}
    assert settings(words)["log_user_prompt"] is False
    assert "left as you set them: otel.exporter otel.log_user_prompt" in told


def test_an_agent_behind_npx_is_recognized(agents: dict[str, str]) -> None:
    words, environment, _ = started(agents, "--", "npx", "-y", "@anthropic-ai/claude-code@2", "-p", "hi")
    assert words == ["-y", "@anthropic-ai/claude-code@2", "-p", "hi"]
    assert environment["CLAUDE_CODE_ENABLE_TELEMETRY"] == "1"
    words, _, _ = started(agents, "--", "npx", "@openai/codex", "exec")
    assert (words[0], words[1], words[-1]) == ("@openai/codex", "-c", "exec")


def test_another_command_gets_no_switch_and_nothing_is_said(agents: dict[str, str]) -> None:
    _, environment, told = started(agents, "--", "npx", "cowsay", "claude")
    assert told == ""
    assert not {name for name in environment if name.startswith(("CLAUDE_", "GEMINI_", "OTEL_"))}
