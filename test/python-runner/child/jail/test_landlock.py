import errno
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from child.jail.forked import in_child
from child.jail.open_descriptors import open_ones
from toolrack_runner.child.jail import landlock as landlock_module
from toolrack_runner.child.jail.hygiene import forbid_new_privileges
from toolrack_runner.child.jail.landlock import (
    READ_WRITE,
    LandlockRules,
    file_rights,
    path_rule,
    ruleset_attributes,
)
from toolrack_runner.child.jail.linux import SYSCALLS, Unavailable


class Place:
    """A directory to read, one to work in, and what must stay out of reach."""

    def __init__(self, base: Path) -> None:
        self.readable, self.workdir, self.outside = (
            base / name for name in ("readable", "workdir", "outside")
        )
        for folder in (self.readable, self.workdir, self.outside):
            folder.mkdir()
            (folder / "file").write_text("text")
        (base / "alone").write_text("text")
        self.alone = base / "alone"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def see(place: Place) -> Callable[[Callable[[], object]], object]:
    """What an action sees when confined to the place."""
    rules = LandlockRules.prepare([str(place.readable), str(place.alone), str(place.outside / "not there")])
    if isinstance(rules, Unavailable):
        pytest.skip(rules.reason)

    def confined(action: Callable[[], object]) -> object:
        def run(_: int) -> object:
            forbid_new_privileges()
            rules.apply(writable=str(place.workdir))
            return action()

        return in_child(run)

    return confined


See = Callable[[Callable[[], object]], object]


def test_what_is_named_may_be_read_and_nothing_else(place: Place, see: See) -> None:
    assert see((place.readable / "file").read_text) == "text"
    assert see(lambda: os.listdir(place.readable)) == ["file"]
    assert see(place.alone.read_text) == "text"
    assert see((place.outside / "file").read_text) == "EACCES"
    assert see(lambda: os.listdir(place.outside)) == "EACCES"


def test_what_may_be_read_may_not_be_changed(place: Place, see: See) -> None:
    assert see(lambda: (place.readable / "file").write_text("x")) == "EACCES"
    assert see(lambda: os.unlink(place.readable / "file")) == "EACCES"
    assert see(lambda: os.rename(place.readable / "file", place.workdir / "taken")) in {"EACCES", "EXDEV"}
    assert see(lambda: place.alone.write_text("x")) == "EACCES"


def test_a_file_outside_is_not_cut_short(place: Place, see: See) -> None:
    rules = LandlockRules.prepare([])
    assert isinstance(rules, LandlockRules)
    if rules.abi < 3:
        pytest.skip(f"Landlock of ABI {rules.abi} does not know truncation; seccomp denies it by path")
    assert see(lambda: os.truncate(place.outside / "file", 0)) == "EACCES"


def test_in_the_workdir_files_and_folders_come_and_go(place: Place, see: See) -> None:
    def work() -> object:
        os.chdir(place.workdir)
        os.makedirs("a/b")
        Path("a/one").write_text("one")
        os.rename("a/one", "a/b/two")
        os.truncate("a/b/two", 1)
        os.unlink("file")
        return [sorted(os.listdir()), Path("a/b/two").read_text()]

    assert see(work) == [["a"], "o"]


def test_in_the_workdir_no_link_no_pipe_no_socket_no_device_is_made(place: Place, see: See) -> None:
    import socket

    path = str(place.workdir / "made")

    def bind() -> None:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(path)

    assert see(lambda: os.symlink("/", path)) == "EACCES"
    assert see(lambda: os.mkfifo(path)) == "EACCES"
    assert see(bind) == "EACCES"
    if os.getuid() == 0:
        assert see(lambda: os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))) == "EACCES"


def test_nothing_can_be_executed(place: Place, see: See) -> None:
    program = place.workdir / "program"
    program.write_text("#!/bin/true\n")
    program.chmod(0o755)
    (place.readable / "program").symlink_to("/bin/true")

    for path in (str(program), "/bin/true", str(place.readable / "program")):
        assert see(lambda path=path: os.execv(path, [path])) == "EACCES"  # type: ignore[misc]


