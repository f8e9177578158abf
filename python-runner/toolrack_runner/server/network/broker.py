"""The broker in the server process: resolves a host name once, checks all its addresses, and connects to one of them."""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from toolrack_runner.hosts import Host, is_named
from toolrack_runner.server.network.public_address import Network, is_public
from toolrack_runner.wire.child_messages import Connect

#: How long resolving and connecting may take together, in seconds.
CONNECT_SECONDS = 10.0
#: The sizes of the kernel's buffers for one connection: for data that the tool has sent, and for data that it has not read
#: yet. The kernel doubles both for its own data. By default, the buffers grow to 4 and 32 MB, and no limit of the child
#: counts them. With these sizes, a tool can send 0.6 MB/s to a host that is 100 ms away, and receive 1.3 MB/s.
SEND_BYTES = 64 << 10
RECEIVE_BYTES = 128 << 10
#: How long the kernel tries to send data that the peer does not accept, even if the child has ended. Then the data is
#: discarded.
SENDING_MS = 60_000

#: The most characters of a host name that an error shows. Names that people write are shorter.
NAME_SHOWN_MAX = 100

#: One result of getaddrinfo: family, kind, protocol, canonical name, and the address to connect to.
Address = tuple[int, int, int, str, Any]
#: Resolves a name and a port. Raises ConnectError, and OSError and ValueError as getaddrinfo does.
LookUp = Callable[[str, int], Awaitable[list[Address]]]


class ConnectError(Exception):
    """The connection was refused or failed. The tool sees the text."""


class DeniedError(ConnectError):
    """The tool may not connect to this host, whether it can be reached or not."""


async def connect(
    hosts: tuple[Host, ...], allowed: tuple[Network, ...], wish: Connect, look_up: LookUp
) -> socket.socket:
    """Makes a connected, blocking TCP socket. `wish` is the request of the child. Raises ConnectError and DeniedError."""
    name, port = wish
    if not is_named(hosts, name, port):
        # The name is visible ASCII (`wire/parse_child_message.py`), and only the tool that has asked for it sees it.
        host = f"{name}:{port}" if len(name) <= NAME_SHOWN_MAX else f"port {port} of this host"
        raise DeniedError(f"{host} is not in the spec's network: name it there, as host or host:port")
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
        # This is a UnicodeError: no resolver accepts the name. `wire/child_messages.py` refuses the cases that are known.
        raise ConnectError("the host can't be reached: its name is not valid") from None


async def _connect(found: list[Address], allowed: tuple[Network, ...]) -> socket.socket:
    loop = asyncio.get_running_loop()
    # If only one address of a host is not public, the connection is refused too.
    if not found or not all(is_public(str(address[0]), allowed) for *_, address in found):
        raise DeniedError(
            "the host's name leads to an address that is not public; "
            "the operator can allow it with TOOLRACK_RUNNER_NETWORK_ALLOW"
        )
    last: OSError | None = None
    for family, kind, protocol, _, address in found:
        connected = socket.socket(family, kind, protocol)
        connected.setblocking(False)
        # The sizes must be set before `connect`, because `connect` tells the peer how much it may send.
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SENDING_MS)
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
    """Connects to `address` a second time, after the first `connect`, which did not block, has succeeded.

    After the first `connect` the socket is in the state SS_CONNECTING, even when the handshake has ended. In this state, if
    the peer has closed the connection, the socket can be connected to another address: `sendmsg` with MSG_FASTOPEN does it
    without a call of `connect`. The second `connect` changes the state to SS_CONNECTED. Then MSG_FASTOPEN fails with
    EISCONN, even if the peer has closed the connection.

    Raises OSError if the socket is no longer connected. The caller closes the socket.
    """
    code = connected.connect_ex(address)
    if code not in (0, errno.EISCONN):
        raise OSError(code, os.strerror(code))
