"""How the policy for one system call is written: as a verdict, or as a rule with a verdict for each kind of arguments."""

from dataclasses import dataclass
from typing import Final, NamedTuple

#: The return values of a program, from `linux/seccomp.h`.
ALLOW: Final = 0x7FFF0000
KILL_PROCESS: Final = 0x80000000


def fail(code: int) -> int:
    """The verdict for a call that is not made and fails with the errno `code`. With 0 the call reports success."""
    return 0x00050000 | code


#: The errno values of Linux. Other systems can only compile the policy, and their values may differ.
EPERM: Final = 1
EINVAL: Final = 22
ENOSYS: Final = 38
EOPNOTSUPP: Final = 95

DENY: Final = fail(EPERM)
#: For calls that are newer than the table. The C library then uses an older call.
UNKNOWN: Final = fail(ENOSYS)
#: For flags that are not in a list. The answer is that of a kernel that does not know them.
INVALID: Final = fail(EINVAL)
UNSUPPORTED: Final = fail(EOPNOTSUPP)
PRETEND: Final = fail(0)
VERDICTS: Final = (ALLOW, DENY, PRETEND, INVALID, UNSUPPORTED, UNKNOWN, KILL_PROCESS)

#: Used in a condition in place of the child's own process id, which is filled in when the program is applied.
OWN_PROCESS: Final = "own process"

ALL_BITS: Final = 0xFFFFFFFF


class Bits(NamedTuple):
    """Bits whose positions in an argument differ between the machines."""

    x86_64: int
    aarch64: int


@dataclass(frozen=True)
class Condition:
    """Holds if one half (32 bits) of an argument, without the ignored bits, is one of the values.

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
    """The verdict on a call for which every condition holds. A case without conditions holds for every call."""

    conditions: tuple[Condition, ...]
    verdict: int


#: The cases of one call, in order. The first case that holds decides. If none holds, the call is denied. The first case must
#: have a condition.
Rule = tuple[Case, ...]


def when(*conditions: Condition, answer: int = ALLOW) -> Case:
    """Allows a call for which all conditions hold, or gives it another answer."""
    return Case(conditions, answer)


def has_only(argument: int, bits: int | Bits) -> Condition:
    """Holds if an int has no other bits set than `bits`."""
    return Condition(argument, (0,), ignored=bits)


def has_none(argument: int, bits: int) -> Condition:
    """Holds if none of `bits` is set in an int."""
    return Condition(argument, (0,), ignored=ALL_BITS & ~bits)


def upper_is_null(argument: int) -> Condition:
    """Holds if the upper half is 0. For flags that the kernel declares as long."""
    return Condition(argument, (0,), is_upper_half=True)


def is_null(argument: int) -> tuple[Condition, Condition]:
    """Holds if both halves of a pointer are 0."""
    return Condition(argument, (0,)), upper_is_null(argument)


def only(*conditions: Condition, otherwise: int) -> Rule:
    """Allows calls for which all conditions hold, and gives all others one answer."""
    return when(*conditions), when(answer=otherwise)
