"""A job, and then an end. Arguments: which end, and the agent."""

import importlib
import os
import signal
import sys

from shop import asked


def goodbye(number, frame):
    os.write(1, b"goodbye\n")  # print may be interrupted by this, and cannot be entered again
    sys.exit(3)


def main():
    how, program = sys.argv[1:]
    if how == "waits_with_handler":
        signal.signal(signal.SIGTERM, goodbye)
    print(importlib.import_module(program).work(*asked()), flush=True)
    match how:
        case "sys_exit":
            sys.exit(7)
        case "os_exit":
            os._exit(5)
        case "crash":
            raise RuntimeError("the agent fell over")
        case "waits" | "waits_with_handler":
            print("waiting", flush=True)
            signal.pause()


if __name__ == "__main__":
    main()
