"""Work directories where there are no namespaces: made for a slot, and cleared after each child of it.

A tree that a tool wrote is removed by a process with the tool's own identity: no symbolic link, however it is swapped,
makes it remove anything that the tool could not have removed itself.
"""

import os

from toolrack_runner.jail.identity import drop_identity
from toolrack_runner.remove_contents import remove_contents


def make_directory(base: str, slot: int, uid: int, gid: int) -> str:
    """The slot's empty directory, mode 0700 and its own; made anew where there is none.

    Never with `base`: a runner that ends has removed that, and nothing may come after it.
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
    """Has a process remove what the directory holds, and tells its pid: the caller has others to look after."""
    pid = os.fork()
    if pid == 0:
        try:
            if uid != os.geteuid():
                drop_identity(uid, gid)
            remove_contents(f"{base}/{slot}")
        finally:
            os._exit(0)
    return pid
