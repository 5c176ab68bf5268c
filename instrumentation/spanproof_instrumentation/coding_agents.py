"""Coding agents that export OpenTelemetry themselves: the switches that make them send everything to our collector.

A switch that the user set is left alone, in the environment as in Codex's arguments and configuration file.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final, Literal

Agent = Literal["claude", "codex", "gemini"]

_PACKAGES: Final[Mapping[str, Agent]] = {
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "@anthropic-ai/claude-code": "claude",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
}
_LAUNCHERS: Final = frozenset({"npx", "bunx", "pnpx"})


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a coding agent should send, and whether with content."""

    endpoint: str
    protocol: str
    content: bool
    labels: Mapping[str, str | int]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is changed for one coding agent."""

    agent: Agent
    environment: Mapping[str, str]
    arguments: tuple[str, ...]
    """Inserted behind the agent's own word of the command."""

    position: int
    left_alone: tuple[str, ...]

    def told(self) -> str:
        """Return what to tell the user: what was set and what was not."""
        given = [f"{name}={value}" for name, value in self.environment.items()]
        given += [f"-c {value}" for value in self.arguments if value != "-c"]
        said = f"spanproof: {self.agent} exports to the collector; set {' '.join(given) or 'nothing'}"
        return said + (f"; left as you set them: {' '.join(self.left_alone)}" if self.left_alone else "")


def plan_for(command: Sequence[str], environment: Mapping[str, str], target: Target) -> Plan | None:
    """Return what to change, ``None`` where the command starts none of these agents."""
    found = _agent_of(command)
    if found is None:
        return None
    agent, position = found
    arguments: tuple[str, ...] = ()
    left: list[str] = []
    match agent:
        case "claude":
            wanted = _claude(target)
        case "gemini":
            wanted = _gemini(target)
        case "codex":
            wanted = {}
            arguments, left = _codex(command[position + 1 :], environment, target)
    resource = _resource(target.labels, environment)
    if resource:
        wanted["OTEL_RESOURCE_ATTRIBUTES"] = resource
    left += [name for name in wanted if name in environment and name != "OTEL_RESOURCE_ATTRIBUTES"]
    return Plan(
        agent=agent,
        environment={name: value for name, value in wanted.items() if name not in left},
        arguments=arguments,
        position=position,
        left_alone=tuple(left),
    )


def _agent_of(command: Sequence[str]) -> tuple[Agent, int] | None:
    first = PurePath(command[0]).name
    for ending in (".exe", ".cmd"):
        first = first.removesuffix(ending)
    if first in _PACKAGES:
        return _PACKAGES[first], 0
    if first in _LAUNCHERS:
        for position, word in enumerate(command[1:], 1):
            if word.startswith("-"):
                continue
            name = "@" + word[1:].partition("@")[0] if word.startswith("@") else word.partition("@")[0]
            return (_PACKAGES[name], position) if name in _PACKAGES else None
    return None


def _claude(target: Target) -> dict[str, str]:
    wanted = {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",  # without it there are no spans
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": target.protocol,
        "OTEL_EXPORTER_OTLP_ENDPOINT": target.endpoint,
    }
    if target.content:
        wanted |= dict.fromkeys(
            (
                "OTEL_LOG_USER_PROMPTS",
                "OTEL_LOG_ASSISTANT_RESPONSES",
                "OTEL_LOG_TOOL_DETAILS",
                "OTEL_LOG_TOOL_CONTENT",
            ),
            "1",
        )
    return wanted


def _gemini(target: Target) -> dict[str, str]:
    return {
        "GEMINI_TELEMETRY_ENABLED": "true",
        "GEMINI_TELEMETRY_TARGET": "local",
        "GEMINI_TELEMETRY_OTLP_ENDPOINT": target.endpoint,
        "GEMINI_TELEMETRY_OTLP_PROTOCOL": "grpc" if target.protocol == "grpc" else "http",
        # Without it spans hold no messages, arguments and results; the other is about prompts in log events.
        "GEMINI_TELEMETRY_TRACES_ENABLED": "true" if target.content else "false",
        "GEMINI_TELEMETRY_LOG_PROMPTS": "true" if target.content else "false",
    }


def _codex(
    arguments: Sequence[str], environment: Mapping[str, str], target: Target
) -> tuple[tuple[str, ...], list[str]]:
    """Codex reads no variables for this; a ``-c key=value`` stands above its configuration file."""
    wanted = {
        "otel.exporter": _codex_exporter(target, "/v1/logs"),
        "otel.trace_exporter": _codex_exporter(target, "/v1/traces"),
        "otel.log_user_prompt": "true" if target.content else "false",
    }
    if target.labels:
        pairs = ", ".join(f"{json.dumps(name)} = {json.dumps(str(value))}" for name, value in target.labels.items())
        wanted["otel.span_attributes"] = f"{{ {pairs} }}"
    theirs = _codex_settings(arguments, environment)
    left = [key for key in wanted if any(each == key or each.startswith(f"{key}.") for each in theirs)]
    given: list[str] = []
    for key, value in wanted.items():
        if key not in left:
            given += ["-c", f"{key}={value}"]
    return tuple(given), left


def _codex_exporter(target: Target, path: str) -> str:
    if target.protocol == "grpc":
        return f"{{ otlp-grpc = {{ endpoint = {json.dumps(target.endpoint)}, headers = {{}} }} }}"
    address = json.dumps(target.endpoint.rstrip("/") + path)
    return f'{{ otlp-http = {{ endpoint = {address}, protocol = "binary", headers = {{}} }} }}'


def _codex_settings(arguments: Sequence[str], environment: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    for place, word in enumerate(arguments):
        if word in ("-c", "--config") and place + 1 < len(arguments):
            found.add(arguments[place + 1].partition("=")[0].strip())
        elif word.startswith("--config="):
            found.add(word.removeprefix("--config=").partition("=")[0].strip())
    home = environment.get("CODEX_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".codex")
    try:
        table = tomllib.loads(Path(home, "config.toml").read_text(encoding="utf-8")).get("otel")
    except (OSError, ValueError):
        table = None  # none, or one that Codex will complain about itself
    return found | {f"otel.{key}" for key in table} if isinstance(table, dict) else found


def _resource(labels: Mapping[str, str | int], environment: Mapping[str, str]) -> str:
    """Return the resource attributes with the labels: these agents read no baggage."""
    from urllib.parse import quote

    given = [part for part in environment.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",") if part.strip()]
    theirs = {part.partition("=")[0].strip() for part in given}
    added = [f"{name}={quote(str(value), safe='')}" for name, value in labels.items() if name not in theirs]
    return ",".join(given + added) if added else ""