def test_the_null_device_can_be_written(see: See) -> None:
    assert see(lambda: Path("/dev/null").write_text("gone")) == 4


def test_its_own_threads_may_be_signalled_and_the_parent_may_not(see: See) -> None:
    rules = LandlockRules.prepare([])
    assert isinstance(rules, LandlockRules)
    if rules.abi < 6:
        pytest.skip(f"Landlock of ABI {rules.abi} knows no scopes; seccomp denies signals to others")

    def signal_a_thread() -> object:
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        signal.pthread_kill(thread.ident or 0, 0)
        done.set()
        return "went well"

    parent = os.getpid()
    assert see(signal_a_thread) == "went well"
    assert see(lambda: os.kill(parent, 0)) == "EPERM"


def test_two_children_of_the_same_rules_do_not_share_a_workdir(place: Place) -> None:
    rules = LandlockRules.prepare([])
    assert isinstance(rules, LandlockRules)

    def write_into(own: Path, other: Path) -> object:
        def run(_: int) -> object:
            forbid_new_privileges()
            rules.apply(writable=str(own))
            (own / "new").write_text("text")
            (other / "new").write_text("text")
            return "escaped"

        return in_child(run)

    assert write_into(place.workdir, place.outside) == "EACCES"
    assert write_into(place.outside, place.workdir) == "EACCES"
    assert (place.workdir / "new").exists()
    assert (place.outside / "new").exists()


def test_the_workdir_may_be_given_as_a_descriptor_and_none_is_left_open(place: Place) -> None:
    rules = LandlockRules.prepare([str(place.readable)])
    assert isinstance(rules, LandlockRules)

    def run(_: int) -> object:
        workdir = os.open(place.workdir, os.O_PATH)
        before = open_ones()
        forbid_new_privileges()
        rules.apply(writable=workdir)
        (place.workdir / "new").touch()
        return sorted(before - open_ones()) == sorted([*rules.descriptors, workdir])

    assert in_child(run) is True


@pytest.mark.parametrize(
    ("abi", "expected"),
    [
        (1, "ff1f000000000000"),
        (2, "ff3f000000000000"),
        (3, "ff7f000000000000"),
        (4, "ff7f000000000000 0300000000000000"),
        (5, "ffff000000000000 0300000000000000"),
        (6, "ffff000000000000 0300000000000000 0300000000000000"),
        (7, "ffff000000000000 0300000000000000 0300000000000000"),
        (99, "ffff000000000000 0300000000000000 0300000000000000"),
    ],
)
def test_each_abi_is_told_all_that_it_knows_and_nothing_more(abi: int, expected: str) -> None:
    assert ruleset_attributes(abi) == bytes.fromhex(expected)
    assert READ_WRITE & file_rights(abi) & ~file_rights(abi) == 0


def test_the_workdir_has_every_right_but_to_execute_and_to_make_special_files() -> None:
    execute, make_char, make_sock, make_fifo, make_block, make_sym, ioctl_dev = (
        1 << bit for bit in (0, 6, 9, 10, 11, 12, 15)
    )

    assert (
        file_rights(7) & ~READ_WRITE
        == execute | make_char | make_sock | make_fifo | make_block | make_sym | ioctl_dev
    )
    assert path_rule(READ_WRITE, 7) == bytes.fromhex("be61000000000000 07000000")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.ENOSYS, "this system has no Landlock: Function not implemented"),
        (errno.EPERM, "this system has no Landlock: Operation not permitted"),
        (
            errno.EOPNOTSUPP,
            "Landlock is in this kernel but was not switched on at its start (lsm=landlock,...)",
        ),
    ],
)
def test_a_kernel_without_it_says_so(monkeypatch: pytest.MonkeyPatch, code: int, reason: str) -> None:
    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(landlock_module, "syscall", refuse)

    assert LandlockRules.prepare(["/"]) == Unavailable(reason)


def test_the_numbers_of_its_calls_are_known() -> None:
    assert [SYSCALLS[f"landlock_{name}"] for name in ("create_ruleset", "add_rule", "restrict_self")] == [
        444,
        445,
        446,
    ]
