"""Worlds that are containers: one a try, of the task's image, by docker or podman. Without an engine none is made.

The agent runs inside, on the network of this machine, since that is where it sends what it does. When it has ended its
folder is copied out, and judged like any other world. Hidden files never come near it.
"""

import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spanproof_evaluators.harness.journal import RunError
from spanproof_evaluators.harness.limits import Held
from spanproof_evaluators.harness.processes import Ended, Process, Shut
from spanproof_evaluators.harness.worlds import WorldError
from spanproof_evaluators.model.starts import ContainerStart
from spanproof_instrumentation.run import INJECTED

_ENGINES: Final = ("docker", "podman")
_SECONDS: Final = 300.0
_OF_THE_HOST: Final = ("HOME", "TMPDIR", "PATH", "PWD", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
"""Variables that mean a place of this machine: inside, the image's own stand."""

_DESK: Final = "/spanproof"


def find_engine() -> str | None:
    """Return the engine whose server answers, ``None`` where there is none."""
    for name in _ENGINES:
        if shutil.which(name) is None:
            continue
        try:
            done = subprocess.run([name, "info"], capture_output=True, timeout=20, check=False)
            told = subprocess.run(
                [name, "version", "--format", "{{.Server.Version}}"], capture_output=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and told.returncode == 0:
            return name
    return None


@dataclass(kw_only=True)
class Containers:
    """Makes containers with the engine that is there."""

    engine: str | None = None

    @classmethod
    def needed(cls, tasks: Sequence[str]) -> "Containers":
        """Return what makes containers for these tasks; nothing is asked of the system where there are none.

        Raises:
            RunError: there is no engine.
        """
        if not tasks:
            return cls()
        engine = find_engine()
        if engine is None:
            raise RunError(
                f"task {tasks[0]} begins in a container, and no engine answers here: neither 'docker info' nor "
                "'podman info' does. Start one, or leave these tasks out with --task"
            )
        return cls(engine=engine)

    def create(self, image: ContainerStart, trial_id: str) -> "RunningContainer":
        """Return a container that does not run yet: only its start state is there.

        Raises:
            WorldError: the image cannot be had.
        """
        assert self.engine is not None  # a run without one does not begin
        return RunningContainer(engine=self.engine, image=image, trial_id=trial_id)


@dataclass(kw_only=True)
class RunningContainer:
    """The container of one try."""

    engine: str
    image: ContainerStart
    trial_id: str
    identifier: str = ""
    _ended: bool = field(default=False)

    def run(
        self,
        command: Sequence[str],
        surroundings: Mapping[str, str],
        stdin: bytes,
        held: Held,
        abort: threading.Event,
        watch: Callable[[], str],
    ) -> Ended:
        """Run the agent in it to its end.

        Raises:
            WorldError: it cannot be made.
        """
        desk = held.places[-1]
        kept = {name: value for name, value in surroundings.items() if name not in _OF_THE_HOST}
        kept["PYTHONPATH"] = f"{_DESK}-code/spanproof_instrumentation/injected"
        for name, file in (("SPANPROOF_PROMPT_FILE", "prompt.txt"), ("SPANPROOF_ANSWER_FILE", "answer.txt")):
            kept[name] = f"{_DESK}/{file}"
        kept["SPANPROOF_WORLD"] = self.image.folder
        code = Path(INJECTED).parent
        argv = ["create", "--interactive", "--network", "host", "--workdir", self.image.folder, "--init"]
        argv += ["--pids-limit", str(held.processes), "--label", f"spanproof.trial={self.trial_id}"]
        argv += ["--volume", f"{desk}:{_DESK}", "--volume", f"{code}:{_DESK}-code/{code.name}:ro"]
        for name, value in kept.items():
            argv += ["--env", f"{name}={value}"]
        self.identifier = _engine(self.engine, *argv, self.image.image, *command).strip()
        attached = Process(
            command=[self.engine, "start", "--attach", "--interactive", self.identifier],
            environment=_own_environment(),
            own=desk,
            folder=desk,
            shut=Shut(namespace=False),
            held=Held(
                seconds=held.seconds, processes=1_000, disk_bytes=held.disk_bytes, output_bytes=held.output_bytes
            ),
            stdin=stdin,
            abort=abort,
            watch=watch,
        ).run()
        self._end()
        return attached

    def take(self, world: Path) -> None:
        """Copy what is in its folder into a world.

        Raises:
            WorldError: it cannot be copied.
        """
        _engine(self.engine, "cp", f"{self.identifier}:{self.image.folder}/.", str(world))

    def start_state(self, world: Path) -> None:
        """Copy its folder as the image has it.

        Raises:
            WorldError: it cannot be copied.
        """
        identifier = _engine(self.engine, "create", self.image.image, "true").strip()
        try:
            _engine(self.engine, "cp", f"{identifier}:{self.image.folder}/.", str(world))
        finally:
            subprocess.run([self.engine, "rm", "--force", identifier], capture_output=True, check=False)

    def remove(self) -> None:
        """Remove it, whatever it does."""
        if self.identifier:
            subprocess.run([self.engine, "rm", "--force", self.identifier], capture_output=True, check=False)

    def _end(self) -> None:
        """Stop it: a client that was killed leaves it running."""
        subprocess.run([self.engine, "kill", self.identifier], capture_output=True, check=False)


def _own_environment() -> dict[str, str]:
    import os

    kept = ("PATH", "HOME", "DOCKER_HOST", "XDG_RUNTIME_DIR", "DOCKER_CONFIG")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _engine(engine: str, *arguments: str) -> str:
    try:
        done = subprocess.run([engine, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorldError(f"{engine} {arguments[0]}: {error}") from error
    if done.returncode != 0:
        raise WorldError(f"{engine} {arguments[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout
