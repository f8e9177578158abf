"""Sockets in the child that the broker connects. The jail denies all other sockets.

If a spec of the module names hosts, these sockets replace those of the standard library before the module is imported. The
child does not resolve host names. It sends them to the broker unchanged.
"""

import contextlib
import errno
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from toolrack_runner.wire.child_messages import Connect, ConnectReply
from toolrack_runner.wire.connect_wish import connect_wish
from toolrack_runner.wire.frames import decode_frame

_lock = threading.Lock()
_INET = (socket.AF_INET, socket.AF_INET6)


class ConnectionDeniedError(ConnectionRefusedError, PermissionError):
    """The broker does not let the tool connect to this host."""

    #: The module's author sees only the name of the class in a traceback, as of Python's own exceptions.
    __module__ = "builtins"


class BrokeredSocket(socket.socket):
    """A TCP socket. `connect` replaces its descriptor by that of a connection that the broker has made.

    Until then, the descriptor is one end of a pair of sockets whose other end is closed.
    """

    channel = -1
    #: Writes a message to the channel.
    say: Callable[[Connect], None]

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:  # noqa: A002
        self._is_placeholder = fileno is None and family in (-1, *_INET)
        if not self._is_placeholder:
            super().__init__(family, type, proto, fileno)
            return
        if type not in (-1, 0) and type & 0xF != socket.SOCK_STREAM:
            raise OSError(errno.EPERM, "the sandbox has TCP only")
        ours, theirs = socket.socketpair()
        theirs.close()
        family = socket.AF_INET if family == -1 else family
        super().__init__(family, socket.SOCK_STREAM, 0, ours.detach())

    def connect(self, address: Any) -> None:
        """Asks the broker for a connection. Raises ConnectionRefusedError with the broker's reason."""
        if not self._is_placeholder:
            return super().connect(address)
        timeout = self.gettimeout()
        connected = _ask(address)
        os.dup2(connected, self.fileno(), inheritable=False)
        os.close(connected)
        self._is_placeholder = False
        self.settimeout(timeout)
        return None

    def connect_ex(self, address: Any) -> int:
        """Like `connect`, but returns an errno and does not raise."""
        try:
            self.connect(address)
        except OSError as error:
            return error.errno or errno.ECONNREFUSED
        return 0

    def setsockopt(self, *arguments: Any) -> None:
        """Sets an option. Ignores errors, because a socket that is not connected yet does not accept all TCP options."""
        with contextlib.suppress(OSError):
            super().setsockopt(*arguments)

    def bind(self, address: Any) -> None:
        """Does nothing for port 0, which means any port. Refuses every other port, because a tool cannot listen."""
        if address[1] != 0:
            raise OSError(errno.EPERM, "the sandbox has connections to named hosts only")


def _ask(address: Any) -> int:
    channel = BrokeredSocket.channel
    if channel < 0:
        raise _denied("a module has no network while it is imported: connect inside the handler")
    try:
        wish = connect_wish(*address[:2])
    except ValueError as wrong:
        raise _refused(str(wrong)) from None
    with _lock:
        BrokeredSocket.say(wish)
        with socket.socket(fileno=os.dup(channel)) as end:
            packet, descriptors, _, _ = socket.recv_fds(end, 4_096, 1)
    if not descriptors:
        reply = ConnectReply(**decode_frame(packet))
        if reply.denied and reply.refused:
            raise _denied(reply.refused)
        raise _refused(reply.refused or "the connection was lost on its way")
    return descriptors[0]


def _refused(reason: str) -> ConnectionRefusedError:
    return ConnectionRefusedError(errno.ECONNREFUSED, reason)


def _denied(reason: str) -> ConnectionDeniedError:
    return ConnectionDeniedError(errno.ECONNREFUSED, reason)


def resolve_by_broker(host: Any, port: Any, family: int = 0, *_: Any, **__: Any) -> list[Any]:
    """Replaces getaddrinfo. Returns the name itself as the only address. The broker looks the name up later."""
    name = host.decode() if isinstance(host, bytes) else host
    services = {"http": 80, "https": 443}
    number = services.get(port, port) if isinstance(port, str) else port
    kind = socket.AF_INET6 if family == socket.AF_INET6 else socket.AF_INET
    return [(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (name, int(number or 0)))]


def connect_by_broker() -> None:
    """Replaces the functions of the socket module. Until `open_broker` is called, every connection is refused."""
    socket.socket = BrokeredSocket  # type: ignore[misc]
    socket.getaddrinfo = resolve_by_broker
    socket.gethostbyname = lambda host: host


def open_broker(channel: int, say: Callable[[Connect], None]) -> None:
    """Allows connections from now on. `say` writes a message to the channel. Called after the child has received its call.

    Earlier, the child could mistake the message with the call for the broker's reply.
    """
    BrokeredSocket.channel = channel
    BrokeredSocket.say = say
