"""A run: every task of a suite as often as asked, each in a fresh world, until each attempt has a verdict."""

import json
import os
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from spanproof_evaluators.harness.agents import Agent, CommandAgent, HttpAgent, read_agent
from spanproof_evaluators.harness.attempts import Surroundings
from spanproof_evaluators.harness.collecting import Collecting
from spanproof_evaluators.harness.containers import Containers
from spanproof_evaluators.harness.intake import Intake
from spanproof_evaluators.harness.isolation import Isolation, Mode, namespaces_work
from spanproof_evaluators.harness.journal import Header, Journal, RunError
from spanproof_evaluators.harness.judging import Bench
from spanproof_evaluators.harness.options import Options, Progress, RunResult
from spanproof_evaluators.harness.tries import Tries
from spanproof_evaluators.harness.worlds import Builder, Starts
from spanproof_evaluators.model.suites import Suite, Task
from spanproof_evaluators.runner.python_suites import OpenSuite, open_suite
from spanproof_evaluators.verifiers import Verifier

FOLDER: Final = ".spanproof-runs"
STORE: Final = "chdb://.spanproof"

_PREFIX: Final = "spanproof-run-"

Say = Callable[[str], None]


def run_suite(
    suite: Suite | Path | str,
    agent: str | Callable[..., object] | Agent,
    *,
    options: Options | None = None,
    store: str | None = None,
    runs: Path = Path(FOLDER),
    resume: str | None = None,
    starts: Mapping[str, Builder] | None = None,
    verifiers: Mapping[str, Verifier] | None = None,
    told: Callable[[Progress], None] = lambda progress: None,
    say: Say = lambda text: None,
) -> RunResult:
    """Run a suite and return the report on it.

    Args:
        suite: the suite, or its file.
        agent: a command, ``module:function``, ``http://…``, or a function of a module.
        options: how.
        store: where trials go: ``SPANPROOF_STORE``, else ``chdb://.spanproof``. A server that holds it is used.
        runs: where the journal of each run is kept.
        resume: the id of a run that goes on: what has a verdict is not run again.
        starts: by task, functions that make up its start state, given the path of the world.
        verifiers: by task, verifiers in place of its checks.
        told: told of each try that ended.
        say: told of what concerns the run.

    Raises:
        AgentError: there is no such agent.
        RunError: the run cannot begin, or not go on.
        SuiteError: the file is no suite.
        WorldError: what the suite begins with is not there.
    """
    given = options or Options()
    address = store or os.environ.get("SPANPROOF_STORE") or STORE
    opened = OpenSuite(suite=suite) if isinstance(suite, Suite) else open_suite(Path(suite))
    found = opened.suite
    tasks = _chosen(found, given.tasks)
    boxed = [task.id for task in tasks if task.start is not None and task.start.image is not None]
    read = read_agent(agent, Path.cwd(), boxed=len(boxed) == len(tasks))
    containers = Containers.needed(boxed)
    if boxed and not isinstance(read, CommandAgent):
        raise RunError(f"task {boxed[0]} begins in a container, where only a command can be run: give one as the agent")
    builders = {**opened.starts, **(starts or {})}
    judges = {**opened.verifiers, **(verifiers or {})}
    for task in tasks:
        image = task.start.image if task.start is not None else None
        if image is not None:
            builders[task.id] = containers.create(image, "").start_state
    base = found.base or Path.cwd()
    mode = _mode(given.isolation, read)
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(_temporary())).resolve()
        own_starts = Starts(suite=found, base=base, folder=temporary / "starts", builders=builders)
        bench = Bench(suite=found, base=base, starts=own_starts, folder=temporary / "judged", verifiers=judges)
        bench.seal()
        if resume is not None:
            journal = Journal.reopen(runs / resume)
            _same(journal.header, found, given, read)
        else:
            run = secrets.token_hex(4)
            header = Header(
                run=run,
                suite=found.id,
                hash=found.hash,
                agent=read.written,
                variant=given.variant,
                labels=given.labels,
                attempts=given.attempts or 0,
                seed=given.seed,
                store=address,
            )
            journal = Journal.create((runs / run).absolute(), header)
        stack.enter_context(journal)
        _clear_away(journal.folder, temporary)
        collecting = stack.enter_context(Collecting(address, log=journal.folder / "collector.log", token=given.token))
        intake = stack.enter_context(Intake(collecting.url, collecting.headers))
        abort = threading.Event()
        around = Surroundings(
            suite=found,
            base=base,
            agent=read,
            run=journal.header.run,
            variant=given.variant,
            labels=given.labels,
            named=given.named,
            starts=own_starts,
            bench=bench,
            collecting=collecting,
            intake=intake,
            containers=containers,
            root=temporary / "tries",
            mode=mode,
            hidden=_hidden(temporary, bench, collecting, journal, given.keep, suite),
            abort=abort,
            keep=given.keep,
        )
        around.root.mkdir()
        whole = Tries(around=around, journal=journal, options=given, tasks=tasks, told=told, say=say)
        with _interruptible(abort, say):
            whole.close_abandoned()
            whole.all()
        return whole.result(interrupted=abort.is_set())


