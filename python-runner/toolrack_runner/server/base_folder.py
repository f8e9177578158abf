"""The folder that contains the work directories of all children. It is made only if namespaces are not available.

A runner that is killed leaves its folder behind, and the next runner removes it.
"""

import os
import re
from contextlib import suppress

from toolrack_runner.remove_contents import remove_contents

#: The most bytes in the path of the parent folder. The path of a unix socket has at most 107 bytes, and the names below the
#: parent need 64 of them.
PARENT_BYTES_MAX = 40


def parent_folder(wanted: str | None) -> str:
    """The folder `wanted` (TMPDIR), or /tmp if paths of sockets in `wanted` would be too long."""
    if wanted and len(os.fsencode(wanted)) <= PARENT_BYTES_MAX:
        return wanted
    return "/tmp"  # noqa: S108 - the name of the folder in it cannot be guessed


PARENT = parent_folder(os.environ.get("TMPDIR"))
ATTEMPTS = 5
_NAME = re.compile(r"toolrack-runner-(\d+)-[0-9a-f]{16}(?:-canaries)?")


def choose_base() -> str:
    """A new path, with the pid of this process in its name."""
    return f"{PARENT}/toolrack-runner-{os.getpid()}-{os.urandom(8).hex()}"


def remove_base(path: str) -> None:
    """Removes the folder and its contents, if it exists. All children must have ended."""
    # `remove_contents` changes the current folder. A descriptor leads back, even to a folder that has been removed.
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Several attempts, because a zygote that still runs may make a directory during the removal.
        for _ in range(ATTEMPTS):
            with suppress(OSError):
                remove_contents(path)
            os.fchdir(here)
            with suppress(OSError):
                os.rmdir(path)
            if not os.path.exists(path):
                return
    finally:
        os.close(here)


def sweep_bases() -> None:
    """Removes the folders of this user's runners that do not run any more, for example because they were killed."""
    with os.scandir(PARENT) as entries:
        for entry in list(entries):
            found = _NAME.fullmatch(entry.name)
            is_left_behind = found is not None and not os.path.exists(f"/proc/{found[1]}")
            if is_left_behind and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                remove_base(entry.path)
