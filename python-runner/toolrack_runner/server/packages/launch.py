"""Starts a program that ends with the runner, and may not write a larger file than it should.

Runs as a script, because code between fork and exec is not safe in a process with threads. The arguments are the pid of the
runner, the most bytes of a file, the most bytes of addresses, seconds of processor time and bytes of data (0: no limit), and
the command.
"""

import ctypes
import os
import resource
import signal
import sys

#: The number of PR_SET_PDEATHSIG in `prctl`.
_PDEATHSIG = 1
#: The niceness of the program. Calls have priority.
_NICENESS = 5


def main(
    parent: int, file_bytes: int, memory_bytes: int, cpu_seconds: int, data_bytes: int, *command: str
) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The runner has ended before the call above.
        os._exit(os.EX_UNAVAILABLE)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, file_bytes)
    if memory_bytes:
        _limit(resource.RLIMIT_AS, memory_bytes)
    if cpu_seconds:
        _limit(resource.RLIMIT_CPU, cpu_seconds)
    if data_bytes:
        _limit(resource.RLIMIT_DATA, data_bytes)
    # A write above the limit of a file must be an error, and not end the program without a word.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.umask(0o022)
    os.nice(_NICENESS)
    os.execv(command[0], command)  # noqa: S606 - there is no shell


def _limit(kind: int, value: int) -> None:
    _, most = resource.getrlimit(kind)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    parent, file_bytes, memory_bytes, cpu_seconds, data_bytes = map(int, sys.argv[1:6])
    main(parent, file_bytes, memory_bytes, cpu_seconds, data_bytes, *sys.argv[6:])
