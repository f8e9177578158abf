"""Runners that all of these tests share."""

import os
import secrets
from collections.abc import Iterator

import pytest

from hostile.watched_runner import BEFORE, EVERYBODY, watched_runner
from support.live_runner import LiveRunner


@pytest.fixture(scope="session")
def canary() -> str:
    """What no tool may ever see; in the environment of every runner here, and in what is put out."""
    return f"canary-{secrets.token_hex(16)}"


@pytest.fixture(scope="session", params=EVERYBODY)
def any_runner(request: pytest.FixtureRequest, canary: str) -> Iterator[LiveRunner]:
    """A runner of whoever runs the tests and, where that is root, one of an ordinary user too.

    Each once with a process for each call, and once with processes that serve several.
    """
    with watched_runner(request.param, canary) as live:
        live.health()
        BEFORE[live.process.pid] = len(os.listdir(f"/proc/{live.process.pid}/fd"))
        yield live
