"""Rules in SQL against the same rules in Python, trial by trial: state, score and spans."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.model.readings import Usage
from spanproof_collector.model.trials import Completeness, Effect, EffectState, Inference, Receipt, ToolCall, Trial
from spanproof_collector.model.values import Json
from spanproof_collector.store import Store
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import EffectOfTrial, Outcome
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.rules import RULES, false_success
from spanproof_evaluators.rules.sql import SQL_RULES, WITHOUT_SQL, parameters_of
from spanproof_evaluators.runner import assess_trial, evaluate, stored
from spanproof_evaluators.runner.assessing import _assessment
from spanproof_evaluators.runner.measuring import MEASURES, measure
from spanproof_evaluators.runner.measuring.in_sql import measures_in_sql
from spanproof_evaluators.runner.projecting import trial_row
from spanproof_evaluators.runner.stored import Basis, evidence_of
from spanproof_evaluators.verifiers import VERSION
from tests.coding_agents import claude_logs, claude_spans, codex_logs, codex_spans, gemini_logs, gemini_spans
from tests.evaluators.factories import START, call, step, suite, trial
from tests.factories import agent, asked, chat, logs, said, span, told, tool, traces
from tests.shared import CAPTURES, SESSIONS, needs_captures, needs_sessions
from tests.storing import put

Said = tuple[str, float | None, tuple[str, ...]]
TASK = {
    "id": "task",
    "forbidden_tools": ["think", "b", "Bash", "get_user_details"],
    "required_tools": ["a"],
    "limits": {"max_steps": 6, "max_tool_calls": 5, "max_tokens": 2_000, "max_cost_usd": "0.10"},
    "max_repeats": 1,
    "expected_calls": 4,
}


def said_in_python(trials: Sequence[Trial], name: str, task: Task | None) -> dict[tuple[str, str], Said]:
    (rule,) = (rule for rule in RULES if rule.name == name)
    found = ((one, rule.evaluate(one, task)) for one in trials)
    return {(one.project, one.key): (r.state, r.score, r.span_ids) for one, r in found if r is not None}


def said_in_sql(store: Store, name: str, given: Mapping[str, object]) -> dict[tuple[str, str], Said]:
    asked = SQL_RULES[name].asked(given)
    rows = [] if asked is None else store.select(name, SQL_RULES[name].statement, asked)
    found: dict[tuple[str, str], Said] = {}
    for project, key, _, _, state, score, spans in rows:
        assert isinstance(project, str)
        assert isinstance(key, str)
        assert isinstance(state, str)
        assert score is None or isinstance(score, float)
        assert isinstance(spans, list | tuple)
        assert (project, key) not in found
        found[project, key] = (state, score, tuple(map(str, spans)))
    return found


def differing(store: Store, trials: Sequence[Trial], *tasks: Task | None) -> list[tuple[object, ...]]:
    """Return where the two forms say different things: rule, trial, Python's word, SQL's."""
    wrong: list[tuple[object, ...]] = []
    for task in tasks:
        for name in SQL_RULES.keys() - {"false_success"}:
            ours, theirs = (
                said_in_python(trials, name, task),
                said_in_sql(store, name, parameters_of(task)),
            )
            wrong += [
                (name, key, ours.get(key), theirs.get(key))
                for key in sorted(ours.keys() | theirs.keys())
                if ours.get(key) != theirs.get(key)
            ]
    return wrong


def evaluated(store: Store) -> list[Trial]:
    """Evaluate all that is stored; hold the two forms of ``false_success`` against each other, too."""
    found = list(evaluate(store, Filter(), None))
    ours = {
        (one.trial.project, one.trial.key): (r.state, r.score, r.span_ids)
        for one in found
        if (r := false_success(one.trial, one.outcome)) is not None
    }
    assert said_in_sql(store, "false_success", {}) == ours
    return [one.trial for one in found]


def reference(calls: Sequence[ToolCall]) -> Task:
    named = [{"tool": one.name, "arguments": one.arguments} for one in calls if isinstance(one.arguments, dict)]
    (task,) = suite({"id": "task", "reference_trajectory": named}).tasks
    return task


def test_every_rule_has_a_statement_or_a_reason_why_not() -> None:
    names = {rule.name for rule in RULES} | {"false_success"}
    assert SQL_RULES.keys() | WITHOUT_SQL.keys() == names
    assert not SQL_RULES.keys() & WITHOUT_SQL.keys()
    assert all(rule.about and rule.parameters["unit"] == "String" for rule in SQL_RULES.values())


STATES: tuple[EffectState, ...] = (
    *("verified", "reported", "reported", "unknown", "failed", "refused"),
    *("none", "none", "none"),
)


class Chance:
    """Makes trials whose calls are few and alike, so that runs, turns, repeats and doubled changes are common."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)

    def trials(self, count: int) -> Iterator[Trial]:
        """Yield so many trials."""
        for number in range(count):
            yield self.trial(number)

    def trial(self, number: int) -> Trial:
        """Return a trial; of one in three the calls are made in turn."""
        pick = self.source.choice
        calls = tuple(self.call(number, at) for at in range(pick((0, 1, 2, 3, 5, 8, 13))))
        if len(calls) > 4 and number % 3 == 0:
            calls = tuple(replace(calls[at % 2], span_ids=calls[at].span_ids) for at in range(len(calls)))
        if calls and number % 7 == 2:
            answered = replace(
                calls[0], result="one", result_source="span", arguments={"x": 1}, arguments_source="span"
            )
            calls = tuple(replace(answered, span_ids=each.span_ids) for each in calls)
        if calls and number % 5 == 1:
            alike = replace(calls[0].effect, state="verified", effect_class="write")
            calls = tuple(replace(each, name="pay", effect=alike) for each in calls)
        one = trial(
            f"trial-{number}",
            calls=calls,
            steps=[step(pick(("model_call", "tool_call", "wait", "retrieval"))) for _ in range(pick((1, 3, 7)))],
            usage=pick((Usage(), Usage(input_tokens=1_500, output_tokens=pick((None, 400, 600))))),
            usd=pick((None, "0.10", "0.1000000001")),
            status=pick(("complete", "complete", "incomplete", "aborted")),
            status_reason=pick((None, None, None, "infrastructure", "budget_exhausted", "cancelled")),
            claim=pick(("success", "success", "failure", "unavailable")),
            variant=pick((None, "x", "y")),
            understood=pick((True,) * 9 + (False,)),
        )
        gaps: Completeness = replace(
            one.completeness,
            root_missing=pick((False,) * 4 + (True,)),
            calls_whole=pick((True,) * 4 + (False,)),
            unmetered_calls=pick((0, 0, 1)),
        )
        inferences = tuple(
            Inference(
                span_id=name,
                agent=pick((None, "x")),
                own=pick((True,) * 7 + (False,)),
                failed=pick((False,) * 7 + (True,)),
                prompted=pick((False,) * 5 + (True, None)),
                offered=False,
            )
            for name in "ijklmn"[: pick((0, 2, 4, 6))]
        )
        asked = [
            replace(step("model_call"), span_id=inference.span_id, started_at=START + at, failed=inference.failed)
            for at, inference in enumerate(inferences)
        ]
        return replace(
            one,
            completeness=gaps,
            cost=replace(one.cost, covered=pick((True, False))),
            inferences=inferences,
            steps=(*one.steps, *(asked if one.steps else ())),
            declared_at=pick((None, None, START + 2)),
        )

    def call(self, number: int, at: int) -> ToolCall:
        """Return a call, of which nearly everything may be missing."""
        pick = self.source.choice
        key: str | None = pick((None, None, "k", "l"))
        alike: list[Json] = [{"x": 1}, {"x": 1}, {"x": 1.0}, {"y": "2", "idempotency_key": key}]
        resource = pick((None, None, None, "r"))
        state = pick(STATES)
        error = pick((None, None, None, "no such  thing", "no such thing", "timed out", "429"))
        answer = pick((None, "one", "one", "two"))
        one = call(
            pick(("a", "b", "send_mail", "finish")),
            pick(alike),
            state=state,
            effect_class=pick(("read", "write", "destructive", "unclassified")),
            span_id=f"{number:08x}{at:08x}",
            destination=pick((None, "d")),
            resource=resource,
            operation=pick((None, "o")),
            key=key,
            executed=pick(("yes", "yes", "no", "unknown")),
            captured=pick((True,) * 6 + (False,)),
        )
        effect: Effect = replace(
            one.effect,
            reason=pick((state, "recorded_change", "error", "exit_code")),
            taken_for=pick((None,) * 5 + ("read",)),
            watched=pick((False, False, True)),
        )
        receipts = tuple(
            Receipt(
                state=pick(("verified", "failed")), observed=pick((None, "p", "q")), span_id=one.span_ids[0], time=START
            )
            for _ in range(pick((0, 0, 0, 1, 2)))
        )
        return replace(
            one,
            effect=effect,
            receipts=receipts,
            error=error,
            result=answer,
            result_source=None if answer is None else "span",
            exit_code=pick((None, None, 1)) if error else None,
            span_ids=pick((one.span_ids, one.span_ids, (), (f"{number:08x}00000000",))),
            asked_by=pick((None, "i", "i", "j", "j")),
            started_at=START + at,
        )


