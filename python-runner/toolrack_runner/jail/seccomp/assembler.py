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
    long: set[tuple[int, bool]] = set()
    while found := _far_jumps(lines, long) - long:
        long |= found
    places = _places(lines, long)
    code = bytearray()
    holes: dict[str, tuple[int, ...]] = {}
    for index, line in enumerate(lines):
        if isinstance(line, Operation):
            code += INSTRUCTION.pack(line.code, 0, 0, line.constant)
        elif isinstance(line, Branch):
            if isinstance(line.constant, str):
                holes[line.constant] = (*holes.get(line.constant, ()), len(code) + 4)
            code += _branch(index, line, places, long)
    if len(code) > INSTRUCTIONS_MAX * INSTRUCTION.size:
        raise ValueError(f"{len(code) // INSTRUCTION.size} instructions; the kernel takes {INSTRUCTIONS_MAX}")
    return Assembled(bytes(code), holes)


def _size(index: int, line: Line, long: set[tuple[int, bool]]) -> int:
    return 0 if isinstance(line, Label) else 1 + ((index, True) in long) + ((index, False) in long)


def _places(lines: Sequence[Line], long: set[tuple[int, bool]]) -> dict[int | str, int]:
    """The position of each line and each label in the program."""
    places: dict[int | str, int] = {}
    position = 0
    for index, line in enumerate(lines):
        places[index] = position
        if isinstance(line, Label):
            places[line.name] = position
        position += _size(index, line, long)
    return places


def _far_jumps(lines: Sequence[Line], long: set[tuple[int, bool]]) -> set[tuple[int, bool]]:
    places = _places(lines, long)
    return {
        (index, way)
        for index, line in enumerate(lines)
        if isinstance(line, Branch)
        for way, target in ((True, line.if_true), (False, line.if_false))
        if target is not None and places[target] - places[index] - 1 > REACH
    }


def _branch(index: int, line: Branch, places: Mapping[int | str, int], long: set[tuple[int, bool]]) -> bytes:
    after = places[index] + 1
    end = after + ((index, True) in long) + ((index, False) in long)
    offsets, jumps = [], b""
    for way, target in ((True, line.if_true), (False, line.if_false)):
        to = end if target is None else places[target]
        if to < end:
            raise ValueError(f"a jump backwards to {target}")
        if (index, way) in long:
            offsets.append(len(jumps) // INSTRUCTION.size)
            jumps += INSTRUCTION.pack(JUMP, 0, 0, to - (after + offsets[-1] + 1))
        else:
            offsets.append(to - after)
    constant = 0 if isinstance(line.constant, str) else line.constant
    return INSTRUCTION.pack(line.code, offsets[0], offsets[1], constant) + jumps
