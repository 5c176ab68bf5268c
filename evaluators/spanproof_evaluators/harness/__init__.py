"""The harness: tasks run in fresh worlds by an agent that is shut in, each attempt judged when the agent is dead.

In code:

    from pathlib import Path
    from spanproof_evaluators.harness import Options, run_suite

    done = run_suite(Path("suite.yaml"), "python3 agent.py", options=Options(variant="v2", attempts=5, jobs=4))
    print(done.report.variants[0].measures["solve_rate"])
"""

from spanproof_evaluators.harness.agents import Agent, AgentError, CommandAgent, FunctionAgent, HttpAgent, read_agent
from spanproof_evaluators.harness.journal import RunError
from spanproof_evaluators.harness.options import Options, Progress, RunResult
from spanproof_evaluators.harness.running import run_suite
from spanproof_evaluators.harness.tries import seed_of
from spanproof_evaluators.harness.worlds import WorldError
from spanproof_evaluators.runner.python_suites import Task

__all__ = [
    "Agent",
    "AgentError",
    "CommandAgent",
    "FunctionAgent",
    "HttpAgent",
    "Options",
    "Progress",
    "RunError",
    "RunResult",
    "Task",
    "WorldError",
    "read_agent",
    "run_suite",
    "seed_of",
]
