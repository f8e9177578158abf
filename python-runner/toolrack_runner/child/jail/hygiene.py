"""The part of the jail that works on any Linux and for any user: own session, no inherited files, no new privileges.

The numbers are from `linux/prctl.h`. Each function raises OSError if the kernel refuses.
"""

import errno
import os
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Final

from toolrack_runner.child.jail.linux import ON_LINUX, prctl, syscall
from toolrack_runner.child_bounds import NICENESS

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_NO_NEW_PRIVS: Final = 38
#: The highest possible descriptor: `close_range` takes an unsigned int as the end of a range.
LAST: Final = 2**32 - 1


def separate_from_zygote() -> None:
    """Gives the child its own session and process group without a terminal, and an empty stdin. Makes its files private."""
    os.setsid()
    # Each child opens /dev/null itself, because processes with the same open file share its flags and its position.
    os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
    os.umask(0o077)


def come_after_the_runner() -> None:
    """Lets the runner and the service run before this child when all processors are busy.

    Every call waits for the runner and the service, and each of them has only one thread. If the kernel divides processor
    time between sessions, the server process sets the niceness of the child's session. It does so through a file in /proc,
    which the child cannot see.
    """
    if os.getpriority(os.PRIO_PROCESS, 0) < NICENESS:
        # Between `getpriority` and `setpriority`, the server process may set a higher niceness, which only root may lower
        # again.
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, NICENESS)


def die_with(zygote: int) -> None:
    """Makes the kernel kill this process when the thread that forked it ends.

    `zygote` is the value that `os.getppid()` must return (0 in the first process of a PID namespace). If the zygote has
    ended already, the child ends here. The kernel clears this setting when the uid or the capabilities change, so call it
    after such a change.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != zygote:
        os._exit(1)


def hide_memory() -> None:
    """Forbids core files, and makes root the owner of `/proc/<pid>`.

    So no process of this uid may attach to this process or read its memory.
    """
    prctl(PR_SET_DUMPABLE, 0)


def forbid_new_privileges() -> None:
    """From now on, set-uid bits and file capabilities have no effect for this process. Landlock and seccomp require this."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def close_all_except(kept: Collection[int]) -> None:
    """Closes every descriptor of this process that is not in `kept`."""
    try:
        for first, last in gaps(kept):
            syscall("close_range", first, last)
    except OSError as error:
        # Linux before 5.9, older gVisor and other systems have no `close_range`.
        if error.errno != errno.ENOSYS:
            raise
        _close_one_by_one(kept)


def gaps(kept: Collection[int]) -> Iterator[tuple[int, int]]:
    """The ranges of descriptors that are not in `kept`: for each, the first and the last descriptor."""
    first = 0
    for descriptor in sorted(set(kept)):
        if descriptor > first:
            yield first, descriptor - 1
        first = descriptor + 1
    yield first, LAST


def _close_one_by_one(kept: Collection[int]) -> None:
    for name in os.listdir("/proc/self/fd" if ON_LINUX else "/dev/fd"):
        if int(name) not in kept:
            os.closerange(int(name), int(name) + 1)
