"""What a trial's inferences tell of its course: tools that were offered, who spoke, answers to calls nobody made."""

import json

import pytest

from spanproof_collector.dialects._messages import definitions_of
from spanproof_collector.model.readings import ToolDefinition
from spanproof_collector.model.values import Json
from spanproof_collector.store import Store
from tests.factories import agent, asked, chat, said, span, told, tool, traces
from tests.storing import trial_of

A: dict[str, Json] = {"id": "A"}
SCHEMA: dict[str, Json] = {"type": "object", "properties": {"id": {"type": "string"}}}


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "name": "pay", "parameters": SCHEMA},
        {"type": "function", "function": {"name": "pay", "parameters": SCHEMA}},
        {"name": "pay", "input_schema": SCHEMA},
        {"name": "pay", "parameters": json.dumps(SCHEMA)},
        {"name": "pay", "inputSchema": SCHEMA},
        {"toolSpec": {"name": "pay", "inputSchema": {"json": SCHEMA}}},
        {"name": "pay", "parameters_json_schema": SCHEMA},
        {"functionDeclarations": [{"name": "pay", "parametersJsonSchema": SCHEMA}]},
    ],
)
def test_the_schema_of_a_tools_arguments_is_read_under_every_name(definition: Json) -> None:
    assert definitions_of([definition]) == (ToolDefinition(name="pay", parameters=SCHEMA),)


def test_a_definition_without_a_schema_has_none() -> None:
    assert definitions_of([{"name": "pay", "parameters": "later"}])[0].parameters is None


def test_a_trial_carries_what_was_offered_and_says_which_inferences_tell_it(store: Store) -> None:
    user, ask = said("user", "do it"), asked("pay", A, "c1")
    offered = {"gen_ai.tool.definitions": json.dumps([{"name": "pay", "parameters": SCHEMA}])}
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", chat([user], [ask], **offered), key="m1", parent="run"),
            span("pay", tool("pay", A, "paid", "c1"), parent="run", at=2),
            span(
                "chat",
                chat([user, ask, told("paid", "c1")], [said("assistant", "Paid.")]),
                key="m2",
                parent="run",
                at=4,
            ),
        ),
    )
    assert {one.agent for one in trial.inferences} == {trial.agent_name}
    assert trial.tools == (ToolDefinition(name="pay", parameters=SCHEMA),)
    assert [(one.offered, one.prompted, one.own) for one in trial.inferences] == [
        (True, True, True),
        (False, False, True),
    ]
    assert trial.orphan_results == ()


def test_an_answer_to_a_call_that_nobody_made_is_an_orphan_once(store: Store) -> None:
    user, ask, lost = said("user", "do it"), asked("pay", A, "c1"), told("found", "c9")
    again = [user, ask, told("paid", "c1"), lost]
    trial = trial_of(
        store,
        traces(
            span("chat", chat([user], [ask]), key="m1"),
            span("chat", chat(again, [said("assistant", "Hm.")]), key="m2", parent="m1", at=2),
            span(
                "chat",
                chat([*again, said("assistant", "Hm."), said("user", "And?")], None),
                key="m3",
                parent="m1",
                at=4,
            ),
        ),
    )
    assert [one.call_id for one in trial.orphan_results] == ["c9"]
    assert trial.orphan_results[0].span_id == trial.inferences[1].span_id
    assert [one.prompted for one in trial.inferences] == [True, False, True]


def test_words_before_the_agents_own_last_ones_prompt_nothing_new(store: Store) -> None:
    user, hm = said("user", "do it"), said("assistant", "Hm.")
    trial = trial_of(
        store,
        traces(
            span("chat", chat([user], [hm]), key="m1"),
            span("chat", chat([user, hm], [said("assistant", "Well.")]), key="m2", parent="m1", at=2),
        ),
    )
    assert [one.prompted for one in trial.inferences] == [True, False]


def test_a_failure_says_its_type_and_its_words(store: Store) -> None:
    failed = {**chat([said("user", "x")], None), "error.type": "429"}
    trial = trial_of(store, traces(span("chat", failed, error="slow down")))
    assert [(step.kind, step.error) for step in trial.steps] == [("model_call", "429: slow down")]
