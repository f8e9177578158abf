"""The folder of work directories, made only without namespaces. What a killed runner leaves, the next one sweeps."""

import os
import re
from contextlib import suppress

from toolrack_runner.remove_contents import remove_contents

#: A socket's path has 107 bytes, and what is planted below the folder takes 64 of them.
PARENT_BYTES_MAX = 40


def parent_folder(wanted: str | None) -> str:
    """Where the folder is made: where TMPDIR says, as long as the path of a socket fits below it."""
    fits = wanted and len(os.fsencode(wanted)) <= PARENT_BYTES_MAX
    return wanted if wanted and fits else "/tmp"  # noqa: S108 - the name below can't be guessed


PARENT = parent_folder(os.environ.get("TMPDIR"))
ATTEMPTS = 5
_NAME = re.compile(r"toolrack-runner-(\d+)-[0-9a-f]{16}(?:-plants)?")


def choose_base() -> str:
    """A path where nothing is, that names this process."""
    return f"{PARENT}/toolrack-runner-{os.getpid()}-{os.urandom(8).hex()}"


def remove_base(path: str) -> None:
    """Removes it with what is in it, if it was made. Every child is dead by then."""
    # By descriptor: the folder that we are in may itself be gone.
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        # A zygote that has not heard of the end yet may make a directory in between.
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
