"""Assembles the program that the kernel runs: classic BPF (`linux/filter.h`), with labels to which jumps lead.

A conditional jump can skip at most 255 instructions. If its label is farther away, it leads to an unconditional jump, which
has no such limit. Several conditional jumps to one label share an unconditional jump. All jumps lead forward, as the kernel
requires.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: The operations that the program uses, from `linux/bpf_common.h`. Since Linux 5.11 the kernel can compute in advance which
#: calls the program always allows. For these calls it does not run the program.
LOAD_WORD: Final = 0x20
JUMP: Final = 0x05
RETURN: Final = 0x06
JUMP_IF_EQUAL: Final = 0x15
JUMP_IF_AT_LEAST: Final = 0x35
AND: Final = 0x54

#: `struct sock_filter`: code, jump offset if true, jump offset if false, constant.
INSTRUCTION: Final = struct.Struct("=HBBI")
REACH: Final = 255
#: The most instructions that the kernel accepts in a program (BPF_MAXINSNS).
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
    """Jumps to one of two labels. None stands for the next line. If `constant` is a name, its value is filled in later."""

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
    """Assembles a program.

    Raises ValueError for a jump backwards or a program that is too long, and KeyError for a missing label.
    """
    labels = {line.name for line in lines if isinstance(line, Label)}
    # The last instruction is assembled first, so that the distance of each jump is known. `places` has, for each label, how
    # many instructions are from there to the end of the program. `jumps` has the nearest unconditional jump to each label.
    code: list[bytes] = []
    places: dict[str | None, int] = {}
    jumps: dict[str | None, int] = {}
    holes: dict[str, tuple[int, ...]] = {}

    def distance(target: str | None) -> int:
        return len(code) - max(places[target], jumps.get(target, 0))

    for line in reversed(lines):
        if isinstance(line, Label):
            places[line.name] = len(code)
        elif isinstance(line, Operation):
            code.append(INSTRUCTION.pack(line.code, 0, 0, line.constant))
        else:
            places[None] = len(code)
            targets = (line.if_true, line.if_false)
            if backwards := (labels & {*targets}) - places.keys():
                raise ValueError(f"a jump backwards to {backwards.pop()}")
            # Adding a jump for one of the two labels can move the other label out of reach.
            while far := [target for target in targets if distance(target) > REACH]:
                code.append(INSTRUCTION.pack(JUMP, 0, 0, len(code) - places[far[0]]))
                jumps[far[0]] = len(code)
            constant = 0 if isinstance(line.constant, str) else line.constant
            code.append(INSTRUCTION.pack(line.code, *map(distance, targets), constant))
            if isinstance(line.constant, str):
                holes[line.constant] = (len(code), *holes.get(line.constant, ()))
    if len(code) > INSTRUCTIONS_MAX:
        raise ValueError(f"{len(code)} instructions; the kernel takes {INSTRUCTIONS_MAX}")
    return Assembled(
        b"".join(reversed(code)),
        {
            name: tuple((len(code) - place + 1) * INSTRUCTION.size - 4 for place in places_of)
            for name, places_of in holes.items()
        },
    )
