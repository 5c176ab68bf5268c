from pathlib import Path

from spanproof_collector.store import Store
from tests.collector.importers.recording import foreign, kinds, lines, tell

URL = "http://localhost:8090/fhir/Observation"


def turn(kind: str, observation: str | None = None, payload: object = None) -> dict[str, object]:
    reply = {"get": f"GET {URL}", "post": f"POST {URL}\n{{}}", "finish": 'FINISH(["S1"])'}.get(kind, "I wonder.")
    url = URL if kind in ("get", "post") else None
    return {"agent_reply": reply, "action_kind": kind, "url": url, "payload": payload, "observation": observation}


def case(*turns: object, model: str = "gemini-3-flash", **more: object) -> dict[str, object]:
    return {
        "task_id": "task8_10",
        "instruction": "Order it.",
        "prompt": "You are an expert. Order it.",
        "status": "completed",
        "infra_fail": False,
        "attempt": 1,
        "turns": list(turns),
        "grade": {"correct": False, "reason": "wrong resource"},
        "correct": False,
        "integrity": {"verified_writes": 1, "accepted_by_ehr": 1},
        "diagnostics": {"provenance": {"benchmark": "medagentbench", "model": model}},
    } | more


def test_a_write_that_is_there_and_wrong_has_both_words(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, case(turn("post", "POST request accepted", {"id": 1}), turn("finish")))
    trial = told.trial
    assert told.imported.formats == {"medagentbench": 1}
    assert [(c.name, c.arguments, c.effect.effect_class, c.effect.state) for c in trial.tool_calls] == [
        ("POST", {"url": URL, "payload": {"id": 1}}, "write", "reported")
    ]
    assert foreign(trial) == {"correct": (0.0, "false"), "accepted_by_ehr": (1.0, None), "verified_writes": (1.0, None)}
    assert (trial.task_id, trial.suite, trial.attempt, trial.models) == (
        "task8_10",
        "medagentbench",
        None,
        ("gemini-3-flash",),
    )
    assert kinds(trial) == "amtm"


def test_what_the_infrastructure_broke_was_not_graded(store: Store, tmp_path: Path) -> None:
    broken = case(turn("get", "{}"), status="infra_fail", infra_fail=True, infra_reason="400", grade=None, attempt=2)
    trial = tell(store, tmp_path, broken).trial
    assert (trial.status, trial.status_reason, trial.foreign_results) == ("aborted", "infrastructure", ())
    assert trial.labels["harness_attempt"] == "2"


def test_a_case_that_failed_before_its_first_turn_is_a_case(store: Store, tmp_path: Path) -> None:
    told = tell(store, tmp_path, case(status="infra_fail", infra_fail=True, grade=None))
    assert (told.imported.formats, told.trial.tool_calls) == ({"medagentbench": 1}, ())


def test_a_request_that_was_none_ran_nothing(store: Store, tmp_path: Path) -> None:
    turns = [turn("post", "Invalid POST request"), turn("get", "Error in sending the GET request: no route")]
    trial = tell(store, tmp_path, case(*turns, turn("finish"))).trial
    assert [(c.name, c.executed) for c in trial.tool_calls] == [("POST", "no"), ("GET", "unknown")]


def test_a_model_that_was_left_to_the_platform_is_not_known(store: Store, tmp_path: Path) -> None:
    assert tell(store, tmp_path, case(turn("finish"), model="(agent default)")).trial.models == ()


def test_the_runs_of_the_first_harness_are_read_from_their_dialogue(store: Store, tmp_path: Path) -> None:
    def said(role: str, content: str) -> dict[str, str]:
        return {"role": role, "content": content}

    history = [
        said("user", "You are an expert in using FHIR functions."),
        said("agent", f"```tool_code\nGET {URL}?patient=1\n```"),
        said("user", "Here is the response from the GET request:\n{}"),
        said("agent", f'POST {URL}\n{{"id": 1}}'),
        said("user", "POST request accepted"),
        said("agent", 'FINISH(["S1"])'),
    ]
    output = {"index": 4, "status": "completed", "result": '["S1"]', "history": history}
    cut = output | {"index": 5, "status": "task limit reached", "history": history[:3]}
    told = tell(store, tmp_path, lines({"index": 4, "error": None, "output": output}, {"index": 5, "output": cut}))
    first, second = told.trials
    assert [(c.name, c.arguments, c.executed) for c in first.tool_calls] == [
        ("GET", {"url": f"{URL}?patient=1"}, "yes"),
        ("POST", {"url": URL, "payload": {"id": 1}}, "yes"),
    ]
    assert (first.task_id, first.status, second.task_id, second.status_reason) == (
        "4",
        "complete",
        "5",
        "budget_exhausted",
    )
