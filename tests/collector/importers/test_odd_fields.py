"""Fields of any other type, missing or wrapped: a recorded benchmark session is read or named, and never fails."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanproof_collector.importers import IMPORTERS, Damage
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._session import Session
from spanproof_collector.importers._spans import request_of
from tests.collector.importers import (
    test_agentdojo,
    test_atif,
    test_inspect,
    test_intercode,
    test_medagentbench,
    test_mini_swe_agent,
    test_openhands,
    test_swe_agent,
    test_tau2,
    test_tau_bench,
    test_who_and_when,
)

RECORDINGS: dict[str, object] = {
    "agentdojo": test_agentdojo.run(
        test_agentdojo.says(test_agentdojo.tagged("So.", asked="pay()"), test_agentdojo.call("pay")),
        test_agentdojo.gives("paid"),
        test_agentdojo.says(test_agentdojo.REFUSAL, role="user"),
        test_agentdojo.says("Done."),
    ),
    "atif": {"a": test_atif.PARENT, "b": test_atif.CHILD, "c": test_atif.CONTINUED[1]},
    "inspect": test_inspect.log(
        test_inspect.sample([*test_inspect.NEW_NESTED, *test_inspect.PLAIN], attachments={"a": "b"})
    ),
    "inspect events": {"events": test_inspect.OLD_NESTED},
    "intercode": test_intercode.entry(("execute[ls]", "a", 0, True), ("submit", "", 1.0, True), thoughts=True),
    "medagentbench": test_medagentbench.case(test_medagentbench.turn("get", "{}"), test_medagentbench.turn("finish")),
    "mini_swe_agent": test_mini_swe_agent.run(test_mini_swe_agent.writes("ls"), test_mini_swe_agent.shows("a")),
    "openhands": [
        test_openhands.TASK,
        test_openhands.acts(1, "run") | test_openhands.asked_by("r1", "bash", "c1", ("c1", "bash", {"command": "ls"})),
        test_openhands.sees(2, "run", 1, "a"),
        test_openhands.acts(3, "delegate", args={"agent": "x"}),
        test_openhands.END,
    ],
    "swe_agent": test_swe_agent.trajectory(test_swe_agent.step("ls", "a"), test_swe_agent.step("submit", "")),
    "tau2": {"info": {}, "tasks": test_tau2.TASKS, "simulations": [
        test_tau2.simulation(
            test_tau2.user("x", test_tau2.call("toggle", "c1", "user")),
            test_tau2.result("c1", "on", "user"),
            test_tau2.agent("y", test_tau2.call("look", "c2")),
            test_tau2.result("c2", "seen"),
        )
    ]},
    "tau_bench": test_tau_bench.run(test_tau_bench.asks("look", {}), test_tau_bench.answers("seen")),
    "who_and_when": test_who_and_when.run(
        test_who_and_when.named("A", "task"), test_who_and_when.named("B", "```py\n1\n```"),
        test_who_and_when.named("Computer_terminal", "1"), is_correct="False",
    ),
}  # fmt: skip
OTHER: tuple[object, ...] = (
    None,
    True,
    -1,
    1e308,
    10**40,
    "",
    "x",
    [],
    {},
    [None],
    {"a": None},
    {"type": []},
    "\ud800",
    float("nan"),
)


def places(value: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in members:
        yield (*above, key)
        yield from places(inner, (*above, key))


def changed(value: object, place: tuple[str | int, ...], chance: random.Random) -> object:
    value = copy.deepcopy(value)
    at: object = value
    for key in place[:-1]:
        at = at[key]  # type: ignore[index]
    assert isinstance(at, dict | list)
    key = place[-1]
    kind = chance.random()
    if kind < 0.6:
        at[key] = copy.deepcopy(chance.choice(OTHER))  # type: ignore[index]
    elif kind < 0.8:
        del at[key]  # type: ignore[arg-type]
    else:
        at[key] = [at[key]]  # type: ignore[index]
    return value


@pytest.mark.parametrize("recording", RECORDINGS)
def test_any_field_may_be_anything(tmp_path: Path, recording: str) -> None:
    chance = random.Random(7)
    for number, place in enumerate(places(RECORDINGS[recording])):
        file = tmp_path / f"{number}"
        file.write_text(json.dumps(changed(RECORDINGS[recording], place, chance)))
        readable = ReadableFile(file)
        for importer in IMPORTERS:
            found = importer.read(readable)
            if found is None:
                continue
            for each in found:
                assert isinstance(each, Session | Damage) or importer.name == "otlp"
                if isinstance(each, Session):
                    assert request_of(each, importer.name).SerializeToString()
            break


@pytest.mark.parametrize("recording", RECORDINGS)
def test_every_recording_is_recognized_as_it_is(tmp_path: Path, recording: str) -> None:
    file = tmp_path / "any"
    file.write_text(json.dumps(RECORDINGS[recording]))
    names = [importer.name for importer in IMPORTERS if importer.read(ReadableFile(file)) is not None]
    assert names[0] == recording.partition(" ")[0]
