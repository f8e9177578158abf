"""Closes what a child has inherited."""

import errno
import os
from collections.abc import Collection, Iterator
from typing import Final

from toolrack_runner.jail.linux import ON_LINUX, syscall

#: The kernel takes an unsigned int as the end of a range.
LAST: Final = 2**32 - 1


def close_all_except(kept: Collection[int]) -> None:
    """Closes every descriptor of this process that is not among `kept`."""
    try:
        for first, last in gaps(kept):
            syscall("close_range", first, last)
    except OSError as error:
        # Linux before 5.9, older gVisor, and what is not Linux.
        if error.errno != errno.ENOSYS:
            raise
        _close_one_by_one(kept)


def gaps(kept: Collection[int]) -> Iterator[tuple[int, int]]:
    """The ranges between the descriptors kept, both ends included."""
    first = 0
    for descriptor in sorted(set(kept)):
        if descriptor > first:
            yield first, descriptor - 1
        first = descriptor + 1
    yield first, LAST


def _close_one_by_one(kept: Collection[int]) -> None:
    for name in os.listdir("/proc/self/fd" if ON_LINUX else "/dev/fd"):
        if int(name) not in kept:
            os.closerange(int(name), int(name) + 1)
