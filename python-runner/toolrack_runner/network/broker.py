"""Main's part: resolves a name once, checks every address, and connects to one of those that were checked."""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from toolrack_runner.network.hosts import Host, is_named
from toolrack_runner.network.public_address import Network, is_public
from toolrack_runner.wire.child_messages import Connect

#: For resolving and connecting together, in seconds.
CONNECT_SECONDS = 10.0
#: The buffers that the kernel keeps for one connection: of what the tool has sent, and of what it has not read yet. The
#: kernel doubles both for its own data. By default they grow to 4 and 32 MB, which no limit of the child counts. With these,
#: a tool can send 0.6 MB/s to a host that is 100 ms away, and receive 1.3 MB/s.
SEND_BYTES = 64 << 10
RECEIVE_BYTES = 128 << 10
#: How long the kernel tries to send data that the peer does not take. After that it drops what a child has left behind.
SENDING_MS = 60_000

#: One result of getaddrinfo: family, kind, protocol, canonical name, and the address to connect to.
Address = tuple[int, int, int, str, Any]
#: Takes a name and a port. Raises ConnectError, and OSError and ValueError as getaddrinfo does.
LookUp = Callable[[str, int], Awaitable[list[Address]]]


class ConnectError(Exception):
    """The connection is not made. The text is for the tool."""


async def connect(
    hosts: tuple[Host, ...], allowed: tuple[Network, ...], wish: Connect, look_up: LookUp
) -> socket.socket:
    """A connected, blocking TCP socket. `wish` is what the child sent. Raises ConnectError."""
    name, port = wish
    if not is_named(hosts, name, port):
        raise ConnectError(
            f"port {port} of this host is not in the spec's network: name it there, as host or host:port"
        )
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await _connect(await look_up(name, port), allowed)
    except TimeoutError:
        raise ConnectError(f"the host did not answer within {CONNECT_SECONDS:g} s") from None
    except OSError as error:
        raise ConnectError(
            f"the host can't be reached: {error.strerror or 'its name is not known'}"
        ) from None
    except ValueError:
        # A name that no resolver accepts (UnicodeError). `wire/child_messages.py` refuses all such names that are known.
        raise ConnectError("the host can't be reached: its name is not valid") from None


async def _connect(found: list[Address], allowed: tuple[Network, ...]) -> socket.socket:
    loop = asyncio.get_running_loop()
    # A host with one address that is not public is not trusted with its other addresses either.
    if not found or not all(is_public(str(address[0]), allowed) for *_, address in found):
        raise ConnectError("the host's name leads to an address that is not public")
    last: OSError | None = None
    for family, kind, protocol, _, address in found:
        connected = socket.socket(family, kind, protocol)
        connected.setblocking(False)
        _bound_buffers(connected)
        try:
            await loop.sock_connect(connected, address)
            confirm_connected(connected, address)
        except BaseException as error:
            connected.close()
            if not isinstance(error, OSError) or isinstance(error, TimeoutError):
                raise
            last = error
            continue
        connected.setblocking(True)
        return connected
    raise last or OSError("no address")


def confirm_connected(connected: socket.socket, address: Any) -> None:
    """Connects to `address` a second time, after the first, non-blocking `connect` has succeeded.

    The first one leaves the socket in the state SS_CONNECTING, which the kernel does not change when the handshake ends.
    A socket in that state can be connected to another address after its peer has gone: `sendmsg` with MSG_FASTOPEN
    does it without a call of `connect`. The second `connect` makes the state SS_CONNECTED, and MSG_FASTOPEN then fails
    with EISCONN, also after the peer has gone.

    Raises OSError if the socket is not connected any more. The caller closes it.
    """
    code = connected.connect_ex(address)
    if code not in (0, errno.EISCONN):
        raise OSError(code, os.strerror(code))


def _bound_buffers(connected: socket.socket) -> None:
    """Must be called before the socket is connected, because the kernel then tells the peer how much it may send."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SENDING_MS)
