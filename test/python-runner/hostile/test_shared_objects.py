"""What several tools can open, or inherit, tells none of them anything of another."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hostile.uploads import upload
from hostile.watched_runner import EVERYBODY, watched_runner
from support.live_runner import LiveRunner
from support.until import until

TOOLS = """
import array, ctypes, errno, fcntl, socket, struct

LOCK = struct.Struct("@hhqqi4x")
libc = ctypes.CDLL(None, use_errno=True)


def hold(path: str) -> str:
    # Everything by which a tool can leave its mark on a file that others can open, for as long as a file is not there.
    file = os.open(path, os.O_RDONLY)
    said = []
    for act in (
        lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda: fcntl.fcntl(file, fcntl.F_SETLK, LOCK.pack(fcntl.F_RDLCK, 0, 1_000, 1, 0)),
        lambda: fcntl.fcntl(file, 37, LOCK.pack(fcntl.F_RDLCK, 0, 2_000, 1, 0)),
    ):
        act()
    fcntl.fcntl(0, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK)
    time.sleep(1.5)
    return "held"


def find_marks(path: str) -> list:
    file = os.open(path, os.O_RDONLY)
    seen = []
    for start in (1_000, 2_000):
        found = LOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, LOCK.pack(fcntl.F_WRLCK, 0, start, 1, 0)))
        seen.append(found[0] == fcntl.F_UNLCK)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    return [*seen, flags & (os.O_APPEND | os.O_NONBLOCK)]


def find(pids: list) -> list:
    # What each call that takes the number of a process says of others.
    buffer = ctypes.create_string_buffer(1_024)
    seen = set()
    for pid in set(pids) - {os.getpid()}:
        for ask in (
            lambda: os.sched_getscheduler(pid), lambda: os.sched_getparam(pid), lambda: os.getpgid(pid),
            lambda: os.getsid(pid), lambda: os.getpriority(os.PRIO_PROCESS, pid), lambda: os.kill(pid, 0),
            lambda: time.clock_gettime(~pid << 3 | 2), lambda: os.sched_getaffinity(pid),
        ):
            try:
                ask()
                seen.add("told")
            except OSError as error:
                seen.add(errno.errorcode[error.errno])
    return sorted(seen)


def itself() -> list:
    pid = os.getpid()
    told = [os.sched_getscheduler(0), os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority]
    return [*told, os.sched_getaffinity(0) == os.sched_getaffinity(pid)]


def peers() -> list:
    through = []
    for option in range(200):
        if option in {2, 3, 4, 7, 8, 9, 13, 20, 21, 30, 38, 39}:
            continue
        try:
            socket.socket(fileno=os.dup(channel())).getsockopt(socket.SOL_SOCKET, option, 64)
            through.append(option)
        except PermissionError:
            pass
    return through
"""
SHARED = upload(TOOLS, "hold", "find_marks", "find", "itself", "peers")


@pytest.mark.parametrize("kind", ["a device", "a library"])
@pytest.mark.parametrize("switches", [(), ("--without=namespaces",)], ids=["", "without namespaces"])
@pytest.mark.parametrize("who", EVERYBODY)
def test_a_tool_sees_nothing_of_what_another_does_to_a_file_of_both(
    who: str, switches: tuple[str, ...], kind: str, canary: str
) -> None:
    path = os.devnull if kind == "a device" else os.__file__
    with watched_runner(who, canary, *switches) as live, ThreadPoolExecutor(1) as pool:
        for tenant in ("one", "another"):
            assert live.invoke(SHARED, "hostile:hello", tenant=tenant)["text"] == "hello"
        holding = pool.submit(live.invoke, SHARED, "hostile:hold", {"path": path}, tenant="one")
        until(lambda: live.health()["calls"]["running"] == 1 or holding.done(), "the call that holds")
        answers = []
        while not holding.done():
            answers.append(live.invoke(SHARED, "hostile:find_marks", {"path": path}, tenant="another"))
        assert holding.result().get("text") == "held", holding.result()
        assert len(answers) > 1
        assert [answer.get("value", answer) for answer in answers] == [[True, True, 0]] * len(answers)


def test_no_call_tells_of_another_process(any_runner: LiveRunner) -> None:
    pids = [any_runner.process.pid, os.getpid(), 1, 2, 3, *range(10, 40)]
    pids += [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    # EPERM, and ENOSYS of sched_getaffinity: the same of one that is there and of one that is not.
    for asked in (pids, [4_000_000 + number for number in range(20)]):
        assert any_runner.invoke(SHARED, "hostile:find", {"pids": asked}).get("value") == ["ENOSYS", "EPERM"]
    assert any_runner.invoke(SHARED, "hostile:itself").get("value") == [0, 0, 0, True]


def test_a_socket_does_not_tell_who_is_at_its_other_end(any_runner: LiveRunner) -> None:
    assert any_runner.invoke(SHARED, "hostile:peers").get("value") == []
