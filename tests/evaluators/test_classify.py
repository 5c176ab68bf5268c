"""Proposing a catalogue: what is seen of each tool, and that nothing counts before somebody confirms it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from spanproof_collector.errors import CatalogueError
from spanproof_collector.model.tool_catalogue import (
    EMPTY,
    CatalogueTool,
    FromArgument,
    FromResult,
    Lookup,
    ToolCatalogue,
)
from spanproof_collector.store import open_store
from spanproof_collector.trials import parse_catalogue, read_catalogue
from spanproof_evaluators.cli.group import cli
from spanproof_evaluators.reports.catalogue import catalogue_yaml
from spanproof_evaluators.runner.classifying import proposed_catalogue, seen_tools
from tests.evaluators.factories import call, trial
from tests.factories import agent, event, span, tool, traces
from tests.storing import put

SEEN = {"spanproof.receipt.state": "verified", "spanproof.receipt.pre_state": "a", "spanproof.receipt.post_state": "b"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("classify") / "store"
    order = {"order_id": "A"}
    spans = [
        span("issue_refund", tool("issue_refund", {**order, "amount": 5}, "ok"), parent="run", key="r1", at=1),
        span("get_refund", tool("get_refund", order, []), parent="run", key="g1", at=3),
        span("frobnicate", tool("frobnicate", order, "ok"), parent="run", key="f1", at=5),
        span("frobnicate", tool("frobnicate", order, "ok"), parent="run", key="f2", at=7),
        span("bash", tool("bash", {"command": "ls"}, "a"), parent="run", key="b1", at=9),
        span("bash", tool("bash", {"command": "rm a"}, ""), parent="run", key="b2", at=11),
        span(
            "get_log", tool("get_log", {}, "ok", **{"spanproof.effect.class": "write"}), parent="run", key="l1", at=13
        ),
        span(
            "read_mail",
            tool("read_mail", {}, "2"),
            parent="run",
            key="m1",
            at=15,
            events=[event("spanproof.receipt", SEEN, at=15)],
        ),
    ]
    with open_store(f"chdb://{folder}") as opened:
        put(opened, traces(span("run", agent(), seconds=99), *spans))
    return f"chdb://{folder}"


def spanproof(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_tool_is_listed_with_its_calls_its_class_and_whose_word_that_is(store: str) -> None:
    told = json.loads(spanproof("effects", "classify", "--store", store, "--json"))
    tools: dict[str, Any] = {one["name"]: one for one in told["tools"]}
    assert {name: (one["calls"], one["class"], one["why"]) for name, one in tools.items()} == {
        "bash": (2, "unclassified", "each call is what its command is (1 destructive, 1 read)"),
        "frobnicate": (2, "unclassified", "nobody says what it does"),
        "get_log": (1, "write", "its calls declare it"),
        "get_refund": (1, "read", "its name"),
        "issue_refund": (1, "write", "its name"),
        "read_mail": (1, "write", "somebody saw it change something"),
    }
    assert tools["get_log"]["conflicts"] == ["declared says write, inferred says read"]
    assert tools["read_mail"]["conflicts"] == ["observed says write, inferred says read"]
    entries = {one["name"]: one for one in told["catalogue"]["tools"]}
    assert not any(one["confirmed"] for one in entries.values())
    assert entries["frobnicate"]["class"] is None
    assert entries["issue_refund"]["lookups"] == [
        {"tool": "get_refund", "match": {"order_id": "order_id"}, "shows": {}}
    ]


def test_a_proposal_counts_for_nothing_until_it_is_confirmed_and_then_verdicts_are_stale(
    store: str, tmp_path: Path
) -> None:
    file = tmp_path / "tools.yaml"
    spanproof("effects", "classify", "--store", store, "--out", str(file))
    assert "FILL IN class" in file.read_text()
    spanproof("evaluate", "--include-unsettled", "--store", store)

    def frobs(*more: str) -> tuple[str, set[tuple[str, str | None]]]:
        (line,) = spanproof("trials", "--store", store, "--json", *more).splitlines()
        one: dict[str, Any] = json.loads(line)
        effects = [each["effect"] for each in one["tool_calls"] if each["name"] == "frobnicate"]
        return one["outcome"]["reason"], {(each["class"], each["class_source"]) for each in effects}

    before = frobs()
    assert before == ("no_verifier", {("unclassified", None)})
    assert frobs("--tools", str(file)) == before
    text = file.read_text()
    start = text.index("- name: frobnicate")
    confirmed = text[start:].replace("class: null", "class: write", 1).replace("    confirmed: false\n", "", 1)
    file.write_text(text[:start] + confirmed)
    assert frobs("--tools", str(file)) == ("evidence_changed", {("write", "catalog")})
    assert frobs() == before
    spanproof("evaluate", "--include-unsettled", "--store", store, "--tools", str(file))
    assert frobs("--tools", str(file)) == ("no_verifier", {("write", "catalog")})
    assert frobs()[0] == "evidence_changed"
    spanproof("evaluate", "--include-unsettled", "--store", store)


def test_show_and_report_read_the_catalogue_too(store: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text("tools: [{name: frobnicate, class: destructive}]")
    (line,) = spanproof("trials", "--store", store, "--json").splitlines()
    name = json.loads(line)["trial_id"]
    shown = json.loads(spanproof("show", name, "--store", store, "--json", "--tools", str(file)))
    reported = json.loads(spanproof("report", "--store", store, "--json", "--tools", str(file)))
    for one in (shown, reported["trials"][0]):
        assert [each["effect"]["class"] for each in one["tool_calls"] if each["name"] == "frobnicate"] == [
            "destructive",
            "destructive",
        ]


def test_what_is_in_the_file_already_stays_and_only_what_is_new_is_proposed(store: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text(
        "tools: [{name: 'frob*', class: write, destination: db}, {name: get_log, confirmed: false, class: handoff}]"
    )
    spanproof("effects", "classify", "--store", store, "--out", str(file))
    made = read_catalogue(file)
    assert made.tools[:2] == (
        CatalogueTool(name="frob*", effect_class="write", destination="db"),
        CatalogueTool(name="get_log", confirmed=False, effect_class="handoff"),
    )
    assert [one.name for one in made.tools[2:]] == ["bash", "get_refund", "issue_refund", "read_mail"]
    again = file.read_text()
    spanproof("effects", "classify", "--store", store, "--out", str(file))
    assert file.read_text() == again


def test_a_file_that_is_no_catalogue_is_not_written_over(store: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.yaml"
    file.write_text("- my notes")
    result = CliRunner().invoke(cli, ["effects", "classify", "--store", store, "--out", str(file)])
    assert isinstance(result.exception, CatalogueError)
    assert file.read_text() == "- my notes"


_TEXT = st.text(max_size=8) | st.sampled_from(["on", "null", "1", "a: b", "# x", "\ud800", "x\ny", "[a]", "\x07", "- "])
_NAMES = _TEXT.filter(lambda text: bool(text.strip()))
_LOOKUPS = st.builds(
    Lookup,
    tool=_NAMES,
    match=st.dictionaries(_NAMES, _NAMES | st.builds(FromResult, result=_NAMES), min_size=1, max_size=2),
    shows=st.dictionaries(
        _NAMES, st.none() | st.booleans() | st.integers() | _TEXT | st.builds(FromArgument, argument=_NAMES), max_size=2
    ),
)
_ENTRIES = st.builds(
    CatalogueTool,
    name=_NAMES,
    effect_class=st.sampled_from(["read", "write", "destructive", "handoff"]),
    confirmed=st.booleans(),
    destination=st.none() | _NAMES,
    idempotency_key=st.none() | _NAMES,
    lookups=st.lists(_LOOKUPS, max_size=2).map(tuple),
)


@settings(max_examples=100, deadline=None)
@given(entries=st.lists(_ENTRIES, max_size=4, unique_by=lambda entry: entry.name), calls=st.lists(_TEXT, max_size=4))
def test_whatever_the_names_are_a_proposal_reads_back_and_adds_no_authority(
    entries: list[CatalogueTool], calls: list[str]
) -> None:
    existing = ToolCatalogue(tools=tuple(entries))
    seen = seen_tools([trial(calls=[call(name) for name in calls])], existing)
    made = proposed_catalogue(seen, existing)
    assert parse_catalogue(catalogue_yaml(made, seen), name="made.yaml") == made
    assert made.tools[: len(entries)] == existing.tools
    for name in calls:
        assert made.class_of(name) == existing.class_of(name)
        assert not name.strip() or made.of(name) is not None or made.named(name) is not None
    assert proposed_catalogue(seen_tools([trial(calls=[call(name) for name in calls])], made), made) == made


def test_no_trial_gives_no_tool() -> None:
    assert seen_tools([], EMPTY) == ()
    assert parse_catalogue(catalogue_yaml(EMPTY, ()), name="none.yaml") == EMPTY


@pytest.mark.parametrize("name", ["trials", "show", "evaluate", "report", "gate", "compare", "replay"])
def test_every_command_that_reads_effects_takes_a_catalogue(name: str) -> None:
    help_ = CliRunner().invoke(cli, [name, "--help"]).stdout
    assert "--tools FILE" in help_
    assert "SPANPROOF_TOOLS" in help_
