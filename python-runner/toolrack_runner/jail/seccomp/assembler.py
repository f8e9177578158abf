"""Assembles the program that the kernel runs: classic BPF (`linux/filter.h`), with labels as the targets of jumps.

A conditional jump can skip at most 255 instructions. For a longer distance it jumps to an unconditional jump, which has no
such limit. All jumps go forward, as the kernel requires.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: The operations that the program uses, from `linux/bpf_common.h`. The kernel can evaluate all of them in advance (since
#: 5.11). So it does not run the program for calls that are allowed with any arguments.
LOAD_WORD: Final = 0x20
JUMP: Final = 0x05
RETURN: Final = 0x06
JUMP_IF_EQUAL: Final = 0x15
JUMP_IF_AT_LEAST: Final = 0x35
AND: Final = 0x54

#: `struct sock_filter`: code, jump offset if true, jump offset if false, constant.
INSTRUCTION: Final = struct.Struct("=HBBI")
REACH: Final = 255
#: BPF_MAXINSNS
INSTRUCTIONS_MAX: Final = 4096


@dataclass(frozen=True)
class Label:
    """The target of jumps."""

    name: str


@dataclass(frozen=True)
class Operation:
    """Loads, masks or returns a value."""

    code: int
    constant: int


@dataclass(frozen=True)
class Branch:
    """Jumps to one of two labels; None stands for the next line. If `constant` is a name, its value is filled in later."""

    code: int
    constant: int | str
    if_true: str | None = None
    if_false: str | None = None


Line = Label | Operation | Branch


@dataclass(frozen=True)
class Assembled:
    """The bytes of a program. `holes` has the offsets of the four-byte constants that are filled in later, by name."""

    code: bytes
    holes: Mapping[str, tuple[int, ...]]


def assemble(lines: Sequence[Line]) -> Assembled:
    """Raises ValueError for a jump backwards or a program that is too long, and KeyError for a missing label."""
    labels = {line.name for line in lines if isinstance(line, Label)}
    # The last line is assembled first, so the distance of each jump is known. The numbers in both dicts are distances to
    # the end of the program, in bytes.
    places: dict[str | None, int] = {}
    holes: dict[str, tuple[int, ...]] = {}
    code = b""
    for line in reversed(lines):
        if isinstance(line, Label):
            places[line.name] = len(code)
        elif isinstance(line, Operation):
            code = INSTRUCTION.pack(line.code, 0, 0, line.constant) + code
        else:
            if backwards := (labels & {line.if_true, line.if_false}) - places.keys():
                raise ValueError(f"a jump backwards to {backwards.pop()}")
            places[None] = len(code)
            skipped = [len(code) - places[target] for target in (line.if_true, line.if_false)]
            code = _branch(line, [each // INSTRUCTION.size for each in skipped]) + code
            if isinstance(line.constant, str):
                holes[line.constant] = (len(code) - 4, *holes.get(line.constant, ()))
    if len(code) > INSTRUCTIONS_MAX * INSTRUCTION.size:
        raise ValueError(f"{len(code) // INSTRUCTION.size} instructions; the kernel takes {INSTRUCTIONS_MAX}")
    return Assembled(code, {name: tuple(len(code) - end for end in ends) for name, ends in holes.items()})


def _branch(line: Branch, skipped: Sequence[int]) -> bytes:
    """The branch and its jumps for long distances. `skipped`: how many instructions it skips if true, and if false."""
    added = 0
    while (needed := sum(each + added > REACH for each in skipped)) > added:
        added = needed
    offsets, jumps = [], b""
    for distance in (each + added for each in skipped):
        if distance > REACH:
            offsets.append(len(jumps) // INSTRUCTION.size)
            jumps += INSTRUCTION.pack(JUMP, 0, 0, distance - offsets[-1] - 1)
        else:
            offsets.append(distance)
    constant = 0 if isinstance(line.constant, str) else line.constant
    return INSTRUCTION.pack(line.code, *offsets, constant) + jumps
