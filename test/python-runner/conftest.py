"""Runners that suites share: as root with a user for each child, and as an ordinary user."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from support.live_runner import LiveRunner, live_runner

# A test does not fail because the machine is slow. Hypothesis would end an example after 200 ms.
settings.register_profile("toolrack", deadline=None)
settings.load_profile("toolrack")


@pytest.fixture(scope="session")
def runner() -> Iterator[LiveRunner]:
    """A runner of whoever runs the tests."""
    with live_runner() as live:
        yield live


@pytest.fixture(scope="session", params=["as_started", "as_nobody"])
def any_runner(request: pytest.FixtureRequest) -> Iterator[LiveRunner]:
    """A runner of whoever runs the tests and, where that is root, one of an ordinary user too."""
    as_nobody = request.param == "as_nobody"
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    with live_runner(as_nobody=as_nobody) as live:
        yield live
