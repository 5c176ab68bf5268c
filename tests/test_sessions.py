"""Recorded sessions of others, held against what their manifest and their notes say of them.

They are read in place and never committed. What the bytes do not record is null here, with the reason.
"""

import json
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.reports.machine import trial_json
from spanproof_evaluators.runner import assess
from tests.conftest import SharedStore
from tests.shared import SESSIONS, needs_sessions

DEV, ODD = SESSIONS / "dev", SESSIONS / "odd"

ATTEMPTS = {
    "agentdojo-drift": "a run has no number: the two of a task come from two commits of one file",
    "intercode": "a result has no number",
    "medagentbench-whissle": "a case has none; its field attempt counts retries of the harness within one run",
    "who-and-when": "a log has no number",
}
"""Sources whose files record no attempt: there it is null, whatever the manifest numbered."""


def no_model(named: str) -> list[str]:
    """Return the models of a recording that names none."""
    return []


MODELS: Mapping[str, Callable[[str], list[str]]] = {
    # the manifest adds the defence to the name of the model
    "agentdojo-drift": lambda named: [named.removesuffix(" + DRIFT defence")],
    # the manifest has the name that was asked for, the messages the one that answered
    "tau2-activegraph": lambda named: ["gpt-4.1-mini-2025-04-14"],
    # the manifest describes the agent where the case names no model
    "medagentbench-whissle": lambda named: [] if named == "whissle agent default" else [named],
}
"""What the bytes record of the model; elsewhere they record none, and the manifest has it from outside."""

STEPS = {"who-and-when": "the manifest counts entries of the log: the task, what agents said, what the terminal ran"}
"""Sources whose steps are not inferences alone; elsewhere the manifest counts those."""

NEVER_BEGAN = {
    "ad-drift-workspace-u38-i01-r0": 1,
    "ad-drift-dailylife-u19-none-r1": 1,
    "ad-drift-workspace-u25-i05-r0": 2,
    "ad-drift-workspace-u21-i09-r1": 1,
}
"""Answered calls that never ran: there is no such tool, or it refused its arguments. The manifest counts answers."""


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def steps_of(trial: Mapping[str, Any], source: str) -> int:
    kinds = [step["kind"] for step in trial["steps"]]
    return len(kinds) if source in STEPS else kinds.count("model_call")


def trials_of(store: Store) -> dict[str, dict[str, Any]]:
    """Return every trial of the store in the shape of the interface, by path."""
    found: dict[str, Any] = {str(one.trial.path): trial_json(one) for one in assess(store, Filter())}
    return found


@needs_sessions
def test_every_session_is_imported_as_the_manifest_has_it(store: Store) -> None:
    found = import_paths(store, [DEV])
    manifest = {line["path"]: line for line in lines_of(DEV / "manifest.jsonl")}
    assert (found.files, len(manifest)) == (384, 384)
    assert [each.path for each in found.rejected] == ["manifest.jsonl"]
    trials = trials_of(store)
    assert trials.keys() == manifest.keys()
    wrong: list[tuple[object, ...]] = []

    def hold(name: str, is_: object, should_be: object) -> None:
        if is_ != should_be:
            wrong.append((line["id"], name, is_, should_be))

    for path, line in manifest.items():
        trial, source = trials[path], line["source"]
        if line["n_tool_calls"] is not None:  # null: commands stand in the words of agents
            hold("tool calls", len(trial["tool_calls"]), line["n_tool_calls"])
        hold("calls of the user", len(trial["user_tool_calls"]), line["n_user_tool_calls"])
        hold("steps", steps_of(trial, source), line["n_steps"])
        hold("task", trial["task_id"], line["task_id"])
        hold("attempt", trial["attempt"], None if source in ATTEMPTS else line["trial"])
        hold("models", trial["agent"]["models"], MODELS.get(source, no_model)(line["agent_model"]))
        if line.get("n_executed_tool_calls") is not None:
            ran = sum(call["executed"] != "no" for call in trial["tool_calls"])
            hold("executed", ran, line["n_executed_tool_calls"] - NEVER_BEGAN.get(line["id"], 0))
        hold("outcome", trial["outcome"]["state"], "unavailable")
        hold("aborted", trial["status"] == "aborted", _aborted(line))
    assert wrong == []


