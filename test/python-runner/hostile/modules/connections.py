"""Attempts to use a passed connection for anything but its peer, as somebody would upload them.

Each attempt answers "through" where the kernel took it, else the name of the errno that it met. Whether bytes arrived
where they should not is for the test to see: it listens there.
"""

import ctypes
import errno
import os
import select
import socket
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
MACHINE = os.uname().machine
NUMBERS = {
    "x86_64": {"connect": 42, "sendmsg": 46, "sendmmsg": 307, "splice": 275, "accept4": 288},
    "aarch64": {"connect": 203, "sendmsg": 211, "sendmmsg": 269, "splice": 76, "accept4": 242},
}[MACHINE]
MSG_FASTOPEN = 0x20000000
MSG_NOSIGNAL = 0x4000
X32 = 0x40000000
#: The runner takes it off the class that a tool sees.
sendmsg = socket.SocketType.sendmsg


def call(number, *arguments):
    answer = libc.syscall(ctypes.c_long(number), *map(ctypes.c_void_p, arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), "")
    return answer


def packed(address):
    """A `struct sockaddr_in` or `sockaddr_in6`."""
    host, port = address
    if ":" in host:
        return struct.pack("=H", 10) + struct.pack("!HI", port, 0) + socket.inet_pton(10, host) + bytes(4)
    return struct.pack("=H", 2) + struct.pack("!H", port) + socket.inet_pton(2, host) + bytes(8)


class Message:
    """A `struct msghdr` with one piece of data and an address."""

    def __init__(self, data, address):
        self.name = ctypes.create_string_buffer(packed(address), 28)
        self.data = ctypes.create_string_buffer(data, len(data))
        piece = struct.pack("@PN", ctypes.addressof(self.data), len(data))
        self.piece = ctypes.create_string_buffer(piece, len(piece))
        size = 28 if ":" in address[0] else 16
        header = struct.pack(
            "@PIPNPNi", ctypes.addressof(self.name), size, ctypes.addressof(self.piece), 1, 0, 0, 0
        )
        # Room for the count behind the header that `struct mmsghdr` has.
        self.header = ctypes.create_string_buffer(header, 64)

    def at(self):
        return ctypes.addressof(self.header)


def fastopen(end, there):
    # The first attempt may only be told that the old connection is gone.
    for _ in range(3):
        try:
            sendmsg(end, [b"attack"], [], MSG_FASTOPEN | MSG_NOSIGNAL, there)
        except OSError as error:
            last = error
        else:
            return
    raise last


def fastopen_by_number(end, there):
    message = Message(b"attack", there)
    for _ in range(3):
        try:
            call(NUMBERS["sendmsg"], end.fileno(), message.at(), MSG_FASTOPEN | MSG_NOSIGNAL)
        except OSError as error:
            last = error
        else:
            return
    raise last


def fastopen_of_a_duplicate(end, there):
    with socket.socket(fileno=os.dup(end.fileno())) as other:
        fastopen(other, there)


def fastopen_after_shutdown(end, there):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    fastopen(end, there)


def fastopen_from_a_thread(end, there):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(fastopen, end, there).result()


def fastopen_of_many(end, there):
    message = Message(b"attack", there)
    call(NUMBERS["sendmmsg"], end.fileno(), message.at(), 1, MSG_FASTOPEN | MSG_NOSIGNAL)


def many_with_address(end, there):
    call(NUMBERS["sendmmsg"], end.fileno(), Message(b"attack", there).at(), 1, MSG_NOSIGNAL)


def send_with_fastopen(end, _there):
    end.send(b"attack", MSG_FASTOPEN | MSG_NOSIGNAL)


def sendto_with_fastopen(end, there):
    end.sendto(b"attack", MSG_FASTOPEN | MSG_NOSIGNAL, there)


def sendto_with_address(end, there):
    end.sendto(b"attack", MSG_NOSIGNAL, there)


def sendmsg_with_address(end, there):
    sendmsg(end, [b"attack"], [], MSG_NOSIGNAL, there)