def keep(store: Store, trials: Sequence[Trial]) -> None:
    """Write the rows of trials that no span tells of."""
    read = {"unit": "session", "read_at": START, "settled": True}
    rows = [{**trial_row(one), "evidence": evidence_of(one), **read} for one in trials]
    store.insert("trials", {name: [row[name] for row in rows] for name in rows[0]}, "trials by chance")
    known = [(one.project, "session", one.trial_id, [one.key], START) for one in trials]
    names = ("project", "unit", "trace_id", "trials", "read_at")
    store.insert("trial_traces", dict(zip(names, zip(*known, strict=True), strict=True)), "traces by chance")


def test_both_forms_say_the_same_of_trials_made_by_chance(store: Store) -> None:
    trials = list(Chance(1).trials(300))
    keep(store, trials)
    longest = max(trials, key=lambda one: len(one.tool_calls))
    (demanding,) = suite(TASK).tasks

    assert differing(store, trials, demanding, reference(longest.tool_calls[:2])) == []
    # it proves something: each rule that asks nothing of a reference says each of its words
    told = {
        name: {state for state, _, _ in said_in_sql(store, name, parameters_of(demanding)).values()}
        for name in SQL_RULES
        if name not in ("false_success", "step_efficiency") and not name.startswith("trajectory_")
    }
    assert {name: states for name, states in told.items() if len(states) < 3} == {}