def _aborted(line: Mapping[str, Any]) -> bool:
    """True where the recording says that a limit or the infrastructure ended the run."""
    if line["source"] == "intercode":  # its turns are used up, and the reward is not the best there is
        document = json.loads((DEV / line["path"]).read_text(encoding="utf-8"))
        summary = document["summary"]
        return bool(summary["turns_taken"] >= summary["turns_max"] and line["reward"] < 1)
    return line["termination"] in ("max_steps", "infra_fail")


@needs_sessions
def test_recorded_changes_are_attached_to_each_session_that_has_them(store: Store) -> None:
    import_paths(store, [DEV])
    recorded = {line["id"]: line for line in lines_of(DEV / "endstate.jsonl")}
    manifest = {line["path"]: line for line in lines_of(DEV / "manifest.jsonl")}
    attached = 0
    for path, trial in trials_of(store).items():
        line = manifest[path]
        told = recorded.get(line["id"], {})
        changes = [(each["actual"], each["gold"]) for each in trial["recorded_changes"]]
        has = told.get("actual_changes") is not None
        assert changes == ([(told["actual_changes"], told.get("gold_changes"))] if has else [])
        attached += has
        assert trial["task_definition"] == _definition(line), line["id"]
    assert attached == 283


def _definition(line: Mapping[str, Any]) -> object:
    """Return the task as a file beside the session defines it, else as the session itself holds it."""
    if "task_path" in line:
        return json.loads((DEV / line["task_path"]).read_text(encoding="utf-8"))
    session = json.loads((DEV / line["path"]).read_text(encoding="utf-8")) if "/" in line["path"] else {}
    match line["source"]:
        case "tau-bench":
            return session["info"]["task"]
        case "agentdojo-drift":
            named = ["suite_name", "user_task_id", "injection_task_id", "attack_type", "benchmark_version"]
            return {key: session[key] for key in [*named, "pipeline_name"]}
    return None


@needs_sessions
def test_other_names_of_folders_and_files_change_nothing(shared_store: SharedStore, tmp_path: Path) -> None:
    """The words ``endstate.jsonl`` and ``tasks`` are of the interface; every other name is made up anew."""
    with shared_store.lent() as store:
        import_paths(store, [DEV])
        before = trials_of(store)
    places: dict[str, str] = {}
    sources = {name.name: f"s{number}" for number, name in enumerate(sorted((DEV / "sessions").iterdir()))}
    files = sorted(path for path in (DEV / "sessions").rglob("*") if path.is_file())
    random.Random(11).shuffle(files)
    for number, file in enumerate(files):
        place = f"x/{sources[file.parent.name]}/{number:04}.txt"
        places[file.stem] = place
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, tmp_path / place)
    for number, file in enumerate(sorted(path for path in (DEV / "tasks").rglob("*") if path.is_file())):
        task = tmp_path / "tasks" / sources[file.parent.name] / f"{file.stem.split('-')[0]}-{number}.json"
        task.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, task)
    renamed = [line | {"id": Path(places[line["id"]]).stem} for line in lines_of(DEV / "endstate.jsonl")]
    (tmp_path / "endstate.jsonl").write_text("".join(json.dumps(line) + "\n" for line in renamed), encoding="utf-8")
    with shared_store.lent() as store:
        import_paths(store, [tmp_path])
        after = trials_of(store)
    assert {places[Path(path).stem]: nameless(trial) for path, trial in before.items()} == {
        path: nameless(trial) for path, trial in after.items()
    }


def nameless(trial: Mapping[str, Plain]) -> dict[str, Plain]:
    return {key: value for key, value in trial.items() if key != "path"}


# --- odd recordings: what each note asks for -----------------------------------------------------------------------


def only(trials: list[Trial]) -> Trial:
    (trial,) = trials
    return trial


def kinds(trial: Trial) -> str:
    return "".join(step.kind[0] for step in trial.steps)


def same_calls(trial: Trial) -> list[tuple[object, ...]]:
    return [(call.name, call.call_id, call.arguments, call.result, call.executed) for call in trial.tool_calls]


def verdict(trial: Trial, name: str) -> float | None:
    return next(result.score for result in trial.foreign_results if result.name == name)


