"""`select` and `poll` of tools work like the system's. Code that uses them or `sendfile` works in the jail."""

import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.live_runner import LiveRunner
from toolrack_runner.zygote.denied_calls import PollByEpoll, select_by_epoll


@pytest.fixture
def descriptors(tmp_path: Path) -> Iterator[list[int]]:
    """A regular file, a socket with something to read, one that is full, one whose peer has gone, a pipe that is empty."""
    ready, its_peer = socket.socketpair()
    its_peer.send(b"x")
    full, _kept = socket.socketpair()
    full.setblocking(False)
    try:
        while True:
            full.send(bytes(65_536))
    except BlockingIOError:
        pass
    left, gone = socket.socketpair()
    gone.close()
    reader, writer = os.pipe()
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield [file, ready.fileno(), full.fileno(), left.fileno(), reader, writer]
    for each in (file, reader, writer):
        os.close(each)
    for end in (ready, its_peer, full, _kept, left):
        end.close()


def test_select_says_what_the_system_says(descriptors: list[int]) -> None:
    _, *others = descriptors
    for those in (
        [],
        descriptors,
        others,
        [others[1]],
        [others[1], others[1]],
        *([each] for each in descriptors),
    ):
        none: list[int] = []
        for wanted in ((those, none, none), (none, those, none), (those, those, none)):
            assert select_by_epoll(*wanted, 0.01) == select.select(*wanted, 0.01), wanted


def test_poll_says_what_the_system_says(descriptors: list[int]) -> None:
    for events in (0, select.POLLIN, select.POLLOUT, select.POLLIN | select.POLLOUT, select.POLLPRI):
        ours, theirs = PollByEpoll(), select.poll()
        for each in (*descriptors, 999):
            ours.register(each, events)
            theirs.register(each, events)
        assert sorted(ours.poll(10)) == sorted(theirs.poll(10))
        for poll in (ours, theirs):
            poll.modify(descriptors[1], select.POLLIN)
            poll.unregister(999)
        assert sorted(ours.poll(10)) == sorted(theirs.poll(10))


@pytest.mark.parametrize(
    "wanted",
    [([-1], [], []), (["x"], [], []), ([], [], [], -1), ([], [], [], "x"), (1, [], [])],
)
def test_select_refuses_what_the_system_refuses(wanted: tuple[Any, ...]) -> None:
    with pytest.raises((OSError, ValueError, TypeError)) as theirs:
        select.select(*wanted)
    with pytest.raises(theirs.type):
        select_by_epoll(*wanted)


def test_select_refuses_a_closed_descriptor() -> None:
    # A free one, but not the lowest, which the next file gets. The system overlooks those above all that were ever open.
    lowest, closed = os.dup(0), os.dup(0)
    os.close(lowest)
    os.close(closed)
    with pytest.raises(OSError, match="Bad file descriptor"):
        select.select([closed], [], [], 0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        select_by_epoll([closed], [], [], 0)


def test_poll_refuses_what_the_system_refuses() -> None:
    with pytest.raises(FileNotFoundError):
        PollByEpoll().modify(0, 1)
    with pytest.raises(KeyError):
        PollByEpoll().unregister(0)


SOURCE = '''
import asyncio
import os
import select
import selectors
import shutil
import socket


def waits() -> list:
    """Every way of waiting that the library has."""
    one, other = socket.socketpair()
    one.settimeout(0.01)
    try:
        one.recv(1)
    except TimeoutError:
        pass
    other.send(b"x")
    said = [select.select([one], [], [], 5)[0] == [one], select.select([], [], [], 0.01) == ([], [], [])]
    for kind in (selectors.SelectSelector, selectors.PollSelector, selectors.EpollSelector):
        with kind() as selector:
            for end in (one, other, *socket.socketpair(), *socket.socketpair()):
                selector.register(end, selectors.EVENT_READ)
            said.append([key.fileobj is one for key, _ in selector.select(5)] == [True])
    from multiprocessing.connection import wait
    said.append(wait([one], 5) == [one])
    return said


def copies() -> list:
    """What is built on sendfile."""
    with open("from", "wb") as file:
        file.write(bytes(300_000))
    shutil.copyfile("from", "to")
    sizes = [os.path.getsize("to")]

    async def by_loop() -> int:
        one, other = socket.socketpair()
        reader, kept = await asyncio.open_connection(sock=one)
        also_kept, writer = await asyncio.open_connection(sock=other)

        async def send() -> None:
            with open("from", "rb") as file:
                await asyncio.get_running_loop().sendfile(writer.transport, file)
            writer.write_eof()

        sent = asyncio.create_task(send())
        read = len(await reader.read())
        await sent
        return read

    sizes.append(asyncio.run(by_loop()))
    one, other = socket.socketpair()
    with open("from", "rb") as file:
        sizes.append(one.sendfile(file, count=50_000))
    return sizes


TOOL_SPECS = [
    {"name": "waiting:waits", "description": waits.__doc__, "handler": waits},
    {"name": "waiting:copies", "description": copies.__doc__, "handler": copies},
]
'''


def test_every_way_of_waiting_works_in_the_jail(any_runner: LiveRunner) -> None:
    answer = any_runner.invoke(SOURCE, "waiting:waits")
    assert answer.get("value") == [True] * 6, answer


def test_what_is_built_on_sendfile_copies(any_runner: LiveRunner) -> None:
    answer = any_runner.invoke(SOURCE, "waiting:copies")
    assert answer.get("value") == [300_000, 300_000, 50_000], answer
