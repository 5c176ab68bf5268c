"""One try at a task: a fresh world, the agent in it, its end, and the word on what it left behind."""

import hashlib
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.harness import _call
from spanproof_evaluators.harness.agents import Agent, CommandAgent, FunctionAgent, HttpAgent
from spanproof_evaluators.harness.changing import Changes
from spanproof_evaluators.harness.collecting import Collecting, StoreGoneError
from spanproof_evaluators.harness.containers import Containers, RunningContainer
from spanproof_evaluators.harness.intake import Address, Intake
from spanproof_evaluators.harness.isolation import LABEL, InForce, Mode
from spanproof_evaluators.harness.judging import Bench, tampering_of
from spanproof_evaluators.harness.limits import Held
from spanproof_evaluators.harness.processes import Ended, Process, Shut
from spanproof_evaluators.harness.services import ask_service
from spanproof_evaluators.harness.surroundings import Own, environment, recorded
from spanproof_evaluators.harness.telling import Reason, Telling
from spanproof_evaluators.harness.worlds import Starts, WorldError
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.starts import ScriptedUser
from spanproof_evaluators.model.suites import Suite, Task
from spanproof_evaluators.rules.budgets import Budgets
from spanproof_evaluators.runner.judging import RUN_LABEL
from spanproof_evaluators.runner.outcome_sources import nothing_asked
from spanproof_instrumentation import semconv

_RECOUNT_SECONDS: Final = 0.2
SETTLE_SECONDS = 6.0
"""How long what a service records may take to come, after its answer: longer than exporters wait between batches."""

_FROM_OUTSIDE: Final = (-9, -15)
"""Signals that an agent gets from others: out of memory, an operator."""


class BrokenError(Exception):
    """The infrastructure broke: there is no verdict, and it is nobody's failure but ours."""


class InterruptedRunError(Exception):
    """Whoever runs the suite stopped it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What became of a try that came to an end."""

    outcome: Outcome
    ended: Reason
    why: str
    seconds: float


@dataclass(kw_only=True)
class Surroundings:
    """What all tries of a run share."""

    suite: Suite
    base: Path
    agent: Agent
    run: str
    variant: str
    labels: dict[str, str]
    named: Sequence[str]
    """Variables of ours that agents are given."""

    starts: Starts
    bench: Bench
    collecting: Collecting
    intake: Intake
    containers: Containers
    root: Path
    """The folder of all tries."""

    mode: Mode
    hidden: tuple[str, ...]
    abort: threading.Event
    keep: Path | None = None
    """Where worlds are kept after they were judged."""


