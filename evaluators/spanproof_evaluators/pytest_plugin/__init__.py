"""The pytest plugin: trials of agents as tests, and a policy over all of them (docs/pytest.md).

pytest loads this at every start, in every project that has spanproof installed. So nothing but pytest and the standard
library is imported here: the rest comes with the first test that asks for the fixture, or with ``--spanproof-policy``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from spanproof_evaluators.pytest_plugin.deciding import Decided
    from spanproof_evaluators.pytest_plugin.recording import Spanproof
    from spanproof_evaluators.pytest_plugin.session import Session

FIXTURE: Final = "spanproof"
_FOLDER: Final = "spanproof_folder"
"""What a worker of pytest-xdist is told: where the controller keeps what the session shares."""

_SESSION: "Final[pytest.StashKey[Session]]" = pytest.StashKey()
_DECIDED: "Final[pytest.StashKey[Decided]]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("spanproof", "trials of agents")
    group.addoption(
        "--spanproof-policy",
        metavar="NAME|FILE",
        help="a policy that decides over all trials of the session: fail and inconclusive make the exit status 1",
    )
    group.addoption(
        "--spanproof-baseline",
        metavar="NAME|VARIANT",
        help="what the policy compares with: a saved baseline, a variant",
    )
    group.addoption("--spanproof-store", metavar="FOLDER", help="keep the store of the trials here")
    group.addoption("--spanproof-suite", metavar="FILE", help="the suite that defines tasks and their checks")
    group.addoption(
        "--spanproof-verifiers", metavar="FILE", action="append", default=[], help="a verifier file; repeatable"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the policy at once where one is asked for: a misspelled one must not be found after the last test.

    Raises:
        pytest.UsageError: it cannot be read.
    """
    if config.getoption("--spanproof-policy") and not _is_worker(config):
        from spanproof_evaluators.pytest_plugin.deciding import policy_of

        policy_of(config)


@pytest.fixture
def spanproof(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> "Iterator[Spanproof]":
    """Trials of an agent, recorded by a collector of this session and judged when they are over."""
    try:
        from spanproof_evaluators.pytest_plugin.recording import Spanproof
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("spanproof_"):
            raise
        from spanproof_instrumentation.errors import MissingExtraError

        raise MissingExtraError("the fixture spanproof", "pytest") from error
    from spanproof_evaluators.pytest_plugin.session import set_environment

    session = _session(request.config)
    where = session.collector()
    set_environment(monkeypatch, where)
    recording = Spanproof(session, where, test=request.node.name)
    yield recording
    recording.judge_what_is_left()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a worker of pytest-xdist where the session's collector will be told; nothing starts yet."""
    config: pytest.Config = node.config  # type: ignore[attr-defined]
    node.workerinput[_FOLDER] = str(_session(config).folder())  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """In a worker: say that a test asks for the fixture, before the controller is told what was collected."""
    if _is_worker(session.config) and any(FIXTURE in getattr(item, "fixturenames", ()) for item in session.items):
        _session(session.config).need()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: object) -> None:
    """In the controller: start the collector before the first test, where one asks for it."""
    session = _session(node.config)  # type: ignore[attr-defined]
    if session.needed():
        session.collector()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let the policy decide over all trials, where one is given and the tests ran to their end."""
    config = session.config
    if _is_worker(config) or not config.getoption("--spanproof-policy") or config.getoption("--collect-only"):
        return
    from spanproof_evaluators.pytest_plugin.deciding import decide

    decided = decide(config, config.stash.get(_SESSION, None), exitstatus)
    config.stash[_DECIDED] = decided
    if decided.decision != "pass" and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the policy decided and why, and where the store is kept."""
    decided = config.stash.get(_DECIDED, None)
    session = config.stash.get(_SESSION, None)
    kept = session.kept() if session is not None else None
    if decided is None and kept is None:
        return
    terminalreporter.section("spanproof")
    if decided is not None:
        writer = config.get_terminal_writer()
        for line in decided.lines(width=writer.fullwidth, color=writer.hasmarkup):
            terminalreporter.write_line(line)
    if kept is not None:
        terminalreporter.write_line(f"the trials are kept: spanproof trials --store {kept}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the collector; forget the trials unless they are to be kept."""
    session = config.stash.get(_SESSION, None)
    if session is not None:
        session.close()


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _session(config: pytest.Config) -> "Session":
    """Return what the session shares, made with the first call."""
    if _SESSION not in config.stash:
        from spanproof_evaluators.pytest_plugin.session import Session

        given = getattr(config, "workerinput", {}).get(_FOLDER)
        config.stash[_SESSION] = Session(config, shared=Path(given) if given else None)
    return config.stash[_SESSION]
