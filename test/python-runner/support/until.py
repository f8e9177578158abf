"""Waits until a condition is true, and fails if it takes too long."""

import time
from collections.abc import Callable

#: Far above anything that is waited for, on a machine that does much else.
SECONDS = 60.0


def until(holds: Callable[[], bool], what: str = "what was waited for") -> None:
    """Returns when it holds; asks every few milliseconds."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not come within {SECONDS:g} s"
        time.sleep(0.005)
