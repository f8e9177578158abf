"""A server process whose descriptors have large numbers, because it has many children or connections."""

import os
import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

from hostile.uploads import upload
from support.live_runner import LiveRunner
from support.until import until

#: `select` takes descriptors below this number only (FD_SETSIZE).
SELECT_MAX = 1_024


def test_calls_are_answered_with_descriptors_above_those_that_select_takes(runner: LiveRunner) -> None:
    folder = f"/proc/{runner.process.pid}/fd"
    address = urlsplit(runner.url)
    source = upload("def attack():\n    return 'reached'", "attack")
    with ExitStack() as connections:
        for _ in range(SELECT_MAX):
            connections.enter_context(socket.create_connection((address.hostname or "", address.port or 0)))
        until(lambda: len(os.listdir(folder)) > SELECT_MAX, "the connections")
        # A process that serves several calls is looked at before and after each of them.
        for tenant in ("one", "one", "two", "two"):
            answer = runner.invoke(source, "hostile:attack", tenant=tenant, reuse=100, deadlineMs=5_000)
            assert answer.get("text") == "reached", answer
