"""Children that run long get nicer with all their threads, more so if one user has many, and during an import too."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from support.live_runner import LiveRunner, invocation, live_runner
from support.process_tree import children_of
from support.until import until

BURNS = """
import threading
import time
def burn() -> str:
    thread = threading.Thread(target=spin)
    thread.start()
    thread.join()
    return "burnt"
def spin() -> None:
    while True:
        pass
TOOL_SPECS = [{"name": "burns:burn", "description": "Burns.", "handler": burn}]
"""
SPINS = BURNS + "spin()\n"
TELLS = """
import os
import time
def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)
AT_IMPORT = niceness()
def tell(seconds: float) -> list[int]:
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    return [AT_IMPORT, niceness()]
TOOL_SPECS = [{"name": "tells:tell", "description": "Tells its niceness.", "handler": tell}]
"""


@contextmanager
def closing_with_a_kill(live: LiveRunner) -> Iterator[None]:
    """Whoever waits for an answer then waits no more."""
    try:
        yield
    finally:
        live.process.kill()


def threads_of(live: LiveRunner) -> list[list[int]]:
    """The niceness of each thread of each child that burns, in order."""
    found: list[list[int]] = []
    for pid in children_of(live.process.pid):
        with suppress(OSError):
            stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
            fields = [stat.rpartition(")")[2].split() for stat in stats]
            if any(field[0] == "R" for field in fields):
                found.append([int(field[16]) for field in fields])
    return sorted(found)


def autogroups_of(live: LiveRunner) -> list[str]:
    """The niceness of the children's sessions, if the kernel keeps one."""
    found = []
    for pid in children_of(live.process.pid):
        with suppress(OSError):
            found.append(Path(f"/proc/{pid}/autogroup").read_text().split()[-1])
    return sorted(found)


@pytest.mark.parametrize("as_nobody", [False, True])
def test_the_long_calls_of_one_user_get_nicer_with_their_number_and_those_of_another_do_not(
    as_nobody: bool,
) -> None:
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the other case is an ordinary user's already")
    with live_runner(as_nobody=as_nobody) as live, ThreadPoolExecutor() as threads, closing_with_a_kill(live):
        live.health()

        def burn(tenant: str) -> None:
            with suppress(httpx.TransportError):
                body = invocation(
                    BURNS, "burns:burn", tenant=tenant, deadlineMs=300_000, limits={"cpuSeconds": 60}
                )
                httpx.post(live.url + "/invoke", json=body, headers=dict(live.client.headers), timeout=300)

        threads.submit(burn, "a")
        until(lambda: threads_of(live) == [[5, 5]], "a call that yields")
        for _ in range(3):
            threads.submit(burn, "a")
        until(lambda: threads_of(live) == [[11, 11]] * 4, "four that yield more")
        threads.submit(burn, "b")
        until(lambda: threads_of(live) == [[5, 5], *[[11, 11]] * 4], "another user's, which yields as one")
        if os.geteuid() == 0 and not as_nobody and os.path.exists("/proc/self/autogroup"):
            until(lambda: autogroups_of(live).count("11") == 4, "their sessions")


def test_a_check_that_takes_long_yields_too() -> None:
    with live_runner() as live, ThreadPoolExecutor() as threads, closing_with_a_kill(live):
        live.health()

        def check() -> None:
            with suppress(httpx.TransportError):
                live.client.post(
                    "/check", json={"name": "burns", "source": SPINS, "tenant": "a", "deadlineMs": 100_000}
                )

        threads.submit(check)
        until(lambda: threads_of(live) == [[5]], "a check that yields")


@pytest.mark.parametrize("as_nobody", [False, True])
def test_each_child_is_nice_from_birth_and_nicer_where_its_user_took_much_just_now(as_nobody: bool) -> None:
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the other case is an ordinary user's already")
    with live_runner(as_nobody=as_nobody) as live:
        live.health()

        def tell(tenant: str, seconds: float) -> list[int]:
            answer = live.invoke(TELLS, "tells:tell", {"seconds": seconds}, tenant=tenant, deadlineMs=50_000)
            assert answer["outcome"] == "success", answer
            told: list[int] = answer["value"]
            return told

        def a_is_nicer() -> bool:
            tell("a", 1.0)
            return tell("a", 0)[1] > 5

        assert tell("a", 0) == [5, 5]
        until(a_is_nicer, "a user who took much")
        # Whether it was imported in a new child or in one that waited.
        assert tell("b", 0) == [5, 5]
        if os.path.exists("/proc/self/autogroup") and os.geteuid() == 0 and not as_nobody:
            until(lambda: set(autogroups_of(live)) >= {"5"}, "the sessions of children that wait")
