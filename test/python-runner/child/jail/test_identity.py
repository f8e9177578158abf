import ctypes
import os
from pathlib import Path

import pytest

from child.jail.forked import in_child
from toolrack_runner.child.jail.identity import drop_bounding_set, drop_capabilities, drop_identity
from toolrack_runner.child.jail.linux import ON_LINUX, syscall

SLOT = 60_323
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_CHOWN = 0

pytestmark = pytest.mark.skipif(not ON_LINUX, reason="needs Linux")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


def capabilities() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line[3:6]: int(line.split()[1], 16) for line in lines if line.startswith("Cap")}


@needs_root
def test_a_slot_is_a_user_in_no_group_with_no_way_back() -> None:
    def become(_: int) -> object:
        os.setgroups([1, 2])
        drop_identity(SLOT, SLOT + 1)
        return [os.getresuid(), os.getresgid(), os.getgroups()]

    def come_back(_: int) -> object:
        drop_identity(SLOT, SLOT)
        os.setuid(0)
        return "escaped"

    assert in_child(become) == [[SLOT] * 3, [SLOT + 1] * 3, []]
    assert in_child(come_back) == "EPERM"


@needs_root
def test_the_user_zero_without_capabilities_may_not_do_what_root_may() -> None:
    def inspect(_: int) -> object:
        assert capabilities()["Eff"]
        drop_capabilities()
        sets = {name: value for name, value in capabilities().items() if name != "Bnd"}
        os.chroot("/")
        return sets

    def sets(_: int) -> object:
        drop_capabilities()
        return {name: value for name, value in capabilities().items() if name != "Bnd"}

    assert in_child(inspect) == "EPERM"
    assert in_child(sets) == {"Inh": 0, "Prm": 0, "Eff": 0, "Amb": 0}


@needs_root
def test_what_would_survive_an_exec_is_dropped_too() -> None:
    def drop(_: int) -> object:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        sets = (ctypes.c_uint32 * 6)()
        syscall("capget", ctypes.addressof(header), ctypes.addressof(sets))
        sets[2] = sets[1]
        syscall("capset", ctypes.addressof(header), ctypes.addressof(sets))
        syscall("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN)
        before = capabilities()
        drop_capabilities()
        after = capabilities()
        return [before["Amb"], bool(before["Inh"]), after["Amb"], after["Inh"]]

    assert in_child(drop) == [1 << CAP_CHOWN, True, 0, 0]


def test_who_has_no_capabilities_may_drop_them() -> None:
    def drop(_: int) -> object:
        if os.getuid() == 0:
            drop_identity(SLOT, SLOT)
        drop_capabilities()
        return capabilities()["Prm"]

    assert in_child(drop) == 0


@needs_root
def test_the_bounding_set_is_empty_and_the_rest_stays_for_the_zygote() -> None:
    def drop(_: int) -> object:
        before = capabilities()
        drop_bounding_set()
        after = capabilities()
        return [bool(before["Bnd"]), after["Bnd"], after["Eff"] == before["Eff"]]

    assert in_child(drop) == [True, 0, True]


def test_the_bounding_set_is_not_silently_kept() -> None:
    def drop(_: int) -> object:
        if os.getuid() == 0:
            drop_identity(SLOT, SLOT)
        drop_bounding_set()
        return "silent"

    assert in_child(drop) == "EPERM"
