import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from toolrack_runner.child.jail.linux import ON_LINUX, SYSCALLS, syscall

RUNNER = Path(__file__).parents[4] / "python-runner"


@pytest.mark.skipif(not ON_LINUX, reason="needs Linux")
def test_a_pointer_of_64_bits_arrives_whole() -> None:
    buffer = ctypes.create_string_buffer(64)

    assert ctypes.addressof(buffer) > 2**32
    assert syscall("getrandom", ctypes.addressof(buffer), 64) == 64
    assert buffer.raw != bytes(64)


@pytest.mark.skipif(not ON_LINUX, reason="needs Linux")
def test_a_refusal_names_the_call_and_its_errno() -> None:
    with pytest.raises(FileNotFoundError, match="chroot"):
        syscall("chroot", ctypes.addressof(ctypes.create_string_buffer(b"/not there")))


def test_a_call_without_a_number_is_not_implemented() -> None:
    with pytest.raises(OSError, match=r"Errno \d+\] Function not implemented: 'no_such_call'"):
        syscall("no_such_call")


@pytest.mark.skipif(not ON_LINUX, reason="needs Linux")
def test_the_tables_agree_with_the_headers_of_this_machine() -> None:
    asked = [
        f"#include <sys/syscall.h>\n#ifdef __NR_{name}\n{name} __NR_{name}\n#endif\n" for name in SYSCALLS
    ]
    try:
        ended = subprocess.run(
            ["cc", "-E", "-P", "-"], input="".join(asked), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no C compiler with headers")
    rows = [line.rsplit(" ", 1) for line in ended.stdout.splitlines() if line.strip()]
    # A name is itself a macro nowhere, so each row is a name and its number.
    told = {name: int(number) for name, number in rows if number.isdigit()}

    assert len(told) > 300
    assert {name: SYSCALLS[name] for name in told} == told


@pytest.mark.parametrize("platform", ["darwin", "linux"])
def test_elsewhere_everything_imports_and_each_layer_says_that_it_is_missing(platform: str) -> None:
    text = f"""
        import os, platform, signal, sys
        sys.path.append({str(RUNNER)!r})
        sys.platform, platform.machine = {platform!r}, lambda: "riscv64"
        for name in ("O_PATH", "memfd_create", "setresuid", "setresgid", "posix_fallocate"):
            delattr(os, name)
        import toolrack_runner.child.jail.hygiene, toolrack_runner.child.jail.identity, toolrack_runner.child.level.attempts
        from toolrack_runner.child.jail.landlock import LandlockRules
        from toolrack_runner.child.jail.rlimits import MemoryInUse, plan_limits, set_limits
        from toolrack_runner.child.jail.seccomp.program import SeccompProgram
        from toolrack_runner.wire.zygote_messages import Limits
        print(SeccompProgram.prepare().reason)
        print(LandlockRules.prepare(["/"]).reason)
        print("FSIZE" in set_limits(plan_limits(Limits(), processes=None, in_use=MemoryInUse())))
    """
    ended = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(text)], capture_output=True, text=True, check=False
    )

    assert (ended.stderr, ended.stdout.splitlines()) == (
        "",
        [
            "there is no seccomp program for this system (riscv64)",
            "this system has no Landlock: Function not implemented",
            "True",
        ],
    )
