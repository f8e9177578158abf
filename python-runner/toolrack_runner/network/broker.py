"""Main's part: resolves a name once, looks at every address, and connects to one that was looked at."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from toolrack_runner.network.confirm_connected import confirm_connected
from toolrack_runner.network.hosts import Host, is_named
from toolrack_runner.network.public_address import Network, is_public
from toolrack_runner.wire.child_messages import Connect

#: For resolving and connecting together.
CONNECT_SECONDS = 10.0
#: What the kernel keeps for one connection: of what the tool has sent, and of what it has not read. The kernel doubles both,
#: for what it notes itself. Left alone it lets them grow to 4 and 32 MB, which no limit of the child counts. Over such a
#: connection a host that is 100 ms away can be sent 0.6 MB a second, and can send 1.3 MB.
SEND_BYTES = 64 << 10
RECEIVE_BYTES = 128 << 10
#: How long the kernel goes on to send when nothing of it is taken: what a child leaves behind goes then.
SENDING_MS = 60_000

#: As getaddrinfo gives one: family, kind, protocol, canonical name, and what to connect to.
Address = tuple[int, int, int, str, Any]
#: Takes a name and a port; raises Refused, and OSError and ValueError as getaddrinfo does.
LookUp = Callable[[str, int], Awaitable[list[Address]]]


class Refused(Exception):
    """The connection is not made; the text is for the tool."""


async def connect(
    hosts: tuple[Host, ...], allowed: tuple[Network, ...], wish: Connect, look_up: LookUp
) -> socket.socket:
    """A connected TCP socket, blocking; raises Refused. `wish` is what the child sent."""
    name, port = wish
    if not is_named(hosts, name, port):
        raise Refused(
            f"port {port} of this host is not in the spec's network: name it there, as host or host:port"
        )
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await _connect(await look_up(name, port), allowed)
    except TimeoutError:
        raise Refused(f"the host did not answer within {CONNECT_SECONDS:g} s") from None
    except OSError as error:
        raise Refused(f"the host can't be reached: {error.strerror or 'its name is not known'}") from None
    except ValueError:
        # A name that no resolver can be asked for (UnicodeError). `wire/child_messages.py` lets none through that is known.
        raise Refused("the host can't be reached: its name is none") from None


async def _connect(found: list[Address], allowed: tuple[Network, ...]) -> socket.socket:
    loop = asyncio.get_running_loop()
    # One address that is not public is a host that is not to be trusted with the others either.
    if not found or not all(is_public(str(address[0]), allowed) for *_, address in found):
        raise Refused("the host's name leads to an address that is not public")
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


def _bound_buffers(connected: socket.socket) -> None:
    """Before it is connected: the peer is told how much it may send then."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SENDING_MS)
