from pathlib import Path

from spanproof_collector.store import Store
from tests.collector.importers.recording import foreign, kinds, tell

NO_CODE = "Error executing query: Your last `execute` action did not contain bash code"


def entry(*turns: tuple[str, object, float, bool], thoughts: bool = False, **more: object) -> dict[str, object]:
    history: dict[str, object] = {
        "actions": [turn[0] for turn in turns],
        "observations": [turn[1] for turn in turns],
        "rewards": [turn[2] for turn in turns],
        "valid_action": [turn[3] for turn in turns],
    }
    if thoughts:
        history["thoughts"] = ["I think." for _ in turns]
    return {
        "environment": "ic_bash",
        "dataset": "./data/nl2bash/nl2bash_fs_2.json",
        "task_id": 19,
        "query": "Remove the files.",
        "turn_history": history,
        "summary": {"max_reward": max(turn[2] for turn in turns), "turns_taken": len(turns), "turns_max": 10},
    } | more


def test_execute_is_a_call_and_submit_is_a_claim(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        entry(("execute[rm -rf /workspace/*]", "", 0, True), ("submit", "", 0.34, True), thoughts=True),
    )
    trial = told.trial
    assert told.imported.formats == {"intercode": 1}
    assert [(c.name, c.arguments, c.result, c.executed) for c in trial.tool_calls] == [
        ("bash", {"command": "rm -rf /workspace/*"}, "", "yes")
    ]
    assert (trial.claim.state, trial.claim.source) == ("success", "declared")
    assert foreign(trial) == {"reward": (0.34, None), "max_reward": (0.34, None)}
    assert (trial.task_id, trial.attempt, trial.suite, trial.models) == ("bash/2/19", None, "ic_bash", ())


def test_words_in_which_no_command_was_found_ran_nothing(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        entry(
            ("execute[ls]", "a", 0, True),
            ("ls /workspace", NO_CODE, 0, True),
            ("execute[find / -name 'x", NO_CODE, 0, False),
            ("execute[find / -name 'x", NO_CODE, 0, False),
            ("submit", "", 0, False),
            thoughts=True,
        ),
    ).trial
    assert [c.executed for c in trial.tool_calls] == ["yes", "no", "no", "no"]
    assert kinds(trial).count("m") == 5


def test_a_statement_that_failed_did_run_as_far_as_anybody_knows(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        entry(
            ("SELECT a FROM b", "Error executing query: Table 'b' doesn't exist", 0.0, False),
            ("ALTER TABLE c ADD d INT;", "Format your SQL command as follows:\n```SQL\n```", 0.0, False),
            ("SELECT 1", "[(1,)]", 1.0, True),
            environment="ic_sql",
            dataset="./data/spider/dev_spider.json",
        ),
    ).trial
    assert [(c.name, c.executed) for c in trial.tool_calls] == [("sql", "unknown"), ("sql", "no"), ("sql", "yes")]
    assert (trial.task_id, trial.status, trial.claim.state) == ("sql/0/19", "complete", "none")


def test_a_flag_that_was_wrong_was_still_submitted(store: Store, tmp_path: Path) -> None:
    turns = [("cat flag", "x", 0.0, True), ("submit abc", "Submitted flag is incorrect. Keep trying!", 0.0, True)] * 5
    trial = tell(store, tmp_path, entry(*turns, environment="ic_ctf", dataset="./data/ctf/ic_ctf.json")).trial
    assert [c.name for c in trial.tool_calls] == ["bash"] * 5
    assert (trial.task_id, trial.claim.state) == ("ctf/0/19", "success")


def test_turns_that_are_used_up_end_a_run(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, entry(*[("ls", "a", 0.5, True)] * 10)).trial
    assert (trial.status, trial.status_reason) == ("aborted", "budget_exhausted")


def test_entries_by_number_and_in_an_array_are_the_same_entries(store: Store, tmp_path: Path) -> None:
    entries = [entry(("ls", "a", 1.0, True), task_id=number) for number in range(3)]
    told = tell(store, tmp_path, {str(number): each for number, each in enumerate(entries)}, entries)
    assert [trial.task_id for trial in told.trials] == ["bash/2/0", "bash/2/1", "bash/2/2"]
    assert told.imported.formats == {"intercode": 2}


def test_a_human_who_types_submit_typed_a_statement(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        {
            "environment": "ic_sql",
            "query_idx": 809,
            "query": "Which languages?",
            "gold": "SELECT 1",
            "reward": 0.25,
            "trajectory": [
                {"action": "show tables;", "observation": "('city',)"},
                {"action": "submit;", "observation": "Error executing query: You have an error in your SQL syntax"},
            ],
            "info": {"reward": 0.25},
        },
    ).trial
    assert [c.arguments for c in trial.tool_calls] == [{"query": "show tables;"}, {"query": "submit;"}]
    assert (trial.task_id, trial.labels["actor"], trial.claim.state) == ("sql/0/809", "human", "none")
    assert foreign(trial) == {"reward": (0.25, None)}
