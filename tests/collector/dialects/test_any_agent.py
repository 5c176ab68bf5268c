import json
from decimal import Decimal

from spanproof_collector.model.readings import Usage
from spanproof_collector.store import Store
from tests.factories import agent, span, traces
from tests.storing import trial_of

ASKED = json.dumps([{"tool.name": "write", "tool.args": '{"text": "1"}'}, {"tool.name": "look", "tool.args": {}}])


def llm(output: object, **more: object) -> dict[str, object]:
    return {"gen_ai.operation.name": "call_llm", "gen_ai.request.model": "m", "gen_ai.output": output} | more


def ran(name: str, arguments: object, output: object, kind: str = "json") -> dict[str, object]:
    told = {"gen_ai.tool.name": name, "gen_ai.tool.args": json.dumps(arguments), "gen_ai.output.type": kind}
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.output": output} | told


def test_calls_results_answers_and_costs_are_read(store: Store) -> None:
    used = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
    cost = {"gen_ai.usage.input_cost": 2.5e-05, "gen_ai.usage.output_cost": 5e-06}
    heard = {"gen_ai.input.messages": json.dumps([{"role": "user", "content": "go"}])}
    trial = trial_of(
        store,
        traces(
            span("a", agent(), seconds=9),
            span("b", llm(ASKED, **heard, **used, **cost), parent="a", at=1),
            span("c", ran("write", {"text": "1"}, "null"), parent="a", at=2),
            span("d", ran("look", {}, '{"n": 1}'), parent="a", at=3),
            span("e", llm("Written."), parent="a", at=4),
        ),
    )
    assert (trial.dialects, trial.models, trial.final_answer) == (("any-agent", "genai"), ("m",), "Written.")
    assert [(call.name, call.arguments, call.result, call.executed) for call in trial.tool_calls] == [
        ("write", {"text": "1"}, None, "yes"),
        ("look", {}, {"n": 1}, "yes"),
    ]
    assert trial.usage == Usage(input_tokens=10, output_tokens=2)
    assert trial.cost.usd == Decimal("0.00003")


def test_an_answer_that_is_structure_is_told_as_json(store: Store) -> None:
    for sent in ({"steps": [1]}, '{"steps": [1]}'):
        trial = trial_of(store, traces(span("a", llm(sent))))
        assert trial.final_answer == '{"steps": [1]}'
