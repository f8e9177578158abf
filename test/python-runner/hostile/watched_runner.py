"""Runners that hold a canary, with everything they log kept."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.live_runner import LiveRunner, live_runner
from support.until import until

#: How many descriptors a runner had before anything was tried, by its pid.
BEFORE: dict[int, int] = {}
#: Whoever runs the tests, and an ordinary user.
WHO = ("as_started", "as_nobody")
#: What follows the name of a user if one process serves several calls.
REUSED = ", reused"
#: Each of them with a process for each call, and with processes that serve several.
EVERYBODY = tuple(who + reused for who in WHO for reused in ("", REUSED))
#: Every runner that was started, by its pid.
STARTED: list[int] = []


@contextmanager
def standard_error_in(path: Path) -> Iterator[None]:
    """What is started within writes its standard error to a file."""
    saved = os.dup(2)
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(descriptor)


@contextmanager
def watched_runner(who: str, canary: str, *arguments: str, **environment: str) -> Iterator[LiveRunner]:
    """A runner of whoever runs the tests, or of an ordinary user; what it logs never holds the canary.

    If `who` ends with REUSED, one process serves several calls of each tool.
    """
    as_nobody = who.startswith("as_nobody")
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        log = Path(folder) / "log"
        with standard_error_in(log):
            live = live_runner(
                *arguments,
                environment={"CANARY": canary} | environment,
                as_nobody=as_nobody,
                reuse=who.endswith(REUSED),
            )
            entered = stack.enter_context(live)
        until(lambda: entered.health()["status"] == "ok", "the level of the runner")
        STARTED.append(entered.process.pid)
        yield entered
        assert canary not in log.read_text()
