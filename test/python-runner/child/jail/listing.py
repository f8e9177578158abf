"""Writes a program and its verdicts so that a person can read them."""

import struct
from collections.abc import Iterator

from child.jail.bpf_interpreter import interpret
from toolrack_runner.child.jail.seccomp.compile_policy import ARCHITECTURES, compile_policy
from toolrack_runner.child.jail.seccomp.syscalls import TABLES

FIELDS = {0: "number", 4: "architecture"}
VERDICTS = {
    0x7FFF0000: "allow",
    0x00050001: "EPERM",
    0x00050016: "EINVAL",
    0x00050026: "ENOSYS",
    0x0005005F: "EOPNOTSUPP",
    0x00050000: "pretend",
    0x80000000: "kill",
}
#: One set of arguments that no rule for arguments allows.
ODD = (0xDEADBEEF,) * 6


def program_listing(machine: str) -> str:
    """One line per instruction; jumps by the line they go to."""
    return "".join(f"{line}\n" for line in _instructions(compile_policy(machine).code))


def program_hex(machine: str) -> str:
    """One instruction per line, its bytes as in memory."""
    code = compile_policy(machine).code
    return "".join(f"{code[start : start + 8].hex()}\n" for start in range(0, len(code), 8))


def verdicts_listing() -> str:
    """Every call of both tables with what the two programs return for it; `by its arguments` where they count."""
    names = sorted(set().union(*TABLES.values()))
    rows = [f"{name:<26}{_verdict(name, 'x86_64'):<22}{_verdict(name, 'aarch64')}".rstrip() for name in names]
    return "".join(f"{row}\n" for row in (f"{'':<26}{'x86_64':<22}aarch64", *rows))


def _instructions(code: bytes) -> Iterator[str]:
    for line, (operation, if_true, if_false, constant) in enumerate(struct.iter_unpack("=HBBI", code)):
        match operation:
            case 0x20:
                text = f"load {FIELDS.get(constant) or _argument(constant)}"
            case 0x54:
                text = f"and {constant:#x}"
            case 0x05:
                text = f"jump {line + 1 + constant}"
            case 0x06:
                text = f"return {VERDICTS[constant]}"
            case _:
                sign = {0x15: "=", 0x35: ">="}[operation]
                text = (
                    f"if {sign} {constant:#x} ({constant}): {line + 1 + if_true} else {line + 1 + if_false}"
                )
        yield f"{line:4} {text}"


def _argument(offset: int) -> str:
    number, rest = divmod(offset - 16, 8)
    return f"argument {number} {'upper' if rest else 'lower'} half"


def _verdict(name: str, machine: str) -> str:
    number = TABLES[machine].get(name)
    if number is None:
        return "-"
    code = compile_policy(machine).code
    seen = {
        interpret(code, architecture=ARCHITECTURES[machine], number=number, arguments=arguments)
        for arguments in (
            (),
            ODD,
            (1, 1, 1, 1, 1, 1),
            (0x10000,) * 6,
            (15,) * 6,
            (0, 0, 0x5401, 0x5401),
            (0, 1, 7),
        )
    }
    return VERDICTS[seen.pop()] if len(seen) == 1 else "by its arguments"
