"""Numbers of memory pages as one short text. The server process writes it, and a child reads it."""

import os
import struct
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator
from typing import Final

PAGE_BYTES: Final = os.sysconf("SC_PAGESIZE")
#: The most ranges of a text. With them it has 54 KB, so the order for a new child fits into its packet.
RANGES_MAX: Final = 4_000
#: One range: how many pages lie between it and the range before, and how many pages it has.
_RANGE: Final = struct.Struct("<QH")
#: The most pages of one range, because their number has 16 bits. A longer range becomes two.
_PAGES_OF_ONE_MAX: Final = (1 << 16) - 1
_ranges = _RANGE.iter_unpack


def pages_text(pages: Iterable[int]) -> str:
    """The text of these page numbers. Empty if they have more than RANGES_MAX ranges."""
    ranges: list[list[int]] = []
    for page in sorted(pages):
        if ranges and page == sum(ranges[-1]) and ranges[-1][1] < _PAGES_OF_ONE_MAX:
            ranges[-1][1] += 1
        else:
            ranges.append([page, 1])
    if len(ranges) > RANGES_MAX:
        return ""
    end, packed = 0, bytearray()
    for first, count in ranges:
        packed += _RANGE.pack(first - end, count)
        end = first + count
    return b2a_base64(packed, newline=False).decode()


def read_ranges(text: str) -> Iterator[tuple[int, int]]:
    """The first page of each range, and how many pages it has."""
    end = 0
    for gap, count in _ranges(a2b_base64(text)):
        yield end + gap, count
        end += gap + count
