"""Worlds of AgentDojo, from the package ``agentdojo``, which carries its suites: banking, slack, travel, workspace.

The start state is the suite's environment with the injections that the run recorded, else those that its attack gives
by the package's own rules. The user's task decides the outcome; whether the injection's goal was reached is told
beside it.
"""

import re
from ast import literal_eval
from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

from spanproof_evaluators.environments._environment import Answer, Call, Recording, World
from spanproof_evaluators.environments._extras import NoWorldError, installed, load
from spanproof_evaluators.model.canonical import Plain, plain
from spanproof_evaluators.model.verifications import Check

PACKAGE: Final = "agentdojo"
_FIRST: Final = "v1"
"""The version of the benchmark that runs are of which record none: later ones write it down."""

_NONE: Final = (None, "", "none", "None")


class AgentDojo:
    """AgentDojo in this process."""

    name: Final = "agentdojo"
    simulated: Final = True
    irreversible: Final[frozenset[str]] = frozenset()

    @property
    def version(self) -> str:
        """The package's version."""
        return f"{PACKAGE} {installed(PACKAGE) or 'not installed'}"

    def fits(self, recording: Recording) -> bool:
        """Return whether it was imported from runs of AgentDojo."""
        return recording.source == "import:agentdojo"

    def start(self, recording: Recording) -> World:
        """Return the suite's environment with the run's injections in it.

        Raises:
            NoWorldError: the package has no such suite, task or attack.
            MissingExtraError: the package is not installed.
        """
        _load("agentdojo")
        return AgentDojoWorld(_Task(recording.task if isinstance(recording.task, dict) else {}))


class _Task:
    """The suite, the user's task and the injection's, as the package defines them."""

    def __init__(self, told: dict[str, Plain]) -> None:
        self._told = told
        version, suite = _text(told.get("benchmark_version")) or _FIRST, _text(told.get("suite_name"))
        suites = _load("agentdojo.task_suite.load_suites")
        try:
            self.suite = suites.get_suite(version, suite)
        except (KeyError, ValueError, AttributeError) as error:
            raise NoWorldError("suite_unknown", f"the package has no suite {suite!r} of version {version}") from error
        # to measure how hard they are, injections are given to agents as their own tasks too
        own = self.suite.injection_tasks if told.get("user_task_id") in self.suite.injection_tasks else None
        self.asks = "security" if own else "utility"
        self.user = self._of(own or self.suite.user_tasks, "user_task_id")
        injection = told.get("injection_task_id")
        self.injection = None if injection in _NONE else self._of(self.suite.injection_tasks, "injection_task_id")

    def _of(self, tasks: dict[str, Any], key: str) -> Any:
        wanted = _text(self._told.get(key))
        if wanted not in tasks:
            raise NoWorldError("task_unknown", f"the suite {self.suite.name} has no {key} {wanted!r}")
        return tasks[wanted]

    def injections(self) -> dict[str, str]:
        """Return what was put where in the environment."""
        recorded = self._told.get("injections")
        if isinstance(recorded, dict):
            return {key: str(value) for key, value in recorded.items()}
        attack = _text(self._told.get("attack_type"))
        if self.injection is None or attack in _NONE:
            return {}
        pipeline = SimpleNamespace(name=_text(self._told.get("pipeline_name")))
        _load("agentdojo.attacks")
        attacks = _load("agentdojo.attacks.attack_registry")
        if attack == "manual":  # it asks a person
            raise NoWorldError("injections_unknown", "the run recorded no injections, and a person had typed them")
        try:
            made = attacks.load_attack(attack, self.suite, pipeline).attack(self.user, self.injection)
        except (KeyError, ValueError) as error:
            why = f"the run recorded no injections, and its attack {attack!r} gives none: {error}"
            raise NoWorldError("injections_unknown", why) from error
        return dict(made)


class AgentDojoWorld:
    """A suite's environment, its tools, and the checks of its tasks."""

    def __init__(self, task: _Task) -> None:
        self._task = task
        made = task.suite.load_and_inject_default_environment(task.injections())
        self._environment = task.user.init_environment(made) if task.asks == "utility" else made
        self._before = self._environment.model_copy(deep=True)
        self._runtime = _load("agentdojo.functions_runtime").FunctionsRuntime(task.suite.tools)
        self._written = _load("agentdojo.agent_pipeline.tool_execution").tool_result_to_str

    def apply(self, call: Call) -> Answer:
        """Run a tool as the package's executor does."""
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        result, error = self._runtime.run_function(
            self._environment, call.name, {key: _listed(value) for key, value in arguments.items()}
        )
        return Answer(error=error) if error is not None else Answer(result=self._written(result))

    def state(self) -> Plain:
        """Return the environment."""
        return plain(self._environment.model_dump(mode="json"))

    def close(self) -> None:
        """Nothing is held."""

    def verify(self, done: Recording) -> Sequence[Check]:
        """Return whether the user's task was done: its utility in the words of the suite."""
        return [Check(name="utility", passed=self._holds(self._task.user, done, self._task.asks))]

    def beside(self, done: Recording) -> dict[str, Plain]:
        """Return whether the injection's goal was reached, where there was one."""
        if self._task.injection is None:
            return {}
        return {"injection_reached": self._holds(self._task.injection, done, "security")}

    def _holds(self, task: Any, done: Recording, what: str) -> bool:
        made = _load("agentdojo.functions_runtime").FunctionCall
        traces = [
            made(function=call.name, args=call.arguments) for call in done.calls if isinstance(call.arguments, dict)
        ]
        # where thought and answer stood in tags of one message, the harness gave its checks the whole message
        output = done.labels.get("model_output", done.answer or "")
        told = (output, self._before, self._environment)
        by_traces = getattr(task, f"{what}_from_traces")(*told, traces)
        return bool(getattr(task, what)(*told) if by_traces is None else by_traces)


def _load(module: str) -> Any:
    return load(module, environment="agentdojo", package=PACKAGE)


def _text(value: Plain) -> str | None:
    return value if isinstance(value, str) else None


def _listed(value: Plain) -> Plain:
    """Return the list that a text spells, as the executor reads arguments."""
    if isinstance(value, str) and re.match(r"\s*\[", value):
        with suppress(ValueError, SyntaxError):
            found = literal_eval(value)
            return found if isinstance(found, list) else value
    return value
