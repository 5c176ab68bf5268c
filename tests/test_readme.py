"""What the README names is there: commands, options, files."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from spanproof_evaluators.cli.group import COMMANDS, cli
from tests.collector_process import collecting

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCED = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
NAMED = re.findall(
    r"spanproof ([a-z]+(?:-[a-z]+)*)((?: [^\n`]*)?)",
    "\n".join([*(t for _, t in FENCED), *re.findall(r"`([^`\n]+)`", README)]),
)
"""Every command that is written as one, with what follows it."""


def test_every_command_of_the_command_line_is_in_the_readme_and_no_other() -> None:
    assert {name for name, _ in NAMED} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_that_the_readme_gives_a_command_exists(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    below = command.commands.values() if isinstance(command, click.Group) else ()
    known = {option for one in (command, *below) for parameter in one.params for option in parameter.opts}
    known |= {"--", "--help"}
    for named, rest in NAMED:
        if named == name and name != "run":  # what follows run is for the agent side to read
            given = re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest.split("#")[0])
            assert set(given) <= known, rest


def test_the_first_two_blocks_are_the_two_commands() -> None:
    shells = [text for language, text in FENCED if language == "sh"]
    assert shells[0].startswith("python3 -m venv .venv && ")
    assert shells[0].endswith(".venv/bin/spanproof demo\n")
    assert shells[1].endswith(".venv/bin/python check.py\n")
    assert all(text.count("\n") == 1 for text in shells[:2])


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_every_page_of_the_docs_is_linked_from_the_readme() -> None:
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "frameworks").glob("*.md")]:
        assert f"]({page.relative_to(ROOT).as_posix()})" in README, page.name


@pytest.mark.parametrize("folder", ["dialects", "formats", "languages"])
def test_every_page_of_a_folder_is_linked_from_its_index_and_the_index_from_the_readme(folder: str) -> None:
    assert f"](docs/{folder}/README.md)" in README
    index = (ROOT / "docs" / folder / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs" / folder).glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name


def test_every_file_that_a_page_links_to_exists() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for link in re.findall(
            r"\]\(([^)#:]+)\)", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        ):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_decisions_are_numbered_in_order() -> None:
    numbers = re.findall(r"^\*\*(\d+)\. ", (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))


def test_the_agent_of_the_readme_leaves_a_trial_as_described(tmp_path: Path) -> None:
    (agent,) = [text for language, text in FENCED if language == "python"]
    (tmp_path / "agent.py").write_text(agent, encoding="utf-8")
    with collecting(tmp_path / "store") as collector:
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.addresses.http}
        subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, env=environment, check=True, timeout=60)
        result = CliRunner().invoke(cli, ["trials", "--json", "--store", collector.store])
    trial = json.loads(result.output)
    (call,) = trial["tool_calls"]
    assert (trial["trial_id"], trial["claim"]["state"], trial["outcome"]["state"]) == ("t-1", "success", "unavailable")
    assert (call["name"], call["effect"]["state"], call["effect"]["destination"]) == ("refund", "reported", "billing")
