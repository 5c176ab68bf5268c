"""The same agents beside other tracing, in child processes, and however they end: nothing that can be kept is lost."""

import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from spanproof_instrumentation.settings import DEFAULT_EXIT_SECONDS
from tests.instrumentation.frameworks.agent_process import Agents, Asked, Ended, JsonObject, named
from tests.instrumentation.frameworks.model_endpoint import ANSWER

SLACK_SECONDS: Final = 5.0
"""For the interpreter's own end on a busy machine. An exporter left to itself goes on for ten seconds and more."""

PROVIDERS: Final = (
    ("first", "agents_sdk"),
    ("first", "pydantic_agent"),
    ("after_imports", "langchain_agent"),
    ("after_work", "openai_loop"),
    ("with_instrumentors", "anthropic_loop"),
)
CHILDREN: Final = (
    ("fork", "openai_loop"),
    ("multiprocessing_fork", "pydantic_agent"),
    ("spawn", "openai_stream"),
    ("subprocess", "anthropic_loop"),
    ("threads", "langchain_agent"),
    ("tasks", "openai_async"),
)
ENDINGS: Final = (
    ("sys_exit", "langchain_agent", 7),
    ("os_exit", "openai_loop", 5),
    ("crash", "agents_sdk", 1),
    ("waits", "pydantic_agent", -15),
    ("waits_with_handler", "anthropic_loop", 3),
)
HANGING: Final = ("openai_loop", "langchain_agent")
UNREACHABLE: Final = (
    ("down", "openai_loop", 0),
    ("down", "langchain_agent", 0),
    ("silent", "anthropic_loop", 0),
    ("down", "ending", -15),
)
LABELLED: Final = ("--capture-content", "--trial", "many-processes")


@pytest.fixture(scope="module")
def nobody() -> Iterator[Mapping[str, str]]:
    """Addresses of collectors that take nothing: one is not there, one never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
        ports = {"down": closed.getsockname()[1], "silent": silent.getsockname()[1]}
        closed.close()
        yield {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where agents that trace themselves put their spans."""
    return tmp_path_factory.mktemp("spans")


@pytest.fixture(scope="module")
def ended(agents: Agents, files: Path, nobody: Mapping[str, str]) -> Mapping[str, Ended]:
    asked = {
        **{
            f"{when}/{program}": Asked(program="own_provider", arguments=(when, program, str(files / program)))
            for when, program in PROVIDERS
        },
        **{f"{how}/{program}": Asked(program="children", arguments=(how, program)) for how, program in CHILDREN},
        "multiprocessing_fork/labels": Asked(
            program="children", arguments=("multiprocessing_fork", "openai_loop"), options=LABELLED
        ),
        "threads/labels": Asked(program="children", arguments=("threads", "openai_loop"), options=LABELLED),
        **{
            f"{how}/{program}": Asked(program="ending", arguments=(how, program), terminated=how.startswith("waits"))
            for how, program, _ in ENDINGS
        },
        **{f"hangs/{program}": Asked(program=program, fault="hangs", terminated=True) for program in HANGING},
        **{
            f"{where}/{program}": Asked(
                program=program,
                arguments=("waits", "openai_loop") if program == "ending" else (),
                terminated=program == "ending",
                environment={"OTEL_EXPORTER_OTLP_ENDPOINT": nobody[where]},
            )
            for where, program, _ in UNREACHABLE
        },
    }
    return agents.run(asked)


def _spans(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("when", "program"), PROVIDERS)
def test_an_agent_that_traces_itself_keeps_its_spans_and_shares_them(
    when: str, program: str, agents: Agents, ended: Mapping[str, Ended], files: Path
) -> None:
    run = ended[f"{when}/{program}"]
    trials = agents.trials(run.project)
    (trial,) = [trial for trial in trials if run.order in trial["final_answer"]]
    assert named(trial["tool_calls"]) == ["lookup_order", "issue_refund"]
    own = {span["context"]["span_id"].removeprefix("0x") for span in _spans(files / program)}
    assert {step["span_id"] for step in trial["steps"]} == own
    assert len(trials) == (2 if when == "after_work" else 1)
    assert run.exit_code == 0


