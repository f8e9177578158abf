"""Starts the process of a zygote.

This module imports little, so that the server process can start a zygote before anything else.
"""

import os
import socket
import sys
from collections.abc import Sequence

from toolrack_runner.wire.zygote_start import CHANNEL_DESCRIPTOR, ROOT

#: The argument of the runner with which the zygote makes no namespaces.
WITHOUT_NAMESPACES = "--without=namespaces"
#: Variables that keep numeric libraries from starting threads. A process with threads cannot be forked safely.
SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
#: All environment variables of a zygote and of every tool. The jail adds HOME, TMPDIR and XDG_CACHE_HOME, to which a tool
#: may write.
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", **dict.fromkeys(SINGLE_THREADED, "1")}


def spawn_zygote(arguments: Sequence[str] = tuple(sys.argv)) -> tuple[int, socket.socket]:
    """Starts a zygote. Returns its pid, and the server process's end of the channel.

    The zygote waits for its `Opening`, and ends when the channel is closed.

    `arguments` are the arguments of the runner.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs.fileno(), CHANNEL_DESCRIPTOR),
    ]
    # With -S, no `.pth` file and no `sitecustomize` of installed packages runs in a zygote.
    command = [sys.executable, "-I", "-S", ROOT, "--zygote", *({WITHOUT_NAMESPACES} & {*arguments})]
    pid = os.posix_spawn(sys.executable, command, ENVIRONMENT, file_actions=actions)
    theirs.close()
    return pid, ours
