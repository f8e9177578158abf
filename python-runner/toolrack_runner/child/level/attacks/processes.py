"""Attacks on other processes, and attempts to start processes or to change the identity of this process."""

import ctypes
import errno
import os
from typing import NoReturn

from toolrack_runner.child.jail.linux import syscall
from toolrack_runner.wire.canaries import Canaries

PTRACE_SEIZE = 0x4206
CLONE_NEWUSER = 0x1000_0000
FORKS = 20


def signal_victim(canaries: Canaries) -> None:
    """Sends signal 0, which tests whether a signal could be sent."""
    os.kill(canaries.victim, 0)


def trace_victim(canaries: Canaries) -> None:
    """Attaches to a process of the runner as a tracer, without stopping it. The kernel detaches when this process ends."""
    syscall("ptrace", PTRACE_SEIZE, canaries.victim)


def read_victim(canaries: Canaries) -> None:
    """Reads the memory of a process of the runner."""
    here = ctypes.create_string_buffer(1)
    local = (ctypes.c_size_t * 2)(ctypes.addressof(here), 1)
    remote = (ctypes.c_size_t * 2)(ctypes.addressof(here), 1)
    try:
        syscall(
            "process_vm_readv", canaries.victim, ctypes.addressof(local), 1, ctypes.addressof(remote), 1, 0
        )
    except OSError as error:
        # The memory may be read, but nothing is mapped at this address in that process.
        if error.errno != errno.EFAULT:
            raise


def find_victim(canaries: Canaries) -> None:
    """Asks how a process of the runner is scheduled. An answer shows that the process exists."""
    os.sched_getscheduler(canaries.victim)


def fork_often(_: Canaries) -> None:
    """Starts twenty children at once, and then ends them."""
    reading, writing = os.pipe()
    children = []
    try:
        for _number in range(FORKS):
            pid = os.fork()
            if pid == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            children.append(pid)
    finally:
        os.close(writing)
        os.close(reading)
        for child in children:
            os.waitpid(child, 0)


def daemonise(_: Canaries) -> None:
    """Starts a child that leaves the session, so a signal to its old group does not reach it. The child ends at once."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        raise OSError(errno.EPERM, "setsid")


def execute(canaries: Canaries) -> None:
    """Starts a program of the system."""
    _execute(canaries.program)


def execute_written(canaries: Canaries) -> None:
    """Writes a program into the workdir, and starts it."""
    path = f"{canaries.workdir}/written"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o700)
    try:
        os.write(descriptor, f"#!{canaries.program}\n".encode())
        os.close(descriptor)
        _execute(path)
    finally:
        os.unlink(path)


def become_root(_: Canaries) -> None:
    """Takes the uid 0."""
    os.setuid(0)


def make_user_namespace(_: Canaries) -> None:
    """Makes a user namespace. A process that is root in it reaches less tested parts of the kernel."""
    syscall("unshare", CLONE_NEWUSER)


def use_inherited(canaries: Canaries) -> None:
    """Uses a descriptor that the zygote left open."""
    os.fstat(canaries.inherited)


def _execute(path: str) -> None:
    """Executes a program in a child. If no child can be started, the program replaces this process."""
    reading, writing = os.pipe()
    try:
        if (pid := _fork_if_possible()) == 0:
            _replace(path, writing)
        os.close(writing)
        refusal = os.read(reading, 1) if pid else None
    finally:
        os.close(reading)
    if pid is None:
        os.execv(path, [path])  # noqa: S606 - the attack
    os.waitpid(pid, 0)
    if refusal:
        raise OSError(refusal[0], os.strerror(refusal[0]), path)


def _fork_if_possible() -> int | None:
    try:
        return os.fork()
    except OSError:
        return None


def _replace(path: str, writing: int) -> NoReturn:
    """Replaces this process by the program, which closes `writing`. If that fails, writes the errno there and ends."""
    try:
        os.execv(path, [path])  # noqa: S606 - the attack
    except OSError as error:
        os.write(writing, bytes([error.errno or 0]))
    os._exit(0)
