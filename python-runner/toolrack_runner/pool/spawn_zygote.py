"""Starts the process of a zygote. Imports next to nothing, so that it can come before everything else of a start."""

import os
import socket
import sys

from toolrack_runner.zygote.place import LINE_DESCRIPTOR, ROOT

#: All that a zygote, and so every tool, sees of an environment; HOME and TMPDIR, where it may write, come with the jail.
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}


def spawn_zygote() -> tuple[int, socket.socket]:
    """The process and our end of its line; it waits there for its opening, and ends when the line does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs.fileno(), LINE_DESCRIPTOR),
    ]
    command = [sys.executable, "-I", ROOT, "--zygote"]
    pid = os.posix_spawn(sys.executable, command, ENVIRONMENT, file_actions=actions)
    theirs.close()
    return pid, ours
