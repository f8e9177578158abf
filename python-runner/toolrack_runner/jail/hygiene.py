"""What every child does first, on any Linux and for any user: it is alone, dies with its zygote, and gains nothing.

The numbers are those of `linux/prctl.h`. Each function raises OSError where the kernel says no.
"""

import os
import signal
from contextlib import suppress
from typing import Final

from toolrack_runner.jail.linux import prctl

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_NO_NEW_PRIVS: Final = 38
#: Of every child from its birth: a third of the processor time of who has none, as the runner and the service.
NICENESS: Final = 5


def start_session() -> None:
    """Gives the child a session and a process group of its own, without a terminal."""
    os.setsid()


def come_after_the_runner() -> None:
    """Where processors are short, the runner and the service come first: each call waits for both, and each is one thread.

    Where the kernel weighs sessions, main sets the session's niceness: a child sees no file of /proc that could.
    """
    if os.getpriority(os.PRIO_PROCESS, 0) < NICENESS:
        # Main may have made it nicer at this moment, and only root could take that back.
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, NICENESS)


def die_with(zygote: int) -> None:
    """Has the kernel kill this process when the thread that forked it ends.

    `zygote` is what `os.getppid()` must say (0 in the first process of a PID namespace): if it has ended meanwhile,
    the child ends here. A change of uid or capabilities clears the wish, so it is made again after that.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != zygote:
        os._exit(1)


def hide_memory() -> None:
    """No core file, and `/proc/<pid>` belongs to root: no other process of this uid may attach or read it."""
    prctl(PR_SET_DUMPABLE, 0)


def forbid_new_privileges() -> None:
    """No set-uid bit and no file capability has an effect from here on. Landlock and seccomp ask for it."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def keep_files_private() -> None:
    """What the child creates is for its own uid."""
    os.umask(0o077)


def close_stdin(nothing: int) -> None:
    """Reading stdin tells the end at once. `nothing` is a descriptor of /dev/null."""
    os.dup2(nothing, 0)
