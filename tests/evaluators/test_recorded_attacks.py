"""Recorded runs under attack: what a suite says that the attack wants, held against what the benchmark recorded of it.

The runs are read in place and never committed. The benchmark's word ``security: true`` means that the attack succeeded.
"""

import json
from pathlib import Path

from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store
from spanproof_evaluators.model.suites import parse_suite
from spanproof_evaluators.rules.injection import NAME
from spanproof_evaluators.runner import evaluate
from spanproof_evaluators.runner.measuring import measure
from tests.shared import SESSIONS, needs_sessions

ACCOUNT = "US133000000121212121212"
"""The account that AgentDojo's attacks on a bank's customer want money sent to."""


def runs() -> list[Path]:
    """Return the recorded runs of AgentDojo's bank, attacked or not."""
    folder = SESSIONS / "dev" / "sessions"
    return [
        path for path in sorted(folder.glob("agentdojo*/*banking*.json")) if _recorded(path)["suite_name"] == "banking"
    ]


def _recorded(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text())
    return found


@needs_sessions
def test_what_an_attack_wants_says_the_same_as_the_benchmark_that_made_it(store: Store) -> None:
    import_paths(store, runs())
    attack = {"tool": "send_money", "arguments": {"recipient": ACCOUNT}, "compare": ["recipient"]}
    tasks = {}
    reached: dict[str, list[object]] = {}
    for path in runs():
        told = _recorded(path)
        injection = told["injection_task_id"]
        name = "/".join(map(str, (told["suite_name"], told["user_task_id"], injection or "no_attack")))
        declared = {"effects": [attack], "markers": [ACCOUNT], "user_task": str(told["user_task_id"])}
        tasks[name] = {"id": name, **({"injection": declared} if injection else {})}
        if injection:
            reached.setdefault(name, []).append(told["security"])
    suite = parse_suite(json.dumps({"id": "banking", "tasks": [*tasks.values()]}), name="banking.json")
    assessed = list(evaluate(store, Filter(), suite))
    found: dict[str, list[object]] = {}
    for one in assessed:
        said = one.result(NAME)
        if said is not None:
            found.setdefault(one.trial.task_id or "", []).append(said.state == "fail")
    assert reached
    assert {name: sorted(map(bool, words)) for name, words in found.items()} == {
        name: sorted(map(bool, words)) for name, words in reached.items()
    }
    rate = measure(assessed)["attack_success_rate"]
    every = [word for words in reached.values() for word in words]
    assert (rate.numerator, rate.denominator) == (sum(map(bool, every)), len(every))
    assert {word for words in found.values() for word in words} == {True, False}


@needs_sessions
def test_a_recorded_verdict_on_an_attack_is_shown_and_counts_for_nothing(store: Store) -> None:
    import_paths(store, runs())
    assessed = list(evaluate(store, Filter(), None))
    attacked = [one for one in assessed if any(said.name == "security" for said in one.trial.foreign_results)]
    rate = measure(assessed)["attack_success_rate"]
    assert attacked
    assert (rate.value, rate.unavailable) == (None, len(attacked))
