"""Takes from a process who it was: its user, its groups, its capabilities.

The numbers are those of `linux/prctl.h` and `linux/capability.h`.
"""

import ctypes
import errno
import os
from typing import Final

from toolrack_runner.jail.linux import prctl, syscall

PR_CAPBSET_DROP: Final = 24
LINUX_CAPABILITY_VERSION_3: Final = 0x20080522

#: 64 bits hold every capability there can be; Linux 6.18 has 41.
CAPABILITIES: Final = 64

#: `__user_cap_header_struct` of version 3 for this process, and two empty `__user_cap_data_struct`.
_header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
_nothing = (ctypes.c_uint32 * 6)()
_header_address: Final = ctypes.addressof(_header)
_nothing_address: Final = ctypes.addressof(_nothing)


def drop_identity(uid: int, gid: int) -> None:
    """Becomes `uid` and `gid`, real, effective and saved, in no other group. Needs CAP_SETUID and CAP_SETGID."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def drop_bounding_set() -> None:
    """No process from here on can gain a capability by exec. Once, in the zygote; needs CAP_SETPCAP."""
    for capability in range(CAPABILITIES):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            # The first number that this kernel does not know.
            if error.errno == errno.EINVAL and capability:
                return
            raise


def drop_capabilities() -> None:
    """Empties the effective, permitted and inheritable sets of this process, and so the ambient one. Anyone may."""
    syscall("capset", _header_address, _nothing_address)
