"""A waiting child is counted with the memory that the kernel keeps for it and that no file of /proc reports."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolrack_runner.server.pool import waiting_bytes as module
from toolrack_runner.server.pool.holding import Holding, holding_of
from toolrack_runner.server.pool.waiting_bytes import MAPS_BYTES_MAX, mapping_bytes, waiting_bytes

MB = 1 << 20
#: Measured with 30 epolls, and 29 files with 61 numbers each.
WATCHES_MOST, WATCH_BYTES = 53_070, 209
#: The least that the kernel keeps for a mapping.
MAPPING_BYTES = 200
SPLITS = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
count = int(sys.argv[1])
address = libc.mmap(None, count * 4096, 3, 0x22, -1, 0)
for page in range(0, count, 2):
    libc.mprotect(address + page * 4096, 4096, 1)
print("ready", flush=True)
sys.stdin.read()
"""
#: The first thread ends; another one holds 64 MB and 40 descriptors.
FIRST_THREAD_ENDS = """
import ctypes, os, platform, threading, time
def hold():
    global kept
    time.sleep(0.1)
    kept = bytearray(b"x") * (64 << 20), [os.dup(0) for _ in range(40)]
    print("ready", flush=True)
    time.sleep(3600)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
"""


@contextmanager
def running(program: str, *arguments: str) -> Iterator[int]:
    """The pid of a program that has said that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process.pid
        finally:
            process.kill()


def held(pid: int) -> Holding:
    return holding_of(pid, shared_anonymous_bytes=0, descriptors_max=64, workplace="/")


def mappings(pid: int) -> int:
    return len(Path(f"/proc/{pid}/maps").read_bytes().splitlines())


def test_few_mappings_are_counted_exactly() -> None:
    with running(SPLITS, "600") as pid:
        counted = mapping_bytes(pid, held(pid).mapped_bytes)
        assert counted == mappings(pid) * module.MAPPING_BYTES
        assert counted >= 600 * MAPPING_BYTES


def test_many_mappings_are_not_read_and_counted_by_the_most_that_they_can_be() -> None:
    with running(SPLITS, "40000") as pid:
        counted = mapping_bytes(pid, held(pid).mapped_bytes)
        assert Path(f"/proc/{pid}/maps").read_bytes()[MAPS_BYTES_MAX:]
        assert counted == min(held(pid).mapped_bytes // 4096, 65_530) * module.MAPPING_BYTES
        assert counted >= mappings(pid) * MAPPING_BYTES


def test_mappings_that_this_process_may_not_read_are_counted_by_the_most_that_they_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    with running(SPLITS, "600") as pid:
        monkeypatch.setattr("builtins.open", refuse)
        assert mapping_bytes(pid, 32 * MB) == 32 * MB // 4096 * module.MAPPING_BYTES


def test_the_files_that_a_child_can_watch_are_counted() -> None:
    holding = Holding(held_bytes=5 * MB, descriptors=64)
    assert waiting_bytes(holding, 0, 64) >= 5 * MB + WATCHES_MOST * WATCH_BYTES
    # A child that has opened nothing is counted with next to nothing for it.
    assert waiting_bytes(Holding(held_bytes=5 * MB, descriptors=4), 0, 64) < 5.1 * MB


def test_a_child_is_measured_by_any_of_its_threads() -> None:
    with running(FIRST_THREAD_ENDS) as pid:
        assert "\nVmRSS:" not in Path(f"/proc/{pid}/status").read_text()
        holding = held(pid)
    # 40 descriptors, and the sockets that they could be.
    assert holding.descriptors >= 40
    assert holding.held_bytes > (64 + 40 * 0.2) * MB
    assert holding.resident_bytes_max > 64 * MB
    assert holding.threads == 2
