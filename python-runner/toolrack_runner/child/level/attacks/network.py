"""Attacks through sockets."""

import ctypes
import errno
import os
import socket
import struct
from typing import Final

from toolrack_runner.child.jail.linux import syscall
from toolrack_runner.child.level.nothing_done import NothingDoneError
from toolrack_runner.wire.canaries import Canaries

#: Taken from the class in C, because a zygote removes `sendmsg` from the class that tools see (`zygote/denied_calls.py`).
_sendmsg = socket.SocketType.sendmsg

LOOPBACK = "127.0.0.1"
TCP_FASTOPEN_CONNECT: Final = 30
BUFFER_BYTES: Final = 1 << 20
#: `struct ucred`: pid, uid, gid.
CREDENTIALS_BYTES: Final = 12
#: The errors by which the kernel reports that the peer has closed the connection. It reports this only once.
GONE: Final = frozenset({errno.EPIPE, errno.ECONNRESET, errno.ECONNABORTED})
#: A `struct sockaddr` with AF_UNSPEC. A `connect` to this address disconnects the socket.
NOBODY: Final = ctypes.create_string_buffer(16)


def connect_tcp(canaries: Canaries) -> None:
    """Connects to a service of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as end:
        end.connect((LOOPBACK, canaries.tcp_port))


def send_udp(canaries: Canaries) -> None:
    """Sends a datagram to a service of this machine. Landlock does not cover UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.sendto(b"probe", (LOOPBACK, canaries.udp_port))


def connect_abstract(canaries: Canaries) -> None:
    """Connects to an abstract unix socket, which has no file permissions."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
        end.connect(b"\0" + canaries.abstract_name.encode())


def send_to_socket_file(canaries: Canaries) -> None:
    """Sends from a pair of sockets to a unix socket by its path, which needs neither `socket` nor `connect`."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"probe", canaries.socket_file)


def open_raw(_: Canaries) -> None:
    """Opens a raw socket, which could forge packets and listen."""
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


def open_netlink(_: Canaries) -> None:
    """Opens a netlink socket, the kernel's interface to the configuration of the network."""
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE).close()


def reconnect_by_fastopen(canaries: Canaries) -> None:
    """Sends to another address over a passed connection that its peer has closed. Landlock does not cover MSG_FASTOPEN."""
    there = (LOOPBACK, canaries.tcp_port)
    with _another(canaries.severed) as end:
        try:
            end.sendto(b"probe", socket.MSG_FASTOPEN, there)
        except OSError as error:
            if error.errno not in GONE:
                raise
            end.sendto(b"probe", socket.MSG_FASTOPEN, there)


def reconnect(canaries: Canaries) -> None:
    """Connects a passed connection to another address, and back."""
    with _another(canaries.passed) as end:
        peer = end.getpeername()
        try:
            end.connect((LOOPBACK, canaries.tcp_port))
        except OSError as error:
            if error.errno != errno.EISCONN:
                raise
            _disconnect(end)
            end.connect((LOOPBACK, canaries.tcp_port))
        _disconnect(end)
        end.connect(peer)


def set_socket_option(canaries: Canaries) -> None:
    """Sets an option of a passed connection with which the kernel delays the next `connect` until data is sent."""
    with _another(canaries.severed) as end:
        end.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
        end.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 0)


def enlarge_buffer(_: Canaries) -> None:
    """Enlarges the buffer of a socket, which no limit counts."""
    one, other = socket.socketpair()
    with one, other:
        before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        if one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before:
            raise NothingDoneError


def send_descriptor(_: Canaries) -> None:
    """Sends a descriptor into a socket. Until the descriptor is received, it counts against no limit."""
    one, other = socket.socketpair()
    with one, other:
        rights = struct.pack("i", other.fileno())
        _sendmsg(one, [b"probe"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


def identify_peer(_: Canaries) -> None:
    """Asks which process made a socket. A similar option would give a handle on that process."""
    one, other = socket.socketpair()
    with one, other:
        one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS_BYTES)


def _another(descriptor: int) -> socket.socket:
    """A new socket object for the same connection."""
    return socket.socket(fileno=os.dup(descriptor))


def _disconnect(end: socket.socket) -> None:
    syscall("connect", end.fileno(), ctypes.addressof(NOBODY), ctypes.sizeof(NOBODY))
