"""What the kernel holds for a child has an end, however the child takes it. Children that wait are weighed with it."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostile.test_waiting import kept_beside_waiting
from hostile.watched_runner import watched_runner
from support.kernel_memory import Counter, memory_of
from support.live_runner import LiveRunner
from support.until import until

MB = 1 << 20
SOURCE = (Path(__file__).parent / "modules/hoards.py").read_text()
#: What other programs of the machine take meanwhile, where it cannot be told apart.
OF_OTHERS = 200 * MB


@pytest.fixture(scope="module", params=["as_started", "as_nobody"])
def who(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def live(who: str, canary: str) -> Iterator[LiveRunner]:
    with watched_runner(who, canary) as live:
        yield live


@pytest.fixture(scope="module")
def counter(live: LiveRunner) -> Iterator[Counter]:
    with memory_of(live.process.pid) as counter:
        yield counter


def hoarded(live: LiveRunner, counter: Counter, *names: str) -> tuple[dict[str, Any], int]:
    """What hoards in one call got, and the most that the kernel held meanwhile beside what it held before."""
    before, most, is_over = counter.kernel(), [0], threading.Event()

    def look() -> None:
        while not is_over.wait(0.01):
            most[0] = max(most[0], counter.kernel() - before)

    watching = threading.Thread(target=look)
    watching.start()
    try:
        answer = live.invoke(SOURCE, "hoards:hoard", {"names": list(names), "seconds": 0.3})
    finally:
        is_over.set()
        watching.join()
    print(names, answer.get("value", answer), most[0] / MB)
    return answer, most[0]


def test_x(live, counter):
    for name in (
        "tables",
        "tables_by_other_ways",
        "in_flight",
        "large_pipes",
        "large_sockets",
        "handles",
        "watches",
        "nested_epolls",
        "files_of_waiting_threads",
        "files_of_mappings",
        "split_mappings",
        "locked_memory",
        "pages_in_pipes",
        "locks",
        "objects_of_the_system",
        "futexes",
        "unnamed_files",
        "pending_signals",
    ):
        hoarded(live, counter, name)
    assert 0
