"""Prints the time, and then works for a moment."""

import time


def show() -> str:
    """Prints the nanoseconds of the monotonic clock, and waits."""
    print(time.monotonic_ns(), flush=True)
    time.sleep(0.05)
    return "done"


TOOL_SPECS = [{"name": "printing:show", "handler": show}]
