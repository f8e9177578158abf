"""What a child has in place of system calls that the jail denies: `select`, `poll`, `sendmsg` and `mremap`.

`select.select` and `select.poll` work on `epoll`. A thread that waits by `select` or `poll` keeps each file that it waits
for, even if its descriptor is closed and counts no more. `epoll` keeps none.

Where memory above a threshold is a mapping of its own, it grows by a copy and never shrinks without `mremap`: text of 30 MB
that grew by `+=` took 8 s in place of 20 ms, and 256 short reads into buffers of 1 MB would use up 256 MB. So the C library
keeps such memory in the heap, which grows and shrinks in place.
"""

import ctypes
import errno
import select
import selectors
import socket
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

#: What `select` calls ready (`fs/select.c`): POLLIN_SET, POLLOUT_SET and POLLEX_SET.
READABLE: Final = select.POLLIN | select.POLLRDNORM | select.POLLRDBAND | select.POLLHUP | select.POLLERR
WRITABLE: Final = select.POLLOUT | select.POLLWRNORM | select.POLLWRBAND | select.POLLERR
EXCEPTIONAL: Final = select.POLLPRI
#: A regular file, which `epoll` refuses, is always ready for these.
OF_A_FILE: Final = select.POLLIN | select.POLLRDNORM | select.POLLOUT | select.POLLWRNORM
#: What `poll` may be asked for: its events have 16 bits.
EVENTS: Final = 0xFFFF

#: `malloc.h` of glibc.
M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
M_ARENA_MAX: Final = -8
#: What is larger gets a mapping of its own; glibc takes no more than this.
OWN_MAPPING_BYTES: Final = 32 << 20
#: Free memory at the end of the heap that is kept: twice the other number, which is how glibc itself raises the two.
KEPT_BYTES: Final = 2 * OWN_MAPPING_BYTES


class _Asked(NamedTuple):
    descriptor: int
    given: Any


def select_by_epoll(
    rlist: Iterable[Any], wlist: Iterable[Any], xlist: Iterable[Any], timeout: float | None = None, /
) -> tuple[list[Any], list[Any], list[Any]]:
    """As `select.select`. It takes one descriptor while it waits."""
    if timeout is not None and timeout < 0:
        raise ValueError("timeout must be non-negative")
    kinds = (
        (_asked(rlist), select.POLLIN, READABLE),
        (_asked(wlist), select.POLLOUT, WRITABLE),
        (_asked(xlist), select.POLLPRI, EXCEPTIONAL),
    )
    wanted: dict[int, int] = {}
    for asked, event, _ in kinds:
        for descriptor, _ in asked:
            wanted[descriptor] = wanted.get(descriptor, 0) | event
    found = _wait(wanted, timeout)
    if select.POLLNVAL in found.values():
        raise OSError(errno.EBADF, "Bad file descriptor")
    read, written, exceptional = (
        [given for descriptor, given in asked if found.get(descriptor, 0) & ready]
        for asked, _, ready in kinds
    )
    return read, written, exceptional


class PollByEpoll:
    """As the object of `select.poll()`. It takes one descriptor while it waits."""

    def __init__(self) -> None:
        self._wanted: dict[int, int] = {}

    def register(self, fd: Any, eventmask: int = select.POLLIN | select.POLLPRI | select.POLLOUT, /) -> None:
        """Waits for this descriptor from now on."""
        self._wanted[_descriptor(fd)] = eventmask & EVENTS

    def modify(self, fd: Any, eventmask: int, /) -> None:
        """Waits for these events; raises FileNotFoundError where it was not registered."""
        descriptor = _descriptor(fd)
        if descriptor not in self._wanted:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        self._wanted[descriptor] = eventmask & EVENTS

    def unregister(self, fd: Any, /) -> None:
        """Waits for it no more; raises KeyError where it was not registered."""
        del self._wanted[_descriptor(fd)]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Descriptors and their events; waits for so many milliseconds, without an end where it is None or negative."""
        wanted = dict(self._wanted)
        found = _wait(wanted, None if timeout is None or timeout < 0 else timeout / 1000)
        return [(descriptor, found[descriptor]) for descriptor in wanted if descriptor in found]


class _NotHere:
    """An attribute that is not there, even where a base class has it."""

    def __get__(self, _instance: object, owner: type) -> object:
        raise AttributeError(
            f"type object {owner.__name__!r} has no attribute 'sendmsg': the sandbox denies it"
        )


def replace_denied_calls() -> None:
    """Once, in the zygote, before anything is imported that keeps one of them for itself.

    asyncio asks for `sendmsg` when it is imported, from 3.12 on.
    """
    keep_allocations_in_one_heap()
    socket.socket.sendmsg = _NotHere()  # type: ignore[method-assign, assignment]
    # A plain function would become a method of a class that keeps it, as `selectors` does.
    select.select = partial(select_by_epoll)
    select.poll = PollByEpoll  # type: ignore[misc, assignment]
    selectors.SelectSelector._select = select.select  # type: ignore[attr-defined]  # noqa: SLF001 - it keeps it
    selectors.PollSelector._selector_cls = select.poll  # type: ignore[attr-defined]  # noqa: SLF001 - the same


def keep_allocations_in_one_heap() -> None:
    """One heap for all threads: each further one reserves 64 MB of the address space. Does nothing without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES)
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    mallopt(M_ARENA_MAX, 1)


def _wait(wanted: Mapping[int, int], seconds: float | None) -> dict[int, int]:
    """The events of those that are ready; POLLNVAL for a number that is no descriptor."""
    found: dict[int, int] = {}
    with select.epoll() as waiting:
        for descriptor, events in wanted.items():
            try:
                waiting.register(descriptor, events)
            except PermissionError:
                if events & OF_A_FILE:
                    found[descriptor] = events & OF_A_FILE
            except OSError as error:
                if error.errno != errno.EBADF:
                    raise
                found[descriptor] = select.POLLNVAL
        return found | dict(waiting.poll(0 if found else seconds, max(len(wanted), 1)))


def _asked(given: Iterable[Any]) -> list[_Asked]:
    return [_Asked(_descriptor(each), each) for each in given]


def _descriptor(given: Any) -> int:
    """Raises TypeError for an object without a descriptor, and ValueError for a number below zero."""
    descriptor = given if isinstance(given, int) else getattr(given, "fileno", lambda: None)()
    if not isinstance(descriptor, int):
        raise TypeError("argument must be an int, or have a fileno() method.")
    if descriptor < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({descriptor})")
    return descriptor
