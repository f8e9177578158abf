"""A socket that was connected without waiting is connected for the kernel too, or it is refused."""

import errno
import select
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from toolrack_runner.server.network.broker import confirm_connected

MSG_FASTOPEN = 0x20000000
FAMILIES = [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
#: Ends a connection by RST instead of FIN.
NO_LINGER = struct.pack("ii", 1, 0)


@contextmanager
def without_waiting(
    family: socket.AddressFamily, host: str
) -> Iterator[tuple[socket.socket, socket.socket, object]]:
    """Both ends of a connection, ours connected as the event loop does it, and the address of the peer."""
    with (
        socket.create_server((host, 0), family=family) as server,
        socket.socket(family, socket.SOCK_STREAM) as ours,
    ):
        ours.setblocking(False)
        assert ours.connect_ex(server.getsockname()) == errno.EINPROGRESS
        theirs, _ = server.accept()
        assert select.select([], [ours], [], 5)[1]
        with theirs:
            yield ours, theirs, server.getsockname()


def reset(ours: socket.socket, theirs: socket.socket) -> None:
    """The peer goes by RST, and the kernel has heard of it."""
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    theirs.close()
    poll = select.poll()
    poll.register(ours, 0)
    assert poll.poll(5_000)


def send_elsewhere(end: socket.socket, elsewhere: socket.socket) -> list[str]:
    """Three attempts, of which the first may only tell that the peer has gone."""
    end.setblocking(True)
    seen = []
    for _ in range(3):
        try:
            end.sendmsg([b"x"], [], MSG_FASTOPEN | socket.MSG_NOSIGNAL, elsewhere.getsockname())
            seen.append("sent")
        except OSError as error:
            seen.append(errno.errorcode[error.errno or 0])
    return seen


@pytest.mark.parametrize(("family", "host"), FAMILIES)
def test_a_confirmed_connection_is_never_connected_again(family: socket.AddressFamily, host: str) -> None:
    with (
        without_waiting(family, host) as (ours, theirs, address),
        socket.create_server((host, 0), family=family) as elsewhere,
    ):
        confirm_connected(ours, address)
        assert send_elsewhere(ours, elsewhere) == ["EISCONN"] * 3
        reset(ours, theirs)
        assert send_elsewhere(ours, elsewhere) == ["EISCONN"] * 3


@pytest.mark.parametrize(("family", "host"), FAMILIES)
def test_one_that_is_not_confirmed_is(family: socket.AddressFamily, host: str) -> None:
    """So the test above is one of the second connect, and not of a kernel that never does this."""
    with (
        without_waiting(family, host) as (ours, theirs, _),
        socket.create_server((host, 0), family=family) as elsewhere,
    ):
        reset(ours, theirs)
        assert send_elsewhere(ours, elsewhere)[:2] == ["ECONNRESET", "sent"]


def test_a_connection_that_is_confirmed_twice_stays_as_it_is() -> None:
    with without_waiting(*FAMILIES[0]) as (ours, theirs, address):
        confirm_connected(ours, address)
        confirm_connected(ours, address)
        ours.send(b"x")
        assert theirs.recv(1) == b"x"


def test_a_connection_that_the_peer_has_ended_in_order_is_confirmed() -> None:
    with without_waiting(*FAMILIES[0]) as (ours, theirs, address):
        theirs.sendall(b"bye")
        theirs.close()
        confirm_connected(ours, address)
        ours.setblocking(True)
        assert (ours.recv(9), ours.recv(9)) == (b"bye", b"")


def test_a_connection_that_was_reset_meanwhile_is_refused() -> None:
    with without_waiting(*FAMILIES[0]) as (ours, theirs, address):
        reset(ours, theirs)
        with pytest.raises(ConnectionResetError):
            confirm_connected(ours, address)
