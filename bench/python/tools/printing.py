"""Prints the time, and then works for a moment."""

import sys
import time


def show() -> str:
    """Prints the nanoseconds of the monotonic clock, and waits."""
    sys.stdout.write(f"{time.monotonic_ns()}\n")
    sys.stdout.flush()
    time.sleep(0.05)
    return "done"


TOOL_SPECS = [{"name": "printing:show", "handler": show}]