@dataclass(kw_only=True)
class Try:
    """One try, to be made once."""

    around: Surroundings
    task: Task
    attempt: int
    trial_id: str
    seed: int
    own: Own = field(init=False)
    labels: dict[str, str | int] = field(init=False)
    telling: Telling = field(init=False)
    mode: Mode = field(init=False)
    address: Address | None = None
    counted: float = 0.0
    container: RunningContainer | None = None

    def __post_init__(self) -> None:
        around = self.around
        image = self.task.start.image if self.task.start is not None else None
        self.mode = "container" if image else "service" if isinstance(around.agent, HttpAgent) else around.mode
        self.own = Own(holder=around.root / hashlib.sha256(self.trial_id.encode()).hexdigest()[:16])
        self.labels = {
            semconv.SUITE: around.suite.id,
            semconv.TASK_ID: self.task.id,
            semconv.TRIAL_ID: self.trial_id,
            semconv.ATTEMPT: self.attempt,
            semconv.VARIANT: around.variant,
            f"{semconv.LABEL_PREFIX}{RUN_LABEL}": around.run,
            f"{semconv.LABEL_PREFIX}{LABEL}": self.mode,
            **{f"{semconv.LABEL_PREFIX}{key}": value for key, value in around.labels.items()},
        }
        self.telling = Telling(labels=self.labels)

    def make(self) -> Tried:
        """Make it, and return the word on it.

        Raises:
            BrokenError: the infrastructure broke. The trial is told to be such, where anybody takes that.
            InterruptedRunError: the run was stopped.
        """
        started = time.monotonic()
        try:
            return self._made(started)
        except (WorldError, StoreGoneError, OSError) as error:
            self.close(str(error))
            raise BrokenError(str(error)) from error
        except BrokenError as error:
            self.close(str(error))
            raise
        except InterruptedRunError:
            self.close("the run was stopped")
            raise
        finally:
            if self.address is not None:
                self.around.intake.close(self.address)
            if self.container is not None:
                self.container.remove()
            if self.around.keep is not None and self.own.world.is_dir():
                kept = self.around.keep / self.trial_id.replace("/", "_")
                shutil.copytree(self.own.world, kept, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(self.own.holder, ignore_errors=True)

    def close(self, why: str) -> None:
        """Tell that the infrastructure broke this trial, so that nobody takes it for the agent's failure."""
        self.around.intake.send(
            "traces",
            self.telling.request(
                self.telling.root(prompt=self.task.prompt, agent=None, answer=None, failed=""),
                self.telling.ended("infrastructure", why),
            ),
        )

    def _made(self, started: float) -> Tried:
        around, task = self.around, self.task
        self.own.make(task.prompt)
        image = task.start.image if task.start is not None else None
        if image is not None:
            self.container = around.containers.create(image, self.trial_id)
        else:
            around.starts.copy(task, self.own.world)
        changes = self._changes()
        self.address = around.intake.open(self.labels, called=changes.called)
        ended, said = self._run(changes, self.address)
        around.intake.close(self.address)
        if self.container is not None:
            self.container.take(self.own.world)
        self._check(ended, changes, self.address)
        known = around.collecting.read(self.trial_id)
        understood = known is not None and known.understood
        recorded_answer = known.final_answer if known is not None else None
        answer = said if said is not None else recorded_answer
        if answer is None and not understood:
            answer = ended.out.decode("utf-8", "replace").strip() or None
        reason, why = self._reason(ended, known)
        judged = around.bench.judge(task, self.own.world, answer=answer, values=self._values())
        outcome = judged.outcome
        if outcome.state == "unavailable" and reason == "completed" and not nothing_asked(outcome):
            reason, why = "infrastructure", f"the verifier could not judge: {outcome.reason}"
        failed = self._failed(ended, reason)
        name = None if understood and not failed and said is None else self._agent_name()
        told = [
            self.telling.end_state("before", judged.before, self.telling.began),
            *(
                self.telling.change(
                    made.name, made.change.by, made.at, {"ordered": made.ordered, "tool_calls": made.tool_calls}
                )
                for made in changes.made
            ),
            self.telling.root(
                prompt=task.prompt,
                agent=name,
                answer=answer if said is not None or not understood else None,
                failed=failed,
            ),
            self.telling.end_state("after", judged.after),
            self.telling.ended(reason, why),
        ]
        status, said_ = around.intake.send("traces", self.telling.request(*told))
        if status != 200:
            raise BrokenError(f"the collector answered {status or 'nothing'}: {said_.decode('utf-8', 'replace')[:200]}")
        outcome = self._with_details(outcome, ended, changes, why)
        return Tried(outcome=outcome, ended=reason, why=why, seconds=time.monotonic() - started)

    def _run(self, changes: Changes, address: Address) -> tuple[Ended, str | None]:
        """Let the agent work, and its user beside it; return how it ended and what it said."""
        around, task = self.around, self.task
        stop = threading.Event()
        beside: list[threading.Thread] = []
        user_address: Address | None = None
        if task.user is not None:
            user_address = around.intake.open(self.labels, by_user=True)
            beside.append(threading.Thread(target=self._play_user, args=(task.user, user_address, stop), daemon=True))
        for one in beside:
            one.start()
        try:
            watch = self._watch(changes, address)
            if isinstance(around.agent, HttpAgent):
                return self._ask(around.agent, address, watch)
            ended = self._work(around.agent, address, watch, gate=bool(task.changes))
        finally:
            stop.set()
            for one in beside:
                one.join()
            if user_address is not None:
                around.intake.close(user_address)
                if user_address.broken:
                    address.broken = user_address.broken
        return ended, self._written_answer()

    def _ask(self, agent: HttpAgent, address: Address, watch: "_Watch") -> tuple[Ended, str | None]:
        """Ask a service, and wait for the spans that it sends afterwards."""
        around = self.around
        given: dict[str, Plain] = {
            "prompt": self.task.prompt,
            "task": self.task.id,
            "suite": around.suite.id,
            "trial": self.trial_id,
            "attempt": self.attempt,
            "variant": around.variant,
            "seed": self.seed,
            "world": str(self.own.world),
            "otlp_endpoint": around.intake.url(address),
        }
        held = Held.of(self.task.limits, (self.own.world,))
        ended, answer = ask_service(
            agent.url,
            given,
            traceparent=self.telling.traceparent,
            labels=self.labels,
            seconds=held.seconds,
            words=held.seconds_words,
            abort=around.abort,
            watch=watch,
        )
        if ended.code == 0:
            self._settle(address)
        return ended, answer

    def _settle(self, address: Address) -> None:
        """Wait until what a service recorded is there, but not for long: some record nothing."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline and not self.around.abort.is_set():
            address.came.clear()
            found = self.around.collecting.read(self.trial_id)
            if found is not None and found.understood and found.status != "incomplete":
                return
            address.came.wait(0.3)

    def _work(self, agent: CommandAgent | FunctionAgent, address: Address, watch: "_Watch", *, gate: bool) -> Ended:
        prompt = self.task.prompt
        if isinstance(agent, CommandAgent):
            argv, stdin = agent.argv(prompt), b"" if agent.by_argument else prompt.encode("utf-8")
        else:
            argv, stdin = [sys.executable, str(Path(_call.__file__)), str(agent.folder), agent.function], b""
        surroundings = self._environment(address, gate=gate)
        command, surroundings = recorded(argv, surroundings, self.labels)
        if self.container is not None:
            return self.container.run(command, surroundings, stdin, self._held(), self.around.abort, watch)
        return self._process(command, surroundings, stdin=stdin, watch=watch).run()

    def _play_user(self, user: ScriptedUser, address: Address, stop: threading.Event) -> None:
        """Run the user's process until the agent has ended."""
        command = ["/bin/sh", "-c", user.run] if isinstance(user.run, str) else list(user.run)
        command = [str(self.around.base / word) if (self.around.base / word).is_file() else word for word in command]
        ended = self._process(command, self._environment(address, gate=False, role="user"), stop=stop).run()
        if ended.code not in (0, None) and not stop.is_set():
            said = ended.err.decode("utf-8", "replace").strip()[-200:]
            address.broken = f"the scripted user ended with {ended.code}: {said}"
        elif ended.problem and not stop.is_set():
            address.broken = f"the scripted user: {ended.problem}"

    def _process(
        self,
        command: list[str],
        surroundings: dict[str, str],
        *,
        stdin: bytes = b"",
        stop: threading.Event | None = None,
        watch: "_Watch | None" = None,
    ) -> Process:
        around = self.around
        namespace = around.mode == "namespace"
        return Process(
            command=command,
            environment=surroundings,
            own=self.own.holder,
            folder=self.own.world,
            shut=Shut(namespace=namespace, hidden=around.hidden if namespace else ()),
            held=self._held(),
            stdin=stdin,
            stop=stop or threading.Event(),
            abort=around.abort,
            watch=watch or (lambda: ""),
        )

    def _held(self) -> Held:
        return Held.of(self.task.limits, (self.own.world, self.own.home, self.own.temporary, self.own.desk))

    def _environment(self, address: Address, *, gate: bool, role: str = "agent") -> dict[str, str]:
        found = environment(
            self.own,
            prompt=self.task.prompt,
            labels=self.labels,
            endpoint=self.around.intake.url(address),
            traceparent=self.telling.traceparent,
            seed=self.seed,
            named=self.around.named,
            gate=gate,
        )
        return found | {"SPANPROOF_ROLE": role}

    def _changes(self) -> Changes:
        start = self.task.start

        def run(command: list[str]) -> Ended:
            kept = environment(
                self.own,
                prompt="",
                labels={},
                endpoint="http://127.0.0.1:9",
                traceparent="",
                seed=self.seed,
                named=(),
                gate=False,
            )
            plain = {
                name: value for name, value in kept.items() if not name.startswith(("OTEL_", "SPANPROOF_", "PYTHON"))
            }
            return self._process(command, plain).run()

        return Changes(
            changes=self.task.changes,
            world=self.own.world,
            base=self.around.base,
            database=Path(start.sqlite).name if start is not None and start.sqlite is not None else None,
            run=run,
        )

    def _watch(self, changes: Changes, address: Address) -> "_Watch":
        return _Watch(self, changes, address)

    def _written_answer(self) -> str | None:
        file = self.own.answer
        if file.is_symlink() or not file.is_file():
            return None
        try:
            text = file.read_bytes()[:1_000_000].decode("utf-8", "replace").strip()
        except OSError:
            return None
        return text or None

    def _check(self, ended: Ended, changes: Changes, address: Address) -> None:
        """Refuse to judge where something else than the agent broke.

        Raises:
            BrokenError: something did.
            InterruptedRunError: the run was stopped.
        """
        if ended.interrupted or self.around.abort.is_set():
            raise InterruptedRunError
        if address.broken:
            raise BrokenError(address.broken)
        if changes.broken:
            raise BrokenError(changes.broken)
        if ended.problem:
            raise BrokenError(ended.problem)
        if ended.code in _FROM_OUTSIDE and not ended.exhausted:
            raise BrokenError(f"somebody killed the agent (signal {-ended.code})")

    def _reason(self, ended: Ended, known: Trial | None) -> tuple[Reason, str]:
        """Return how the run ended: by itself, or at a limit."""
        if ended.exhausted:
            return "budget_exhausted", ended.exhausted
        over = Budgets().evaluate(known, self.task) if known is not None and known.understood else None
        if over is not None and over.state == "fail":
            return "budget_exhausted", over.explanation
        return "completed", ""

    def _failed(self, ended: Ended, reason: Reason) -> str:
        """Return why the agent's process failed; empty where it did not."""
        if reason == "budget_exhausted" or not ended.code:
            return ""
        return f"signal_{-ended.code}" if ended.code < 0 else f"exit_code_{ended.code}"

    def _agent_name(self) -> str:
        agent = self.around.agent
        if isinstance(agent, CommandAgent):
            return Path(agent.command[0]).name
        return agent.written

    def _values(self) -> dict[str, str]:
        """Return what stands for the placeholders of checks."""
        found = {
            "trial_id": self.trial_id,
            "task_id": self.task.id,
            "suite": self.around.suite.id,
            "variant": self.around.variant,
            "attempt": str(self.attempt),
        }
        prefix = semconv.LABEL_PREFIX
        more = {f"label.{key.removeprefix(prefix)}": str(value) for key, value in self.labels.items() if prefix in key}
        return found | more

    def _with_details(self, outcome: Outcome, ended: Ended, changes: Changes, why: str) -> Outcome:
        """Return the outcome with what else is known of the try."""
        told: dict[str, Plain] = {
            "isolation": InForce(mode=self.mode).told(),
            "seed": self.seed,
            "exit_code": ended.code,
            "seconds": round(ended.seconds, 3),
            "tampering": tampering_of(outcome),
        }
        if why:
            told["ended"] = why
        if self.task.changes:
            told["changes"] = [
                {"name": made.name, "by": made.change.by, "ordered": made.ordered, "tool_calls": made.tool_calls}
                for made in changes.made
            ]
            told["changes_left"] = len(changes.left)
        if outcome.state == "unavailable":
            return replace(outcome, reason=outcome.reason or "the verifier could not judge", details=told)
        return replace(outcome, details=told)


class _Watch:
    """Looks at a running agent: makes changes that are due, and counts what it spent as its spans come."""

    def __init__(self, tried: Try, changes: Changes, address: Address) -> None:
        self._tried, self._changes, self._address = tried, changes, address
        limits = tried.task.limits
        spent = (limits.max_steps, limits.max_tool_calls, limits.max_tokens, limits.max_cost_usd, limits.max_turns)
        self._counts = any(one is not None for one in spent)
        self._follows_calls = any(change.after.tool_calls is not None for change in changes.changes)
        self._last = 0.0

    def __call__(self) -> str:
        """Return the limit that was passed, in words; empty where none was."""
        calls = 0
        over = ""
        now = time.monotonic()
        due = self._address.came.is_set() and now - self._last >= _RECOUNT_SECONDS
        if due and (self._counts or self._follows_calls):
            self._address.came.clear()
            self._last = now
            try:
                known = self._tried.around.collecting.read(self._tried.trial_id)
            except StoreGoneError:
                known = None
            if known is not None:
                calls = sum(call.executed != "no" for call in known.tool_calls)
                found = Budgets().evaluate(known, self._tried.task)
                over = found.explanation if found is not None and found.state == "fail" else ""
        self._changes.look(calls)
        return over
