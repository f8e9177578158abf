"""What main connects for a tool."""

import asyncio
import socket
from functools import partial

import pytest

from toolrack_runner.hosts import Host
from toolrack_runner.server.network.broker import ConnectError, connect
from toolrack_runner.server.network.public_address import read_networks
from toolrack_runner.server.pool.name_lookups import NameLookUps
from toolrack_runner.wire.child_messages import Connect

LOOPBACK = read_networks("127.0.0.0/8,::1/128")


async def connected(hosts: tuple[Host, ...], wish: Connect) -> socket.socket:
    """As a call of a user's is connected."""
    return await connect(hosts, LOOPBACK, wish, partial(NameLookUps().find, "user"))


@pytest.mark.parametrize("name", ["a" * 64, "a..b", ".", "xn--\x00", "m\udc00", "xn--a"])
def test_a_name_that_no_resolver_takes_is_refused_and_no_failure_of_main(name: str) -> None:
    hosts = (Host(name.rstrip("."), (443,)),)
    with pytest.raises(ConnectError, match="can't be reached"):
        asyncio.run(connected(hosts, Connect(name, 443)))


def test_what_the_kernel_keeps_for_a_connection_has_an_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with asyncio.run(connected((Host("localhost", (port,)),), Connect("localhost", port))) as end:
            peer, _ = server.accept()
            with peer:
                # What a tool reads fast lets the kernel give it more, and it may then read no more.
                end.settimeout(5)
                peer.settimeout(5)
                for _ in range(50):
                    peer.sendall(b"x" * 65_536)
                    left = 65_536
                    while left:
                        left -= len(end.recv(left))
                assert end.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) <= 256 << 10
                assert end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= 128 << 10
