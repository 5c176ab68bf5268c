"""The catalogue of tools: what it says, what it outranks, and what is refused in it."""

from pathlib import Path

import pytest

from spanproof_collector.errors import CatalogueError
from spanproof_collector.model.tool_catalogue import ToolCatalogue
from spanproof_collector.model.trials import Effect
from spanproof_collector.store import Store
from spanproof_collector.trials import parse_catalogue, read_catalogue, read_trials
from tests.factories import asked, chat, event, span, tool, traces
from tests.storing import put


def catalogue(text: str) -> ToolCatalogue:
    return parse_catalogue(text, name="tools.yaml")


def effect_of(store: Store, told: str, name: str, arguments: object = None, **attributes: object) -> Effect:
    put(store, traces(span(name, tool(name, arguments or {"id": 1}, "ok", **attributes))))
    (trial,) = read_trials(store, catalogue=catalogue(told))
    return trial.tool_calls[0].effect


@pytest.mark.parametrize(
    ("told", "name", "expected"),
    [
        ("tools: [{name: frob, class: write}]", "frob", ("write", "catalog")),
        ("tools: [{name: get_mail, class: write}]", "get_mail", ("write", "catalog")),
        ("tools: [{name: frob, class: handoff}]", "frob", ("handoff", "catalog")),
        ("tools: [{name: 'fr*', class: read}]", "frob", ("read", "catalog")),
        ("tools: [{name: 'fr*', class: read}, {name: frob, class: write}]", "frob", ("write", "catalog")),
        ("tools: [{name: 'f*', class: read}, {name: 'fr*', class: write}]", "frob", ("read", "catalog")),
        ("tools: [{name: 'fr[o]b', class: read}]", "fr[o]b", ("read", "catalog")),
        ("tools: [{name: FROB, class: read}]", "frob", ("unclassified", None)),
        ("tools: [{name: frob, class: read, confirmed: false}]", "frob", ("unclassified", None)),
        ("tools: [{name: get_mail, class: write, confirmed: false}]", "get_mail", ("read", "inferred")),
        ("tools: [{name: 'g*', class: write}, {name: get_mail, confirmed: false}]", "get_mail", ("write", "catalog")),
        ("tools: [{name: frob, destination: db}]", "frob", ("unclassified", None)),
        ("tools: [{name: pay, class: write, lookups: [{tool: frob, match: {a: a}}]}]", "frob", ("read", "catalog")),
        ("", "frob", ("unclassified", None)),
    ],
)
def test_a_confirmed_entry_gives_the_class(
    store: Store, told: str, name: str, expected: tuple[str, str | None]
) -> None:
    found = effect_of(store, told, name)
    assert (found.effect_class, found.class_source) == expected


def test_a_declaration_and_the_servers_hints_outrank_the_catalogue_and_it_outranks_names(store: Store) -> None:
    told = "tools: [{name: '*', class: destructive}]"
    definitions = '[{"name": "hinted", "annotations": {"readOnlyHint": true}}]'
    spans = [
        span("chat", chat([], [asked("hinted", {}, "c1")], **{"gen_ai.tool.definitions": definitions}), key="m"),
        span("hinted", tool("hinted", {}, "ok", "c1"), parent="m", at=2),
        span("said", tool("said", {}, "ok", **{"spanproof.effect.class": "write"}), parent="m", at=3),
        span("get_x", tool("get_x", {}, "ok"), parent="m", at=4),
    ]
    put(store, traces(*spans))
    (trial,) = read_trials(store, catalogue=catalogue(told))
    assert [(one.name, one.effect.effect_class, one.effect.class_source) for one in trial.tool_calls] == [
        ("hinted", "read", "mcp"),
        ("said", "write", "declared"),
        ("get_x", "destructive", "catalog"),
    ]


