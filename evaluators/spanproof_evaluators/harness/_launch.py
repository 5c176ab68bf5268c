"""What starts an agent: it shuts it in, waits for it, and ends all that it leaves behind.

    python -I -S _launch.py '{"lifeline": 5, "status": 6, ...}' CMD ...

It stands between the runner and the agent. When the agent ends, or when the other side of ``lifeline`` closes (the
runner wants it dead, or is dead itself), everything that the agent started is killed, whatever session it made for
itself: on Linux this process adopts the orphans, and where namespaces are to be had, the kernel ends them with the
first process. ``status`` is told ``ready`` just before the agent takes over, or what went wrong, and at the end, in a
line of its own, how the agent ended: what an agent says by its exit code alone could be said by any signal.

Knows the standard library alone, since it is run by its path.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from typing import TypedDict

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


class Asked(TypedDict):
    """What the runner asks for."""

    lifeline: int
    status: int
    namespace: bool
    own: str
    folder: str
    hidden: list[str]
    file_bytes: int | None


def main() -> int:
    """Run the agent to its end, and return its exit code."""
    asked: Asked = json.loads(sys.argv[1])
    command = sys.argv[2:]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if asked["namespace"]:
            enter_namespaces()
    except OSError as error:
        return refuse(asked, f"isolation: {error}")
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os._exit(first(asked, command) if asked["namespace"] else become(asked, command))
    ended = wait(child, asked["lifeline"])
    end_descendants()
    if not asked["namespace"]:
        tell(asked, ended)
    return 0


def refuse(asked: Asked, problem: str) -> int:
    """Tell the runner why there is no agent."""
    os.write(asked["status"], problem.encode())
    return 1


def tell(asked: Asked, ended: int) -> None:
    """Tell the runner how the agent ended: its exit code, or minus the signal that ended it."""
    code = -os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else os.WEXITSTATUS(ended)
    os.write(asked["status"], f"\nended {code}".encode())


def prctl(option: int, value: int) -> None:
    """Ask the kernel for a favor that only Linux does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


def enter_namespaces() -> None:
    """Enter namespaces of our own: of users, which the others need, of mounts, and of processes.

    Raises:
        OSError: the kernel gives none.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0:
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def first(asked: Asked, command: list[str]) -> int:
    """Be the first process of the namespace: hide what is to be hidden, start the agent, take in orphans."""
    try:
        hide(asked)
    except OSError as error:
        return refuse(asked, f"isolation: {error}")
    agent = os.fork()
    if agent == 0:
        os._exit(become(asked, command))
    while True:
        pid, status = os.wait()
        if pid == agent:
            tell(asked, status)
            return 0


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount something.

    Raises:
        OSError: the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    given = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    if libc.mount(given[0], given[1], given[2], ctypes.c_ulong(flags), given[3]) != 0:
        raise OSError(ctypes.get_errno(), f"mount on {target}: {os.strerror(ctypes.get_errno())}")


def hide(asked: Asked) -> None:
    """Put empty folders and files over what the agent is not to see, and leave its own place visible.

    Raises:
        OSError: the kernel refuses.
    """
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    own = os.open(asked["own"], os.O_PATH | os.O_DIRECTORY)
    empty = None
    for path in asked["hidden"]:
        if os.path.isdir(path):
            mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0755")
            empty = empty or os.path.join(path, ".empty")
        elif os.path.exists(path):
            if empty is None:
                raise OSError(f"there is no folder to hide {path} with")
            if not os.path.exists(empty):
                open(empty, "w").close()
            mount(empty, path, None, MS_BIND)
    if empty is not None and os.path.exists(empty):
        os.unlink(empty)
    if not os.path.isdir(asked["own"]):
        os.makedirs(asked["own"])
        mount(f"/proc/self/fd/{own}", asked["own"], None, MS_BIND)
    os.close(own)
    os.chdir(asked["folder"])
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def become(asked: Asked, command: list[str]) -> int:
    """Become the agent; return only where that fails."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    if asked["file_bytes"] is not None:
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        limit = asked["file_bytes"] if most == resource.RLIM_INFINITY else min(asked["file_bytes"], most)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    os.close(asked["lifeline"])
    os.set_inheritable(asked["status"], False)
    os.write(asked["status"], b"ready")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(asked["status"], f" {command[0]} cannot be run: {error.strerror}".encode())
    return 127


def wait(child: int, lifeline: int) -> int:
    """Wait for the child, and return how it ended; when the lifeline is cut, kill it."""
    watched = select.poll()
    watched.register(lifeline, select.POLLIN | select.POLLHUP)
    try:
        descriptor = os.pidfd_open(child)
        watched.register(descriptor, select.POLLIN)
        pause: int | None = None
    except (AttributeError, OSError):
        pause = 20
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return status
        if any(one == lifeline for one, _ in watched.poll(pause)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            return status


def end_descendants() -> None:
    """Kill all that descends from this process until there is nothing left."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = descendants(os.getpid())
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if not found:
            return
        time.sleep(0.002)


def descendants(root: int) -> list[int]:
    """Return the processes that descend from one and live, where /proc tells."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] != b"Z":
                parents[int(name)] = int(fields[1])
    found = []
    for pid in parents:
        at, steps = pid, 0
        while at in parents and at != root and steps < 10_000:
            at, steps = parents[at], steps + 1
        if at == root and pid != root:
            found.append(pid)
    return found


if __name__ == "__main__":
    os._exit(main())
