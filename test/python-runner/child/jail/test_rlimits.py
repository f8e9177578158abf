import ctypes
import errno
import mmap
import os
import resource
import signal
import tempfile
import threading

import pytest

from child.jail.forked import fork, in_child
from child.jail.limits import apply, memory_in_use
from toolrack_runner.child.jail.identity import drop_identity
from toolrack_runner.child.jail.rlimits import MIB, MemoryInUse
from toolrack_runner.zygote.denied_calls import keep_allocations_in_one_heap

NAMES = ("DATA", "AS", "STACK", "CPU", "FSIZE", "NOFILE", "CORE", "MEMLOCK", "MSGQUEUE", "SIGPENDING")
OPTIONAL = ("MSGQUEUE", "SIGPENDING")


def test_the_defaults_are_those_promised_and_all_are_in_force() -> None:
    def read(_: int) -> object:
        in_force = apply(processes=64, in_use=MemoryInUse(data_bytes=1000, mapped_bytes=2000))
        return [[name, *resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))] for name in in_force]

    assert in_child(read) == [
        ["DATA", 256 * MIB + 1000, 256 * MIB + 1000],
        ["AS", (256 + 8 + 16 + 72) * MIB + 2000, (256 + 8 + 16 + 72) * MIB + 2000],
        ["STACK", 8 * MIB, 8 * MIB],
        ["CPU", 10, 11],
        ["FSIZE", 10 * MIB, 10 * MIB],
        ["NOFILE", 64, 64],
        ["CORE", 0, 0],
        ["MEMLOCK", 0, 0],
        ["MSGQUEUE", 0, 0],
        ["SIGPENDING", 64, 64],
        ["NPROC", 64, 64],
    ]


def test_without_a_number_of_processes_theirs_is_left_alone() -> None:
    before = list(resource.getrlimit(resource.RLIMIT_NPROC))

    assert in_child(lambda _: [apply(), resource.getrlimit(resource.RLIMIT_NPROC)]) == [list(NAMES), before]


def test_memory_ends_at_the_limit_above_what_was_in_use() -> None:
    def take(_: int) -> object:
        apply(memory_bytes=64 * MIB)
        taken = [bytearray(32 * MIB)]
        # The process of the tests may have free memory in its heap. It is in use already, so the limit does not count it.
        try:
            taken.extend(bytearray(64 * MIB) for _number in range(32))
        except MemoryError:
            return "held"
        return "escaped"

    assert in_child(take) == "held"


def test_memory_that_is_not_counted_as_data_ends_at_the_address_space() -> None:
    def take(_: int) -> object:
        apply(memory_bytes=64 * MIB)
        taken = [mmap.mmap(-1, 60 * MIB, flags=mmap.MAP_SHARED) for _number in range(2)]
        try:
            taken.append(mmap.mmap(-1, 60 * MIB, flags=mmap.MAP_SHARED))
        except OSError as error:
            return [len(taken), errno.errorcode[error.errno or 0]]
        return "escaped"

    assert in_child(take) == [2, "ENOMEM"]


def test_the_address_space_is_never_above_what_was_asked_for() -> None:
    def read(_: int) -> object:
        apply(memory_bytes=4096 * MIB, address_space_bytes=4096 * MIB)
        return resource.getrlimit(resource.RLIMIT_AS)

    assert in_child(read) == [4096 * MIB, 4096 * MIB]


def test_the_stack_ends_at_its_limit() -> None:
    def overflow(_: int) -> object:
        resource.setrlimit(resource.RLIMIT_STACK, (64 * MIB, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        apply()
        top = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "__libc_stack_end").value
        assert top is not None
        ctypes.memset(top - 16 * MIB, 0, 1)
        return "escaped"

    assert fork(overflow).code in (-signal.SIGSEGV, -signal.SIGBUS)


def test_a_file_ends_at_its_limit() -> None:
    def write(_: int) -> object:
        # The process of the tests may have more descriptors open than a child may have.
        apply(file_bytes=MIB, open_files=1 << 10)
        with tempfile.TemporaryFile(buffering=0) as file:
            for _number in range(2):
                file.write(bytes(MIB))
        return "escaped"

    assert in_child(write) == "EFBIG"


def test_descriptors_end_at_their_number() -> None:
    def open_many(_: int) -> object:
        apply(open_files=64)
        descriptors = [os.dup(0) for _number in range(64)]
        return len(descriptors)

    assert in_child(open_many) == "EMFILE"


def test_who_spins_is_ended_by_a_signal_and_who_ignores_that_one_is_killed() -> None:
    def spin(_: int) -> object:
        apply(cpu_seconds=1)
        while True:
            pass

    def spin_on(answer: int) -> object:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        return spin(answer)

    assert fork(spin).code == -signal.SIGXCPU
    assert fork(spin_on).code == -signal.SIGKILL


@pytest.mark.skipif(os.getuid() != 0, reason="only root has a uid to give away")
def test_threads_of_a_slot_end_at_their_number() -> None:
    # The kernel counts all processes of a user, so another run of this test must not have the same one.
    slot = 60_400 + os.getpid() % 4_000

    def start_many(_: int) -> object:
        keep_allocations_in_one_heap()  # As a zygote does: a heap of its own for each thread reserves 64 MB.
        apply(processes=16)
        drop_identity(slot, slot)
        done = threading.Event()
        started = 0
        try:
            for _number in range(32):
                threading.Thread(target=done.wait, daemon=True).start()
                started += 1
        except RuntimeError:
            return started
        finally:
            done.set()
        return "escaped"

    assert in_child(start_many) == 15


def test_a_hard_limit_that_is_lower_stays() -> None:
    def read(_: int) -> object:
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 30))
        apply(open_files=64)
        return resource.getrlimit(resource.RLIMIT_NOFILE)

    assert in_child(read) == [30, 30]


def refuse(monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    def setrlimit(number: int, limits: tuple[int, int]) -> None:
        if number == refused:
            # As Python tells EPERM.
            raise ValueError("not allowed to raise maximum limit")
        real(number, limits)

    real = resource.setrlimit
    monkeypatch.setattr(resource, "setrlimit", setrlimit)


@pytest.mark.parametrize("missing", OPTIONAL)
def test_a_limit_that_gvisor_does_not_know_is_not_named_as_in_force(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    refuse(monkeypatch, getattr(resource, f"RLIMIT_{missing}"))

    assert in_child(lambda _: apply()) == [name for name in NAMES if name != missing]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OPTIONAL])
def test_any_other_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    refuse(monkeypatch, getattr(resource, f"RLIMIT_{name}"))

    assert in_child(lambda _: apply()) == "raised ValueError('not allowed to raise maximum limit')"


def test_what_is_in_use_grows_with_what_is_taken() -> None:
    before = memory_in_use().data_bytes
    taken = mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    assert memory_in_use().data_bytes - before >= 64 * MIB
    taken.close()
