"""How the policy for one system call is written: as a verdict, or as a rule with a verdict for each kind of arguments."""

from dataclasses import dataclass
from typing import Final, NamedTuple

#: The return values of a program, from `linux/seccomp.h`.
ALLOW: Final = 0x7FFF0000
KILL_PROCESS: Final = 0x80000000


def fail(code: int) -> int:
    """The verdict that a call is not made and fails with the errno `code`. With 0, the call reports success."""
    return 0x00050000 | code


#: The errno values of Linux. On another system the policy can only be compiled, and the values may differ there.
EPERM: Final = 1
EINVAL: Final = 22
ENOSYS: Final = 38
EOPNOTSUPP: Final = 95

DENY: Final = fail(EPERM)
#: The verdict for calls that are newer than the table. The C library then uses an older call.
UNKNOWN: Final = fail(ENOSYS)
#: The verdict for flags that are not allowed. It is the answer of a kernel that does not know the flags.
INVALID: Final = fail(EINVAL)
UNSUPPORTED: Final = fail(EOPNOTSUPP)
PRETEND: Final = fail(0)
VERDICTS: Final = (ALLOW, DENY, PRETEND, INVALID, UNSUPPORTED, UNKNOWN, KILL_PROCESS)

#: In a condition, stands for the process id of the child itself. It is filled in when the program is applied.
OWN_PROCESS: Final = "own process"

ALL_BITS: Final = 0xFFFFFFFF


class Bits(NamedTuple):
    """Bits of an argument that have other positions on aarch64 than on x86_64."""

    x86_64: int
    aarch64: int


@dataclass(frozen=True)
class Condition:
    """True if one half (32 bits) of an argument has one of the values. The ignored bits are not compared.

    The kernel ignores the upper half of an argument that it declares as int, so one condition is enough for an int. A
    pointer needs a condition for each half.
    """

    argument: int
    values: tuple[int | str, ...]
    ignored: int | Bits = 0
    is_upper_half: bool = False

    def mask(self, machine: str) -> int:
        """The bits that are compared on this machine."""
        ignored = self.ignored
        if isinstance(ignored, Bits):
            ignored = ignored.x86_64 if machine == "x86_64" else ignored.aarch64
        return ALL_BITS & ~ignored


@dataclass(frozen=True)
class Case:
    """The verdict on a call for which all conditions are true. A case without conditions is for every call."""

    conditions: tuple[Condition, ...]
    verdict: int


#: The cases of one call, in order. The first case whose conditions are true decides. If there is none, the call is denied.
#: The first case must have a condition.
Rule = tuple[Case, ...]


def when(*conditions: Condition, answer: int = ALLOW) -> Case:
    """Allows a call for which all conditions are true, or gives it another answer."""
    return Case(conditions, answer)


def has_only(argument: int, bits: int | Bits) -> Condition:
    """True if an int has no other bits set than `bits`."""
    return Condition(argument, (0,), ignored=bits)


def has_none(argument: int, bits: int) -> Condition:
    """True if none of `bits` is set in an int."""
    return Condition(argument, (0,), ignored=ALL_BITS & ~bits)


def upper_is_null(argument: int) -> Condition:
    """True if the upper half is 0. Used for flags that the kernel declares as long."""
    return Condition(argument, (0,), is_upper_half=True)


def is_null(argument: int) -> tuple[Condition, Condition]:
    """True if both halves of a pointer are 0."""
    return Condition(argument, (0,)), upper_is_null(argument)


def only(*conditions: Condition, otherwise: int) -> Rule:
    """Allows calls for which all conditions are true, and gives one answer to all others."""
    return when(*conditions), when(answer=otherwise)
