"""The place of one child: its user, its directory, and its limits.

Without namespaces, each slot has a directory, which is emptied after each child. A process with the child's own identity
empties it, so no symbolic link, however it is swapped, can make it remove anything that the child could not remove itself.
"""

import os
from dataclasses import dataclass

from toolrack_runner.jail.identity import drop_identity
from toolrack_runner.jail.rlimits import PlannedLimits
from toolrack_runner.remove_contents import remove_contents


@dataclass(frozen=True)
class Workplace:
    """The user of a child, the directory that it may write to, and what it may use."""

    path: str
    uid: int
    gid: int
    limits: PlannedLimits


def name_workplace(path: str) -> None:
    """Has `tempfile`, and programs that ask for a home, write to this directory."""
    os.environ["HOME"] = os.environ["TMPDIR"] = path


def make_directory(base: str, slot: int, uid: int, gid: int) -> str:
    """The slot's empty directory, mode 0700, which belongs to the slot's user; made if it is not there.

    Does not make `base`: a runner that ends has removed it, and nothing may be left after that.
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
    """Starts a process that empties the slot's directory, and gives its pid. The caller does not wait for it here."""
    pid = os.fork()
    if pid == 0:
        try:
            if uid != os.geteuid():
                drop_identity(uid, gid)
            remove_contents(f"{base}/{slot}")
        finally:
            os._exit(0)
    return pid
