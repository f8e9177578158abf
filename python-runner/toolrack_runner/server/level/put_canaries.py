"""Makes the canaries: files and sockets that show whether an attack reaches them. Removes them after the measurement."""

import os
import select
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from toolrack_runner.server.base_folder import remove_base
from toolrack_runner.server.network.broker import confirm_connected
from toolrack_runner.wire.canaries import Canaries
from toolrack_runner.wire.zygote_start import CHANNEL_DESCRIPTOR, ROOT


@contextmanager
def put_canaries(base: str) -> Iterator[Canaries]:
    """Makes files in a folder beside `base`, and sockets that never answer. At the end removes all of them.

    The victim is not one of them, because the zygote starts it.
    """
    folder = f"{base}-canaries"
    os.mkdir(folder, 0o755)
    os.chmod(folder, 0o755)  # noqa: S103 - the umask has no effect
    open_directory = f"{folder}/everybody"
    os.mkdir(open_directory)
    os.chmod(open_directory, 0o777)  # noqa: S103 - no probe may fail because of a file mode
    with ExitStack() as stack:
        stack.callback(remove_base, folder)
        tcp = _bound(stack, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = _bound(stack, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        abstract_name = os.path.basename(base)
        _bound(stack, socket.AF_UNIX, socket.SOCK_STREAM, f"\0{abstract_name}")
        socket_file = f"{open_directory}/socket"
        _bound(stack, socket.AF_UNIX, socket.SOCK_DGRAM, socket_file)
        os.chmod(socket_file, 0o666)  # noqa: S103 - no probe may fail because of a file mode
        passed, severed = stack.enter_context(connections())
        yield Canaries(
            victim=0,
            open_file=_write(f"{folder}/for-everybody", 0o644),
            private_file=_write(f"{folder}/for-nobody", 0o600),
            source=f"{ROOT}/__main__.py",
            open_directory=open_directory,
            tcp_port=tcp.getsockname()[1],
            udp_port=udp.getsockname()[1],
            abstract_name=abstract_name,
            socket_file=socket_file,
            passed=passed,
            severed=severed,
            inherited=CHANNEL_DESCRIPTOR,
            workdir="",  # Each child sets its own.
        )


@contextmanager
def connections() -> Iterator[tuple[int, int]]:
    """The descriptors of two connections to this machine. They are made in the same way as those of the broker.

    The peer of the second one has closed it.
    """
    with ExitStack() as stack:
        listener = _bound(stack, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        severed = _connected(stack, listener)
        peer, _ = listener.accept()
        # With this option, `close` sends RST instead of FIN.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        _wait_for(severed, 0)
        yield _connected(stack, listener).fileno(), severed.fileno()


def _connected(stack: ExitStack, listener: socket.socket) -> socket.socket:
    """A socket that is connected as in the broker: without blocking, and then confirmed."""
    connected = stack.enter_context(socket.socket())
    connected.setblocking(False)
    connected.connect_ex(listener.getsockname())
    _wait_for(connected, select.POLLOUT)
    confirm_connected(connected, listener.getsockname())
    connected.setblocking(True)
    return connected


def _wait_for(one: socket.socket, events: int) -> None:
    """Waits for these events or the end of the connection, at most a second. On one machine they come at once."""
    poll = select.poll()
    poll.register(one, events)
    poll.poll(1_000)


def _write(path: str, mode: int) -> str:
    with open(path, "x") as file:
        file.write("a canary\n")
    os.chmod(path, mode)
    return path


def _bound(stack: ExitStack, family: int, kind: int, address: "str | tuple[str, int]") -> socket.socket:
    one = stack.enter_context(socket.socket(family, kind))
    one.bind(address)
    if kind == socket.SOCK_STREAM:
        one.listen()
    return one
