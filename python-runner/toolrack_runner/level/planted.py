"""Plants what the twins aim at, for as long as the level is measured."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from toolrack_runner.base_folder import remove_base
from toolrack_runner.level.plants import Plants
from toolrack_runner.zygote.place import LINE_DESCRIPTOR, ROOT


@contextmanager
def planted(base: str) -> Iterator[Plants]:
    """Files in a folder beside `base`, and sockets that are never answered from; all of it goes when it was aimed at.

    The victim is the zygote's to plant.
    """
    folder = f"{base}-plants"
    os.mkdir(folder, 0o755)
    os.chmod(folder, 0o755)  # noqa: S103 - whatever the umask
    open_directory = f"{folder}/everybody"
    os.mkdir(open_directory)
    os.chmod(open_directory, 0o777)  # noqa: S103 - so that no twin fails for want of a right
    with ExitStack() as stack:
        stack.callback(remove_base, folder)
        tcp = _bound(stack, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = _bound(stack, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        abstract_name = os.path.basename(base)
        _bound(stack, socket.AF_UNIX, socket.SOCK_STREAM, f"\0{abstract_name}")
        socket_file = f"{open_directory}/socket"
        _bound(stack, socket.AF_UNIX, socket.SOCK_DGRAM, socket_file)
        os.chmod(socket_file, 0o666)  # noqa: S103 - as above
        yield Plants(
            victim=0,
            open_file=_write(f"{folder}/for-everybody", 0o644),
            private_file=_write(f"{folder}/for-nobody", 0o600),
            source=f"{ROOT}/__main__.py",
            open_directory=open_directory,
            tcp_port=tcp.getsockname()[1],
            udp_port=udp.getsockname()[1],
            abstract_name=abstract_name,
            socket_file=socket_file,
            inherited=LINE_DESCRIPTOR,
            workdir="",  # Each child puts its own.
        )


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
