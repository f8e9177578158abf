"""The folder that contains the work directories of all children. It is made only if namespaces are not available.

A runner that is killed leaves its folder behind, and the next runner removes it.
"""

import os
import re
from contextlib import suppress

from toolrack_runner.remove_contents import remove_contents

#: The most bytes in the path of the parent folder. The path of a unix socket may have 107 bytes, and the names below the
#: parent folder need 64 of them.
PARENT_BYTES_MAX = 40


def parent_folder(wanted: str | None) -> str:
    """The folder `wanted`, which is TMPDIR. If paths of sockets in it would be too long, /tmp."""
    if wanted and len(os.fsencode(wanted)) <= PARENT_BYTES_MAX:
        return wanted
    return "/tmp"  # noqa: S108 - the name of the folder in it cannot be guessed


PARENT = parent_folder(os.environ.get("TMPDIR"))
ATTEMPTS = 5
_NAME = re.compile(r"toolrack-runner-(\d+)-[0-9a-f]{16}(?:-canaries|-frames)?")


def choose_base() -> str:
    """A path that does not exist yet. The pid of this process is in its name."""
    return f"{PARENT}/toolrack-runner-{os.getpid()}-{os.urandom(8).hex()}"


def remove_base(path: str) -> None:
    """Removes the folder and its contents, if it exists. All children must have ended."""
    # `remove_contents` changes the current folder. This descriptor leads back to it, even if it was removed.
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Several attempts are needed, because a zygote that still runs may make a directory meanwhile.
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
    """Removes what runners of this user have left, if they no longer run, for example because they were killed."""
    with os.scandir(PARENT) as entries:
        for entry in list(entries):
            found = _NAME.fullmatch(entry.name)
            is_left_behind = found is not None and not os.path.exists(f"/proc/{found[1]}")
            if is_left_behind and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                remove_base(entry.path)