def test_a_provider_of_the_agents_keeps_its_resource(ended: Mapping[str, Ended], files: Path) -> None:
    assert ended["first/agents_sdk"].exit_code == 0
    names = {span["resource"]["attributes"]["service.name"] for span in _spans(files / "agents_sdk")}
    assert names == {"a-name-of-its-own"}


@pytest.mark.parametrize(("how", "program"), CHILDREN)
def test_two_jobs_side_by_side_are_two_whole_trials(
    how: str, program: str, agents: Agents, ended: Mapping[str, Ended]
) -> None:
    run = ended[f"{how}/{program}"]
    orders = [run.order.replace("ORD-", f"ORD-{which}") for which in "AB"]
    trials = sorted(agents.trials(run.project), key=lambda trial: trial["tool_calls"][0]["call_id"])
    for order, trial in zip(orders, trials, strict=True):
        assert [call["call_id"] for call in trial["tool_calls"]] == [f"call_{order}_0_0", f"call_{order}_1_0"]
        assert [call["executed"] for call in trial["tool_calls"]] == ["yes", "yes"]
        assert (trial["status"], trial["claim"]["state"]) == ("complete", "success")
    assert sorted(run.stdout.splitlines()) == [ANSWER.format(order=order) for order in orders]
    assert run.exit_code == 0


@pytest.mark.parametrize("how", ["multiprocessing_fork", "threads"])
def test_a_label_reaches_everything_that_the_agent_starts(how: str, agents: Agents, ended: Mapping[str, Ended]) -> None:
    (trial,) = agents.trials(ended[f"{how}/labels"].project)
    assert (trial["joined_by"], trial["trial_id"]) == ("label", "many-processes")
    assert sorted(named(trial["tool_calls"])) == ["issue_refund", "issue_refund", "lookup_order", "lookup_order"]


@pytest.mark.parametrize(("how", "program", "exit_code"), ENDINGS)
def test_however_an_agent_ends_its_work_is_kept_and_its_exit_code_is_its_own(
    how: str, program: str, exit_code: int, agents: Agents, ended: Mapping[str, Ended]
) -> None:
    run = ended[f"{how}/{program}"]
    trial = agents.trial(run)
    assert [call["executed"] for call in trial["tool_calls"]] == ["yes", "yes"]
    assert trial["final_answer"] == ANSWER.format(order=run.order)
    assert run.exit_code == exit_code


@pytest.mark.parametrize("program", HANGING)
def test_a_tool_that_was_running_at_sigterm_has_an_unknown_effect(
    program: str, agents: Agents, ended: Mapping[str, Ended]
) -> None:
    run = ended[f"hangs/{program}"]
    trial = agents.trial(run)
    looked_up, refunded = trial["tool_calls"]
    assert looked_up["executed"] == "yes"
    assert (refunded["name"], refunded["arguments"]["order_id"]) == ("issue_refund", run.order)
    assert (refunded["result"], refunded["effect"]["state"]) == (None, "unknown")
    assert trial["claim"]["state"] != "success"
    assert run.exit_code == -15


@pytest.mark.parametrize(("where", "program", "exit_code"), UNREACHABLE)
def test_without_a_collector_the_agent_works_as_before_and_ends_in_time(
    where: str, program: str, exit_code: int, agents: Agents, ended: Mapping[str, Ended]
) -> None:
    run = ended[f"{where}/{program}"]
    assert run.stdout.splitlines()[0] == ANSWER.format(order=run.order)
    assert run.exit_code == exit_code
    assert run.seconds < DEFAULT_EXIT_SECONDS + SLACK_SECONDS
    assert "spanproof" in run.stderr  # the loss is told
    assert agents.trials(run.project) == []
