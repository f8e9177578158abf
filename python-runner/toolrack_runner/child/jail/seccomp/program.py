"""Compiles the policy for this machine, and applies it in the kernel."""

import ctypes
import errno
import os
import struct
from typing import Final, Self

from toolrack_runner.child.jail.hygiene import forbid_new_privileges
from toolrack_runner.child.jail.linux import MACHINE, SYSCALLS, Unavailable, syscall
from toolrack_runner.child.jail.seccomp.assembler import INSTRUCTION, Assembled
from toolrack_runner.child.jail.seccomp.compile_policy import compile_policy
from toolrack_runner.child.jail.seccomp.rule import OWN_PROCESS

SECCOMP_SET_MODE_FILTER: Final = 1

#: The exit code of the child that tries the program, if the kernel has accepted the program but has not denied a denied
#: call.
LET_THROUGH: Final = 255


class SeccompProgram:
    """A compiled program. Only the process id of the child remains to be filled in."""

    def __init__(self, assembled: Assembled) -> None:
        self._code = ctypes.create_string_buffer(assembled.code, len(assembled.code))
        self._holes = assembled.holes[OWN_PROCESS]
        # `struct sock_fprog`: the number of instructions, and their address.
        program = struct.pack("@HP", len(assembled.code) // INSTRUCTION.size, ctypes.addressof(self._code))
        self._program = ctypes.create_string_buffer(program, len(program))

    @classmethod
    def prepare(cls) -> Self | Unavailable:
        """Compiles the policy, and finds out in a child whether the kernel enforces it. Called once, in the zygote."""
        if not SYSCALLS:
            return Unavailable(f"there is no seccomp program for this system ({MACHINE})")
        program = cls(compile_policy(MACHINE))
        pid = os.fork()
        if pid == 0:
            os._exit(program.try_out())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code == LET_THROUGH:
            return Unavailable("the kernel accepts a seccomp program and does not enforce it")
        if code != 0:
            return Unavailable(
                f"the kernel accepts no seccomp program: {os.strerror(code) if code > 0 else code}"
            )
        return program

    def apply(self) -> None:
        """Applies the program permanently to this thread and to threads that it starts. Needs no_new_privs.

        If this raises OSError, the child must end.
        """
        own = os.getpid()
        for hole in self._holes:
            struct.pack_into("=I", self._code, hole, own)
        syscall("seccomp", SECCOMP_SET_MODE_FILTER, 0, ctypes.addressof(self._program))

    def try_out(self) -> int:
        """Applies the program to this process, and then makes a call that is denied.

        Returns 0 if the call fails as denied, the kernel's errno if it refuses the program, and LET_THROUGH in all other
        cases.
        """
        try:
            forbid_new_privileges()
            self.apply()
        except OSError as error:
            return error.errno or LET_THROUGH
        try:
            syscall("unshare")
        except OSError as error:
            return 0 if error.errno == errno.EPERM else LET_THROUGH
        return LET_THROUGH
