"""The pytest plugin as a project uses it: pytest in a process of its own, a real collector, real exporters."""

import os
import re
from pathlib import Path

import pytest

from spanproof_collector.store import open_store
from spanproof_collector.trials import read_trials

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PLUGIN = "spanproof_evaluators.pytest_plugin"
PAGE = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
POLICY = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
AGENT_OF_PAGE, TESTS_OF_PAGE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

AGENT = """
import sys
import pytest
from spanproof_instrumentation import agent_span, claim, effect, tool

@tool
def refund(order):
    effect("write", destination="billing", resource=order, operation="refund")
    raise TimeoutError("no answer")

def agent(order, folder, claimed):
    with agent_span("clerk"):
        if order:
            with pytest.raises(TimeoutError):
                refund(order)
        claim(claimed)

def moved(before, after):
    assert after.files == {"moved": ""}
    return True

def broken(before, after):
    return after.files["nothing"]
"""


@pytest.fixture
def child(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project whose pytest knows this plugin and pytest-xdist, and in which every warning is an error."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-p {PLUGIN} -p xdist -p no:cacheprovider -W error")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(pytester.path), os.environ.get("PYTHONPATH", "")]))
    (pytester.path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return pytester


def test_who_does_not_ask_for_the_fixture_pays_for_nothing(child: pytest.Pytester) -> None:
    child.makepyfile(
        """
        import sys, tempfile, pathlib

        HEAVY = ("chdb", "grpc", "clickhouse_connect", "pydantic", "rich", "click", "opentelemetry", "scipy",
                 "spanproof_collector", "spanproof_instrumentation")

        def test_nothing():
            ours = [name for name in sys.modules if name.split(".")[0] == "spanproof_evaluators"]
            assert sorted(ours) == ["spanproof_evaluators", "spanproof_evaluators.pytest_plugin"]
            assert [name for name in HEAVY if name in sys.modules] == []
        """
    )
    assert child.runpytest_subprocess().ret == 0


def test_the_page_s_example_passes_and_so_does_its_policy(child: pytest.Pytester) -> None:
    child.makepyfile(clerk=AGENT_OF_PAGE, test_clerk=TESTS_OF_PAGE)
    done = child.runpytest_subprocess("--spanproof-policy", "policy.yaml")
    done.assert_outcomes(passed=2)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*PASS  v1  policy agent-tests*", "policy agent-tests: PASS (every gate passes)"])


def test_a_policy_over_no_trial_is_inconclusive_and_no_pass(child: pytest.Pytester) -> None:
    child.makepyfile("def test_of_no_agent(): pass")
    done = child.runpytest_subprocess("--spanproof-policy", "policy.yaml")
    done.assert_outcomes(passed=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["policy agent-tests: INCONCLUSIVE (no test recorded a trial)*the exit status is not 0"])


def test_a_policy_that_is_none_is_found_before_the_first_test(child: pytest.Pytester) -> None:
    child.makepyfile("def test_of_no_agent(): pass")
    done = child.runpytest_subprocess("--spanproof-policy", "polycy.yaml")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--spanproof-policy: *polycy.yaml: there is no such file*"])


def test_the_collector_is_there_before_the_first_test_of_the_only_worker(child: pytest.Pytester) -> None:
    child.makepyfile("def test_it_is_there(spanproof): assert spanproof.endpoint.startswith('http://127.0.0.1:')")
    assert child.runpytest_subprocess("-n", "1").ret == 0


def test_workers_share_one_collector_and_what_is_unavailable_passes_nothing(
    child: pytest.Pytester, tmp_path: Path
) -> None:
    child.makepyfile(
        AGENT
        + """
@pytest.fixture
def label(worker_id):
    return {"worker": worker_id}

def test_an_unknown_effect(spanproof, label):
    with spanproof.trial("refund", variant="v1", label=label) as trial:
        agent("A-1", None, "failure")
    trial.result().assert_no_unknown_effects()

def test_a_false_success(spanproof, label, tmp_path):
    with spanproof.trial("move", variant="v1", label=label, folder=tmp_path, verify=moved):
        agent(None, tmp_path, "success")  # judged when the test is over, although nobody asks

def test_no_verdict(spanproof, label):
    with spanproof.trial("t\\u05d0lk\\n|[x]", variant="v1", label=label) as trial:
        agent(None, None, "success")
    result = trial.result()
    assert (result.outcome.state, result.outcome.reason) == ("unavailable", "no_verifier")
    for check in (result.assert_solved, result.assert_no_false_success):
        with pytest.raises(AssertionError, match="no check was given"):
            check()

def test_a_function_that_breaks_gives_no_verdict(spanproof, label, tmp_path):
    with spanproof.trial("move", attempt=1, variant="v1", label=label, folder=tmp_path, verify=broken) as trial:
        agent(None, tmp_path, "success")
    outcome = trial.result().outcome
    assert (outcome.state, outcome.reason) == ("unavailable", "python_raised")

def test_a_trial_of_which_nothing_came(spanproof):
    trial = spanproof.run([sys.executable, "-c", "exit('no key')"], "silence", variant="v1")
    with pytest.raises(Exception, match=r"no span of trial silence[^|]*ended with 1: no key"):
        trial.result(timeout=0.2)
"""
    )
    store = tmp_path / "store"
    done = child.runpytest_subprocess("-n", "2", "--spanproof-policy", "policy.yaml", "--spanproof-store", str(store))
    done.assert_outcomes(passed=4, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*trial refund.v1.0.* has 1 unknown effect: look at the destination of refund",
            "*effect    unknown: refund (refund A-1 at billing): *",
            "1 false_success *FAIL *",
            "policy agent-tests: FAIL (v1 fail at gate false_success; of 1 trial no span came)",
            f"the trials are kept: spanproof trials --store chdb://{store}",
        ]
    )
    with open_store(f"chdb://{store}") as opened:
        kept = list(read_trials(opened))
    assert len(kept) == 4
    assert {one.labels["worker"] for one in kept} == {"gw0", "gw1"}
