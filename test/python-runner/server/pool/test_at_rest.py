"""A waiting child is weighed after all its threads have stopped, not when it gets the signal to stop."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from support.until import until
from toolrack_runner.server.pool.holding import holding_of, is_stopped

SIZE = 200 << 20
#: One system call (MADV_POPULATE_WRITE) of a thread fills all of the memory, and no signal but SIGKILL ends it.
FILLS = f"""
import ctypes, mmap, sys, threading
libc = ctypes.CDLL(None)
memory = mmap.mmap(-1, {SIZE}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fill = lambda: libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t({SIZE}), 23)
threading.Thread(target=fill, daemon=True).start()
print("fills", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def filling() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", FILLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def held(pid: int) -> int:
    told = holding_of(pid, shared_anonymous_bytes=0, descriptors_max=64, workplace="/")
    return told.held_bytes


def test_a_process_that_works_in_the_kernel_is_not_stopped(filling: int) -> None:
    until(lambda: held(filling) >= 20 << 20, "the begin of the system call")
    os.kill(filling, signal.SIGSTOP)
    until(lambda: is_stopped(filling), "the end of the system call")
    assert held(filling) >= SIZE


def test_one_that_is_not_born_yet_is_not_stopped_and_one_that_is_gone_is() -> None:
    assert not is_stopped(0)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert is_stopped(process.pid)
