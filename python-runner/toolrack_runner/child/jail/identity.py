"""Changes the user of a process, and removes its groups and capabilities. Finds folders that other users cannot enter.

The numbers are from `linux/prctl.h` and `linux/capability.h`.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from toolrack_runner.child.jail.linux import prctl, syscall

PR_CAPBSET_DROP: Final = 24
LINUX_CAPABILITY_VERSION_3: Final = 0x20080522

#: More than the highest number of a capability. A set of capabilities has 64 bits, and Linux 6.18 has 41 capabilities.
CAPABILITIES: Final = 64

#: `__user_cap_header_struct` of version 3 for this process, and two empty `__user_cap_data_struct`.
_header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
_nothing = (ctypes.c_uint32 * 6)()


def drop_identity(uid: int, gid: int) -> None:
    """Sets the real, effective and saved uid and gid, and removes all other groups. Needs CAP_SETUID and CAP_SETGID."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def drop_bounding_set() -> None:
    """Forbids the zygote and its later children to gain a capability by exec. Called once. Needs CAP_SETPCAP."""
    for capability in range(CAPABILITIES):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            # The kernel does not know this number, so there are no further capabilities.
            if error.errno == errno.EINVAL and capability:
                return
            raise


def drop_capabilities() -> None:
    """Empties the effective, permitted and inheritable sets of this process, and so the ambient set. Needs no privilege."""
    syscall("capset", ctypes.addressof(_header), ctypes.addressof(_nothing))


def closed_to_others(paths: Iterable[str]) -> str | None:
    """The first folder on the way to these paths that other users cannot enter. None if there is none.

    The user of a slot is not the user of the runner.
    """
    for path in paths:
        real = Path(os.path.realpath(path))
        for folder in (*reversed(real.parents), real):
            try:
                mode = folder.stat().st_mode
            except OSError:
                break  # The path does not exist, so nobody needs to read it.
            if stat.S_ISDIR(mode) and not mode & stat.S_IXOTH:
                return str(folder)
    return None
