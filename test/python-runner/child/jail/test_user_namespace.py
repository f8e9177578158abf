"""The zygote of an ordinary user starts again in a user namespace of its own, where the kernel allows it."""

import os
from pathlib import Path

import pytest

from child.jail.forked import in_child
from toolrack_runner.child.jail import user_namespace
from toolrack_runner.child.jail.hygiene import PR_SET_DUMPABLE
from toolrack_runner.child.jail.linux import prctl

NOBODY = 65534


def be_an_ordinary_user() -> None:
    if os.getuid() == 0:
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # As a program has it that an ordinary user has started.
        prctl(PR_SET_DUMPABLE, 1)


def capabilities(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0], 16)


def namespace() -> str:
    return os.readlink("/proc/self/ns/user")


def test_the_next_program_keeps_the_capabilities_of_the_namespace_and_its_user() -> None:
    def enter(_: int) -> object:
        be_an_ordinary_user()
        before, user = namespace(), os.getuid()
        if not user_namespace._enter():
            return "refused"
        # CAP_SYS_ADMIN.
        has_all = capabilities("CapAmb") == capabilities("CapPrm") and bool(capabilities("CapAmb") >> 21 & 1)
        return [namespace() != before, os.getuid() == user, has_all]

    seen = in_child(enter)
    if seen == "refused":
        pytest.skip("this kernel lets no ordinary user make a user namespace")
    assert seen == [True, True, True]


def test_where_a_step_is_refused_nothing_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(user_namespace, "map_own_user", refuse)

    def start(_: int) -> object:
        be_an_ordinary_user()
        before = namespace()
        user_namespace.start_again_in_own_user_namespace("/nowhere")
        return namespace() == before

    assert in_child(start) is True


def test_a_program_that_has_been_started_again_is_not_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["runner", "--zygote", user_namespace.AGAIN])

    def start(_: int) -> object:
        be_an_ordinary_user()
        before = namespace()
        user_namespace.start_again_in_own_user_namespace("/nowhere")
        return namespace() == before

    assert in_child(start) is True


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_root_needs_none() -> None:
    def start(_: int) -> object:
        before = namespace()
        user_namespace.start_again_in_own_user_namespace("/nowhere")
        return namespace() == before

    assert in_child(start) is True
