"""spanproof rules: what it lists, the statements that it prints, and what they say of a store that a server holds."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from spanproof_collector.model.filters import Filter
from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.store import Store
from spanproof_evaluators.cli.group import cli
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.runner import evaluate
from tests.factories import agent, span, tool, traces
from tests.storing import put


def spanproof(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["rules", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def test_every_rule_is_listed_with_its_parameters_or_why_it_has_no_statement() -> None:
    listed = {one["rule"]: one for one in json.loads(spanproof("list", "--json"))}
    assert listed.keys() == {rule.name for rule in RULES} | {"false_success"}
    assert {name for name, one in listed.items() if one["hard"]} == {rule.name for rule in RULES if rule.hard}
    assert listed["budgets"]["parameters"]["max_steps"] == "Nullable(UInt64)"
    assert listed["protected_edits"]["sql"] is False
    assert "no SQL, " in spanproof("list")


def test_a_statement_is_printed_with_what_is_given_in_its_place() -> None:
    assert "{forbidden_tools:Array(String)}" in spanproof("sql", "forbidden_tools")
    printed = spanproof("sql", "forbidden_tools", "-p", """forbidden_tools=["it's", "a\\\\b"]""")
    assert """CAST(['it\\'s', 'a\\\\b'], 'Array(String)')""" in printed
    assert "{unit:String}" in printed
    assert "{forbidden_tools" not in printed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("sql", "unsafe_retry"), "has no SQL form: whether a read"),
        (("sql", "nothing"), "no rule 'nothing'"),
        (("sql", "repeats", "-p", "max_steps=1"), "they have: max_repeats"),
    ],
)
def test_what_there_is_not_is_said(arguments: tuple[str, ...], told: str) -> None:
    result = CliRunner().invoke(cli, ["rules", *arguments])
    assert result.exit_code != 0
    assert told in str(result.exception)


def test_statements_run_in_a_store_that_a_server_holds(store: Store, endpoint: ClickHouseEndpoint) -> None:
    session = {"gen_ai.conversation.id": "c-1", "spanproof.variant": "x"}
    put(
        store,
        traces(
            span("run", agent(**session), trace="a", key="run", seconds=9),
            *(
                span("tool", tool("look", {"at": 1}, "same", f"c-{at}"), trace="a", key=f"t{at}", parent="run", at=at)
                for at in range(1, 5)
            ),
        ),
    )
    address = f"clickhouse://anybody:{endpoint.token}@127.0.0.1:{endpoint.port}/spanproof"

    def ran(*arguments: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(spanproof("run", *arguments, "--store", address, "--json"))
        return found

    assert ran("repeats")["traces_waiting"] == 1
    (one,) = evaluate(store, Filter(), None)
    everything = ran("-p", 'forbidden_tools=["look"]', "-p", "max_steps=3")
    assert everything["traces_waiting"] == 0
    told = everything["rules"]
    assert isinstance(told, dict)
    said = {result.evaluator: result.state for result in one.results}
    assert {name: {"x": {said[name]: 1}} for name in told if name in said} == {
        name: told[name] for name in told if name in said
    }
    assert told["identical_run"] == told["forbidden_tools"] == told["budgets"] == {"x": {"fail": 1}}
    assert Counter(str(result.state) for result in one.results)["fail"] >= 3
    assert "identical_run" in spanproof("run", "identical_run", "--store", address)
