"""Runners that hold a canary, with everything they log kept."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.live_runner import LiveRunner, live_runner


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


@pytest.fixture(scope="session")
def canary() -> str:
    """What no tool may ever see; in the environment of every runner here, and in what is planted."""
    return f"canary-{secrets.token_hex(16)}"


@contextmanager
def watched_runner(who: str, canary: str, *arguments: str, **environment: str) -> Iterator[LiveRunner]:
    """A runner of whoever runs the tests, or of an ordinary user; what it logs never holds the canary."""
    as_nobody = who == "as_nobody"
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        log = Path(folder) / "log"
        with standard_error_in(log):
            live = live_runner(*arguments, environment={"CANARY": canary} | environment, as_nobody=as_nobody)
            entered = stack.enter_context(live)
        yield entered
        assert canary not in log.read_text()


@pytest.fixture(scope="session", params=["as_started", "as_nobody"])
def any_runner(request: pytest.FixtureRequest, canary: str) -> Iterator[LiveRunner]:
    """A runner of whoever runs the tests and, where that is root, one of an ordinary user too."""
    with watched_runner(request.param, canary) as live:
        yield live
