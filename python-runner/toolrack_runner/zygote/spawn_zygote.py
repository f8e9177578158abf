"""Starts the process of a zygote. Imports next to nothing, so that main can do it before everything else of its start."""

import os
import socket
import sys
from os.path import dirname

#: The folder with `__main__.py`.
ROOT = dirname(dirname(dirname(__file__)))  # pathlib takes longer to import than a zygote to start
#: The descriptor on which a zygote finds its end of the channel to main.
CHANNEL_DESCRIPTOR = 3
#: All that a zygote, and so every tool, sees of an environment; HOME and TMPDIR, where it may write, come with the jail.
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}


def spawn_zygote() -> tuple[int, socket.socket]:
    """The pid, and main's end of the channel. The zygote waits for its opening, and ends when the channel is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs.fileno(), CHANNEL_DESCRIPTOR),
    ]
    command = [sys.executable, "-I", ROOT, "--zygote"]
    pid = os.posix_spawn(sys.executable, command, ENVIRONMENT, file_actions=actions)
    theirs.close()
    return pid, ours
