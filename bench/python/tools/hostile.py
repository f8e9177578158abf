"""Tools that do what a tool must not do, and one honest tool."""

import ctypes
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LONG = 60


def hang() -> None:
    """Waits longer than its deadline."""
    time.sleep(LONG)


def spin() -> None:
    """Never yields the processor."""
    while True:
        pass


def flood() -> None:
    """Prints without end."""
    while True:
        sys.stdout.write("x" * 10_000)


def segfault() -> None:
    """Reads an address with no memory behind it."""
    ctypes.string_at(0)


def leave() -> None:
    """Ends its process."""
    os._exit(3)


def garbage() -> None:
    """Writes bytes that are no frame to every descriptor that it finds."""
    _write_everywhere(random.randbytes(500))
    time.sleep(LONG)


def deep() -> None:
    """Sends an answer itself, nested deeper than a parser can read."""
    payload = b'{"answer":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    _write_everywhere(len(payload).to_bytes(4, "big") + payload)
    time.sleep(LONG)


def recurse() -> None:
    """Calls itself without end."""
    recurse()


def mute() -> None:
    """Closes its channel, and waits."""
    os.closerange(3, 64)
    time.sleep(LONG)


def stop() -> None:
    """Stops its own process, so that only SIGKILL ends it."""
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(LONG)


def hog() -> None:
    """Takes all the memory."""
    held: list[bytearray] = []
    while True:
        held.append(bytearray(b"x") * (16 << 20))


def fill() -> None:
    """Writes until the disk is full, and goes on."""
    for number in range(1_000_000):
        with open(f"filler-{number}", "wb") as file:
            file.write(bytes(1 << 20))


def fork() -> str:
    """Tries to start many processes."""
    return _refused(os.fork, 100)


def dial() -> str:
    """Tries to reach the network."""
    return _refused(lambda: socket.create_connection(("127.0.0.1", 22), 0.01), 20)


def threads() -> None:
    """Starts as many threads as it can."""
    while True:
        threading.Thread(target=spin, daemon=True).start()


def honest(number: int) -> dict[str, int]:
    """Returns its argument. The hostile tools must not disturb this tool.

    Args:
        number: Any.
    """
    return {"number": number}


def _refused(attempt: Callable[[], object], times: int) -> str:
    for _ in range(times):
        try:
            attempt()
        except OSError:
            continue
        return "succeeded"
    return "refused"


def _write_everywhere(data: bytes) -> None:
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, data)
        except OSError:
            continue


HOSTILE: list[Callable[[], Any]] = [
    hang,
    spin,
    flood,
    segfault,
    leave,
    garbage,
    deep,
    recurse,
    mute,
    stop,
    hog,
    fill,
    fork,
    dial,
    threads,
]
sys.setrecursionlimit(1_000_000)
TOOL_SPECS = [
    {"name": f"hostile:{handler.__name__}", "description": str(handler.__doc__), "handler": handler}
    for handler in (*HOSTILE, honest)
]