@dataclass(frozen=True)
class Says:
    """Somebody whose verdict depends on nothing but the trial's number."""

    name: str = "somebody"
    declared: bool = True

    def outcome(self, trial: Trial) -> Outcome | None:
        """Return it."""
        states: tuple[Verdict, ...] = ("verified", "failed", "unavailable", "verified")
        state = states[int(trial.trial_id.split("-")[1]) % len(states)]
        effects: tuple[EffectOfTrial | None, ...] = ("vacuous", "caused", None)
        effect = effects[int(trial.trial_id.split("-")[1]) % len(effects)]
        before = states[int(trial.trial_id.split("-")[1]) // 3 % len(states)]
        return Outcome(
            state=state, reason=state, pre_state=before, effect_of_trial=effect, verifier=self.name, version=VERSION
        )


def test_measures_in_sql_have_the_counts_of_those_in_python(store: Store) -> None:
    trials = [replace(one, task_id=(None, "s", "t", "u")[at % 4]) for at, one in enumerate(Chance(2).trials(150))]
    keep(store, trials)
    demanding = suite(TASK)
    found = [assess_trial(one, demanding, [Says()]) for one in trials[10:]]
    basis = Basis.of((), demanding)
    store.write_results([row for one in found for row in stored.rows(one, basis, START)])
    # what was found on other evidence is no result: as if nobody had been asked
    other = replace(found[0], evidence="other")
    store.write_results(stored.rows(other, basis, START + 1))
    whole = [*found[1:], *(stored_as_unasked(one) for one in trials[:11])]

    counts = {
        (one.variant, one.name): (one.numerator, one.denominator, one.unavailable) for one in measures_in_sql(store)
    }
    assert {name for _, name in counts} <= MEASURES.keys()
    for variant in (None, "x", "y"):
        measures = measure([one for one in whole if one.trial.variant == variant])
        ours = {name: counts[variant or "", name] for _, name in counts}
        assert ours == {
            name: (it.numerator, it.denominator, it.unavailable) for name, it in measures.items() if name in ours
        }


def stored_as_unasked(one: Trial) -> Assessment:
    return _assessment(one, None, Outcome.unavailable("not_evaluated"), (), ())


REFUND = {"order_id": "O-1", "amount": 5}


def refund(trace: str, at: float, *, call_id: str, **labels: object) -> list[object]:
    """Two inferences, a trace each, without a session: they are joined by the call that both know."""
    question, ask = said("user", f"Refund O-1 {call_id}"), asked("issue_refund", REFUND, call_id)
    answer = chat([question, ask, told("refunded", call_id)], [said("assistant", "I have refunded it.")], **labels)
    return [
        traces(span("chat", chat([question], [ask], **labels), trace=f"{trace}1", key=f"{trace}1", at=at)),
        traces(span("chat", answer, trace=f"{trace}2", key=f"{trace}2", at=at + 2)),
    ]


def own_sessions() -> Iterator[ExportTraceServiceRequest | ExportLogsServiceRequest]:
    """Yield a session of each kind that trials are joined from."""
    yield traces(*claude_spans(failed=True))
    yield logs(*claude_logs(failed=True), scope="com.anthropic.claude_code.events")
    yield traces(*codex_spans())
    yield logs(*codex_logs(code=1))
    yield traces(*gemini_spans(code=1))
    yield logs(*gemini_logs(traced=False))
    shared = [
        span("suite", agent(), trace="shared"),
        *(
            span(name, agent(**{"spanproof.trial.id": name}), trace="shared", key=name, parent="suite", at=number)
            for number, name in enumerate(("one", "two"), 1)
        ),
        *(
            span(
                "tool",
                tool("pay", REFUND, "no such order"),
                trace="shared",
                key=f"{name}{at}",
                parent=name,
                at=at,
                error=error,
            )
            for name, error in (("one", None), ("two", "no such order"))
            for at in (3, 4, 5)
        ),
    ]
    yield traces(*shared)
    yield traces(span("nobody knows this", {"some.key": 1}, trace="strange"))
    told_twice = chat([said("user", "x")], [asked("pay", REFUND, "c-9")], **{"gen_ai.usage.input_tokens": 900})
    yield traces(
        span("run", agent(), trace="twice", key="run"),
        span("ChatModel", told_twice, trace="twice", key="outer", parent="run", at=1, seconds=2),
        span("chat test-model", told_twice, trace="twice", key="inner", parent="outer", at=1.1, seconds=1.5),
    )


def test_both_forms_say_the_same_of_sessions_of_every_kind(store: Store) -> None:
    put(store, *own_sessions(), *refund("a", 0, call_id="c-1"), *refund("b", 50, call_id="c-2"))  # type: ignore[arg-type]
    trials = evaluated(store)
    by_name = {one.joined_by for one in trials}
    assert by_name == {"label", "session", "trace", "history"}
    (demanding,) = suite(TASK).tasks
    assert differing(store, trials, demanding, reference(trials[0].tool_calls)) == []


def test_a_trial_to_which_something_came_is_not_current_until_it_is_evaluated_again(store: Store) -> None:
    first, second = refund("a", 0, call_id="c-1")
    put(store, second, traces(span("run", agent(), trace="other", key="other", at=900)))  # type: ignore[arg-type]
    (alone, other) = evaluated(store)
    assert current(store) == {alone.key, other.key}

    put(store, first)  # type: ignore[arg-type]
    # the trial that it begins is not read yet, and the other stays what it was
    assert alone.key in current(store)
    (whole, _) = evaluated(store)
    # of the two readings of one trace the later stands
    assert whole.key != alone.key
    assert current(store) == {whole.key, other.key}
    assert whole.tool_calls[0].result == "refunded"

    put(store, traces(span("late", tool("pay"), trace="other", key="late", at=950)))
    assert current(store) == {whole.key}
    assert differing(store, [whole], None) == []
    (_, later) = evaluated(store)
    assert current(store) == {whole.key, other.key}
    assert differing(store, [whole, later], None) == []


def current(store: Store) -> set[object]:
    return {key for (key,) in store.select("current", "SELECT trial FROM current_trials WHERE unit = 'session'")}


def test_sessions_split_by_trace_stand_beside_whole_ones(store: Store) -> None:
    session = {"gen_ai.conversation.id": "c"}
    put(store, *(traces(span("pay", tool("pay", REFUND, **session), trace=key, key=key, at=1)) for key in "ab"))
    whole = evaluated(store)
    split = [one.trial for one in evaluate(store, Filter(), None, unit="trace")]
    assert (len(whole), len(split)) == (1, 2)
    for unit, trials in (("session", whole), ("trace", split)):
        assert said_in_sql(store, "repeats", {"unit": unit}) == said_in_python(trials, "repeats", None)


@needs_sessions
def test_both_forms_say_the_same_of_every_recorded_session(store: Store) -> None:
    import_paths(store, [SESSIONS / "dev"])
    trials = evaluated(store)
    assert len(trials) == 384
    most = max(trials, key=lambda one: len(one.tool_calls))
    (demanding,) = suite(TASK).tasks
    assert differing(store, trials, demanding, reference(most.tool_calls[:2])) == []


@needs_captures
def test_both_forms_say_the_same_of_every_capture(store: Store) -> None:
    import_paths(store, [CAPTURES])
    trials = evaluated(store)
    assert trials
    (demanding,) = suite(TASK).tasks
    assert differing(store, trials, None, demanding) == []
