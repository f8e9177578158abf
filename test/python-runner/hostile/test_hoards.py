"""What the kernel holds for a child has an end, however the child takes it. Children that wait are weighed with it."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.test_waiting import kept_beside_waiting
from hostile.watched_runner import EVERYBODY, watched_runner
from support.kernel_memory import Counter, memory_of
from support.live_runner import LiveRunner
from support.until import until

MB = 1 << 20
SOURCE = (Path(__file__).parent / "modules/hoards.py").read_text()
#: What other programs of the machine take meanwhile, where this runner's memory cannot be counted alone.
OF_OTHERS = 150 * MB
#: What the kernel keeps for a runner that does nothing hostile: its server, its zygotes and children that end.
OF_THE_RUNNER = 24 * MB

EPERM, EINVAL, ENOSYS = "EPERM", "EINVAL", "ENOSYS"
#: A table of descriptors full of sockets, in megabytes.
SOCKETS = 16
#: For each way: the answers to what is refused, the most that it may get, and the most megabytes that the kernel may hold.
WAYS: dict[str, tuple[list[str], int, int]] = {
    "tables": ([EPERM], 14 * MB, SOCKETS),
    "tables_by_other_ways": ([ENOSYS, EPERM], 14 * MB, SOCKETS),
    "in_flight": ([EPERM], 0, 1),
    "large_pipes": ([EINVAL, EPERM], 5 * MB, 6),
    "large_sockets": ([], 14 * MB, SOCKETS),
    "handles": ([], 62, 1),
    "watches": ([], 65_000, 24),
    "watches_of_waiting_threads": ([], 60_000, 20),
    "nested_epolls": ([], 2_000, 4),
    "files_of_waiting_threads": ([], 14 * MB, SOCKETS),
    "files_of_mappings": ([], 65_530, 34),
    "split_mappings": ([], 65_530, 34),
    "locked_memory": ([EPERM], 0, 1),
    "pages_in_pipes": ([ENOSYS, EPERM], 0, 1),
    "locks": ([EPERM], 0, 1),
    "objects_of_the_system": ([EPERM], 0, 1),
    "futexes": ([ENOSYS], 0, 1),
    "own_files": ([], 256, 1),
    "pending_signals": ([], 64, 1),
}
#: Pages of the kernel's memory that are only partly used, and what other threads of the child take.
SLACK = 4 * MB


@pytest.fixture(scope="module", params=EVERYBODY)
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


def hoarded(live: LiveRunner, counter: Counter, name: str) -> tuple[list[str], int, int]:
    """What a hoard of one call was answered and got, and the most that the kernel held meanwhile, in bytes."""
    before, most, is_over = counter.kernel(), [0], threading.Event()

    def inspect() -> None:
        while not is_over.wait(0.01):
            most[0] = max(most[0], counter.kernel() - before)

    watching = threading.Thread(target=inspect)
    watching.start()
    try:
        answer = live.invoke(SOURCE, "hoards:hoard", {"names": [name], "seconds": 0.3})
    finally:
        is_over.set()
        watching.join()
    assert answer["outcome"] == "success", answer
    said, got = answer["value"][name]
    return said, got, most[0]


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_taking_the_kernel_s_memory_gets_more_than_a_child_may_hold(
    live: LiveRunner, counter: Counter, way: str
) -> None:
    refused, most, megabytes = WAYS[way]
    said, got, held = hoarded(live, counter, way)

    assert said == refused
    assert got <= most
    assert held < megabytes * MB + SLACK + (0 if counter.is_exact else OF_OTHERS)


def test_a_child_whose_first_thread_has_ended_is_measured_by_another(live: LiveRunner) -> None:
    answer = live.invoke(SOURCE, "hoards:answers")
    assert answer.get("code") == "MEMORY_LIMIT", answer
    assert "may hold 256 MB" in answer["error"]
    assert answer["usage"]["maxRssBytes"] > 256 * MB


POOL_MB = 64
#: What two children that nothing was imported in take, and those that are being made.
BESIDE_WAITING = 40 * MB
#: Hoards at the import of a module.
AT_IMPORT = {
    "tables": "tables(20)",
    "mappings": "files_of_mappings()",
    "everything": "files_of_mappings(), own_files(), watches()",
    "first thread": 'first_thread_ends({"ready": None, "converts": False})',
}


@pytest.mark.parametrize("way", AT_IMPORT)
def test_waiting_children_hold_no_more_than_their_pool(who: str, canary: str, way: str) -> None:
    with (
        watched_runner(who, canary, TOOLRACK_RUNNER_POOL_MB=str(POOL_MB)) as live,
        memory_of(live.process.pid) as counter,
    ):
        for number in range(4):
            source = f"{SOURCE}\n{AT_IMPORT[way]}\n# {number}\n"
            answer = live.invoke(source, "hoards:hello", tenant=f"{number}", deadlineMs=20_000)
            assert answer.get("text") == "hello" or answer.get("code") == "MEMORY_LIMIT", answer
        none_is_made(live)
        allowed = POOL_MB * MB + BESIDE_WAITING + (0 if counter.is_exact else OF_OTHERS)
        # A child that is being made may hold more for a moment.
        until(lambda: counter.everything() < allowed, f"less than {allowed >> 20} MB in waiting children")


def none_is_made(live: LiveRunner) -> None:
    """Returns when no child is being made: for a second, all that live wait for a call, or are the two for any module."""
    since = time.monotonic()

    def is_settled() -> bool:
        nonlocal since
        if kept_beside_waiting(live)() > 2:
            since = time.monotonic()
        return time.monotonic() - since > 1

    until(is_settled, "the end of children that are made ahead")
