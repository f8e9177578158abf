"""`select.select` and `select.poll` on `epoll`, which is what the jail leaves of the three.

A thread that waits by `select` or `poll` keeps each file that it waits for, also when its descriptor is closed and counts no
more. `epoll` keeps none.
"""

import errno
import select
import selectors
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
    """As what `select.poll()` gives. It takes one descriptor while it waits."""

    def __init__(self) -> None:
        self._wanted: dict[int, int] = {}

    def register(self, fd: Any, eventmask: int = select.POLLIN | select.POLLPRI | select.POLLOUT, /) -> None:
        """From now on it is waited for."""
        self._wanted[_descriptor(fd)] = eventmask & EVENTS

    def modify(self, fd: Any, eventmask: int, /) -> None:
        """It is waited for these; raises FileNotFoundError where it was not registered."""
        descriptor = _descriptor(fd)
        if descriptor not in self._wanted:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        self._wanted[descriptor] = eventmask & EVENTS

    def unregister(self, fd: Any, /) -> None:
        """It is waited for no more; raises KeyError where it was not registered."""
        del self._wanted[_descriptor(fd)]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Descriptors and their events; waits for so many milliseconds, without an end where it is None or negative."""
        wanted = dict(self._wanted)
        found = _wait(wanted, None if timeout is None or timeout < 0 else timeout / 1000)
        return [(descriptor, found[descriptor]) for descriptor in wanted if descriptor in found]


def wait_by_epoll() -> None:
    """Once, in the zygote, before anything is imported that keeps one of the two for itself."""
    # A plain function would become a method of a class that keeps it, as `selectors` does.
    select.select = partial(select_by_epoll)
    select.poll = PollByEpoll  # type: ignore[misc, assignment]
    selectors.SelectSelector._select = select.select  # type: ignore[attr-defined]  # noqa: SLF001 - it keeps it
    selectors.PollSelector._selector_cls = select.poll  # type: ignore[attr-defined]  # noqa: SLF001 - the same


def _wait(wanted: Mapping[int, int], seconds: float | None) -> dict[int, int]:
    """What is ready of these descriptors, POLLNVAL of what is none."""
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
    """Raises TypeError for what is none and has none, and ValueError for one below zero."""
    descriptor = given if isinstance(given, int) else getattr(given, "fileno", lambda: None)()
    if not isinstance(descriptor, int):
        raise TypeError("argument must be an int, or have a fileno() method.")
    if descriptor < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({descriptor})")
    return descriptor
