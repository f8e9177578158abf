"""The folder for work directories, which is made only if namespaces are missing.

A runner that is killed leaves its folder behind, and the next runner removes it.
"""

import os
import re
from contextlib import suppress

from toolrack_runner.remove_contents import remove_contents

#: The path of a socket may have 107 bytes, and the names below the folder take 64 of them.
PARENT_BYTES_MAX = 40


def parent_folder(wanted: str | None) -> str:
    """The folder in `wanted` (TMPDIR), or /tmp if the path of a socket would not fit below it."""
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
    """Removes the folder and its contents, if it was made. Every child must have ended."""
    # A descriptor, because the current folder may be gone.
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        # A zygote that still runs may make a directory at the same time.
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
    """Removes the folders that killed runners of this user left."""
    with os.scandir(PARENT) as entries:
        for entry in list(entries):
            found = _NAME.fullmatch(entry.name)
            if (
                found
                and not os.path.exists(f"/proc/{found[1]}")
                and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
            ):
                remove_base(entry.path)