def last_run(runs: Path, suite: str, variant: str) -> str:
    """Return the run of a suite and variant that began last.

    Raises:
        RunError: there is none.
    """
    found: list[tuple[float, str]] = []
    for journal in runs.glob("*/journal.jsonl"):
        try:
            with journal.open(encoding="utf-8") as lines:
                header = json.loads(lines.readline())
            if header["suite"] == suite and header["variant"] == variant:
                found.append((journal.stat().st_mtime, journal.parent.name))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    if not found:
        raise RunError(f"there is no run of suite {suite} and variant {variant} in {runs} to go on with")
    return max(found)[1]


def _chosen(suite: Suite, names: Sequence[str]) -> tuple[Task, ...]:
    """Return the tasks that are run.

    Raises:
        RunError: the suite has no such task, or none at all.
    """
    unknown = [name for name in names if suite.task(name) is None]
    if unknown:
        known = ", ".join(task.id for task in suite.tasks[:20])
        raise RunError(f"suite {suite.id} has no task {unknown[0]!r}. It has {known}")
    found = tuple(task for task in suite.tasks if not names or task.id in names)
    if not found:
        raise RunError(f"suite {suite.id} has no task")
    return found


def _mode(asked: Isolation, agent: Agent) -> Mode:
    """Return how agents are shut in.

    Raises:
        RunError: they cannot be as it is asked.
    """
    if isinstance(agent, HttpAgent):
        return "service"
    if asked == "process":
        return "process"
    if namespaces_work():
        return "namespace"
    if asked == "namespace":
        raise RunError(
            "this system gives no namespaces to this user (user, mount and process namespaces are needed). Use "
            "--isolation process: hidden checks are then written only after the agent is dead"
        )
    return "process"


def _hidden(
    temporary: Path,
    bench: Bench,
    collecting: Collecting,
    journal: Journal,
    keep: Path | None,
    given: Suite | Path | str,
) -> tuple[str, ...]:
    """Return what agents do not see, earlier runs and their worlds too: a folder first."""
    found = [temporary, journal.folder.parent, *bench.secrets()]
    if collecting.folder is not None:
        found.append(collecting.folder)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        found.append(keep.absolute())
    if not isinstance(given, Suite):
        found.append(Path(given).absolute())
    return tuple(dict.fromkeys(str(path.resolve()) for path in found))


def _same(header: Header, suite: Suite, options: Options, agent: Agent) -> None:
    """Refuse to go on with another run than it was.

    Raises:
        RunError: it is another one.
    """
    pairs = (
        ("suite", header.suite, suite.id),
        ("the suite's hash", header.hash, suite.hash),
        ("agent", header.agent, agent.written),
        ("variant", header.variant, options.variant),
        ("labels", header.labels, options.labels),
        ("attempts", header.attempts, options.attempts or 0),
        ("seed", header.seed, options.seed),
    )
    for what, before, now in pairs:
        if before != now:
            raise RunError(
                f"run {header.run} cannot go on: {what} was {before!r} and is {now!r} now. Give what it was begun "
                "with, or begin a new run without --resume"
            )


def _clear_away(run: Path, temporary: Path) -> None:
    """Note the run's temporary folder, and remove the one of a runner that died."""
    note = run / "temporary.txt"
    if note.is_file():
        left = Path(note.read_text(encoding="utf-8"))
        if left.name.startswith(_PREFIX) and left != temporary:
            shutil.rmtree(left, ignore_errors=True)
    note.write_text(str(temporary), encoding="utf-8")


@contextmanager
def _temporary() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _interruptible(abort: threading.Event, say: Say) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the run in good order, where this is the main thread; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if abort.is_set():
            raise KeyboardInterrupt
        abort.set()
        say("stopping: agents are ended, and what has a verdict is kept. Once more ends at once")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
