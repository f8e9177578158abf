"""Attacks through sockets."""

import socket

from toolrack_runner.level.plants import Plants

LOOPBACK = "127.0.0.1"


def connect_tcp(plants: Plants) -> None:
    """Connects to a service of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as end:
        end.connect((LOOPBACK, plants.tcp_port))


def send_udp(plants: Plants) -> None:
    """Sends a datagram to a service of this machine; Landlock does not look at UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.sendto(b"twin", (LOOPBACK, plants.udp_port))


def connect_abstract(plants: Plants) -> None:
    """Connects to an abstract unix socket, which no file permission guards."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
        end.connect(b"\0" + plants.abstract_name.encode())


def send_to_socket_file(plants: Plants) -> None:
    """Sends to a unix socket by its path from a pair, which needs neither `socket` nor `connect`."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"twin", plants.socket_file)


def open_raw(_: Plants) -> None:
    """Opens a raw socket, to forge and to listen."""
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


def open_netlink(_: Plants) -> None:
    """Opens the kernel's own interface to the network's configuration."""
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE).close()