def send_without_copying(end, there):
    sendmsg(end, [b"attack"], [], 0x4000000 | MSG_NOSIGNAL, there)


def send_without_route(end, there):
    sendmsg(end, [b"attack"], [], 0x4 | MSG_NOSIGNAL, there)


def connect_by_number(end, there):
    address = ctypes.create_string_buffer(packed(there), 28)
    call(NUMBERS["connect"], end.fileno(), ctypes.addressof(address), 28 if ":" in there[0] else 16)


def disconnect_and_connect(end, there):
    nowhere = ctypes.create_string_buffer(16)  # AF_UNSPEC
    call(NUMBERS["connect"], end.fileno(), ctypes.addressof(nowhere), 16)
    connect_by_number(end, there)


def connect_by_the_socket(end, there):
    super(type(end), end).connect(there)


def listen(end, _there):
    end.listen()


def accept(end, _there):
    call(NUMBERS["accept4"], end.fileno(), 0, 0, 0)


def bind(end, _there):
    super(type(end), end).bind(("127.0.0.1", 0))


def splice_into(end, _there):
    reader, writer = os.pipe()
    os.write(writer, b"attack")
    call(NUMBERS["splice"], reader, 0, end.fileno(), 0, 6, 0)


def send_file(end, _there):
    with open("file", "wb+") as file:
        file.write(b"attack")
        file.flush()
        os.sendfile(end.fileno(), file.fileno(), 0, 6)


def write(end, _there):
    os.write(end.fileno(), b"attack")


def option(level, number, value):
    def set_option(end, _there):
        super(type(end), end).setsockopt(level, number, value)

    return set_option


def x32_sendmsg(end, there):
    call(X32 | 518, end.fileno(), Message(b"attack", there).at(), MSG_FASTOPEN)


def x32_connect(end, there):
    address = ctypes.create_string_buffer(packed(there), 28)
    call(X32 | 42, end.fileno(), ctypes.addressof(address), 16)


ATTEMPTS = {
    function.__name__: function
    for function in (
        fastopen, fastopen_by_number, fastopen_of_a_duplicate, fastopen_after_shutdown, fastopen_from_a_thread,
        fastopen_of_many, many_with_address, send_with_fastopen, sendto_with_fastopen, sendto_with_address,
        sendmsg_with_address, send_without_copying, send_without_route, connect_by_number,
        disconnect_and_connect, connect_by_the_socket, listen, accept, bind, splice_into, send_file, write,
        x32_sendmsg, x32_connect,
    )
} | {
    "TCP_FASTOPEN_CONNECT": option(6, 30, 1),
    "TCP_REPAIR": option(6, 19, 1),
    "TCP_ULP": option(6, 31, b"tls"),
    "TCP_FASTOPEN": option(6, 23, 1),
    "SO_BINDTODEVICE": option(1, 25, b"lo\0"),
    "SO_MARK": option(1, 36, 1),
    "IP_TRANSPARENT": option(0, 19, 1),
}  # fmt: skip


def gone(end):
    """Waits until the kernel knows that the peer is gone; writes, where its end alone does not tell."""
    poll = select.poll()
    poll.register(end.fileno(), 0)
    for _ in range(500):
        if any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(10)):
            return
        try:
            end.send(b"x")
        except OSError:
            pass
    raise TimeoutError("the peer is still there")


def try_it(name: str, peer: str, port: int, then: str, host: str, elsewhere: int) -> str:
    """Connects to the named peer, asks it to stay or to go, and then tries."""
    with socket.create_connection((peer, port), timeout=5) as end:
        end.settimeout(None)
        end.sendall(then.encode() + b"\n")
        if then == "stay":
            assert end.recv(1) == b"."
        else:
            gone(end)
        try:
            ATTEMPTS[name](end, (host, elsewhere))
        except OSError as error:
            return errno.errorcode.get(error.errno, str(error))
        if then == "stay":
            end.shutdown(socket.SHUT_WR)
            while end.recv(100):
                pass
    return "through"


TOOL_SPECS = [{"name": "connections:try_it", "description": "Tries one.", "handler": try_it}]
