"""Starts the process of a zygote. Needs no event loop, so that it can come before everything else of a start."""

import os
import sys

from toolrack_runner.zygote.messages import Line, Opening
from toolrack_runner.zygote.place import LINE_DESCRIPTOR, ROOT

#: All that a zygote, and so every tool, sees of an environment; HOME and TMPDIR, where it may write, come with the jail.
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}


def start_zygote(opening: Opening) -> tuple[int, Line]:
    """Starts the process and sends its opening."""
    ours, theirs = Line.pair()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs.end.fileno(), LINE_DESCRIPTOR),
    ]
    command = [sys.executable, "-I", str(ROOT), "--zygote"]
    pid = os.posix_spawn(sys.executable, command, ENVIRONMENT, file_actions=actions)
    theirs.end.close()
    ours.send(opening)
    return pid, ours
