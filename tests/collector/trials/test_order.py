"""The order of arrival never matters: one trial, however its spans came."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from tests.factories import agent, asked, chat, event, log_record, logs, said, span, told, tool, traces
from tests.storing import Request, put

Item = Span | LogRecord

_CHANGES = settings(
    max_examples=3,  # of twelve arrivals each
    deadline=None,
    # one store for all examples: each arrival puts its spans into a project of its own
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
_projects = itertools.count()

USER = said("user", "Refund O-1 and tell me")
PAY, MAIL = asked("issue_refund", {"order": "O-1"}, "c1"), asked("send_mail", {"to": "ann"}, "c2")
WHOLE = [USER, PAY, told("refunded", "c1"), MAIL]


def _session() -> list[Item]:
    """A run with a root, tools, evidence, a span of another process and content in log records only."""
    session = {"gen_ai.conversation.id": "c-1", "spanproof.task.id": "refund"}
    receipt = event("spanproof.receipt", {"spanproof.receipt.state": "verified"}, at=3)
    claim = event("spanproof.claim", {"spanproof.claim.state": "success"}, at=9)
    return [
        span("run", agent(**session), seconds=10, events=[claim]),
        span("chat 1", chat([USER], [PAY], **session), parent="run", at=1),
        span("issue_refund", tool("issue_refund", {"order": "O-1"}, "refunded"), parent="run", at=2, events=[receipt]),
        span("db", {"db.system": "sqlite"}, parent="issue_refund", at=2.1, seconds=0.2),
        span("chat 2", chat(None, None, **session), parent="run", at=4),
        span("send_mail", tool("send_mail", call_id="c2"), parent="run", at=6, error="timed out"),
        span("chat 3", chat(WHOLE, [said("assistant", "Done.")]), parent="run", at=8),
        log_record("gen_ai.client.inference.operation.details", chat(WHOLE[:3], [MAIL]), of="chat 2", at=5),
        log_record("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "tone"}, of="run", at=9),
    ]


def _rootless() -> list[Item]:
    """The same run, its root never exported."""
    return [item for item in _session() if not (isinstance(item, Span) and item.name == "run")]


def _histories() -> list[Item]:
    """A run whose instrumentor writes a trace for each inference, and no session."""
    return [
        span("chat", chat([USER], [PAY]), trace="h1", key="h1"),
        span("chat", chat(WHOLE[:3], [MAIL]), trace="h2", key="h2", at=2),
        span("chat", chat([*WHOLE, told("sent", "c2")], [said("assistant", "Sent.")]), trace="h3", key="h3", at=4),
    ]


def _labeled() -> list[Item]:
    """One trial over two processes, each with a trace of its own, and a poorer version of one span."""
    label = {"spanproof.trial.id": "t-1", "spanproof.variant": "v1"}
    whole = span("pay", tool("pay", {"n": 1}, "paid", **label), trace="l2", at=2)
    return [
        span("run", agent(**label), trace="l1", seconds=5),
        whole,
        span("pay", tool("pay", **label), trace="l2", at=2),
        span("look", tool("lookup", {"n": 1}, "found"), trace="l2", parent="pay", at=2.5),
    ]


RUNS = {"session": _session, "rootless": _rootless, "histories": _histories, "labeled": _labeled}


Batches = list[list[Item]]
"""Items in the order in which they are sent, one list a request."""


def _requests(batches: Batches, project: str) -> list[Request]:
    made: list[Request] = []
    for batch in batches:
        spans = [item for item in batch if isinstance(item, Span)]
        records = [item for item in batch if isinstance(item, LogRecord)]
        if spans:
            made.append(traces(*spans))
        if records:
            made.append(logs(*records))
    for request in made:
        for group in (*getattr(request, "resource_spans", ()), *getattr(request, "resource_logs", ())):
            attribute = group.resource.attributes.add()
            attribute.key, attribute.value.string_value = "spanproof.project", project
    return made


def _arrive(store: Store, batches: Batches) -> list[Trial]:
    project = f"p{next(_projects)}"
    put(store, *_requests(batches, project))
    found = list(read_trials(store, Filter(projects=(project,))))
    return [replace(trial, project="default") for trial in found]


def _arrive_side_by_side(store: Store, arrivals: list[Batches]) -> list[list[Trial]]:
    """Let each arrive in a project of its own: the first requests of all together, then the second ones, and so on."""
    projects = [f"p{next(_projects)}" for _ in arrivals]
    requests = [_requests(batches, project) for batches, project in zip(arrivals, projects, strict=True)]
    for turn in itertools.zip_longest(*requests):
        together: dict[type[Request], Request] = {}
        for request in filter(None, turn):
            together.setdefault(type(request), type(request)()).MergeFrom(request)
        put(store, *together.values())
    found: dict[str, list[Trial]] = {project: [] for project in projects}
    for trial in read_trials(store, Filter(projects=tuple(projects))):
        found[trial.project].append(replace(trial, project="default"))
    return list(found.values())


def test_projects_that_share_a_trace_in_one_request_each_keep_its_content(store: Store) -> None:
    """A trace can cross services of several projects, and a Collector between them sends it in one request."""
    one, other = _arrive_side_by_side(store, [[_histories()], [_histories()]])
    assert one == other
    (trial,) = one
    assert (trial.completeness.truncated_values, trial.final_answer) == (0, "Sent.")
    assert [call.result for call in trial.tool_calls] == ["refunded", "sent"]


@st.composite
def _arrivals(draw: st.DrawFn, items: list[Item]) -> Batches:
    """Some order, with some sent again, split over some number of requests."""
    again = draw(st.lists(st.sampled_from(items), max_size=4))
    order = draw(st.permutations([*items, *again]))
    cuts = sorted(draw(st.sets(st.integers(1, len(order) - 1), max_size=len(order) - 1)))
    return [list(order[a:b]) for a, b in itertools.pairwise([0, *cuts, len(order)])]


@pytest.mark.parametrize("run", RUNS)
def test_any_order_any_batches_and_any_resends_give_the_same_trial(store: Store, run: str) -> None:
    items = RUNS[run]()
    (expected,) = _arrive(store, [items])

    @_CHANGES
    @given(st.lists(_arrivals(items), min_size=12, max_size=12))
    def check(arrivals: list[Batches]) -> None:
        alone, *others = arrivals
        assert _arrive(store, alone) == [expected]
        assert _arrive_side_by_side(store, others) == [[expected]] * len(others)

    check()


def _small_session() -> list[Item]:
    """A late root that alone names session and task, its children, and content in a log record."""
    session = {"gen_ai.conversation.id": "c-1", "spanproof.task.id": "refund", "spanproof.variant": "v1"}
    return [
        span("run", agent(**session), seconds=10),
        span("chat", chat([USER], [PAY]), parent="run", at=1),
        span("issue_refund", tool("issue_refund", {"order": "O-1"}, call_id="c1"), parent="run", at=2),
        log_record("gen_ai.client.inference.operation.details", chat(WHOLE[:3], [MAIL]), of="chat", at=5),
    ]


def _resumed() -> list[Item]:
    """A session of three traces, the middle one without its root."""
    session = {"gen_ai.conversation.id": "c-2"}
    return [
        span("run", agent(**session), trace="r1", key="r1"),
        span("pay", tool("pay", {"n": 1}, "paid", **session), trace="r2", key="r2", parent="gone", at=100),
        span("run", agent(**session), trace="r3", key="r3", at=200),
    ]


def _conflicting() -> list[Item]:
    """One span in three versions, two of them equally rich, and its parent."""
    return [
        span("run", agent(**{"gen_ai.conversation.id": "c-3"})),
        span("pay", tool("pay", {"n": 1}, "paid 1"), parent="run", at=1),
        span("pay", tool("pay", {"n": 1}, "paid 2"), parent="run", at=1),
        span("pay", tool("pay", {"n": 1}), parent="run", at=1),
    ]


def _tied() -> list[Item]:
    """Spans that all start at one moment, a parent among them."""
    return [
        span("run", agent(**{"gen_ai.conversation.id": "c-4"})),
        span("chat", chat([USER], [PAY]), parent="run"),
        span("issue_refund", tool("issue_refund", {"order": "O-1"}, "refunded"), parent="chat"),
        span("send_mail", tool("send_mail", {"to": "ann"}, "sent"), parent="chat"),
    ]


SMALL = {
    "session": _small_session,
    "resumed": _resumed,
    "tied": _tied,
    "histories": _histories,
    "labeled": _labeled,
}


@pytest.mark.parametrize("run", SMALL)
def test_every_order_of_a_few_spans_gives_the_same_trial(store: Store, run: str) -> None:
    """Field reports 16, 18 and 25: a child before its root, a root after its end, spans that start together."""
    items = SMALL[run]()
    (expected,) = _arrive(store, [items])
    orders = list(itertools.permutations(items))
    one_by_one: list[Batches] = [[[item] for item in order] for order in orders]
    in_two: list[Batches] = [[list(order[:2]), list(order[2:])] for order in orders]
    for arrivals in (one_by_one, in_two):
        assert _arrive_side_by_side(store, arrivals) == [[expected]] * len(orders)


def test_a_root_that_comes_last_names_the_trial(store: Store) -> None:
    """Field report 16: what a trial is called is not frozen by the span that came first."""
    root, *rest = _small_session()
    project = f"p{next(_projects)}"
    put(store, *_requests([rest], project))
    (early,) = read_trials(store, Filter(projects=(project,)))
    assert (early.joined_by, early.task_id, early.status) == ("trace", None, "incomplete")
    put(store, *_requests([[root]], project))
    (late,) = read_trials(store, Filter(projects=(project,)))
    assert (late.joined_by, late.trial_id, late.task_id, late.variant) == ("session", "c-1", "refund", "v1")


def test_spans_that_start_together_stand_in_the_order_of_their_depth(store: Store) -> None:
    """Field report 25."""
    (trial,) = _arrive(store, [_tied()[::-1]])
    assert [step.name for step in trial.steps][:2] == ["run", "chat"]
    assert {step.name for step in trial.steps[2:]} == {"issue_refund", "send_mail"}


def test_of_equally_rich_versions_of_a_span_the_same_stands_in_every_order(store: Store) -> None:
    """In one project: which of two equal ones stands depends on everything that was sent with them."""
    results = set()
    parent, *versions = _conflicting()
    for number, order in enumerate(itertools.permutations(versions)):
        order = (*order, parent) if number % 2 else (parent, *order)
        put(store, *_requests([[item] for item in order], "conflict"))
        (trial,) = read_trials(store, Filter(projects=("conflict",)))
        results.add(str([call.result for call in trial.tool_calls]))
        with store._connection() as connection:
            for table in ("spans", "steps", "content"):
                connection.client.command(f"TRUNCATE TABLE {table}")
    assert len(results) == 1
    assert results < {"['paid 1']", "['paid 2']"}


def test_what_is_read_of_the_run_is_what_was_done(store: Store) -> None:
    (trial,) = _arrive(store, [_session()])
    assert [(call.name, call.effect.state) for call in trial.tool_calls] == [
        ("issue_refund", "verified"),
        ("send_mail", "unknown"),
    ]
    assert (trial.claim.state, trial.claim.source, trial.final_answer) == ("success", "declared", "Done.")
    assert trial.tool_calls[1].arguments == {"to": "ann"}


def test_without_its_root_the_run_differs_in_what_the_root_said_and_in_nothing_else(store: Store) -> None:
    (whole,), (rest,) = _arrive(store, [_session()]), _arrive(store, [_rootless()])
    assert (rest.status, rest.completeness.root_missing, rest.trial_id) == ("incomplete", True, whole.trial_id)
    assert rest.tool_calls == whole.tool_calls
    assert [step for step in whole.steps if step.name != "run"] == list(rest.steps)


def test_a_richer_resend_stands_whichever_comes_first(store: Store) -> None:
    for items in (_labeled(), _labeled()[::-1]):
        (trial,) = _arrive(store, [[item] for item in items])
        assert [(call.name, call.result) for call in trial.tool_calls] == [("pay", "paid"), ("lookup", "found")]


def test_a_late_child_reopens_the_trial(store: Store) -> None:
    items = _session()
    project = f"p{next(_projects)}"
    put(store, *_requests([items[:2]], project))
    assert [len(t.tool_calls) for t in read_trials(store, Filter(projects=(project,)))] == [1]
    put(store, *_requests([items[2:]], project))
    assert [len(t.tool_calls) for t in read_trials(store, Filter(projects=(project,)))] == [2]
