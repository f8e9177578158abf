"""The folder of work directories, made only without namespaces. The next runner removes what a killed one leaves."""

import os
import re
from contextlib import suppress

from toolrack_runner.remove_contents import remove_contents

#: A socket's path has 107 bytes, and the names below the folder take 64 of them.
PARENT_BYTES_MAX = 40


def parent_folder(wanted: str | None) -> str:
    """Where the folder is made: where TMPDIR says, as long as the path of a socket fits below it."""
    fits = wanted and len(os.fsencode(wanted)) <= PARENT_BYTES_MAX
    return wanted if wanted and fits else "/tmp"  # noqa: S108 - the name below cannot be guessed


PARENT = parent_folder(os.environ.get("TMPDIR"))
ATTEMPTS = 5
_NAME = re.compile(r"toolrack-runner-(\d+)-[0-9a-f]{16}(?:-canaries)?")


def choose_base() -> str:
    """A new path that names this process."""
    return f"{PARENT}/toolrack-runner-{os.getpid()}-{os.urandom(8).hex()}"


def remove_base(path: str) -> None:
    """Removes it with what is in it, if it was made. No child may be alive any more."""
    # By descriptor: the current folder may itself be gone.
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        # A zygote that still runs may make a directory meanwhile.
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
    """Removes the folders of runners of this user that were killed."""
    with os.scandir(PARENT) as entries:
        for entry in list(entries):
            found = _NAME.fullmatch(entry.name)
            if (
                found
                and not os.path.exists(f"/proc/{found[1]}")
                and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
            ):
                remove_base(entry.path)
