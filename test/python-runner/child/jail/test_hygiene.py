import os
import select
import signal
import stat
import time
from pathlib import Path

import pytest

from child.jail.forked import fork, in_child
from toolrack_runner.child.jail.hygiene import (
    PR_SET_DUMPABLE,
    die_with,
    forbid_new_privileges,
    hide_memory,
    separate_from_zygote,
)
from toolrack_runner.child.jail.linux import ON_LINUX, prctl

pytestmark = pytest.mark.skipif(not ON_LINUX, reason="needs Linux")


def status(field: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(f"{field}:"))


def test_a_child_has_a_session_and_a_group_of_its_own() -> None:
    def inspect(_: int) -> object:
        separate_from_zygote()
        return os.getsid(0) == os.getpgrp() == os.getpid()

    assert in_child(inspect) is True


def test_a_child_dies_with_its_parent() -> None:
    reading, writing = os.pipe()
    middle = os.fork()
    if middle == 0:
        own = os.getpid()
        if os.fork() == 0:
            die_with(own)
            os.write(writing, b"!")
            signal.alarm(60)
            signal.pause()
        signal.pause()
    os.close(writing)
    assert os.read(reading, 1) == b"!"
    os.kill(middle, signal.SIGKILL)
    os.waitpid(middle, 0)
    # The end of the pipe: nobody is left who could write. Without the wish that is after a minute.
    has_ended = select.select([reading], [], [], 20)[0]
    assert has_ended
    assert os.read(reading, 1) == b""
    os.close(reading)


def test_a_child_whose_parent_has_already_gone_ends_at_once() -> None:
    assert fork(lambda _: die_with(os.getppid() + 1)).code == 1
    assert fork(lambda _: die_with(os.getppid())).code == 0


def test_the_memory_of_a_child_belongs_to_root() -> None:
    def inspect(_: int) -> object:
        if os.getuid() == 0:
            os.setresuid(65534, 65534, 65534)
        # Another uid has hidden it already, for a start.
        prctl(PR_SET_DUMPABLE, 1)
        os.close(os.open("/proc/self/mem", os.O_RDONLY))
        before = os.stat("/proc/self/environ").st_uid
        hide_memory()
        try:
            os.close(os.open("/proc/self/mem", os.O_RDONLY))
        except PermissionError:
            return [before, os.stat("/proc/self/environ").st_uid]
        return "readable"

    assert in_child(inspect) == [os.getuid() or 65534, 0]


def test_nothing_gains_privileges() -> None:
    def inspect(_: int) -> object:
        before = status("NoNewPrivs")
        forbid_new_privileges()
        return [before, status("NoNewPrivs")]

    assert in_child(inspect) == ["0", "1"]


def test_what_a_child_writes_is_its_own(tmp_path: Path) -> None:
    def write(_: int) -> object:
        separate_from_zygote()
        os.mkdir(tmp_path / "folder")
        (tmp_path / "file").touch()
        return [stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("folder", "file")]

    assert in_child(write) == [0o700, 0o600]


def test_stdin_is_at_its_end() -> None:
    def read(_: int) -> object:
        separate_from_zygote()
        before = time.monotonic()
        return [os.read(0, 1).decode(), time.monotonic() - before < 5]

    assert in_child(read) == ["", True]
