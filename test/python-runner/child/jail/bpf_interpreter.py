"""Runs a seccomp program as the kernel would (`Documentation/networking/filter.rst`), for any machine."""

import struct
from collections.abc import Sequence

KNOWN = {0x20: "load", 0x05: "jump", 0x06: "return", 0x15: "equal", 0x35: "at least", 0x54: "and"}


def interpret(code: bytes, *, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the program returns for one call. Raises on anything that the kernel would refuse to load."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *(*arguments, *(0,) * (6 - len(arguments))))
    lines = list(struct.iter_unpack("=HBBI", code))
    accumulator = position = 0
    while True:
        operation, if_true, if_false, constant = lines[position]
        position += 1
        match KNOWN[operation]:
            case "load":
                assert constant % 4 == 0, "the kernel loads whole words"
                (accumulator,) = struct.unpack_from("=I", data, constant)
            case "and":
                accumulator &= constant
            case "jump":
                position += constant
            case "equal":
                position += if_true if accumulator == constant else if_false
            case "at least":
                position += if_true if accumulator >= constant else if_false
            case "return":
                return int(constant)


def fill(code: bytes, holes: Sequence[int], value: int) -> bytes:
    """The program with its holes filled."""
    filled = bytearray(code)
    for hole in holes:
        struct.pack_into("=I", filled, hole, value)
    return bytes(filled)
