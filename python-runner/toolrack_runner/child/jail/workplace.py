"""The workplace of one child: its user, its directory, and its limits.

Without namespaces, each slot has a directory. After each child, a process with the child's own identity empties this
directory. Even if a symbolic link changes meanwhile, this process can only remove files that the child could have removed
too.
"""

import os
from dataclasses import dataclass

from toolrack_runner.child.jail.identity import drop_identity
from toolrack_runner.child.jail.rlimits import PlannedLimits
from toolrack_runner.remove_contents import remove_contents

#: The cache folder of a home, by its path in the home.
CACHE = ".cache"


@dataclass(frozen=True)
class Workplace:
    """The user of a child, the directory that it may write to, and its limits."""

    path: str
    uid: int
    gid: int
    limits: PlannedLimits
    #: The name of the folder of the child's environment. Empty if it has none.
    environment: str = ""


def name_workplace(path: str) -> None:
    """Sets the environment variables that name the home, the temporary directory and the cache folder of this process."""
    os.environ["HOME"] = os.environ["TMPDIR"] = path
    os.environ["XDG_CACHE_HOME"] = f"{path}/{CACHE}"


def make_directory(base: str, slot: int, uid: int, gid: int) -> str:
    """Makes the directory of a slot if there is none, and returns its path. It has the mode 0700, and belongs to `uid`.

    Does not make `base`. A runner that ends removes `base`, and nothing may be left after that.
    """
    path = f"{base}/{slot}"
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return path
    if uid != os.geteuid():
        os.chown(path, uid, gid)
    return path


def start_emptying(base: str, slot: int, uid: int, gid: int) -> int:
    """Starts a process that empties the slot's directory, and returns its pid without waiting for it."""
    pid = os.fork()
    if pid == 0:
        try:
            if uid != os.geteuid():
                drop_identity(uid, gid)
            remove_contents(f"{base}/{slot}")
        finally:
            os._exit(0)
    return pid
