"""Starts the runner: reads its settings, sends its zygote the `Opening`, and serves."""

import gc
import json
import os
import resource
import socket
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import NoReturn

from toolrack_runner.server.base_folder import choose_base, sweep_bases
from toolrack_runner.server.level.put_canaries import put_canaries
from toolrack_runner.server.packages.folders import Folders
from toolrack_runner.server.readable import installed_paths, needed_paths, readable_paths
from toolrack_runner.server.settings import Settings, read_settings
from toolrack_runner.server.variables import SettingsError
from toolrack_runner.wire.zygote_messages import Opening, ZygoteChannel

#: The limit of open descriptors that the runner asks for. It is enough for 1,000 living children and for connections.
DESCRIPTORS = 16_384
#: After how many new objects the garbage collector starts. One large answer makes 130,000 objects. With the usual 700, the
#: collector ran many times while such an answer was parsed, and parsing took 9 ms in place of 2 ms.
GARBAGE_MAX = 150_000


def main(spawned: tuple[int, socket.socket] | None) -> NoReturn:
    """Runs the server until a signal comes or the parent process ends.

    `spawned` is a zygote that waits for its `Opening`: its pid, and the server process's end of the channel.
    """
    allow_descriptors()
    base = choose_base()
    canaries_stack = ExitStack()
    try:
        settings = read_settings()
        secret = _read_secret() if settings.has_parent else None
        listener = _listen(settings)
        canaries = None if spawned is None else _canaries(canaries_stack, base)
    except SettingsError as error:
        sys.stderr.write(json.dumps({"severity": "ERROR", "message": str(error)}) + "\n")
        sys.exit(os.EX_CONFIG)
    packages = _make_folders(settings)
    opening = Opening(
        preload=(),
        base=base,
        read_only=readable_paths(),
        needed=needed_paths(),
        without=settings.without,
        canaries=canaries,
        installed=installed_paths(),
        prefix=sys.prefix,
        packages=packages,
    )
    first = None if spawned is None else (spawned[0], ZygoteChannel(spawned[1]))
    if first is not None:
        first[1].open(opening)
    from toolrack_runner.server.http.server import run_server

    gc.freeze()
    gc.set_threshold(GARBAGE_MAX)
    gc.enable()
    sweep_bases()
    run_server(settings, secret, listener, opening, first, canaries_stack.close)
    # sys.exit would wait until threads of libraries end.
    sys.stdout.flush()
    os._exit(0)


def allow_descriptors() -> None:
    """Raises the limit of descriptors, usually 1,024, because the server process needs three for each living child."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if most == resource.RLIM_INFINITY else min(most, DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _read_secret() -> str:
    """The first line of standard input. The parent sends no other line."""
    with open(0, "rb", buffering=0, closefd=False) as standard_input:
        line = standard_input.readline()
    if not line.endswith(b"\n"):
        raise SettingsError("standard input ended before its first line, which is the secret of this runner")
    secret = line.decode("ascii", "replace").strip()
    if len(secret) < 16:
        raise SettingsError("the secret, the first line of standard input, has fewer than 16 characters")
    return secret


def _make_folders(settings: Settings) -> str:
    """Makes the folders of the packages, because a zygote can only show its children a folder that exists.

    Returns the path of the folder that children see; empty if packages are off. If the folders cannot be made, only modules
    with packages are refused, with the reason.
    """
    if not settings.packages.is_on:
        return ""
    folders = Folders(settings.packages.folder)
    with suppress(OSError):
        folders.make()
    return str(folders.environments)


def _canaries(stack: ExitStack, base: str) -> dict[str, int | str]:
    """Makes the canaries that the probes attack. They are removed when the stack is closed."""
    try:
        return asdict(stack.enter_context(put_canaries(base)))
    except OSError as error:
        raise SettingsError(
            f"TMPDIR: nothing can be put into {os.path.dirname(base)} for measuring the isolation: {error.strerror or error}"
        ) from None


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        raise SettingsError(
            f"PORT={settings.port}, HOST={settings.host}: cannot listen there: {error.strerror}"
        ) from None
    listener.listen(1024)
    return listener
