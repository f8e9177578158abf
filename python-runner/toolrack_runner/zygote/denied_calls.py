"""Replaces system calls that the jail denies to a child: `select`, `poll`, `sendmsg` and `mremap`.

`select.select` and `select.poll` use `epoll` instead. A thread in `select` or `poll` keeps each file open for which it
waits, even after the descriptor is closed and no longer counted. `epoll` keeps no file open.

The C library gives a large block of memory its own mapping. Without `mremap`, such a block can only grow by a copy, and
never shrinks. A text of 30 MB that grew by `+=` took 8 s in place of 20 ms. Short reads into 256 buffers of 1 MB would use
up 256 MB. So large blocks stay in the heap, where they grow and shrink without a copy.
"""

import ctypes
import errno
import select
import selectors
import socket
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

#: The events that make a descriptor ready for `select`: POLLIN_SET, POLLOUT_SET and POLLEX_SET of `fs/select.c`.
READABLE: Final = select.POLLIN | select.POLLRDNORM | select.POLLRDBAND | select.POLLHUP | select.POLLERR
WRITABLE: Final = select.POLLOUT | select.POLLWRNORM | select.POLLWRBAND | select.POLLERR
EXCEPTIONAL: Final = select.POLLPRI
#: The events for which a regular file is always ready. `epoll` does not accept regular files.
OF_A_FILE: Final = select.POLLIN | select.POLLRDNORM | select.POLLOUT | select.POLLWRNORM
#: The bits that the events of `poll` can have: 16.
EVENTS: Final = 0xFFFF

#: `malloc.h` of glibc.
M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
M_ARENA_MAX: Final = -8
#: A block of memory gets its own mapping only if it is larger than this, the largest threshold that glibc accepts.
OWN_MAPPING_BYTES: Final = 32 << 20
#: The free memory that may stay at the end of the heap: twice OWN_MAPPING_BYTES, the ratio that glibc itself uses.
KEPT_BYTES: Final = 2 * OWN_MAPPING_BYTES


def select_by_epoll(
    rlist: Iterable[Any], wlist: Iterable[Any], xlist: Iterable[Any], timeout: float | None = None, /
) -> tuple[list[Any], list[Any], list[Any]]:
    """Like `select.select`, but uses an additional descriptor while it waits."""
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
    """Like the object of `select.poll()`. It uses one descriptor while it waits."""

    def __init__(self) -> None:
        self._wanted: dict[int, int] = {}

    def register(self, fd: Any, eventmask: int = select.POLLIN | select.POLLPRI | select.POLLOUT, /) -> None:
        """Waits for this descriptor from now on."""
        self._wanted[_descriptor(fd)] = eventmask & EVENTS

    def modify(self, fd: Any, eventmask: int, /) -> None:
        """Changes the events of this descriptor; raises FileNotFoundError if it was not registered."""
        descriptor = _descriptor(fd)
        if descriptor not in self._wanted:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        self._wanted[descriptor] = eventmask & EVENTS

    def unregister(self, fd: Any, /) -> None:
        """Stops waiting for this descriptor; raises KeyError if it was not registered."""
        del self._wanted[_descriptor(fd)]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Descriptors and their events. `timeout` is in milliseconds; None or a negative number means no timeout."""
        wanted = dict(self._wanted)
        found = _wait(wanted, None if timeout is None or timeout < 0 else timeout / 1000)
        return [(descriptor, found[descriptor]) for descriptor in wanted if descriptor in found]


class _NotHere:
    """Hides an attribute that the base class has."""

    def __get__(self, _instance: object, owner: type) -> object:
        raise AttributeError(
            f"type object {owner.__name__!r} has no attribute 'sendmsg': the sandbox denies it"
        )


def replace_denied_calls() -> None:
    """Replaces the functions. Called once, in the zygote, before modules are imported that keep references to them.

    For example, from Python 3.12 on, asyncio looks for `sendmsg` when it is imported.
    """
    keep_allocations_in_one_heap()
    socket.socket.sendmsg = _NotHere()  # type: ignore[method-assign, assignment]
    # `selectors` has `select.select` as an attribute of a class, where a plain function would become a method.
    select.select = partial(select_by_epoll)
    select.poll = PollByEpoll  # type: ignore[misc, assignment]
    selectors.SelectSelector._select = select.select  # type: ignore[attr-defined]  # noqa: SLF001 - it keeps a reference
    selectors.PollSelector._selector_cls = select.poll  # type: ignore[attr-defined]  # noqa: SLF001 - the same


def keep_allocations_in_one_heap() -> None:
    """Makes all threads use one heap, because each further heap reserves 64 MB of address space. Needs glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES)
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    mallopt(M_ARENA_MAX, 1)


def _wait(wanted: Mapping[int, int], seconds: float | None) -> dict[int, int]:
    """The events of each ready descriptor; POLLNVAL for a number that is no descriptor."""
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


def _asked(given: Iterable[Any]) -> list[tuple[int, Any]]:
    return [(_descriptor(each), each) for each in given]


def _descriptor(given: Any) -> int:
    """Raises TypeError for an object without a descriptor, and ValueError for a number below zero."""
    descriptor = given if isinstance(given, int) else getattr(given, "fileno", lambda: None)()
    if not isinstance(descriptor, int):
        raise TypeError("argument must be an int, or have a fileno() method.")
    if descriptor < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({descriptor})")
    return descriptor
