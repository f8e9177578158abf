"""Rules for pairs of sockets, and for connections that the child received."""

import socket
from collections.abc import Mapping
from typing import Final

from toolrack_runner.child.jail.seccomp.rule import (
    INVALID,
    PRETEND,
    Condition,
    Rule,
    has_only,
    is_null,
    only,
    when,
)

MSG_PEEK: Final = 0x2
MSG_DONTWAIT: Final = 0x40
MSG_WAITALL: Final = 0x100
MSG_NOSIGNAL: Final = 0x4000
MSG_MORE: Final = 0x8000
MSG_CMSG_CLOEXEC: Final = 0x40000000
#: Flags with which programs send: do not wait, no SIGPIPE, more data follows. Tools do not need the kernel's other flags.
#: MSG_FASTOPEN connects a socket to another address, and Landlock does not cover it. MSG_OOB had a use after free
#: (CVE-2025-38236).
SENDING: Final = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE
#: Flags with which programs receive. MSG_CMSG_CLOEXEC is needed to receive a descriptor over a pair of sockets. MSG_NOSIGNAL
#: has no effect, but some programs use the same flags to send and to receive. MSG_OOB, MSG_ERRQUEUE and MSG_TRUNC are
#: denied.
RECEIVING: Final = MSG_PEEK | MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC
SOL_SOCKET: Final = 1
IPPROTO_TCP: Final = 6
SOCK_STREAM: Final = 1
SOCK_NONBLOCK: Final = 0x800
SOCK_CLOEXEC: Final = 0x8_0000
#: SHUT_RD, SHUT_WR and SHUT_RDWR.
SHUT: Final = (0, 1, 2)

SOCKETS: Final[Mapping[str, Rule]] = {
    # Only pairs of streams are allowed. A socket of a datagram pair can send to any unix socket by its path.
    "socketpair": (
        when(
            Condition(0, (socket.AF_UNIX.value,)),
            Condition(1, (SOCK_STREAM,), ignored=SOCK_NONBLOCK | SOCK_CLOEXEC),
            Condition(2, (0,)),
        ),
    ),
    "shutdown": only(Condition(1, SHUT), otherwise=INVALID),
    # `sendto` is allowed only without an address. `sendmsg` is denied, because its address and its descriptors are in
    # memory, which no seccomp program can read. RLIMIT_NOFILE does not count a descriptor that is being sent, and the
    # buffers of its file remain in memory.
    "sendto": (when(has_only(3, SENDING), *is_null(4)),),
    "recvfrom": (when(has_only(3, RECEIVING)),),
    "recvmsg": (when(has_only(2, RECEIVING)),),
    # The first case is for SO_SNDBUF and SO_RCVBUF: the call reports success, but the socket keeps its buffer size. A buffer
    # is memory of the kernel that no limit counts, up to 4 MB for a socket.
    # The other cases allow SO_REUSEADDR, KEEPALIVE, RCVTIMEO and SNDTIMEO, and TCP_NODELAY. SO_ATTACH_FILTER and similar
    # options are denied.
    "setsockopt": (
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (7, 8)), answer=PRETEND),
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (2, 9, 20, 21))),
        when(Condition(1, (IPPROTO_TCP,)), Condition(2, (1,))),
    ),
    # Allowed are SO_REUSEADDR, TYPE, ERROR, SNDBUF, RCVBUF, KEEPALIVE, LINGER, RCVTIMEO, SNDTIMEO, ACCEPTCONN, PROTOCOL and
    # DOMAIN, and TCP_NODELAY, KEEPIDLE, KEEPINTVL and KEEPCNT. SO_PEERPIDFD is not: the server process has the other end of
    # the child's channel, so the child would get a handle on it. SO_PEERCRED, PEERSEC and PEERGROUPS are not: they would
    # show the identity of the server process.
    "getsockopt": (
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (2, 3, 4, 7, 8, 9, 13, 20, 21, 30, 38, 39))),
        when(Condition(1, (IPPROTO_TCP,)), Condition(2, (1, 4, 5, 6))),
    ),
}