def test_what_somebody_saw_change_outranks_a_catalogue_that_says_read(store: Store) -> None:
    seen = {
        "spanproof.receipt.state": "verified",
        "spanproof.receipt.pre_state": "a",
        "spanproof.receipt.post_state": "b",
    }
    put(store, traces(span("frob", tool("frob", {}, "ok"), events=[event("spanproof.receipt", seen)])))
    (trial,) = read_trials(store, catalogue=catalogue("tools: [{name: frob, class: read}]"))
    effect = trial.tool_calls[0].effect
    assert (effect.effect_class, effect.class_source, effect.taken_for) == ("write", "observed", "read")


NAMED = """
tools:
  - name: pay
    class: write
    destination: "bank/{account.region}"
    resource: "orders/{order_id}"
    operation: pay
    idempotency_key: request.key
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {"order_id": 7, "account": {"region": "eu"}, "request": {"key": "k"}},
            ("bank/eu", "orders/7", "pay", "k"),
        ),
        ({"order_id": 7.0, "request": {"key": 12}}, (None, "orders/7", "pay", "12")),
        ({"order_id": None, "request.key": "dotted"}, (None, None, "pay", "dotted")),
        ({"order_id": [1], "request": {"key": ""}}, (None, None, "pay", None)),
    ],
)
def test_names_are_filled_from_the_arguments(
    store: Store, arguments: dict[str, object], expected: tuple[str | None, ...]
) -> None:
    found = effect_of(store, NAMED, "pay", arguments)
    assert (found.destination, found.resource, found.operation, found.idempotency_key) == expected


def test_what_a_span_declares_stands_before_what_the_catalogue_tells(store: Store) -> None:
    found = effect_of(store, NAMED, "pay", {"order_id": 7}, **{"spanproof.effect.resource": "invoices/1"})
    assert (found.resource, found.operation) == ("invoices/1", "pay")


@pytest.mark.parametrize("name", ["idempotency_key", "idempotencyKey", "Idempotency-Key"])
def test_an_argument_that_is_called_so_is_the_idempotency_key(store: Store, name: str) -> None:
    assert effect_of(store, "", "pay", {name: "k"}).idempotency_key == "k"


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("tools: [{name: a, clas: write}]", "unknown key 'clas'. Remove it, or spell it right: the keys here are name"),
        ("tool: []", "unknown key 'tool'"),
        ("tools: [{name: a, class: write, lookups: [{tool: b, match: {a: a}, show: {}}]}]", "unknown key 'show'"),
        ("tools: [{class: write}]", "missing required field `name`"),
        ("tools: [{name: a, class: reads}]", "Invalid enum value 'reads'"),
        ("tools: [{name: a}]", "says nothing. Fill in class"),
        ("tools: [{name: a, class: null}]", "says nothing. Fill in class"),
        ("tools: [{name: ' ', class: read}]", "the name is empty"),
        ("tools: [{name: a, class: read}, {name: a, class: write}]", "'a' stands there twice"),
        ("tools: [{name: a, class: read, class: write}]", "the key 'class' stands twice"),
        ("tools: [{name: a, class: write, lookups: [{tool: b, match: {}}]}]", "Say which argument of the read"),
        ("version: 2", "Invalid enum value 2"),
        ("tools: {a: read}", "Expected `array`"),
        ("- a", "Expected `object`"),
        ("tools: [", "no YAML"),
        ("a: !!python/object:os.system x", "no YAML"),
        ("tools: &a [*a]", ""),
        ("? [a]\n: b", ""),
        ("\0", "no YAML"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_to_do(told: str, why: str) -> None:
    with pytest.raises(CatalogueError) as raised:
        catalogue(told)
    assert why in str(raised.value)
    assert str(raised.value).startswith("tools.yaml: ")


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="effects classify"):
        read_catalogue(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CatalogueError, match="cannot be read"):
        read_catalogue(tmp_path / "bytes.yaml")
    with pytest.raises(CatalogueError, match="cannot be read"):
        read_catalogue(tmp_path)


def test_json_is_a_catalogue_too() -> None:
    assert catalogue('{"version": 1, "tools": [{"name": "a", "class": "read"}]}').class_of("a") == "read"
