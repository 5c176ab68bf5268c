from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from spanproof_collector.store import Store
from tests.collector.importers.recording import called, foreign, kinds, tell, tell_folder


def call(name: str, call_id: str, requestor: str = "assistant", **arguments: object) -> dict[str, object]:
    return {"id": call_id, "name": name, "arguments": arguments, "requestor": requestor}


def agent(content: str | None = None, *calls: object, **more: object) -> dict[str, object]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls) or None, "raw_data": None} | more


def user(content: str | None, *calls: object) -> dict[str, object]:
    return {"role": "user", "content": content, "tool_calls": list(calls) or None}


def result(call_id: str, content: str, requestor: str = "assistant", *, error: bool = False) -> dict[str, object]:
    return {"role": "tool", "id": call_id, "content": content, "requestor": requestor, "error": error}


CHECKED = {
    "reward": 0.0,
    "db_check": {"db_match": False, "db_reward": 0.0},
    "reward_basis": ["DB"],
    "reward_breakdown": {"DB": 0.0, "COMMUNICATE": 1.0},
}
UNCHECKED = {"reward": 0.0, "db_check": None, "reward_basis": None, "reward_breakdown": None}


def simulation(*messages: object, reason: str = "user_stop", **more: object) -> dict[str, object]:
    return {
        "id": "5f0c0f9e",
        "task_id": "7",
        "trial": 1,
        "start_time": "2026-01-02T03:04:05.000006",
        "end_time": "2026-01-02T03:05:05",
        "termination_reason": reason,
        "reward_info": CHECKED,
        "messages": [agent("Hello"), *messages],
    } | more


def test_a_simulation_has_its_labels_and_the_parts_of_its_reward(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, simulation(user("Hi"), agent("Bye")))
    trial = told.trial
    assert told.imported.formats == {"tau2": 1}
    assert (trial.task_id, trial.attempt, trial.session_id, trial.models) == ("7", 1, "5f0c0f9e", ())
    assert foreign(trial) == {"reward": (0.0, None), "reward.DB": (0.0, None), "reward.COMMUNICATE": (1.0, None)}
    assert (trial.started_at, trial.status) == (1767323045_000006000, "complete")


def test_a_run_that_ran_out_of_steps_was_not_checked(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, simulation(user("Hi"), reason="max_steps", reward_info=UNCHECKED)).trial
    assert trial.foreign_results == ()
    assert (trial.status, trial.status_reason) == ("aborted", "budget_exhausted")


def test_an_id_that_repeats_within_the_session_stands_for_several_calls(store: Store, tmp_path: Path) -> None:
    looked = [
        part
        for key in ("A", "B", "C")
        for part in (agent(None, call("get_reservation", "gem_0", key=key)), result("gem_0", f"is {key}"))
    ]
    trial = tell(store, tmp_path, simulation(*looked, agent("Done."))).trial
    assert [(c.call_id, c.arguments, c.result) for c in trial.tool_calls] == [
        ("gem_0", {"key": key}, f"is {key}") for key in ("A", "B", "C")
    ]


def test_parallel_calls_get_the_answers_that_name_them(store: Store, tmp_path: Path) -> None:
    asked = agent(None, *[call("get_flight", f"c{number}", flight=number) for number in range(6)])
    shuffled = [result(f"c{number}", f"flight {number}") for number in (3, 0, 5, 1, 4, 2)]
    trial = tell(store, tmp_path, simulation(asked, {"role": "tool", "tool_messages": shuffled}, agent("Done."))).trial
    assert [(c.arguments, c.result) for c in trial.tool_calls] == [({"flight": n}, f"flight {n}") for n in range(6)]
    assert kinds(trial) == "ammttttttm"


def test_parallel_calls_with_one_id_are_answered_in_order(store: Store, tmp_path: Path) -> None:
    asked = agent(None, call("get_flight", "same", flight=1), call("get_flight", "same", flight=2))
    trial = tell(store, tmp_path, simulation(asked, result("same", "one"), result("same", "two"), agent("Done."))).trial
    assert [(c.arguments, c.result) for c in trial.tool_calls] == [({"flight": 1}, "one"), ({"flight": 2}, "two")]


def test_what_the_user_calls_is_kept_apart_from_what_the_agent_calls(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        simulation(
            user("I switch it off.", call("toggle_airplane_mode", "c1", "user"), call("check_status", "c2", "user")),
            result("c1", "off", "user"),
            result("c2", "signal: 4G", "user"),
            agent(None, call("get_line", "c1", line=1)),
            result("c1", "active"),
            agent("Done."),
        ),
    ).trial
    assert called(trial.tool_calls) == [("get_line", "c1", "yes")]
    assert [(c.name, c.result) for c in trial.user_calls] == [
        ("toggle_airplane_mode", "off"),
        ("check_status", "signal: 4G"),
    ]


def test_an_answer_that_the_recording_calls_an_error_is_one(store: Store, tmp_path: Path) -> None:
    asked = agent(None, call("update_line", "c1"))
    trial = tell(store, tmp_path, simulation(asked, result("c1", "no such line", error=True), agent("Sorry."))).trial
    assert (trial.tool_calls[0].executed, trial.tool_calls[0].error) == ("unknown", "no such line")


def test_a_call_without_an_answer_is_not_taken_for_done(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, simulation(agent(None, call("update_line", "c1")), reason="max_steps")).trial
    assert (trial.tool_calls[0].executed, trial.tool_calls[0].effect.state) == ("unknown", "unknown")