def plain_claude_code(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (kinds(trial).count("m"), [call.name for call in trial.tool_calls]) == (5, ["Edit", "Bash"])
    assert trial.usage.output_tokens == 445
    assert trial.final_answer is not None
    assert trial.final_answer.startswith("Perfect!")


def ignored_request(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (trial.claim.state, trial.final_answer) == ("success", "Done! The hello function is ready.")
    asked = max(step.started_at for step in trial.steps if step.kind == "model_call")
    assert all(call.started_at < asked for call in trial.tool_calls)


def web_session(trials: list[Trial]) -> None:
    assert (kinds(only(trials)).count("m"), len(only(trials).tool_calls)) == (15, 12)


def sidechain(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (trial.session_id, trial.status_reason, len(trial.tool_calls)) == ("test-session-004", "root_missing", 1)


def cleared(trials: list[Trial]) -> None:
    first, second = sorted(trials, key=lambda trial: trial.started_at)
    assert first.session_id == second.session_id
    assert first.final_answer == "I understand. This is the first response."
    assert second.final_answer == "This is a fresh start after the clear command."


def cut_off(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (trial.status, trial.status_reason, trial.claim.state) == ("incomplete", "recording_cut", "unavailable")
    assert len(trial.tool_calls) == 2


def one_call(arguments: object, *, executed: str = "unknown") -> Callable[[list[Trial]], None]:
    def check(trials: list[Trial]) -> None:
        (call,) = only(trials).tool_calls
        assert (call.arguments, call.executed) == (arguments, executed)
        assert call.call_id

    return check


def token_counts(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (kinds(trial), trial.usage.input_tokens, trial.usage.output_tokens) == ("a", 3500, 425)
    assert (trial.claim.state, trial.completeness.content) == ("unavailable", "not_captured")


def thinking(trials: list[Trial]) -> None:
    answer = "Here is how it works: the system reads the config file on startup."
    assert only(trials).final_answer == answer


def no_results(count: int) -> Callable[[list[Trial]], None]:
    """That many calls have no result, and so no known effect; the session goes on."""

    def check(trials: list[Trial]) -> None:
        silent = [call for call in only(trials).tool_calls if call.executed == "unknown" and call.error is None]
        assert len(silent) == count
        assert {call.effect.state for call in silent} <= {"unknown", "none"}  # none: a read
        assert {call.result for call in silent} <= {None}

    return check


def four_at_once(trials: list[Trial]) -> None:
    trial = only(trials)
    places = [step.kind[0] for step in trial.steps]
    assert "mtttt" in "".join(places)
    four = next(n for n in range(len(places)) if places[n : n + 5] == list("mtttt"))
    started = {step.span_id for step in trial.steps[four + 1 : four + 5]}
    results = [call.result for call in trial.tool_calls if started & set(call.span_ids)]
    assert len({str(result) for result in results}) == 4
    assert None not in results


def typed_by_human(trials: list[Trial]) -> None:
    trial = only(trials)
    assert ([call.arguments for call in trial.user_calls], trial.tool_calls) == ([{"command": "ls"}], ())


def effects(*states: str) -> Callable[[list[Trial]], None]:
    def check(trials: list[Trial]) -> None:
        assert tuple(call.executed for call in only(trials).tool_calls) == states

    return check


def parse_errors(trials: list[Trial]) -> None:
    trial = only(trials)
    assert kinds(trial).count("m") == 4
    assert [call.name for call in trial.tool_calls] == ["bash_command", "mark_task_complete", "mark_task_complete"]


def continued(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (trial.status, trial.status_reason, trial.claim.state) == ("incomplete", "recording_cut", "unavailable")
    assert trial.session_id == "harbor-terminus2-continuation"


def continuation(trials: list[Trial]) -> None:
    assert only(trials).session_id == "harbor-terminus2-continuation"


def named_calls(*names: str) -> Callable[[list[Trial]], None]:
    def check(trials: list[Trial]) -> None:
        assert tuple(call.name for call in only(trials).tool_calls) == names

    return check


def parent_and_child(trials: list[Trial]) -> None:
    trial = only(trials)
    assert kinds(trial).count("a") == 2
    assert trial.tool_calls[0].effect.effect_class == "handoff"
    assert trial.agent_name == "orchestrator"


def text_protocol(trials: list[Trial]) -> None:
    assert all(call.call_id is None and call.effect.state == "unknown" for call in only(trials).tool_calls)


def answer(text: str) -> Callable[[list[Trial]], None]:
    def check(trials: list[Trial]) -> None:
        assert only(trials).final_answer == text

    return check


def agents_apart(trials: list[Trial]) -> None:
    trial = only(trials)
    runs = [step for step in trial.steps if step.kind == "agent_call"][1:]
    models = [step for step in trial.steps if step.kind == "model_call"]
    within = [sum(run.started_at <= step.started_at <= run.ended_at for step in models) for run in runs]
    assert (len(models), within) == (4, [1, 1])


def no_external_effect(trials: list[Trial]) -> None:
    outer = [call for call in only(trials).tool_calls if call.name.startswith("delegate")]
    assert [call.effect.state for call in outer] == ["none", "none"]


def compacted(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (kinds(trial).count("m"), trial.final_answer) == (4, "Details here")


def branched(trials: list[Trial]) -> None:
    trial = only(trials)
    assert kinds(trial).count("a") == 3
    assert trial.agent_name == "orchestrator"


def openclaw(trials: list[Trial]) -> None:
    trial = only(trials)
    assert len(trial.tool_calls) == len({call.call_id for call in trial.tool_calls}) == 7
    assert kinds(trial).count("a") == 2


def declared(claim: str, final: str | None = None) -> Callable[[list[Trial]], None]:
    def check(trials: list[Trial]) -> None:
        trial = only(trials)
        assert (trial.claim.state, trial.claim.source) == (claim, "declared")
        assert final is None or trial.final_answer == final

    return check


def bare_list(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (trial.session_id, trial.models, trial.timed, trial.usage.input_tokens) == (None, (), False, None)
    assert len(trial.tool_calls) == 10


def gaps(count: int) -> Callable[[list[Trial]], None]:
    def check(trials: list[Trial]) -> None:
        trial = only(trials)
        assert (len(trial.tool_calls), kinds(trial).count("o")) == (count, 0)

    return check


def orphan(trials: list[Trial]) -> None:
    trial = only(trials)
    assert trial.trace_ids == ("5b8efff798038103d269b633813fc60c",)
    assert (trial.status_reason, trial.completeness.root_missing) == ("root_missing", True)


def sdk_dump(tools: int) -> Callable[[list[Trial]], None]:
    def check(trials: list[Trial]) -> None:
        trial = only(trials)
        assert len(trial.trace_ids[0]) == 32
        assert len(trial.tool_calls) == tools
        assert all(call.executed == "yes" and call.arguments_source == "span" for call in trial.tool_calls)
        assert trial.usage.input_tokens

    return check


def unrelated_traces(trials: list[Trial]) -> None:
    assert (len(trials), {len(trial.trace_ids) for trial in trials}) == (10, {1})
    assert all("vercel_ai" in trial.dialects for trial in trials)


def deprecated(trials: list[Trial]) -> None:
    trial = only(trials)
    assert [(call.call_id, call.arguments) for call in trial.tool_calls] == [("1234", {"location": "Paris"})]
    assert trial.final_answer is not None
    assert trial.final_answer.startswith("The weather in Paris is currently rainy")


def reference(trials: list[Trial]) -> None:
    trial = only(trials)
    assert kinds(trial) == "amtmtm"
    assert [(call.name, call.executed) for call in trial.tool_calls] == [
        ("get_current_time", "yes"),
        ("write_file", "yes"),
    ]


def own_results(trials: list[Trial]) -> None:
    for call in only(trials).tool_calls:
        if call.name == "get_reservation_details":
            assert isinstance(call.arguments, dict)
            assert isinstance(call.result, dict)
            assert call.arguments["reservation_id"] == call.result["reservation_id"]
    assert len({call.call_id for call in only(trials).tool_calls}) < len(only(trials).tool_calls)


def six_at_once(trials: list[Trial]) -> None:
    trial = only(trials)
    assert "mtttttt" in kinds(trial)
    assert len(trial.tool_calls) == 15


def no_check_ran(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (trial.status, trial.status_reason, trial.foreign_results) == ("aborted", "budget_exhausted", ())


def called_by_user(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (len(trial.tool_calls), len(trial.user_calls)) == (4, 5)
    assert "toggle_roaming" in {call.name for call in trial.user_calls}


def failed_write(trials: list[Trial]) -> None:
    _, failed, done = only(trials).tool_calls
    assert (failed.executed, failed.effect.state, done.effect.state) == ("unknown", "unknown", "reported")
    assert failed.error is not None


def refused_in_words(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (len(trial.tool_calls), len(trial.refusals)) == (1, 1)


def attacked(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (verdict(trial, "utility"), verdict(trial, "security")) == (1.0, 1.0)
    assert [call.name for call in trial.tool_calls].count("send_money") == 2


def human_schema(trials: list[Trial]) -> None:
    assert (len(only(trials).tool_calls), verdict(only(trials), "reward")) == (11, 0.0)


def submitted(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (trial.claim.state, trial.claim.source) == ("success", "declared")
    reward = verdict(trial, "reward")
    assert reward is not None
    assert reward < 1


def handcrafted(trials: list[Trial]) -> None:
    trial = only(trials)
    assert [result.label for result in trial.foreign_results if result.name == "is_corrected"] == ["false"]
    assert len(trial.steps) == 5


def infrastructure(trials: list[Trial]) -> None:
    trial = only(trials)
    assert (trial.status, trial.status_reason, trial.foreign_results) == ("aborted", "infrastructure", ())


def wrong_write(trials: list[Trial]) -> None:
    trial = only(trials)
    (write,) = trial.tool_calls
    assert (write.effect.effect_class, write.effect.state, verdict(trial, "correct")) == ("write", "reported", 0.0)


HELLO = "Task complete. Created /app/hello.txt with 'Hello, world!'"
NOTES: Mapping[str, tuple[str, Callable[[list[Trial]], None]]] = {
    "cc-02-representative.jsonl": ("claude_code", plain_claude_code),
    "cc-04-claims-done-but-second-request-ignored.jsonl": ("claude_code", ignored_request),
    "cc-05-web-session.json": ("claude_code", web_session),
    "cc-08-subagent-sidechain.jsonl": ("claude_code", sidechain),
    "cc-09-clear-split.jsonl": ("claude_code", cleared),
    "cc-10-truncated-mid-line.jsonl": ("claude_code", cut_off),
    "cc-11-crlf-bom.jsonl": ("claude_code", plain_claude_code),
    "cc-12-lines-reordered.jsonl": ("claude_code", plain_claude_code),
    "codex-02-args-as-object.jsonl": ("codex", one_call({"chars": "yes\n", "session_id": "sess-42"})),
    "codex-03-fc-args.jsonl": ("codex", one_call({"cmd": "rg --files", "workdir": "/tmp"})),
    "codex-04-token-counts-only.jsonl": ("codex", token_counts),
    "gemini-01-toolcall-without-result.json": ("gemini_cli", one_call({"file_path": "main.go"}, executed="yes")),
    "gemini-02-thinking-only.json": ("gemini_cli", thinking),
    "pi-02-aborted.jsonl": ("pi", no_results(0)),
    "pi-04-sixteen-parallel-calls.jsonl": ("pi", no_results(16)),
    "pi-05-missing-tool-result.jsonl": ("pi", no_results(2)),
    "pi-06-user-bash-execution.jsonl": ("pi", typed_by_human),
    "pi-07-four-parallel-calls.jsonl": ("pi", four_at_once),
    "atif-harbor_terminus2_invalid_json.json": ("atif", parse_errors),
    "atif-harbor_terminus2_continuation.json": ("atif", continued),
    "atif-harbor_terminus2_continuation_cont1.json": ("atif", continuation),
    "atif-harbor_openhands.json": ("atif", answer(HELLO)),
    "atif-multi_tool_trajectory.json": (
        "atif",
        named_calls("financial_search", "financial_search", "news_search", "analyst_estimates"),
    ),
    "atif-parallel_tools_mixed_results.json": ("atif", effects("yes", "unknown", "unknown")),
    "atif-subagent_trajectories.json": ("atif", parent_and_child),
    "atif-openhands-text-protocol.json": ("atif", text_protocol),
    "inspect-02-tool-result-image.json": ("inspect", answer("[hedgehog]")),
    "inspect-03-zip.eval": ("inspect", answer("Yes\n")),
    "inspect-ev-interleaved_agents.json": ("inspect", agents_apart),
    "inspect-ev-nested_tool_agents.json": ("inspect", no_external_effect),
    "inspect-ev-compaction_boundary.json": ("inspect", compacted),
    "inspect-ev-branch_explicit.json": ("inspect", branched),
    "openclaw-telemetry-subagents.jsonl": ("openclaw", openclaw),
    "sweagent-02-humanevalfix.traj": ("swe_agent", declared("success")),
    "sweagent-03-ctf.traj": ("swe_agent", declared("success", "flag{d316759c281bf925d600be698a4973d5}")),
    "miniswe-01-bare-list.traj.json": ("mini_swe_agent", bare_list),
    "openhands-01-event-ids-gap.json": ("openhands", gaps(3)),
    "openhands-02-gui-events.json": ("openhands", gaps(4)),
    "otlp-01-uppercase-hex.json": ("otlp", orphan),
    "otel-anyagent-langchain.json": ("otel_spans", sdk_dump(2)),
    "otel-anyagent-smolagents.json": ("otel_spans", sdk_dump(3)),
    "otel-vercel-readablespans.json": ("otel_spans", unrelated_traces),
    "otel-genai-deprecated-attrs.json": ("otel_spans", deprecated),
    "otlp-03-canonical.json": ("otlp", reference),
    "otlp-05-snake-case.json": ("otlp", reference),
    "otlp-06-legacy-ils.json": ("otlp", reference),
    "otlp-08-kvlist-attributes.json": ("otlp", reference),
    "otlp-09-gzip.json.gz": ("otlp", reference),
    "otlp-10-jsonl-reordered-duplicated.jsonl": ("otlp", reference),
    "otlp-11-jsonl-truncated.jsonl": ("otlp", lambda trials: continued_in(only(trials))),
    "tau2-01-duplicate-tool-call-ids.json": ("tau2", own_results),
    "tau2-02-six-parallel-calls.json": ("tau2", six_at_once),
    "tau2-03-max-steps.json": ("tau2", no_check_ran),
    "tau2-04-user-tool-calls.json": ("tau2", called_by_user),
    "tau-05-no-reward-info.json": ("tau_bench", no_check_ran),
    "tau-06-repeated-failed-write-then-success.json": ("tau_bench", failed_write),
    "agentdojo-01-call-refused-as-user-message.json": ("agentdojo", refused_in_words),
    "agentdojo-03-attack-succeeded.json": ("agentdojo", attacked),
    "intercode-02-human-schema.json": ("intercode", human_schema),
    "intercode-03-claims-submit-reward-0.json": ("intercode", submitted),
    "whoandwhen-01-handcrafted-schema.json": ("who_and_when", handcrafted),
    "mab-01-infra-fail.json": ("medagentbench", infrastructure),
    "mab-02-write-verified-but-wrong.json": ("medagentbench", wrong_write),
}
DAMAGED = {"cc-10-truncated-mid-line.jsonl": [7], "otlp-11-jsonl-truncated.jsonl": [6]}
"""Files of which a line is broken, and which."""


def continued_in(trial: Trial) -> None:
    """A trace of which a batch is lost: what is left is kept, and the trace is no whole one."""
    assert (trial.status, trial.status_reason, kinds(trial).count("m")) == ("incomplete", "recording_cut", 2)


@needs_sessions
@pytest.mark.parametrize("name", NOTES)
def test_an_odd_recording_is_read_as_its_note_asks(store: Store, name: str) -> None:
    format_name, check = NOTES[name]
    found = import_paths(store, [ODD / name])
    assert found.formats == {format_name: 1}
    assert [each.line for each in found.rejected] == DAMAGED.get(name, [])
    check(list(read_trials(store)))


@needs_sessions
def test_every_note_is_held() -> None:
    assert NOTES.keys() == {line["file"] for line in lines_of(ODD / "notes.jsonl")}


SPELLED = [
    ("cc-02-representative.jsonl", "cc-11-crlf-bom.jsonl"),
    ("cc-02-representative.jsonl", "cc-12-lines-reordered.jsonl"),
    ("otlp-03-canonical.json", "otlp-05-snake-case.json"),
    ("otlp-03-canonical.json", "otlp-06-legacy-ils.json"),
    ("otlp-03-canonical.json", "otlp-08-kvlist-attributes.json"),
    ("otlp-03-canonical.json", "otlp-09-gzip.json.gz"),
    ("otlp-03-canonical.json", "otlp-10-jsonl-reordered-duplicated.jsonl"),
]


@needs_sessions
@pytest.mark.parametrize(("plain", "spelled"), SPELLED)
def test_another_spelling_of_a_recording_is_the_same_trial(shared_store: SharedStore, plain: str, spelled: str) -> None:
    trials = []
    for name in (plain, spelled):
        with shared_store.lent() as store:
            import_paths(store, [ODD / name])
            trials.append(only(list(read_trials(store))))
    first, second = trials
    assert same_calls(first) == same_calls(second)
    assert (first.steps, first.usage, first.final_answer) == (second.steps, second.usage, second.final_answer)


@needs_sessions
def test_the_parts_of_a_continued_recording_are_one_session(store: Store) -> None:
    import_paths(store, sorted(ODD.glob("atif-harbor_terminus2_continuation*")))
    trial = only(list(read_trials(store)))
    assert (trial.status, trial.claim.state, len(trial.tool_calls)) == ("complete", "success", 5)
