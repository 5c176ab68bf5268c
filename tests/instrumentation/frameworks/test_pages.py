"""The pages on frameworks and languages: their blocks are run as they stand."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from spanproof_instrumentation import semconv
from tests.instrumentation.frameworks.agent_process import AT_ONCE, Agents, key_of, named, steps
from tests.instrumentation.frameworks.model_endpoint import AMOUNT, ANSWER

ROOT: Final = Path(__file__).parents[3]
PAGES: Final = tuple(sorted(path.stem for path in (ROOT / "docs/frameworks").glob("*.md")))
BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ORDER: Final = "ORD-7"


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of code in a page."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that its first line says it is."""
        found = re.match(r"(?:#|//) (\S+\.\w+)\n", self.text)
        return found[1] if found else None


def _blocks(page: Path) -> list[Block]:
    return [Block(language=language, text=text) for language, text in BLOCK.findall(page.read_text())]


def _shell(command: str, folder: Path, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.fixture(scope="module")
def done(
    agents: Agents, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], "subprocess.CompletedProcess[str]"]:
    """Both ways of every page, run side by side."""
    jobs = []
    for page in PAGES:
        folder = tmp_path_factory.mktemp(page)
        blocks = _blocks(ROOT / f"docs/frameworks/{page}.md")
        for block in blocks:
            if block.file:
                (folder / block.file).write_text(block.text)
        (zero,) = [block.text for block in blocks if block.text.startswith("spanproof run")]
        for way, command in (("zero", zero), ("one_line", "python one_line.py")):
            jobs.append(((page, way), command, folder, agents.environment(f"{page}/{way}", key=key_of(page))))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda job: _shell(*job[1:]), jobs)
        return dict(zip([job[0] for job in jobs], found, strict=True))


@pytest.mark.parametrize("way", ["zero", "one_line"])
@pytest.mark.parametrize("page", PAGES)
def test_the_agent_of_a_page_is_read_whole(
    page: str, way: str, agents: Agents, done: Mapping[tuple[str, str], "subprocess.CompletedProcess[str]"]
) -> None:
    run = done[page, way]
    assert (run.stdout, run.returncode) == (ANSWER.format(order=ORDER) + "\n", 0), run.stderr
    (trial,) = agents.trials(f"{page}/{way}")
    assert named(trial["tool_calls"]) == ["lookup_order", "issue_refund"]
    assert trial["tool_calls"][1]["arguments"] == {"order_id": ORDER, "amount_cents": AMOUNT}
    assert trial["tool_calls"][1]["result"] == {"order_id": ORDER, "refund_id": "RF-1", "amount_cents": AMOUNT}
    assert len(steps(trial, "model_call")) == 3
    assert (trial["claim"]["state"], trial["completeness"]["content"]) == ("success", "captured")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_installs_what_the_tests_run_on(page: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tried = {requirement.partition("==")[0] for requirement in extras["frameworks"]} | {"spanproof[all]"}
    installs = [block.text for block in _blocks(ROOT / f"docs/frameworks/{page}.md") if block.text.startswith("pip")]
    (line,) = installs
    wanted = line.removeprefix("pip install").replace('"', "").replace("\\\n", " ").split()
    assert set(wanted) <= tried
    versions = dict(requirement.split("==") for requirement in extras["frameworks"])
    text = (ROOT / f"docs/frameworks/{page}.md").read_text()
    for name in set(wanted) - {"spanproof[all]"}:
        assert f"{name.partition('[')[0]} {versions[name]}" in text


@pytest.fixture(scope="module")
def javascript(agents: Agents, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Agents]:
    """What the JavaScript page prints, with the packages that it names."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm and node are not installed")
    folder = tmp_path_factory.mktemp("javascript")
    blocks = _blocks(ROOT / "docs/languages/javascript.md")
    for block in blocks:
        if block.file:
            (folder / block.file).write_text(block.text)
    install, run = [block.text for block in blocks if block.language == "sh"]
    environment = agents.environment("javascript", key="OPENAI_API_KEY")
    installed = _shell(f"{install.strip()} --no-audit --no-fund --prefer-offline", folder, environment)
    if installed.returncode != 0:
        pytest.skip(f"npm cannot install: {installed.stderr.strip().splitlines()[-1:]}")
    done = _shell(run.replace("http://localhost:4318", agents.collector_address), folder, environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, agents


def test_an_agent_in_javascript_proves_what_it_did(javascript: tuple[str, Agents]) -> None:
    said, agents = javascript
    (trial,) = agents.trials("javascript")
    assert said == "Order ORD-7 has been refunded.\n"
    (call,) = trial["tool_calls"]
    assert (call["name"], call["call_id"]) == ("issue_refund", "call_1")
    assert (call["arguments"], call["result"]) == ({"order_id": "ORD-7"}, {"refund_id": "RF-1"})
    assert (call["effect"]["class"], call["effect"]["class_source"]) == ("write", "declared")
    assert (call["effect"]["state"], call["effect"]["destination"]) == ("verified", "shop-db")
    assert (trial["claim"]["state"], trial["claim"]["source"]) == ("success", "declared")
    assert (trial["joined_by"], trial["trial_id"], trial["task_id"]) == ("label", "T-7/0", "T-7")
    assert (trial["agent"]["name"], trial["usage"]["input_tokens"]) == ("refunds", 100)


@pytest.mark.parametrize("page", sorted((ROOT / "docs/languages").glob("*.md")), ids=lambda page: page.stem)
def test_a_language_page_uses_names_that_exist(page: Path) -> None:
    known = {value for value in vars(semconv).values() if isinstance(value, str)}
    used = set(re.findall(r"(?:spanproof|gen_ai)(?:\.[a-z_]+)+", page.read_text())) - {"spanproof.project"}
    assert used
    assert used <= known