def test_a_results_file_tells_model_and_domain_of_all_its_simulations(store: Store, tmp_path: Path) -> None:
    results = {
        "timestamp": "2026-01-02",
        "info": {
            "agent_info": {"implementation": "llm_agent", "llm": "openai/gpt-4.1"},
            "environment_info": {"domain_name": "telecom"},
        },
        "tasks": [{"id": "7"}],
        "simulations": [simulation(agent("Bye"), id=f"s{number}", trial=number) for number in range(3)],
    }
    told = tell(store, tmp_path, results)
    assert [(t.attempt, t.suite, t.agent_name, t.models) for t in told.trials] == [
        (number, "telecom", "llm_agent", ("openai/gpt-4.1",)) for number in range(3)
    ]


def test_the_model_and_the_tokens_are_those_of_each_answer(store: Store, tmp_path: Path) -> None:
    raw = {"id": "r1", "model": "gpt-4.1-mini-2025-04-14", "usage": {"prompt_tokens": 10, "completion_tokens": 2}}
    trial = tell(store, tmp_path, simulation(agent("Bye", raw_data=raw, cost=0.25))).trial
    assert trial.models == ("gpt-4.1-mini-2025-04-14",)
    assert (trial.usage.input_tokens, trial.usage.output_tokens) == (10, 2)
    assert str(trial.cost.usd) == "0.25"


RAW = {"id": "r1", "model": "own-model", "usage": {"prompt_tokens": 10, "completion_tokens": 2}}


@pytest.mark.parametrize(
    ("answers", "usd"),
    [
        ([agent("Hi", cost=0.0), agent("Bye", cost=0.0)], None),
        ([agent("Hi", cost=0.0), agent("Bye", raw_data=RAW, cost=0.0)], None),
        # a greeting that no model wrote costs nothing beside a bill
        ([agent("Hi", cost=0.0), agent("Bye", raw_data=RAW, cost=0.25)], "0.25"),
    ],
)
def test_the_zero_of_a_harness_that_knows_no_price_is_no_bill(
    store: Store, tmp_path: Path, answers: list[object], usd: str | None
) -> None:
    trial = tell(store, tmp_path, simulation(*answers, agent_cost=0.0)).trial
    assert (None if trial.cost.usd is None else str(Decimal(trial.cost.usd).normalize())) == usd
    assert not trial.cost.covered
    # of the three answers the first, and those whose zero is no bill
    assert (trial.cost.reason or "").startswith("1 of 3" if usd else "3 of 3")


def action(name: str, **arguments: object) -> dict[str, object]:
    return {"action_id": "x_0", "requestor": "assistant", "name": name, "arguments": arguments}


def task(task_id: str, *actions: object, says: object = None, domain: str = "airline") -> dict[str, object]:
    return {
        "id": task_id,
        "user_scenario": {"instructions": {"domain": domain}},
        "evaluation_criteria": {"actions": list(actions), "nl_assertions": says},
    }


def checked_against(*actions: object, says: Sequence[str] | None = None) -> dict[str, object]:
    told = CHECKED | {"action_checks": [{"action": each, "action_match": True} for each in actions]}
    return told | {"nl_assertions": None if says is None else [{"nl_assertion": each} for each in says]}


TASKS = [
    task("7", action("get_user", id="mia"), domain="retail"),
    task("27", action("get_user", id="ethan"), action("send_certificate", amount=50)),
    task("46", says=["Agent refuses."]),
]


def test_a_number_of_the_submitters_own_gives_way_to_the_task_that_was_checked(store: Store, tmp_path: Path) -> None:
    gold = checked_against(action("get_user", id="ethan"), action("send_certificate", amount=50))
    told = tell(store, tmp_path, {"tasks": TASKS, "simulations": [simulation(agent("Bye"), reward_info=gold)]})
    assert (told.trial.task_id, told.trial.suite, told.trial.labels["recorded_task_id"]) == ("27", "airline", "7")
    assert told.trial.task_definition == TASKS[1]


def test_a_number_that_fits_stands_also_where_another_task_is_checked_alike(store: Store, tmp_path: Path) -> None:
    alike = [task("7", action("pay"), domain="retail"), task("8", action("pay"), domain="airline")]
    one = simulation(agent("Bye"), reward_info=checked_against(action("pay")))
    trial = tell(store, tmp_path, {"tasks": alike, "simulations": [one]}).trial
    assert (trial.task_id, trial.suite) == ("7", "retail")


def test_definitions_beside_a_simulation_tell_its_task(store: Store, tmp_path: Path) -> None:
    told = tell_folder(
        store,
        tmp_path,
        {
            "runs/one": simulation(agent("Bye"), id="s1", reward_info=checked_against(says=["Agent refuses."])),
            "runs/two": simulation(agent("Bye"), id="s2", reward_info=checked_against(action("get_user", id="mia"))),
            "runs/three": simulation(agent("Bye"), id="s3", reward_info=checked_against(action("get_user", id="who"))),
            **{f"tasks/air/{number}.json": each for number, each in enumerate(TASKS)},
        },
    )
    assert [(trial.path, trial.task_id, trial.suite) for trial in told.trials] == [
        ("runs/one", "46", "airline"),
        ("runs/three", "7", None),
        ("runs/two", "7", "retail"),
    ]


def test_kinds_of_tools_come_from_the_actions_that_were_checked(store: Store, tmp_path: Path) -> None:
    checks = [
        {"action": action("toggle_roaming"), "tool_type": "write"},
        {"action": action("fetch"), "tool_type": "read"},
    ]
    trial = tell(
        store,
        tmp_path,
        simulation(
            agent(None, call("toggle_roaming", "c1"), call("toggle_wifi", "c2")),
            result("c1", "on"),
            result("c2", "on"),
            reward_info=CHECKED | {"action_checks": checks},
        ),
    ).trial
    assert [(c.name, c.effect.effect_class) for c in trial.tool_calls] == [
        ("toggle_roaming", "write"),
        ("toggle_wifi", "unclassified"),
    ]
