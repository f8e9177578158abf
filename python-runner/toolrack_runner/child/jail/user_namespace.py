"""Starts the zygote of an ordinary user again, as a program that belongs to a user namespace of its own.

A child is not dumpable (`PR_SET_DUMPABLE` is 0). The kernel lets the server process read the `/proc` files of such a process
only if its memory belongs to a user namespace that the user of the server process has made. Memory belongs to the namespace
in which its program was started. So the zygote enters the namespace first and then starts again, and its children belong to
the namespace too. Without the namespace, the server process could see neither the files that a waiting child has written nor
how many mappings it has. Root may read the files of every process.

The module imports little, because it runs before the zygote's own start. The numbers come from `linux/sched.h`,
`linux/prctl.h` and `linux/capability.h`.
"""

import ctypes
import os
import sys
from typing import Final

CLONE_NEWUSER: Final = 0x1000_0000
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_RAISE: Final = 2
LINUX_CAPABILITY_VERSION_3: Final = 0x20080522
#: The highest possible number of capabilities.
CAPABILITIES: Final = 64
#: The argument that tells the zygote that it has been started again.
AGAIN: Final = "--in-own-user-namespace"


def start_again_in_own_user_namespace(root: str) -> None:
    """Replaces this program by the zygote in the folder `root`.

    Returns if root runs this program, if it has been started again already, or if the kernel refuses.
    """
    if os.geteuid() == 0 or AGAIN in sys.argv:
        return
    # A child process tries it first. A process could not leave its namespace again if a later step were refused.
    pid = os.fork()
    if pid == 0:
        os._exit(0 if _enter() else 1)
    if os.waitpid(pid, 0)[1] == 0 and _enter():
        os.execv(sys.executable, [sys.executable, "-I", "-S", root, "--zygote", AGAIN])  # noqa: S606 - itself


def _enter() -> bool:
    """Enters the namespace, and keeps its capabilities for the program that is started next. False if the kernel refuses."""
    libc = ctypes.CDLL(None)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWUSER) != 0:
        return False
    try:
        map_own_user(uid, gid)
    except OSError:
        return False
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    # The effective, permitted and inheritable sets: first the lower half of each, and then the upper half of each.
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0:
        return False
    sets[2], sets[5] = sets[1], sets[4]
    if libc.capset(header, sets) != 0:
        return False
    permitted = sets[1] | sets[4] << 32
    return all(
        libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0
        for capability in range(CAPABILITIES)
        if permitted >> capability & 1
    )


def map_own_user(uid: int, gid: int) -> None:
    """Maps only this user into the user namespace that this process has just made. Raises OSError."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
