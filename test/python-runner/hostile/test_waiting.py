"""Children that were imported ahead wait for a call: what their module left running does nothing meanwhile."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hostile.resident import cpu_seconds, resident_bytes
from hostile.uploads import HONEST, upload
from hostile.watched_runner import EVERYBODY, watched_runner
from support.live_runner import LiveRunner
from support.process_tree import children_of
from support.until import until

#: What a module starts that wants to do harm before it is called. The thread is given time to begin.
FLOOD = "[write(frame({}) * 10_000) for _ in range(10_000)]"
FLOODS = f"later(0.05, lambda: {FLOOD})"
SAYS_NONSENSE = "later(0.05, lambda: say(b'nonsense'))"
HANGS_UP = "import socket\nlater(0.05, lambda: socket.socket(fileno=channel()).shutdown(socket.SHUT_RDWR))"
#: Waits for a signal that the test sends when its children are stopped. On a loaded machine a delay can end before that.
#: Then main holds the message for the call under way, or kills the child that was made ahead.
WHEN_SIGNALLED = """
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})


def wait_and_act():
    signal.sigwait({signal.SIGURG})
    act()


threading.Thread(target=wait_and_act, daemon=True).start()
"""
FLOODS_WHEN_SIGNALLED = f"act = lambda: {FLOOD}\n{WHEN_SIGNALLED}"
ANNOUNCES_MUCH_WHEN_SIGNALLED = (
    f"act = lambda: write((20_000_000).to_bytes(4, 'big') + b'x' * 19_000_000)\n{WHEN_SIGNALLED}"
)
SPINS = "def spin():\n    while True:\n        pass\nlater(0.05, spin)"
#: Starts a thread when the child has said that it is imported and listens for its call.
SPINS_AFTER_THE_IMPORT = """
def spin():
    while True:
        pass


def wait_and_read(*arguments):
    frames._read = read
    time.sleep(0.05)
    threading.Thread(target=spin, daemon=True).start()
    return read(*arguments)


frames = sys.modules["toolrack_runner.wire.frames"]
read, frames._read = frames._read, wait_and_read
"""
GROWS = "def grow():\n    global taken\n    taken = bytearray(b'x') * (150 << 20)\nlater(0.6, grow)"


@pytest.fixture(scope="module", params=EVERYBODY)
def any_runner(request: pytest.FixtureRequest, canary: str) -> Iterator[LiveRunner]:
    """Runners for these tests alone: how many children wait is what others did, too."""
    with watched_runner(request.param, canary) as live:
        yield live


def has_waiting(live: LiveRunner, tenant: str, code: str) -> None:
    """Has children wait that have imported a module."""
    before = live.health()["children"]["waiting"]
    live.invoke(upload(code), "hostile:hello", tenant=tenant)
    # A call that finds no child has two made for the next.
    until(lambda: live.health()["children"]["waiting"] >= before + 2, "two children that wait")
    # One of the two can belong to an earlier call. A child that is being made is not stopped yet, so main reads its message.
    until(lambda: kept_beside_waiting(live)() <= 2, "the last of the children that are made ahead")
    for pid in children_of(live.process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGURG)  # Ignored by those that do not wait for it.
    time.sleep(0.2)  # The harm would come now.


@pytest.mark.parametrize(
    "code", [FLOODS_WHEN_SIGNALLED, ANNOUNCES_MUCH_WHEN_SIGNALLED], ids=["small frames", "a large frame"]
)
def test_a_child_that_waits_takes_no_memory_of_the_runner(any_runner: LiveRunner, code: str) -> None:
    any_runner.invoke(HONEST, "hostile:hello")
    before = resident_bytes(any_runner.process.pid)
    for number in range(3):
        has_waiting(any_runner, f"talker {number}", code)
    assert resident_bytes(any_runner.process.pid) - before < 8 << 20


@pytest.mark.parametrize("code", [SPINS, SPINS_AFTER_THE_IMPORT], ids=["at the import", "after it"])
def test_a_child_that_waits_takes_no_processor_time(any_runner: LiveRunner, code: str) -> None:
    has_waiting(any_runner, "spinner", code)
    until(lambda: kept_beside_waiting(any_runner)() <= 2, "the last of the children that are made ahead")
    before = {pid: cpu_seconds(pid) for pid in children_of(any_runner.process.pid)}
    time.sleep(0.4)
    still = children_of(any_runner.process.pid) & before.keys()
    assert still
    assert max(cpu_seconds(pid) - before[pid] for pid in still) < 0.1


def test_a_child_that_waits_takes_no_more_memory_than_it_was_counted_with(any_runner: LiveRunner) -> None:
    has_waiting(any_runner, "grower", GROWS)
    before = {pid: resident_bytes(pid) for pid in children_of(any_runner.process.pid)}
    time.sleep(0.8)
    still = children_of(any_runner.process.pid) & before.keys()
    assert still
    assert max(resident_bytes(pid) - before[pid] for pid in still) < 1 << 20


@pytest.mark.parametrize("code", [SAYS_NONSENSE, HANGS_UP, FLOODS], ids=["nonsense", "hangs up", "floods"])
def test_a_child_that_spoke_before_its_call_keeps_neither_a_slot_nor_a_process(
    any_runner: LiveRunner, code: str
) -> None:
    # Without the thread's head start: it speaks as soon as it is imported, or as it is woken.
    for wait in ("0.05", "0"):
        source = upload(code.replace("0.05", wait))
        for _ in range(6):
            any_runner.invoke(source, "hostile:hello", tenant="speaker")
            time.sleep(0.05)
    until(lambda: kept_beside_waiting(any_runner)() <= 2, "the end of children that nobody waits for")


def test_a_child_has_no_capability_of_its_zygote(any_runner: LiveRunner) -> None:
    has_waiting(any_runner, "capable", "")
    children = children_of(any_runner.process.pid)
    statuses = [Path(f"/proc/{pid}/status").read_text() for pid in children]
    assert statuses
    for status in statuses:
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(status.partition(f"{name}:")[2].split()[0], 16) == 0


@pytest.mark.parametrize("who", EVERYBODY)
def test_many_children_that_wait_leave_room_for_the_next(who: str, canary: str) -> None:
    with watched_runner(who, canary, TOOLRACK_RUNNER_POOL_MB="2000") as live:
        for number in range(40):
            live.invoke(HONEST, "hostile:hello", tenant=f"one of many {number}")
        until(lambda: live.health()["children"]["waiting"] >= 64, "more children than a child may open files")
        answer = live.invoke(HONEST, "hostile:hello", tenant="the next", limits={"cpuSeconds": 9})
        assert answer.get("text") == "hello", answer


def kept_beside_waiting(live: LiveRunner) -> Callable[[], int]:
    """How many children live that wait for no call: two do, for the first call of any module."""

    def count() -> int:
        children: dict[str, int] = live.health()["children"]
        return children["alive"] - children["waiting"]

    return count
