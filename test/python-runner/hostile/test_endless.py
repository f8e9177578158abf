"""Whatever does not end is ended at its deadline, and nothing of it is left."""

import time

import pytest

from hostile.uploads import upload
from support.live_runner import LiveRunner
from support.process_tree import descendants_of
from support.until import until

ENDLESS = upload(
    """
import re


def spin() -> None:
    while True:
        pass


def sleep() -> None:
    time.sleep(1e9)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def ignore() -> None:
    for number in range(1, 64):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        time.sleep(1)


def backtrack() -> None:
    re.match("(a+)+$", "a" * 60 + "b")


def swallow() -> None:
    while True:
        try:
            time.sleep(1)
        except BaseException:
            pass


def lingers() -> str:
    threading.Thread(target=spin, daemon=False).start()
    return "answered"


def trace() -> None:
    sys.settrace(lambda *_: time.sleep(9))
    spin()


def daemonise() -> str:
    for _ in range(5):
        try:
            if os.fork() == 0:
                os.setsid()
                time.sleep(60)
        except OSError as error:
            seen = error.errno
    return str(seen)
""",
    *("spin", "sleep", "stop", "ignore", "backtrack", "swallow", "lingers", "trace", "daemonise"),
)


@pytest.mark.parametrize("tool", ["spin", "sleep", "stop", "ignore", "backtrack", "swallow", "trace"])
def test_it_is_ended_at_its_deadline(any_runner: LiveRunner, tool: str) -> None:
    any_runner.invoke(ENDLESS, "hostile:hello")
    began = time.monotonic()
    answer = any_runner.invoke(ENDLESS, f"hostile:{tool}", deadlineMs=250)
    assert answer["code"] == "DEADLINE_EXCEEDED"
    assert time.monotonic() - began < 5


def test_processor_time_has_an_end(any_runner: LiveRunner) -> None:
    # On a busy machine a second of processor time takes longer than the usual deadline.
    answer = any_runner.invoke(ENDLESS, "hostile:spin", limits={"cpuSeconds": 1}, deadlineMs=50_000)
    assert answer["code"] == "CPU_LIMIT"


def test_processor_time_is_told_of_a_child_that_was_not_born_when_it_was_asked_for(
    any_runner: LiveRunner,
) -> None:
    source = upload("def spin() -> None:\n    while time.process_time() < 0.2:\n        pass", "spin")
    answer = any_runner.invoke(source, "hostile:spin", limits={"cpuSeconds": 7})
    assert 150 < answer["usage"]["cpuMs"] < 400


@pytest.mark.parametrize("tool", ["lingers", "daemonise"])
def test_nothing_outlives_its_answer(any_runner: LiveRunner, tool: str) -> None:
    before = descendants_of(any_runner.process.pid)
    assert any_runner.invoke(ENDLESS, f"hostile:{tool}", tenant=tool)["text"] in {"answered", "1"}
    # All that is new waits for a call of its module.
    until(lambda: len(descendants_of(any_runner.process.pid) - before) <= 8)
    until(lambda: spinning(any_runner) == 0, "the end of what spins")


def spinning(live: LiveRunner) -> int:
    running = 0
    for pid in descendants_of(live.process.pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                running += file.read().rpartition(")")[2].split()[0] == "R"
        except OSError:
            continue
    return running
